"""Cuts bytes into raw frames, which are consecutive frames with their sizes, and fragments."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from ..capture.portions import Cursor
from ..capture.raw_frames import begins_tokens
from ..errors import BadFrame, DecodeError, DumpError
from ..protocol import LEAST
from ..protocol.frames.stream_faults import BrokenDump, CutShort

RawFrame = tuple[int, bytes, DecodeError | None]  # offset, the bytes of a frame or fragment, and the fault
_SIZE = Struct(">i").unpack_from


class RawFrameWalker:
    """Splits bytes into raw frames.

    Args:
        portions: the bytes.
        offset: the position of the bytes in the whole input.
        limit: the largest valid size of a frame, in bytes.
        piece: the largest size of a fragment, in bytes.
        min_size: the smallest valid size.

    Attributes:
        broken: the position of an impossible size, after which there are no frames; None without one.
    """

    def __init__(self, portions: Iterator[bytes], offset: int, limit: int, piece: int, min_size: int = LEAST) -> None:
        self._cursor, self._base = Cursor(self._whole(portions)), offset
        self._error: DumpError | None = None
        self.limit: int = limit
        self.piece: int = piece
        self.least: int = min_size
        self.broken: int | None = None

    @property
    def offset(self) -> int:
        """The position of the next frame."""
        return self._base + self._cursor.offset

    def cuts(self) -> Iterator[list[RawFrame]]:
        """Yield frames and fragments, one list per portion; concatenated, they contain all bytes."""
        cursor = self._cursor
        while cursor.fill(4):
            frames = self._frames()
            if frames:
                yield frames
            if self.broken is not None or not self._more():
                break
        fault = self._fault()
        while cursor.fill(self.piece) or cursor.left:
            yield [(self.offset, cursor.take(min(self.piece, cursor.left)), fault)]
        if self._error is not None:
            yield [(self.offset, b"", BrokenDump(found=str(self._error), offset=self._error.offset or 0))]

    def _whole(self, portions: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the portions up to a read error."""
        try:
            yield from portions
        except DumpError as error:
            self._error = error

    def _frames(self) -> list[RawFrame]:
        """Return all complete frames."""
        cursor, frames = self._cursor, list[RawFrame]()
        data, pos, min_size, limit = cursor.data, cursor.pos, self.least, self.limit
        base, last = self._base + cursor.offset - pos, len(data) - 4
        while pos <= last:
            (size,) = _SIZE(data, pos)
            if not min_size <= size <= limit:
                self.broken = base + pos
                break
            stop = pos + 4 + size
            if stop > last + 4:
                break
            frame = data[pos:stop]
            frames.append((base + pos, frame, None))
            if min_size and begins_tokens(frame):
                self.least = min_size = 0
            pos = stop
        cursor.pos = pos
        return frames

    def _more(self) -> bool:
        """Read until the next frame is complete; return False if it will never be."""
        cursor = self._cursor
        if not cursor.fill(4):
            return False
        (size,) = _SIZE(cursor.data, cursor.pos)
        return not self.least <= size <= self.limit or cursor.fill(4 + size)

    def _fault(self) -> DecodeError:
        """Return the fault of the next bytes."""
        cursor = self._cursor
        if cursor.left < 4:
            return CutShort(have=cursor.left, cause="the dump ended")
        (size,) = _SIZE(cursor.data, cursor.pos)
        if self.least <= size <= self.limit:
            return CutShort(need=4 + size, have=cursor.left, cause="the dump ended")
        return BadFrame(offset=0, found=size, need=self.least, have=self.limit)


def fragments(portions: Iterator[bytes], offset: int, fault: BadFrame, piece: int) -> Iterator[list[RawFrame]]:
    """Yield the bytes after the position where frames have ended, as fragments of at most `piece` bytes.

    Args:
        portions: the bytes.
        offset: their position.
        fault: the fault that ended the frames.
        piece: the largest size of a fragment, in bytes.
    """
    cursor = Cursor(portions)
    while cursor.fill(piece) or cursor.left:
        yield [(offset + cursor.offset, cursor.take(min(piece, cursor.left)), fault)]
