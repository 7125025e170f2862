"""Damaged bytes of a pcap or pcapng file: they are returned in fragments, up to where records continue."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from ..portions import Cursor

PIECE = 1 << 20  # bytes per fragment
ROW = 3  # consecutive records that are evidence otherwise


class DamagedBytes(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a capture that are not a record.

    `offset` is their position in the file, `problem` describes the damage; `is_cut` is true for the first bytes of a
    record that the end of the file truncates.
    """

    offset: int
    data: bytes
    problem: str
    is_cut: bool = False


class Skipper:
    """Returns damaged bytes in fragments, up to the position where records continue.

    Args:
        cursor: the reader's cursor.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._stop = 0  # the position where records continue, in bytes from the start of the file
        self._problem = ""
        self._is_cut = False

    @property
    def is_skipping(self) -> bool:
        """Whether the next bytes are damaged."""
        return self.cursor.offset < self._stop

    @property
    def stop(self) -> int:
        """The position where records continue, in bytes from the start of the file; if nothing is skipped, the current
        one.
        """
        return max(self._stop, self.cursor.offset)

    def skip(self, count: int, problem: str, *, is_cut: bool = False) -> None:
        """Mark the next `count` bytes, which the cursor has buffered, as damaged."""
        self.expect(self.cursor.offset + count, problem)
        self._is_cut = is_cut

    def expect(self, stop: int, problem: str) -> None:
        """Set the position in the file at which records continue after the next record."""
        self._stop = stop
        self._problem = problem
        self._is_cut = False

    def take(self) -> DamagedBytes:
        """Return the next fragment."""
        offset = self.cursor.offset
        count = min(self._stop - offset, PIECE)
        self.cursor.fill(count)
        return DamagedBytes(offset, self.cursor.take(count), self._problem, self._is_cut)


def find_record(
    cursor: Cursor, pattern: re.Pattern[bytes], begins: Callable[[int], bool], *, size: int, more: int, limit: int
) -> int | None:
    """Find the next record after the start of the current one.

    Args:
        cursor: positioned at the damaged record.
        pattern: matches the start of a record.
        begins: returns whether a record starts at a distance from the cursor, in bytes.
        size: the number of bytes that a match needs, which may be in two reads.
        more: the number of bytes to read at a time.
        limit: the number of bytes to search.

    Returns:
        The record's distance in bytes from the cursor; None if no record was found.
    """
    start = 1
    while True:
        data, pos = cursor.data, cursor.pos
        for match in pattern.finditer(data, pos + start):
            if begins(match.start() - pos):
                return match.start() - pos
        left = len(data) - pos  # all positions in these bytes were examined
        start = max(start, left - size + 1)
        if left > limit or (not cursor.fill(left + more) and cursor.left == left):
            return None


def skip_to_record(
    cursor: Cursor, pattern: re.Pattern[bytes], begins: Callable[[int], bool], size: int, limit: int
) -> bool:
    """Move to the next position where a record starts; for the arguments see `find_record`.

    Returns:
        Whether a record was found; if not, the input was read to the end.
    """
    while not begins(0):
        distance = find_record(cursor, pattern, begins, size=size, more=PIECE, limit=limit)
        if distance is None and cursor.left <= limit:
            cursor.take(cursor.left)
            return False
        cursor.take(cursor.left - size + 1 if distance is None else distance)
    return True


def describe_cut(what: str, have: int, need: int) -> str:
    """Return the problem of a record that the end of a file truncates.

    >>> describe_cut("a packet", 439, 542)
    'a packet: 103 of the 542 bytes of its record are missing'
    """
    return f"{what}: {need - have} of the {need} bytes of its record are missing"
