"""Searches for the start of the next frame after a gap or damage in a stream.

This is the reference; the native engine does the same on Kafka connections (`frame_search.pxi`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from .frame_recognition import MOST_LIKELY, FrameVerdict

AT_MOST = 64  # candidate positions that wait for more bytes
PACKETS = 4096  # packets whose start position is stored
HEADER = 8  # bytes needed to examine a candidate


class FrameSearch:
    """Searches for the start of a frame.

    Args:
        pattern: matches the first bytes of a frame; zero-width.
        judge: decides whether a frame starts at a position of the bytes, given the positions at which packets start.
    """

    def __init__(
        self,
        pattern: Callable[[], re.Pattern[bytes]],
        judge: Callable[[bytearray, int, Set[int]], FrameVerdict],
    ) -> None:
        self.pattern: Callable[[], re.Pattern[bytes]] = pattern
        self.judge: Callable[[bytearray, int, Set[int]], FrameVerdict] = judge
        self._packets: set[int] = set()
        self._seen = 0  # all positions before this one were examined
        self._waiting: list[tuple[int, int, int]] = []  # bytes needed, position, likelihood
        self._confirmed: list[int] = []  # confirmed starts of frames, used unless an earlier candidate is confirmed

    def packet(self, position: int) -> None:
        """Record that a packet starts at a position."""
        if len(self._packets) < PACKETS:
            self._packets.add(position)

    def look(self, data: bytearray) -> int | None:
        """Return the start of the first frame; None if it is not known yet.

        Args:
            data: all bytes since the last frame that was found, except `drop`ped bytes.
        """
        starts = [position for position in self._take_due(data) if self._is_start(data, position)] + self._confirmed
        self._confirmed = []
        start = self._seen
        self._seen = max(self._seen, len(data) - HEADER + 1)
        find = self.pattern().search
        while not starts and (match := find(data, start)) is not None:
            if self._is_start(data, match.start()):
                starts.append(match.start())
            start = match.start() + 1
        self._forget_candidates()
        if not starts or self._is_inside(min(starts)):
            self._confirmed = starts
            return None
        return min(starts)

    def _is_inside(self, position: int) -> bool:
        """Whether a position is inside a likely frame whose end has not arrived."""
        return any(likely and other < position < need for need, other, likely in self._waiting)

    @property
    def last_resort(self) -> int | None:
        """Return the start of a frame, given that no more bytes will arrive; None if no frame starts."""
        return min(self._confirmed, default=None)

    @property
    def likely(self) -> int | None:
        """Return the probable start of a frame if too few bytes have arrived to be sure; otherwise None."""
        return min((position for _, position, likely in self._waiting if likely == MOST_LIKELY), default=None)

    def _take_due(self, data: bytearray) -> list[int]:
        due = [position for need, position, _ in self._waiting if need <= len(data)]
        self._waiting = [candidate for candidate in self._waiting if candidate[0] > len(data)]
        return due

    def _is_start(self, data: bytearray, position: int) -> bool:
        verdict = self.judge(data, position, self._packets)
        if verdict.stop:
            self._waiting.append((max(verdict.stop, len(data) + 1), position, verdict.likely))
        return verdict.sure

    def _forget_candidates(self) -> None:
        """Keep the candidates that need the fewest bytes."""
        self._waiting.sort()
        del self._waiting[AT_MOST:]

    @property
    def passed(self) -> int:
        """The number of leading bytes that can no longer start a frame."""
        return min([self._seen, *self._confirmed, *(position for _, position, _ in self._waiting)])

    def drop(self, count: int) -> None:
        """Record that bytes were removed at the front."""
        self._seen = max(0, self._seen - count)
        self._confirmed = [position - count for position in self._confirmed]
        self._packets = {position - count for position in self._packets if position >= count}
        self._waiting = [(need - count, position - count, likely) for need, position, likely in self._waiting]
