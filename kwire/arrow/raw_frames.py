"""Extracts raw frames from bytes, from any offset where a frame starts; incomplete frames become fragments.

Knows sizes, but no headers. Offsets are relative to the whole input.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from ..capture.record_cursor import Cursor
from ..errors import DecodeError, DumpError
from ..errors.decode import BadFrame
from ..protocol import LEAST
from ..protocol.fragments import BrokenDump, CutShort

Cut = tuple[int, bytes, DecodeError | None]  # offset, the bytes of a frame or fragment, and the fault
SASL_HANDSHAKE_0 = b"\0\x11\0\0"  # the messages after it have no header, and may be empty
_SIZE = Struct(">i").unpack_from


class Walker:
    """Splits bytes into raw frames.

    Args:
        portions: the bytes.
        offset: their position in the whole input.
        limit: the largest valid size of a frame, in bytes.
        piece: the largest size of a fragment, in bytes.
        least: the smallest valid size.

    Attributes:
        broken: the position of an impossible size, after which there are no frames; None without one.
    """

    def __init__(self, portions: Iterator[bytes], offset: int, limit: int, piece: int, least: int = LEAST) -> None:
        self._cursor, self._base = Cursor(self._whole(portions)), offset
        self._error: DumpError | None = None
        self.limit: int = limit
        self.piece: int = piece
        self.least: int = least
        self.broken: int | None = None

    @property
    def offset(self) -> int:
        """Where the next frame starts."""
        return self._base + self._cursor.offset

    def cuts(self) -> Iterator[list[Cut]]:
        """Yield frames and fragments, in one list per portion; concatenated, they are all bytes."""
        cursor = self._cursor
        while cursor.fill(4):
            found = self._frames()
            if found:
                yield found
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

    def _frames(self) -> list[Cut]:
        """Return all complete frames."""
        cursor, found = self._cursor, list[Cut]()
        data, pos, least, limit = cursor.data, cursor.pos, self.least, self.limit
        base, last = self._base + cursor.offset - pos, len(data) - 4
        while pos <= last:
            (size,) = _SIZE(data, pos)
            if not least <= size <= limit:
                self.broken = base + pos
                break
            stop = pos + 4 + size
            if stop > last + 4:
                break
            found.append((base + pos, data[pos:stop], None))
            if size >= 8 and data.startswith(SASL_HANDSHAKE_0, pos + 4):
                self.least = least = 0
            pos = stop
        cursor.pos = pos
        return found

    def _more(self) -> bool:
        """Read until the next frame is complete; False if it never will be."""
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
