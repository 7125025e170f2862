"""Splits one direction of a connection into frames; after a gap, searches for the next frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from typing import NamedTuple

from ..errors import DecodeError
from ..errors.decode import BadFrame
from ..protocol import FrameReader, cut_short
from ..protocol.fragments import BegunBefore, Fragment, Gap, PassedOver
from .kafka_frame_detection import MOST_LIKELY, Verdict

AT_MOST = 64  # candidate positions that wait for more bytes
PACKETS = 4096  # packets whose start position is remembered
HEADER = 8  # bytes needed to examine a candidate


class Search:
    """A search for the start of a frame.

    Args:
        pattern: matches the first bytes of a frame; zero-width.
        judge: decides whether a frame starts at a position of the bytes, given the positions at which packets start.
    """

    def __init__(
        self, pattern: Callable[[], re.Pattern[bytes]], judge: Callable[[bytearray, int, Set[int]], Verdict]
    ) -> None:
        self.pattern, self.judge = pattern, judge
        self._packets: set[int] = set()
        self._seen = 0  # all positions before this one were examined
        self._waiting: list[tuple[int, int, int]] = []  # bytes needed, position, likelihood
        self._held: list[int] = []  # confirmed starts of frames, used unless an earlier candidate is confirmed

    def packet(self, position: int) -> None:
        """Record that a packet starts at a position."""
        if len(self._packets) < PACKETS:
            self._packets.add(position)

    def look(self, data: bytearray) -> int | None:
        """Return where the first frame starts, if that is known.

        Args:
            data: all bytes since the last frame that was found, without those that were `drop`ped.
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
        """Whether a position is inside a likely frame whose end has not arrived."""
        return any(likely and other < position < need for need, other, likely in self._waiting)

    @property
    def last_resort(self) -> int | None:
        """Return where a frame starts if no more bytes arrive."""
        return min(self._held, default=None)

    @property
    def likely(self) -> int | None:
        """Return where a frame probably starts, but too few bytes have arrived to be sure."""
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
        """How many of the first bytes cannot start a frame any more."""
        return min([self._seen, *self._held, *(position for _, position, _ in self._waiting)])

    def drop(self, count: int) -> None:
        """Record that bytes were removed at the front."""
        self._seen = max(0, self._seen - count)
        self._held = [position - count for position in self._held]
        self._packets = {position - count for position in self._packets if position >= count}
        self._waiting = [(need - count, position - count, likely) for need, position, likely in self._waiting]


PIECE = 1 << 20  # bytes outside frames are returned in fragments of about this size


class Cut(NamedTuple):
    """Bytes of the stream: a frame; or, with a fault, a truncated frame or bytes outside frames."""

    offset: int
    data: bytes
    fault: DecodeError | None = None


class Direction:
    """Extracts the frames of one direction.

    Args:
        search: creates a search for the next frame.
        reader: splits the stream into frames while nothing is missing; may already hold bytes.
    """

    _search: Search  # while not synchronised

    def __init__(self, search: Callable[[], Search], reader: FrameReader) -> None:
        self.reader = reader
        self.synced: bool = True
        self._begin_search = search
        self._boundary: int | None = None  # where the next frame starts, if the one before it was truncated
        self._is_damaged = False  # while not synchronised: whether an impossible size is the reason
        self._lost = bytearray()  # bytes received while not synchronised
        self._lost_at = 0  # the offset of the first of them

    @property
    def buffered(self) -> int:
        """How many bytes are buffered until more arrive."""
        return len(self.reader) + len(self._lost)

    def feed(self, data: bytes) -> list[Cut]:
        """Take the next bytes of the stream."""
        cuts: list[Cut] = []
        if not self.synced:
            self._search.packet(len(self._lost))
            self._lost += data
        else:
            frame = self.reader.quick(data)
            if frame is not None:
                return [Cut(self.reader.offset - len(frame), frame)] if frame else cuts
            self.reader.feed(data)
        self._go_on(cuts)
        return cuts

    def begin_at(self, offset: int) -> None:
        """Begin in the middle of the stream."""
        self._lose(b"", offset)

    def gap(self, offset: int, count: int | None) -> list[Cut]:
        """Record missing bytes; the stream continues after them."""
        cuts = self.stop("the next bytes were not captured")
        cuts.append(Cut(offset, b"", BegunBefore() if count is None else Gap(count)))
        resumes = offset + (count or 0)
        if count is None or self._boundary is None or resumes > self._boundary:
            self._boundary = None
        self._lose(b"", resumes)
        self._go_on(cuts)
        return cuts

    def stop(self, cause: str) -> list[Cut]:
        """Return what is buffered, because the rest will not arrive; `cause` is the reason."""
        cuts: list[Cut] = []
        while not self.synced and self._boundary is None and (found := self._search.last_resort) is not None:
            self._resume(cuts, found)
            self._go_on(cuts)
        if self.synced:
            offset = self.reader.offset
            rest = self.reader.restart(offset)
            self._cut_short(cuts, offset, rest, cause)
            self._lose(b"", offset + len(rest))
            self._boundary = offset + 4 + int.from_bytes(rest[:4], "big") if len(rest) >= 4 else None
            return cuts
        likely = self._search.likely if self._boundary is None else None
        self._pass_over(cuts, len(self._lost) if likely is None else likely)
        self._cut_short(cuts, self._lost_at, bytes(self._lost), cause)
        self._lost_at += len(self._lost)
        self._lost.clear()
        return cuts

    def _cut_short(self, cuts: list[Cut], offset: int, rest: bytes, cause: str) -> None:
        """Return a truncated frame."""
        if rest:
            cuts.append(Cut(offset, rest, cut_short(rest, cause) or PassedOver(len(rest))))

    def _go_on(self, cuts: list[Cut]) -> None:
        while not (self.synced and self._take_frames(cuts)):
            found = self._next_frame()
            if found is None:
                self._pass_over(cuts, self._useless())
                return
            self._resume(cuts, found)

    def _resume(self, cuts: list[Cut], found: int) -> None:
        """Continue with the frame that starts at this position of the skipped bytes."""
        self._pass_over(cuts, found)
        self.reader.restart(self._lost_at)
        self.reader.feed(self._lost)
        self._lost.clear()
        self.synced, self._boundary = True, None

    def _take_frames(self, cuts: list[Cut]) -> bool:
        """Take complete frames; return False at an impossible size."""
        reader = self.reader
        offset = reader.offset
        try:
            while (data := reader.cut()) is not None:
                cuts.append(Cut(offset, data))
                offset += len(data)
        except BadFrame:
            self._lose(reader.restart(offset), offset)
            self._is_damaged = True
        return self.synced

    def _lose(self, data: bytes, offset: int) -> None:
        self.synced = self._is_damaged = False
        self.reader.hold()
        self._lost[:] = data
        self._lost_at, self._search = offset, self._begin_search()

    def _next_frame(self) -> int | None:
        """Return where in the skipped bytes the next frame starts."""
        if self._boundary is None:
            return self._search.look(self._lost)
        left = self._boundary - self._lost_at
        return left if left <= len(self._lost) else None

    def _useless(self) -> int:
        """How many of the skipped bytes can be released; 0 for few, so that they are returned in large fragments."""
        count = len(self._lost) if self._boundary is not None else self._search.passed
        return count if count > PIECE else 0

    def _pass_over(self, cuts: list[Cut], count: int) -> None:
        if count:
            kind = PassedOver if self._is_damaged else Fragment
            cuts.append(Cut(self._lost_at, bytes(self._lost[:count]), kind(count)))
            del self._lost[:count]
            self._lost_at += count
            self._search.drop(count)
