"""A cursor over bytes that arrive in portions, with memory for one record; and the bytes of damaged records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

PORTION = 1 << 18  # bytes that are read at once


class Cursor:
    """Bytes that come in portions, looked at record by record.

    `data[pos]` is the next byte; `offset` is its place in the whole input. A reader in a hurry works on `data`
    and moves `pos` itself. When the input has ended and grows again, `portions` are replaced by those that came.

    >>> cursor = Cursor(iter([b"ab", b"cdef"]))
    >>> cursor.fill(3), cursor.take(3), cursor.offset, cursor.fill(4)
    (True, b'abc', 3, False)
    """

    def __init__(self, portions: Iterator[bytes], passed: int = 0) -> None:
        self.portions = portions
        self._passed = passed  # bytes before data[0]
        self.data: bytes = b""
        self.pos: int = 0

    @property
    def offset(self) -> int:
        """Where the next byte lies in the input."""
        return self._passed + self.pos

    @property
    def left(self) -> int:
        """How many bytes are there; after a `fill` that failed, all that the input has left."""
        return len(self.data) - self.pos

    def fill(self, need: int) -> bool:
        """Have the next `need` bytes in `data`; False if the input ends before."""
        have = self.left
        if have >= need:
            return True
        parts = [self.data[self.pos :]]
        for portion in self.portions:
            parts.append(portion)
            have += len(portion)
            if have >= need:
                break
        self._passed += self.pos
        self.data, self.pos = b"".join(parts), 0
        return have >= need

    def take(self, count: int) -> bytes:
        """Take the next bytes, which `fill` has made sure of."""
        taken = self.data[self.pos : self.pos + count]
        self.pos += count
        return taken

    def skip(self, count: int) -> bool:
        """Pass over bytes without keeping them; False if the input ends before."""
        while count > self.left:
            count -= self.left
            self._passed += len(self.data)
            self.data, self.pos = next(self.portions, b""), 0
            if not self.data:
                return False
        self.pos += count
        return True


def portions_of(stream: BinaryIO, left: int | None = None) -> Iterator[bytes]:
    """Yield so many bytes from where a file stands, or all that follow."""
    while portion := stream.read(PORTION if left is None else min(PORTION, left)):
        yield portion
        left = None if left is None else left - len(portion)


PIECE = 1 << 20  # bytes that are given out at once


class Damage(msgspec.Struct, frozen=True, gc=False):
    """Some bytes of a capture that are no record.

    `offset` is their place in the file, `problem` says what is wrong with them; `is_cut` whether they are the first
    bytes of a record whose others would come behind the end of the file.
    """

    offset: int
    data: bytes
    problem: str
    is_cut: bool = False


class Skipper:
    """Gives out damaged bytes up to the place where records go on, in pieces.

    Args:
        cursor: of the reader.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._stop = 0  # where records go on, in bytes from the start of the file
        self._problem, self._is_cut = "", False

    @property
    def is_skipping(self) -> bool:
        """Whether the next bytes are damaged."""
        return self.cursor.offset < self._stop

    def skip(self, count: int, problem: str, *, is_cut: bool = False) -> None:
        """Say that so many bytes from here on, which the cursor has, are no record."""
        self.expect(self.cursor.offset + count, problem)
        self._is_cut = is_cut

    def expect(self, stop: int, problem: str) -> None:
        """Say where in the file records go on behind the next one."""
        self._stop, self._problem, self._is_cut = stop, problem, False

    def take(self) -> Damage:
        """Take the next piece."""
        offset = self.cursor.offset
        count = min(self._stop - offset, PIECE)
        self.cursor.fill(count)
        return Damage(offset, self.cursor.take(count), self._problem, self._is_cut)


def find_begin(
    cursor: Cursor, pattern: re.Pattern[bytes], begins: Callable[[int], bool], *, least: int, more: int, most: int
) -> int | None:
    """Find the next record behind the begin of the one that is here.

    Args:
        cursor: where the damaged record is.
        pattern: what the begin of a record looks like.
        begins: whether a record begins so many bytes from here.
        least: bytes of a begin, which may lie across what was read and what comes.
        more: how many further bytes are read at a time.
        most: how many bytes are searched.

    Returns:
        How far it is; None if there is none.
    """
    start = 1
    while True:
        data, pos = cursor.data, cursor.pos
        for match in pattern.finditer(data, pos + start):
            if begins(match.start() - pos):
                return match.start() - pos
        left = len(data) - pos  # of these bytes all places were looked at
        start = max(start, left - least + 1)
        if left > most or (not cursor.fill(left + more) and cursor.left == left):
            return None
