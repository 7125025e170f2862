"""Rows that are read all at once: where each stands in the bytes of many bodies, and what is taken from there.

`Rows` stand anywhere; `Even` ones have one shape and stand at equal distances. Both move on with what is taken. A row
that cannot be right stands at `buffer.nowhere` from then on, behind all bodies, where zeros are. Knows no structs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .. import wire
from .arrays import WIDE, binary_at, binary_of, fixed_at, format_of, from_numpy, lists_at, lists_of, offsets_of, to_bits
from .types import arrow_type, scalar_type

ZEROS = bytes(8192)
WINDOW = 1024  # bytes that are copied of each row, at most, to take some of them
Origin = Callable[[Any], Any]


class Buffer:
    """The bodies, one after the other.

    Attributes:
        bad: the bodies whose contents are wrong.
    """

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self.data = b"".join([*bodies, ZEROS])
        self.size = len(self.data) - len(ZEROS)
        self.nowhere = self.size + 1
        self.bytes = np.frombuffer(self.data, np.uint8)
        self.bad: set[int] = set()

    def view(self, form: str) -> Any:
        """Return what would stand at every single byte."""
        return np.ndarray((len(self.data) - np.dtype(form).itemsize + 1,), form, self.data, 0, (1,))


class Rows:
    """Rows that stand anywhere.

    Args:
        at: where each stands.
        ends: where its body ends; None if it is known that all it says is inside of that.
        origin: the bodies of rows.
        is_guess: whether rows may be none at all; those with tags are wrong, then.
    """

    def __init__(self, buffer: Buffer, at: Any, ends: Any, origin: Origin, *, is_guess: bool = False) -> None:
        self.buffer, self.ends, self.origin, self.is_guess = buffer, ends, origin, is_guess
        self._at, self._ahead = at, 0

    def __len__(self) -> int:
        return len(self._at)

    @property
    def at(self) -> Any:
        """Where each row stands now."""
        if self._ahead:
            self._at, self._ahead = np.minimum(self._at + self._ahead, self.buffer.nowhere), 0
        return self._at

    @at.setter
    def at(self, at: Any) -> None:
        self._at, self._ahead = at, 0

    def put(self, which: Any, at: Any) -> None:
        """Let some rows stand elsewhere."""
        self.at = self.at.copy()
        self._at[which] = at

    def refuse(self, wrong: Any) -> None:
        """Say that the bodies of some rows are bad."""
        self.buffer.bad.update(self.origin(np.nonzero(wrong)[0]).tolist())

    def some(self, which: Any, at: Any, ends: Any) -> Rows:
        """Return some of the rows, which stand elsewhere."""
        return Rows(self.buffer, at, ends, lambda rows: self.origin(which[rows]))

    def jump(self, size: int) -> None:
        """Move on by so many bytes."""
        self._ahead += size
        if self._ahead > WINDOW:
            self.at = self.at

    def byte(self) -> Any:
        """Take a byte."""
        found = self.buffer.bytes[self._at + self._ahead]
        self.jump(1)
        return found

    def fixed(self, node: Any) -> Any:
        """Take values of a fixed size, as an Arrow array."""
        if isinstance(node, wire.Boolean):
            values = self.byte()
            if values.max(initial=0) > 1:
                self.refuse(values > 1)
            return to_bits(values)
        form = f"V{node.least}" if isinstance(node, wire.Uuid) else format_of(node)
        values = self.buffer.view(form)[self._at + self._ahead]
        self.jump(node.least)
        if isinstance(node, wire.Uuid):
            return binary_of(values, len(self), node.least)
        return from_numpy(values.astype(WIDE[form]), scalar_type(node))

    def lengths(self, node: Any) -> Any:
        """Take lengths; of null, -1."""
        if node.length is wire.COMPACT_LENGTH:
            values = self.byte()
            lengths = values.astype(np.int64) if values.max(initial=0) < 128 else self._varints(values)
            lengths -= 1
        else:
            lengths = self.buffer.view(format_of(node.length))[self._at + self._ahead].astype(np.int64)
            self.jump(node.length.least)
        if lengths.min(initial=0) < -node.nullable:
            wrong = lengths < -node.nullable
            self.put(wrong, self.buffer.nowhere)
            lengths[wrong] = 0
        return lengths

    def _varints(self, values: Any) -> Any:
        """Return numbers of which some have more bytes than the first, which are these; wrong ones are negative."""
        at = self.at.copy()
        numbers, live, shift = (values & 127).astype(np.int64), np.nonzero(values > 127)[0], 0
        while len(live):
            more = self.buffer.bytes[at[live]].astype(np.int64)
            at[live] += 1
            shift += 7
            numbers[live] |= (more & 127) << shift
            numbers[live[(more == 0) | (more > 127) & (shift == 28)]] = -(2**40)
            live = live[(more > 127) & (shift < 28)]
        numbers[numbers > 2**31] = -(2**40)
        self.at = at
        return numbers

    def take(self, lengths: Any, size: int) -> tuple[Any, Any]:
        """Move on behind things of one size. Lengths of what is not there become 0.

        Returns:
            Where they begin, and how many they are.
        """
        begins, counts = self.at, np.maximum(lengths, 0)
        self.at = begins + counts * size
        if self.ends is None:
            np.minimum(self._at, self.buffer.nowhere, out=self._at)
        elif (over := self._at > self.ends).any():
            lengths[over] = counts[over] = 0
            self._at[over] = self.buffer.nowhere
        return begins, counts

    def pass_over(self, node: Any, size: int) -> None:
        """Move on behind what a length says, of things of one size."""
        self.take(self.lengths(node), size)

    def texts(self, node: Any) -> Any:
        """Take strings, bytes or records, as an Arrow array."""
        lengths = self.lengths(node)
        begins, sizes = self.take(lengths, 1)
        data = ragged(self.buffer, begins, sizes, 1)
        if isinstance(node, wire.String):
            data = self.checked(data, sizes, node.longest)
        return texts_of(node, lengths, data)

    def checked(self, data: Any, sizes: Any, longest: int) -> Any:
        """Refuse what is no text, or too long; return the texts, with zeros for what is none."""
        if sizes.max(initial=0) > longest:
            self.refuse(sizes > longest)
        if data.max(initial=0) > 127 and not (good := valid(data.tobytes(), sizes)).all():
            self.refuse(~good)
            return np.where(np.repeat(good, sizes), data, np.uint8(0))
        return data

    def numbers(self, node: wire.Array) -> Any:
        """Take arrays of values of a fixed size, as an Arrow array."""
        lengths, size = self.lengths(node), node.element.least
        begins, counts = self.take(lengths, size)
        data = ragged(self.buffer, begins, counts, size)
        if isinstance(node.element, wire.Boolean) and data.max(initial=0) > 1:
            self.refuse(np.isin(np.arange(len(self)), np.repeat(np.arange(len(self)), counts)[data > 1]))
        return lists_of(lengths, fixed_at(node.element, data, len(data) // size, 0, size))


class Even:
    """Rows of one shape, one behind the other, `size` bytes each."""

    def __init__(self, buffer: Buffer, data: Any, size: int, origin: Origin) -> None:
        self.buffer, self.origin = buffer, origin
        self.data, self.size = data, size
        self._count, self._at = len(data) // size, 0

    def __len__(self) -> int:
        return self._count

    def refuse(self, wrong: Any) -> None:
        """Say that the bodies of some rows are bad."""
        self.buffer.bad.update(self.origin(np.nonzero(wrong)[0]).tolist())

    def jump(self, size: int) -> None:
        """Move on by so many bytes."""
        self._at += size

    def fixed(self, node: Any) -> Any:
        """Take values of a fixed size, as an Arrow array."""
        if isinstance(node, wire.Boolean):
            values = np.ndarray((self._count,), "u1", self.data, self._at, (self.size,))
            if values.max(initial=0) > 1:
                self.refuse(values > 1)
        self._at += node.least
        return fixed_at(node, self.data, self._count, self._at - node.least, self.size)

    def length(self, node: Any) -> int:
        """Take the length that all have; of null, -1."""
        compact = node.length is wire.COMPACT_LENGTH
        prefix = 1 if compact else node.length.least
        self._at += prefix
        return int.from_bytes(self.data[self._at - prefix : self._at], "big", signed=not compact) - compact

    def pass_over(self, node: Any, size: int) -> None:
        """Move on behind what a length says, of things of one size."""
        self._at += max(self.length(node), 0) * size

    def texts(self, node: Any) -> Any:
        """Take strings, bytes or records, as an Arrow array."""
        length = self.length(node)
        if length < 0:
            return pa.nulls(self._count, scalar_type(node))
        begin, self._at = self._at, self._at + length
        array = binary_at(self.data, self._count, begin, self.size, length)
        if isinstance(node, wire.String) and length:
            data = np.frombuffer(array.buffers()[2], np.uint8)
            if data.max(initial=0) > 127 and not (good := valid(data.tobytes(), np.full(self._count, length))).all():
                self.refuse(~good)
                array = binary_of(np.where(np.repeat(good, length), data, np.uint8(0)), self._count, length)
        return array.view(scalar_type(node))

    def numbers(self, node: wire.Array) -> Any:
        """Take arrays of values of a fixed size, as an Arrow array."""
        length = self.length(node)
        if length < 0:
            return pa.nulls(self._count, arrow_type([node]))
        begin, self._at = self._at, self._at + node.element.least * length
        if isinstance(node.element, wire.Boolean):
            data = binary_at(self.data, self._count, begin, self.size, length).buffers()[2]
            values = np.frombuffer(data, np.uint8)
            if values.max(initial=0) > 1:
                self.refuse((values.reshape(-1, length) > 1).any(1))
            return lists_of(np.full(self._count, length), to_bits(values))
        return lists_at(node, self.data, self._count, begin, self.size, length)


def ragged(buffer: Buffer, begins: Any, counts: Any, size: int) -> Any:
    """Return the bytes of things of one size, so many of each row, one behind the other."""
    there = np.nonzero(counts)[0]
    if len(there) < len(counts):
        begins, counts = begins[there], counts[there]
    most, total = int(counts.max(initial=0)), int(counts.sum())
    width = most * size
    if not width:
        return np.empty(0, np.uint8)
    if width <= WINDOW and most * len(counts) <= 4 * total:
        windows = buffer.view(f"V{width}")[begins]
        if most * len(counts) == total:
            return windows.view("u1")
        cells = windows.view(f"V{size}" if size > 8 else f"u{size}")
        first = (np.arange(most) < np.arange(most + 1)[:, None]).view(f"V{most}").reshape(-1)
        return np.compress(first[counts].view(bool), cells).view("u1")
    places = zip(begins.tolist(), (begins + size * counts).tolist(), strict=True)
    view = memoryview(buffer.data)
    return np.frombuffer(b"".join([view[begin:end] for begin, end in places]), np.uint8)


def texts_of(node: Any, lengths: Any, data: Any) -> Any:
    """Return an array of texts of these lengths (null: -1), whose bytes are given."""
    return pa.Array.from_buffers(scalar_type(node), len(lengths), [*offsets_of(lengths), pa.py_buffer(data)])


def valid(data: bytes, sizes: Any) -> Any:
    """Say of each text whether it is UTF-8; all are of these sizes, one behind the other."""
    ends = np.cumsum(sizes)
    places = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    return np.array([is_text(data[begin:end]) for begin, end in places], bool)


def is_text(raw: bytes) -> bool:
    """Say whether bytes are UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
