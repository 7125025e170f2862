"""Concatenated files that are read as one, and the bytes by which a file has grown."""

from __future__ import annotations

from collections.abc import Sequence
from io import SEEK_END, SEEK_SET, BytesIO
from itertools import accumulate
from typing import BinaryIO, NamedTuple, cast

from ...capture.files import open_file
from ...capture.portions import PORTION


class Piece(NamedTuple):
    """A file or a part of it from `start` on, its size in bytes, and its modification time in nanoseconds since 1970;
    or `data` in memory."""

    path: str
    size: int
    changed: int = 0
    start: int = 0
    data: bytes = b""


class ConcatenatedFiles:
    """Concatenated files that are read as one."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces: tuple[Piece, ...] = tuple(pieces)
        self.stops: list[int] = list(accumulate(piece.size for piece in pieces))
        self._place = 0
        self._open: tuple[int, BinaryIO] | None = None

    def __enter__(self) -> BinaryIO:
        return cast(BinaryIO, self)

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open[1].close()

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Move to a position; return the new position."""
        self._place = offset + (self.stops[-1] if whence == SEEK_END else 0)
        return self._place

    def read(self, count: int) -> bytes:
        """Read `count` bytes, or all bytes up to the end."""
        parts = list[bytes]()
        for index, stop in enumerate(self.stops):
            if count > 0 and self._place < stop:
                stream = self._file(index)
                stream.seek(self._place - stop + self.pieces[index].size + self.pieces[index].start)
                parts.append(stream.read(min(count, stop - self._place)))
                self._place += len(parts[-1])
                count -= len(parts[-1])
        return b"".join(parts)

    def _file(self, index: int) -> BinaryIO:
        if self._open is None or self._open[0] != index:
            self.__exit__()
            piece = self.pieces[index]
            self._open = index, BytesIO(piece.data) if piece.data else open_file(piece.path, PORTION)
        return self._open[1]


class Extent(NamedTuple):
    """The bytes by which a file has grown, which are read as a file of their own.

    Attributes:
        start, stop: the byte range; both are ends of records.
        header: the file header that precedes the bytes.
        frames: the key of raw frames, whose start and end may be in other ranges; empty for a capture.
        is_end: whether the file has stopped growing.
    """

    start: int
    stop: int
    header: bytes = b""
    frames: bytes = b""
    is_end: bool = False

    @property
    def size(self) -> int:
        """The size with the header, in bytes."""
        return len(self.header) + self.stop - self.start

    @property
    def shift(self) -> int:
        """The number that makes a position in these bytes a position in the file."""
        return self.start - len(self.header)

    def opened(self, path: str) -> ConcatenatedFiles:
        """Open the bytes of a file."""
        head = [Piece(path, len(self.header), data=self.header)] if self.header else []
        return ConcatenatedFiles([*head, Piece(path, self.stop - self.start, start=self.start)])
