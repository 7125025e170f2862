"""Elements of arrays that look alike: a run of them is found by comparing their length bytes, and kept in one piece.

A shape is the counts in an element, in their order. Bytes at equal distances are cut out and compared all at once; the
elements in between that have another shape go by straight lines. Shapes are few, and forgotten with what was collected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .. import wire
from .arrays import binary_at, constant, fixed_at, lists_at
from .collected import Lists, Table
from .types import TAGS, Wanted, arrow_type

FEW = 4  # elements that are not worth looking for a run
MOST_SHAPES = 16
LONGEST = 64  # one count of a shape
PATIENCE = 64  # elements that straight lines read, at most, until a run is looked for again
TRUTHS = b"\0\1"
Shape = tuple[int, ...]


class Part(NamedTuple):
    """A field of an element: `size` of one value; `prefix` the bytes of the count in front, 0 if there is none."""

    node: Any
    size: int
    prefix: int = 0
    more: int = 0
    least: int = 0
    most: int = LONGEST


def parts_of(node: Any) -> dict[str, Part] | None:
    """Return the fields of a struct by name; None if there is one that is neither fixed nor counted."""
    if type(node) is not wire.Struct or not node.fields:
        return None
    parts = {str(field.name): _part_of(field.subcon) for field in node.fields}
    return {name: part for name, part in parts.items() if part} if None not in parts.values() else None


def _part_of(node: Any) -> Part | None:
    if type(node) in (wire.Integer, wire.Float64, wire.Boolean, wire.Uuid):
        return Part(node, node.least)
    prefix, more = (1, 1) if getattr(node, "length", None) is wire.COMPACT_LENGTH else (node.least, 0)
    if type(node) is wire.Array and type(node.element) in (wire.Integer, wire.Float64, wire.Uuid):
        return Part(node, node.element.least, prefix, more, -node.nullable)
    if type(node) in (wire.String, wire.Bytes, wire.Records):  # text would have to be checked, unless it is empty
        return Part(node, 1, prefix, more, -node.nullable, 0 if type(node) is wire.String else LONGEST)
    return None


class Group:
    """The elements of one shape.

    Attributes:
        size: of an element, in bytes.
        alike: at which of its bytes there is always the same.
        truths: at which there is a boolean.
    """

    def __init__(self, parts: dict[str, Part], shape: Shape, tagged: bool) -> None:
        self.offsets: dict[str, tuple[int, int]] = {}
        self.alike: list[tuple[int, bytes]] = []
        self.truths: list[int] = []
        position, lengths = 0, iter(shape)
        for name, part in parts.items():
            count = next(lengths) if part.prefix else 1
            said = (count + part.more).to_bytes(part.prefix, "big", signed=True) if part.prefix else b""
            for index, byte in enumerate(said):
                self.alike.append((position + index, bytes([byte])))
            position += part.prefix
            if isinstance(part.node, wire.Boolean):
                self.truths.append(position)
            self.offsets[name] = (position, count)
            position += part.size * max(count, 0)
        if tagged:
            self.alike.append((position, b"\0"))
        self.size = position + tagged

    def run(self, b: bytes, p: int, n: int) -> int:
        """Return how many of `n` elements from `p` on have this shape, one after the other."""
        size = self.size
        n = min(n, (len(b) - p) // size)
        end = p + size * n
        for offset, byte in self.alike:
            found = b[p + offset : end : size]
            if found != byte * n:
                n = n - len(found.lstrip(byte))
                end = p + size * n
        for offset in self.truths:
            found = b[p + offset : end : size]
            if found.translate(None, TRUTHS):
                n = n - len(found.lstrip(TRUTHS))
                end = p + size * n
        return n


class ShapedTable(Table):
    """Structs of which some were collected in pieces of many.

    Args:
        node: the struct.
        parts: its fields.
        wanted: what is wanted of it; if nothing is, nothing is kept.
    """

    def __init__(self, node: wire.Struct, parts: dict[str, Part], wanted: Wanted, lists: Lists) -> None:
        super().__init__()
        self.node, self.parts, self.keep = node, parts, wanted is None or bool(wanted)
        self.groups: dict[Shape, Group] = {}
        self.order: list[tuple[Group | None, int, Any]] = lists.new()
        self.last: Group | None = None
        self.pause, self.rest = 1, 0
        self._sorted: dict[Group | None, tuple[int, bytes]] = {}
        self._order: Any = None
        lists.when_cleared.append(self._forget)

    def _forget(self) -> None:
        self._sorted.clear()
        self._order = None

    def collect(self, b: bytes, p: int, n: int, straight: Callable[[bytes, int, int], int]) -> int:
        """Collect `n` elements from `p`; return where they end. `straight` collects some by straight lines."""
        while n:
            run = self._run(b, p, n) if n > FEW and self.rest <= 0 else 0
            if run:
                p = self._keep(b, p, run)
            else:
                run = min(n, max(self.rest, 1)) if n > FEW else n
                self.rest -= run
                p = straight(b, p, run)
                if self.keep:
                    self.order.append((None, run, b""))
            n -= run
        return p

    def _run(self, b: bytes, p: int, n: int) -> int:
        """Return how many elements to keep in one piece; they have the shape `last`."""
        run = self.last.run(b, p, n) if self.last else 0
        if run <= FEW:
            group = self._group(b, p)
            if group is not None and group is not self.last:
                self.last, run = group, group.run(b, p, n)
        if run > FEW:
            self.pause = 1
            return run
        self.rest = self.pause = min(2 * self.pause, PATIENCE)
        return 0

    def _keep(self, b: bytes, p: int, run: int) -> int:
        assert self.last is not None
        end = p + self.last.size * run
        if self.keep:
            self.order.append((self.last, run, memoryview(b)[p:end]))
        return end

    def _group(self, b: bytes, p: int) -> Group | None:
        """Return the group of the element at `p`; None if it has no shape, or there are too many."""
        shape: list[int] = []
        for part in self.parts.values():
            if part.prefix:
                count = int.from_bytes(b[p : p + part.prefix], "big", signed=part.prefix > 1) - part.more
                if not part.least <= count <= part.most:
                    return None
                shape.append(count)
                p += part.prefix + part.size * max(count, 0)
            else:
                p += part.size
        known = tuple(shape)
        if len(self.groups) == MOST_SHAPES and not self.order:
            self.groups.clear()
        if known not in self.groups and len(self.groups) < MOST_SHAPES:
            self.groups[known] = Group(self.parts, known, self.node.tagged is not None)
        return self.groups.get(known)

    def column(self, name: str, count: int) -> Any:
        """Return one field of all structs, in the order of the bodies."""
        if not self._sorted:
            self._sort()
        columns = [
            self._of(group, name, rows, data) if group else self.fields[name].array(rows)
            for group, (rows, data) in self._sorted.items()
        ]
        return columns[0] if len(columns) == 1 else pa.concat_arrays(columns).take(self._places())

    def _sort(self) -> None:
        """Put the pieces of each shape together; what went by straight lines is without shape."""
        for group in dict.fromkeys(group for group, _, _ in self.order) or (None,):
            mine = [(rows, data) for one, rows, data in self.order if one is group]
            self._sorted[group] = sum(rows for rows, _ in mine), b"".join(data for _, data in mine)

    def _places(self) -> Any:
        """Return where each row stands if the shapes stand one after the other."""
        if self._order is None:
            number = {group: index for index, group in enumerate(self._sorted)}
            which = np.array([number[group] for group, _, _ in self.order])
            counts = np.array([count for _, count, _ in self.order])
            by_shape = np.argsort(which, kind="stable")
            starts = np.empty(len(counts), np.int64)
            starts[by_shape] = np.cumsum(counts[by_shape]) - counts[by_shape]
            befores = np.cumsum(counts) - counts
            self._order = pa.array(np.repeat(starts - befores, counts) + np.arange(counts.sum()))
        return self._order

    def _of(self, group: Group, name: str, count: int, data: bytes) -> Any:
        """Return one field of the elements of one shape."""
        if name not in self.parts:
            tagged = {} if self.node.tagged is None else {f.name: f for f in self.node.tagged.fields.values()}
            if name == TAGS:
                return pa.nulls(count, pa.binary())
            return constant(tagged[name].default, self.fields[name].type, count)  # type: ignore[attr-defined]
        part, (offset, length) = self.parts[name], group.offsets[name]
        if not part.prefix:
            return fixed_at(part.node, data, count, offset, group.size)
        if length < 0:
            return pa.nulls(count, arrow_type([part.node]))
        if isinstance(part.node, wire.Array):
            return lists_at(part.node, data, count, offset, group.size, length)
        return binary_at(data, count, offset, group.size, length).view(arrow_type([part.node]))
