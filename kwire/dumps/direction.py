"""One direction of a conversation: a row of bytes with gaps becomes a row of frames, and of named bytes between them.

As long as nothing is missing, sizes alone tell where frames begin. Behind a gap inside a frame its size still does.
Behind any other, the next frame must be searched for. Every byte is given out, once. Knows no pairing, no headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import DecodeError
from ..faults import BadFrame
from ..frames import FrameReader, cut_short
from ..frames.pieces import BegunBefore, Fragment, Gap, PassedOver
from .search import Search

PIECE = 1 << 20  # bytes in no frame are given out in pieces of about this size


class Cut(NamedTuple):
    """Some bytes of the stream: a frame; or with a fault, a frame that is cut short, or no frame."""

    offset: int
    data: bytes
    fault: DecodeError | None = None


class Direction:
    """The frames of one direction.

    Args:
        search: begins a search for the next frame.
        reader: cuts frames as long as nothing is missing, and may have begun.
    """

    _search: Search  # while not synced

    def __init__(self, search: Callable[[], Search], reader: FrameReader) -> None:
        self.reader = reader
        self.synced: bool = True
        self._begin_search = search
        self._boundary: int | None = None  # where the next frame begins, if one before it was cut
        self._is_damaged = False  # while not synced: whether that is because of an impossible size
        self._lost = bytearray()  # bytes while not synced
        self._lost_at = 0  # the offset of the first of them

    @property
    def buffered(self) -> int:
        """How many bytes wait for others."""
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
        """Take note that bytes are missing; the stream goes on behind them."""
        cuts = self.stop("the next bytes were not captured")
        cuts.append(Cut(offset, b"", BegunBefore() if count is None else Gap(count)))
        resumes = offset + (count or 0)
        if count is None or self._boundary is None or resumes > self._boundary:
            self._boundary = None
        self._lose(b"", resumes)
        self._go_on(cuts)
        return cuts

    def stop(self, cause: str) -> list[Cut]:
        """Give out what waits for bytes that will not come; `cause` says what came instead."""
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
        """Give out the begin of a frame."""
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
        """Go on with the frame that begins there among the lost bytes."""
        self._pass_over(cuts, found)
        self.reader.restart(self._lost_at)
        self.reader.feed(self._lost)
        self._lost.clear()
        self.synced, self._boundary = True, None

    def _take_frames(self, cuts: list[Cut]) -> bool:
        """Take what is whole; False if that ends at an impossible size."""
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
        """Return where in the lost bytes the next frame begins."""
        if self._boundary is None:
            return self._search.look(self._lost)
        left = self._boundary - self._lost_at
        return left if left <= len(self._lost) else None

    def _useless(self) -> int:
        """How many of the lost bytes need not be kept; few are, so that they come in large pieces."""
        count = len(self._lost) if self._boundary is not None else self._search.passed
        return count if count > PIECE else 0

    def _pass_over(self, cuts: list[Cut], count: int) -> None:
        if count:
            kind = PassedOver if self._is_damaged else Fragment
            cuts.append(Cut(self._lost_at, bytes(self._lost[:count]), kind(count)))
            del self._lost[:count]
            self._lost_at += count
            self._search.drop(count)
