"""Splits a byte stream into frames: an int32 size, then that many bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...codecs.native import FrameBuffer
from ...codecs.wire import bytes_of
from ...errors import BadFrame
from .frame import Frame, Source
from .frame_size import check_size


class FrameReader(FrameBuffer):
    """Splits a byte stream that arrives in portions into frames.

    Args:
        limit: the largest accepted size, in bytes.
        least: the smallest accepted size, in bytes.

    Attributes:
        missing: the number of bytes that the current frame still needs; 0 between frames, -1 if unknown.
        passed: the bytes of returned frames that are no longer in the buffer.

    >>> reader = FrameReader()
    >>> [frame.data.hex() for frame in reader.feed(bytes.fromhex("00000004 0000 0007 0000"))]
    ['0000000400000007']
    >>> reader.rest.hex(), [frame.source.offset for frame in reader.feed(bytes.fromhex("0004 00000008"))]
    ('0000', [8])
    """

    __slots__ = ()
    # `_start` is the position of the next frame in `_buffer`, `_count` the number of returned frames.

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.limit, self.least), (self.missing, self.passed, self._start, self._count, self._buffer)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.missing, self.passed, self._start, self._count, self._buffer = state

    def feed(self, data: bytes | bytearray) -> FrameReader:
        """Add bytes. Iterate over the reader to get the complete frames."""
        self._drop()
        try:
            self._buffer += data
        except TypeError:
            self._buffer += bytes_of(data)  # raises TypeError with advice
        self.missing = -1
        return self

    def __iter__(self) -> FrameReader:
        return self

    def __next__(self) -> Frame:
        """Return the next frame.

        Raises:
            StopIteration: more bytes are needed.
            BadFrame: the size is negative, too small for a correlation id, or above the limit; the bytes stay in
                `rest`.
        """
        offset = self.passed + self._start
        data = self.cut()
        if data is None:
            raise StopIteration
        return Frame(data, Source(frame=self._count - 1, offset=offset))

    def cut(self) -> bytes | None:
        """Return the bytes of the next frame; None if more bytes are needed. Raises BadFrame, as iteration does."""
        start = self._start
        if len(self._buffer) - start < 4:
            self.missing = -1 if len(self) else 0
            self._drop()
            return None
        try:
            stop = start + 4 + check_size(self._buffer, start, self.limit, self.least)
        except BadFrame as error:
            error.offset = self.passed + start
            error.rest = self.rest
            raise
        if stop > len(self._buffer):
            self.missing = stop - len(self._buffer)
            self._drop()
            return None
        self._start = stop
        self._count += 1
        with memoryview(self._buffer) as whole, whole[start:stop] as frame:
            return bytes(frame)  # one copy; slicing the buffer would create a second one

    def quick(self, data: bytes) -> bytes | None:
        """Add bytes in which no frame ends, except at their end; faster than `feed`.

        Returns:
            The frame that ends with these bytes; `b""` if no frame does; None if the bytes were not added.
        """
        missing = self.missing
        count = len(data)
        if not missing:
            size = int.from_bytes(data[:4], "big")
            if count < 4 or not self.least <= size <= self.limit:
                return None
            if size == count - 4:
                self.passed += count
                self._count += 1
                return data
            missing = size + 4
        if count > missing:
            return None
        self._buffer += data
        self.missing = missing - count
        return b"" if count < missing else self._take_buffer()

    def _take_buffer(self) -> bytes:
        """Return the whole buffer, which is a frame, and empty it."""
        self._count += 1
        return self.restart(self.passed + len(self._buffer))

    def hold(self) -> None:
        """Disable `quick` until `restart`."""
        self.missing = -1

    def _drop(self) -> None:
        """Drop the bytes of returned frames."""
        if self._start:
            del self._buffer[: self._start]
            self.passed += self._start
            self._start = 0

    def restart(self, offset: int) -> bytes:
        """Continue at another position of the stream; return the bytes of the incomplete frame."""
        rest = self.rest
        self._buffer.clear()
        self._start = 0
        self.passed: int = offset
        self.missing: int = 0
        return rest

    def __len__(self) -> int:
        return len(self._buffer) - self._start

    @property
    def rest(self) -> bytes:
        """The bytes of the incomplete frame."""
        return bytes(self._buffer[self._start :])

    @property
    def offset(self) -> int:
        """The position of `rest`, in bytes from the start of the stream."""
        return self.passed + self._start

    @property
    def count(self) -> int:
        """The number of frames returned so far."""
        return self._count


def cut_frames(data: bytes) -> Iterator[Frame]:
    """Split bytes into frames; an incomplete last frame is returned too, and does not match its size field.

    >>> [frame.data.hex() for frame in cut_frames(bytes.fromhex("00000004 00000007 0000"))]
    ['0000000400000007', '0000']
    """
    reader = FrameReader()
    with suppress(BadFrame):
        yield from reader.feed(data)
    if reader.rest:
        yield Frame(reader.rest, Source(frame=reader.count, offset=reader.offset))
