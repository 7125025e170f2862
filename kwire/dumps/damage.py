"""Bytes of a capture that are no record: what readers of containers give out in their stead, and go on behind them.

Knows offsets and pieces; what the begin of a record looks like, each reader of a container knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from .portions import Cursor

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
