"""Splits one direction of a Kafka connection into frames; after a gap, the next frame is searched for.

This is the reference; the native engine has the same methods (`gap_splitter.pxi`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...errors import BadFrame, DecodeError
from ...protocol import FrameReader, cut_short
from ...protocol.frames.stream_faults import BegunBefore, Fragment, PassedOver
from ...protocol.frames.stream_faults import Gap as GapFault
from .frame_search import FrameSearch

PIECE = 1 << 20  # bytes outside frames are returned in fragments of about this size


class StreamCut(NamedTuple):
    """Bytes of the stream: a frame; or, with a fault, a truncated frame or bytes outside frames."""

    offset: int
    data: bytes
    fault: DecodeError | None = None


class FrameSplitter:
    """Extracts the frames of one direction.

    Args:
        search: creates a search for the next frame.
        reader: splits the stream into frames while nothing is missing; may already hold bytes.
    """

    _search: FrameSearch  # while not synchronised

    def __init__(self, search: Callable[[], FrameSearch], reader: FrameReader) -> None:
        self.reader = reader
        self.synced: bool = True
        self._begin_search = search
        self._boundary: int | None = None  # the start of the next frame, if the frame before it was truncated
        self._is_damaged = False  # while not synchronised: whether an impossible size is the reason
        self._lost = bytearray()  # bytes received while not synchronised
        self._lost_at = 0  # the offset of the first of them

    @property
    def buffered(self) -> int:
        """The number of bytes that are buffered until more bytes arrive."""
        return len(self.reader) + len(self._lost)

    def feed(self, data: bytes) -> list[StreamCut]:
        """Process the next bytes of the stream; return the frames and fragments that they complete."""
        cuts: list[StreamCut] = []
        if not self.synced:
            self._search.packet(len(self._lost))
            self._lost += data
        else:
            frame = self.reader.quick(data)
            if frame is not None:
                return [StreamCut(self.reader.offset - len(frame), frame)] if frame else cuts
            self.reader.feed(data)
        self._go_on(cuts)
        return cuts

    def begin_at(self, offset: int) -> None:
        """Start in the middle of the stream."""
        self._lose(b"", offset)

    def gap(self, offset: int, count: int | None) -> list[StreamCut]:
        """Record missing bytes; the stream continues after them."""
        cuts = self.stop("the next bytes were not captured")
        cuts.append(StreamCut(offset, b"", BegunBefore() if count is None else GapFault(count)))
        resumes = offset + (count or 0)
        if count is None or self._boundary is None or resumes > self._boundary:
            self._boundary = None
        self._lose(b"", resumes)
        self._go_on(cuts)
        return cuts

    def stop(self, cause: str) -> list[StreamCut]:
        """Return the buffered bytes, because the rest will not arrive; `cause` is the reason."""
        cuts: list[StreamCut] = []
        while not self.synced and self._boundary is None and (start := self._search.last_resort) is not None:
            self._resume(cuts, start)
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
        self._search = self._begin_search()  # what it noted are positions in these bytes
        return cuts

    def _cut_short(self, cuts: list[StreamCut], offset: int, rest: bytes, cause: str) -> None:
        """Append a truncated frame to `cuts`."""
        if rest:
            cuts.append(StreamCut(offset, rest, cut_short(rest, cause) or PassedOver(len(rest))))

    def _go_on(self, cuts: list[StreamCut]) -> None:
        while not (self.synced and self._take_frames(cuts)):
            start = self._find_next_frame()
            if start is None:
                self._pass_over(cuts, self._count_useless())
                return
            self._resume(cuts, start)

    def _resume(self, cuts: list[StreamCut], start: int) -> None:
        """Continue with the frame that starts at this position of the skipped bytes."""
        self._pass_over(cuts, start)
        self.reader.restart(self._lost_at)
        self.reader.feed(self._lost)
        self._lost.clear()
        self.synced = True
        self._boundary = None

    def _take_frames(self, cuts: list[StreamCut]) -> bool:
        """Process complete frames; return False at an impossible size."""
        reader = self.reader
        offset = reader.offset
        try:
            while (data := reader.cut()) is not None:
                cuts.append(StreamCut(offset, data))
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

    def _find_next_frame(self) -> int | None:
        """Return the start of the next frame in the skipped bytes; None if it was not found."""
        if self._boundary is None:
            return self._search.look(self._lost)
        left = self._boundary - self._lost_at
        return left if left <= len(self._lost) else None

    def _count_useless(self) -> int:
        """Return how many of the skipped bytes can be released; 0 if they are few, so that fragments are large."""
        count = len(self._lost) if self._boundary is not None else self._search.passed
        return count if count > PIECE else 0

    def _pass_over(self, cuts: list[StreamCut], count: int) -> None:
        if count:
            kind = PassedOver if self._is_damaged else Fragment
            cuts.append(StreamCut(self._lost_at, bytes(self._lost[:count]), kind(count)))
            del self._lost[:count]
            self._lost_at += count
            self._search.drop(count)
