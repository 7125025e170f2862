"""Splits a byte stream into frames: an int32 size, then that many bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ..errors import DecodeError
from ..errors.decode import BadFrame, Truncated
from ..native.states import FrameBuffer
from .fragments import CutShort

LIMIT = 100 * 1024 * 1024  # Kafka's socket.request.max.bytes
LEAST = 4  # a correlation id; the smallest response


@dataclass(frozen=True, slots=True)
class Source:
    """Where a frame comes from; None for what the container does not know.

    `frame` counts from 0, `offset` is in bytes from the start of the file, or where there is a `connection` from
    the start of what that side of it has sent; `time` in seconds since 1970, of the packet that completed it;
    `client` and `broker` are `ip:port`; `connection` counts from 0; `direction` is "request" (the client sent it)
    or "response".
    """

    file: str | None = None
    frame: int | None = None
    offset: int | None = None
    time: float | None = None
    client: str | None = None
    broker: str | None = None
    connection: int | None = None
    direction: str | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one frame, size field and all, as they lie in a dump.

    `message` and `version` are there when the container or the user says what the frame holds; it then is
    that message with its header, or with `bare` its body alone. `profile` names the drafts it belongs to.
    `fault` is there when the container knows that these bytes are no frame, and says what they are. `closed` are
    the numbers of connections that have ended since the frame before this one.
    """

    data: bytes
    source: Source = Source()
    message: str | None = None
    version: int | None = None
    bare: bool = False
    profile: str | None = None
    fault: DecodeError | None = None
    closed: tuple[int, ...] = ()


class FrameReader(FrameBuffer):
    """Cuts frames out of bytes that come in any portions.

    Args:
        limit: the largest size that is believed, in bytes; LIMIT unless told.
        least: the smallest one; LEAST unless told.

    Attributes:
        missing: how many bytes the frame that has begun still needs; 0 if none has, -1 if that is not known.
        passed: bytes of frames given out, but for those that are still in the buffer.

    >>> reader = FrameReader()
    >>> [frame.data.hex() for frame in reader.feed(bytes.fromhex("00000004 0000 0007 0000"))]
    ['0000000400000007']
    >>> reader.rest.hex(), [frame.source.offset for frame in reader.feed(bytes.fromhex("0004 00000008"))]
    ('0000', [8])
    """

    # `_start` is where the next frame begins in the `_buffer`, `_count` how many were given out.

    def feed(self, data: bytes | bytearray) -> FrameReader:
        """Take more bytes. Iterate over the reader to get the frames that are whole by now."""
        self._drop()
        self._buffer += data
        self.missing = -1
        return self

    def __iter__(self) -> FrameReader:
        return self

    def __next__(self) -> Frame:
        """Return the next frame.

        Raises:
            StopIteration: more bytes are needed.
            BadFrame: the size is negative, less than a correlation id or above the limit; the bytes stay in `rest`.
        """
        offset = self.passed + self._start
        data = self.cut()
        if data is None:
            raise StopIteration
        return Frame(data, Source(frame=self._count - 1, offset=offset))

    def cut(self) -> bytes | None:
        """Return the bytes of the next frame, None if more are needed; raises BadFrame as iterating does."""
        start = self._start
        if len(self._buffer) - start < 4:
            self.missing = -1 if len(self) else 0
            self._drop()
            return None
        size = int.from_bytes(self._buffer[start : start + 4], "big", signed=True)
        if not self.least <= size <= self.limit:
            error = BadFrame(offset=self.passed + start, found=size, need=self.least, have=self.limit)
            error.rest = self.rest
            raise error
        stop = start + 4 + size
        if stop > len(self._buffer):
            self.missing = stop - len(self._buffer)
            self._drop()
            return None
        self._start = stop
        self._count += 1
        return bytes(self._buffer[start:stop])

    def quick(self, data: bytes) -> bytes | None:
        """Take more bytes if they hold no end of a frame, or one at their own end; that is quicker than to `feed` them.

        Returns:
            The frame that ends with these bytes, nothing (`b""`) if none does. None: they were not taken.
        """
        missing, count = self.missing, len(data)
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
        return b"" if count < missing else self._completed()

    def _completed(self) -> bytes:
        """Give out the whole buffer, which is a frame."""
        self._count += 1
        return self.restart(self.passed + len(self._buffer))

    def hold(self) -> None:
        """Let nothing be taken by `quick`, until `restart`."""
        self.missing = -1

    def _drop(self) -> None:
        """Forget what was given out."""
        if self._start:
            del self._buffer[: self._start]
            self.passed += self._start
            self._start = 0

    def restart(self, offset: int) -> bytes:
        """Go on at another place of the stream, and return the bytes that are in no frame yet."""
        rest = self.rest
        self._buffer.clear()
        self._start, self.passed, self.missing = 0, offset, 0
        return rest

    def __len__(self) -> int:
        return len(self._buffer) - self._start

    @property
    def rest(self) -> bytes:
        """The bytes that are in no frame yet."""
        return bytes(self._buffer[self._start :])

    @property
    def offset(self) -> int:
        """Where `rest` begins, in bytes from the start of the stream."""
        return self.passed + self._start

    @property
    def count(self) -> int:
        """How many frames were given out."""
        return self._count


def cut_frames(data: bytes) -> Iterator[Frame]:
    """Cut all of some bytes into frames; what is in no whole frame is a last one, which does not fit its size field.

    >>> [frame.data.hex() for frame in cut_frames(bytes.fromhex("00000004 00000007 0000"))]
    ['0000000400000007', '0000']
    """
    reader = FrameReader()
    with suppress(BadFrame):
        yield from reader.feed(data)
    if reader.rest:
        yield Frame(reader.rest, Source(frame=reader.count, offset=reader.offset))


def cut_short(data: bytes, cause: str = "") -> CutShort | None:
    """Return what is to be said of the first bytes of a frame whose last ones are missing; None if it is not so.

    Args:
        data: all that is there of the frame, size field and all.
        cause: what came then.

    >>> print(cut_short(bytes.fromhex("0000002c 00000007"), "the connection closed"))
    cut short: 8 of 48 bytes, then the connection closed
    """
    have, size = len(data), int32(data, 0)
    if have >= 4 and not (LEAST <= size <= LIMIT and have < 4 + size):
        return None
    return CutShort(need=4 + size if have >= 4 else None, have=have, cause=cause) if have else None


def size_fault(data: bytes) -> DecodeError | None:
    """Say what is wrong with the size of a frame, if nothing of it can be read for that."""
    if len(data) < 8:
        return Truncated(offset=0, need=8, have=len(data))
    size = int32(data, 0)
    if not LEAST <= size <= LIMIT or size < len(data) - 4:
        return BadFrame(offset=0, found=size, need=LEAST, have=LIMIT)
    return None


def int16(data: bytes, offset: int) -> int:
    """Read a number of a header."""
    return int.from_bytes(data[offset : offset + 2], "big", signed=True)


def int32(data: bytes, offset: int) -> int:
    """Read a number of a header."""
    return int.from_bytes(data[offset : offset + 4], "big", signed=True)
