"""Looks for the next frame among bytes of which it is not known where frames begin, as they come.

Each place is looked at once, and again only when the bytes are there that will decide it. Knows no protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from .recognition import MOST_LIKELY, Verdict

AT_MOST = 64  # places that wait for more bytes
PACKETS = 4096  # packets of which the begin is remembered
HEADER = 8  # bytes that a place must have to be looked at


class Search:
    """A search for a frame.

    Args:
        pattern: tells what a frame begins with; matched without length.
        judge: whether a frame begins at a position of the bytes, given the positions at which packets began.
    """

    def __init__(
        self, pattern: Callable[[], re.Pattern[bytes]], judge: Callable[[bytearray, int, Set[int]], Verdict]
    ) -> None:
        self.pattern, self.judge = pattern, judge
        self._packets: set[int] = set()
        self._seen = 0  # all places before this one were looked at
        self._waiting: list[tuple[int, int, int]] = []  # bytes needed, position, how likely it is
        self._held: list[int] = []  # where frames begin, unless one begins before

    def packet(self, position: int) -> None:
        """Take note that a packet began at a position."""
        if len(self._packets) < PACKETS:
            self._packets.add(position)

    def look(self, data: bytearray) -> int | None:
        """Return where the first frame begins, as far as that can be told.

        Args:
            data: all bytes since the last frame that was found, but for those that were `drop`ped.
        """
        found = [position for position in self._due(data) if self._judged(data, position)] + self._held
        self._held = []
        start, self._seen = self._seen, max(self._seen, len(data) - HEADER + 1)
        for match in self.pattern().finditer(data, start):
            if found:
                break
            if self._judged(data, match.start()):
                found.append(match.start())
        if not found or self._is_inside(min(found)):
            self._held = found
            return None
        return min(found)

    def _is_inside(self, position: int) -> bool:
        """Whether a place lies inside what is likely a frame, whose end has not come yet."""
        return any(likely and other < position < need for need, other, likely in self._waiting)

    @property
    def last_resort(self) -> int | None:
        """Where a frame begins, if no more bytes will come."""
        return min(self._held, default=None)

    @property
    def likely(self) -> int | None:
        """Where a frame seems to begin, of which there are too few bytes to be sure."""
        return min((position for _, position, likely in self._waiting if likely == MOST_LIKELY), default=None)

    def _due(self, data: bytearray) -> list[int]:
        due = [position for need, position, _ in self._waiting if need <= len(data)]
        self._waiting = [place for place in self._waiting if place[0] > len(data)]
        return due

    def _judged(self, data: bytearray, position: int) -> bool:
        verdict = self.judge(data, position, self._packets)
        if verdict.stop:
            self._waiting.append((max(verdict.stop, len(data) + 1), position, verdict.likely))
            self._waiting.sort()
            del self._waiting[AT_MOST:]
        return verdict.sure

    @property
    def passed(self) -> int:
        """How many bytes at the front cannot begin a frame any more."""
        return min([self._seen, *self._held, *(position for _, position, _ in self._waiting)])

    def drop(self, count: int) -> None:
        """Take note that bytes were taken off the front."""
        self._seen = max(0, self._seen - count)
        self._held = [position - count for position in self._held]
        self._packets = {position - count for position in self._packets if position >= count}
        self._waiting = [(need - count, position - count, likely) for need, position, likely in self._waiting]
