"""Splits a byte stream into frames: an int32 size, then that many bytes. Defines the tuples for captured frames.

A `CapturedFrame` has the content of a `Frame`, but is cheaper for millions of frames. The subclasses of `NoFrame` are
the types of a frame's `fault`: the reasons why bytes are not a complete frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Any, Protocol

from ..errors import BadFrame, BytesAfterFrame, DecodeError, Truncated, UnexpectedResponse
from ..native import FrameBatch, FrameBuffer
from ..wire import bytes_of


class NoFrame(DecodeError):
    """Bytes outside of frames. `count` is their number; None if unknown.

    Bytes are missing, but no complete frame failed to decode: Gap, BegunBefore, Fragment, LostPackets, CutRecord. Bytes
    are not frames: PassedOver, Damaged, BrokenDump. The others: BareToken, NotKafka and its subclass Encrypted.
    `CutShort`, a truncated frame, and `RequestNotCaptured` are faults of frames.
    """

    count: int | None = None
    quotes = False
    code = "NO_FRAME"

    def __init__(self, count: int | None = None, **facts: Any) -> None:
        super().__init__(count=count, **facts)

    def __str__(self) -> str:
        return self.reason


class Gap(NoFrame):
    """Bytes of a TCP stream that were not captured. Without a `count`, later packets acknowledge the bytes."""

    code = "GAP"
    is_failure = False
    hint = (
        "the capture lacks packets: they were dropped (a larger buffer helps, tcpdump -B, or a narrower filter), cut "
        "(tcpdump -s 0), filtered out, or sent after the capture ended"
    )

    @property
    def problem(self) -> str:  # type: ignore[override]
        """The problem, with the number of missing bytes if it is known."""
        if self.count is None:
            return "gap: this stream continues after bytes that the other side received and that were not captured"
        return "gap: {count} bytes of this stream were not captured"


class BegunBefore(NoFrame):
    """The start of a TCP stream that began before the capture; the number of earlier bytes is unknown."""

    code = "BEGUN_BEFORE"
    is_failure = False
    problem = "this stream began before the capture"
    hint = "responses to requests from before the capture cannot be decoded"


class Fragment(NoFrame):
    """Bytes after a gap that belong to a frame whose start is missing."""

    code = "FRAGMENT"
    is_failure = False
    problem = "{count} bytes of frames whose beginning was not captured"


class PassedOver(NoFrame):
    """Bytes between an impossible size and the next frame."""

    problem = "{count} bytes do not belong to a complete frame"
    hint = "they begin with a size that is impossible: damaged, or not Kafka's protocol"


class BareToken(NoFrame):
    """A SASL token without a header, after SaslHandshake v0."""

    code = "SASL_TOKEN"
    is_failure = False
    problem = "a SASL token of {count} bytes, without a header (SaslHandshake v0)"


class NotKafka(NoFrame):
    """A stream of another protocol; `found` is its name or "unknown", `missing` counts its gaps."""

    code = "NOT_KAFKA"
    missing = 0
    is_failure = False

    @property
    def problem(self) -> str:  # type: ignore[override]
        """The problem, with the number of bytes of the stream."""
        return "{count} bytes of {found}, not Kafka's protocol" + (", {missing} not captured" if self.missing else "")


class Encrypted(NotKafka):
    """A TLS stream."""

    hint = (
        "kwire does not decrypt: capture on a PLAINTEXT listener, or let tshark decrypt it with the keys of the "
        "sessions (SSLKEYLOGFILE); kwire help tls has the command"
    )


class LostPackets(NoFrame):
    """Packets that may have been part of a TCP stream and could not be read; `count` is their number."""

    code = "LOST_PACKETS"
    is_failure = False
    problem = "{count} packets are {found}"


class LateFile(NoFrame):
    """A file that a stream found after it had read files with later packets; its packets are still read."""

    code = "LATE_FILE"
    is_failure = False
    problem = "files with later packets were read before this file: frames of its connections may be missing"
    hint = "lateFiles=10m waits for such files"


class Damaged(NoFrame):
    """Bytes of a file that are not a record; reading continues after them. `offset` is their position in the file."""

    code = "DAMAGED"
    problem = "{count} bytes of the capture are damaged (offset {offset}): {found}"
    hint = "reading continues at the next record"


class CutRecord(NoFrame):
    """The first bytes of a packet's record, or of another block, that the end of the capture truncates; `found` says of
    which, and how many bytes are missing.
    """

    code = "CUT_SHORT"
    is_failure = False
    problem = "the capture ends inside {found}"


class BrokenDump(NoFrame):
    """The position from which a file cannot be read further; `found` is the reason."""

    problem = "the dump cannot be read further: {found}"


class CutShort(Truncated):
    """A truncated frame: `have` of its `need` bytes are available; `cause` is the reason."""

    code = "CUT_SHORT"
    is_failure = quotes = False
    hint = ""
    cause = ""

    @property
    def problem(self) -> str:  # type: ignore[override]
        """The problem, with the numbers of available bytes and of the frame's bytes."""
        size = "cut short: {have} of {need} bytes" if (self.have or 0) >= 4 else "cut short in the size of a frame"
        return size + (", then {cause}" if self.cause else "")

    def __str__(self) -> str:
        return self.reason


class RequestNotCaptured(UnexpectedResponse):
    """A response on a connection with missing bytes, which may include its request."""

    problem = "the request with correlation id {found} was not captured"
    code = "REQUEST_NOT_CAPTURED"
    is_failure = False


def unexpected_response(found: int, need: int | None, *, lossy: bool) -> UnexpectedResponse:
    """Return the error for a response that answers no request in flight.

    `lossy` means that bytes of its connection are missing.
    """
    kind = RequestNotCaptured if lossy else UnexpectedResponse
    return kind(offset=4, found=found, need=need)


def loses(fault: DecodeError | None) -> bool:
    """Whether a fault means that bytes of the connection, possibly requests, are missing."""
    return fault is not None and not isinstance(fault, BareToken)


LIMIT = 100 * 1024 * 1024  # Kafka's socket.request.max.bytes
LEAST = 4  # bytes of a correlation id, which is the smallest response
LEAST_PART = 1 << 14  # minimum bytes of a separately buffered part of a frame
MOST_AHEAD = 32  # how many times the received bytes of a frame may be allocated, whatever size it claims


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a frame; fields that the container does not have are None.

    `frame` counts from 0. `offset` is in bytes from the start of the file, or with a `connection` from the start of the
    stream in that direction. `time` is the time of the packet that completed the frame, in seconds since 1970. `client`
    and `broker` are `ip:port`; `connection` counts from 0; `direction` is "request" (sent by the client) or "response".

    >>> import kwire
    >>> source = next(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.pcap")).source
    >>> source.frame, source.client, source.direction
    (0, '127.0.0.1:33118', 'request')
    """

    file: str | None = None
    frame: int | None = None
    offset: int | None = None
    time: float | None = None
    client: str | None = None
    broker: str | None = None
    connection: int | None = None
    direction: str | None = None

    @property
    def connection_key(self) -> object:
        """The key that identifies the connection: its number, or its endpoints if it has no number."""
        return (self.client, self.broker) if self.connection is None else self.connection


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one frame, including the size field.

    `message` and `version` are set if the container or the user declares the type of the frame: a message with its
    header, or with `bare` only its body. `profile` is the profile of the message's specs. `fault` is set if the
    container reports that these bytes are not a complete frame. `closed` has the numbers of connections that ended
    since the previous frame.

    >>> import kwire
    >>> frame = kwire.Frame(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))
    >>> [(result.api_name, result.correlation_id) for result in kwire.decode_frames([frame])]
    [('ApiVersions', 7)]
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
            stop = start + 4 + checked_size(self._buffer, start, self.limit, self.least)
        except BadFrame as error:
            error.offset, error.rest = self.passed + start, self.rest
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
        """Return the whole buffer, which is a frame."""
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


def checked_size(data: bytes | bytearray, start: int, limit: int = LIMIT, least: int = LEAST) -> int:
    """Return the size field of a frame. Raises BadFrame if it is below `least` or above `limit`."""
    size = int.from_bytes(data[start : start + 4], "big", signed=True)
    if not least <= size <= limit:
        raise BadFrame(offset=start, found=size, need=least, have=limit)
    return size


class FrameJoiner:
    """Splits a byte stream into frames and copies each frame at most once: for frames larger than portions.

    A Produce request of 1 MB in portions of 256 kB takes `kwire serve` half the processor time that it takes with
    `FrameReader`, whose buffer grows by copies.

    Args:
        limit: the largest accepted size, in bytes.

    Attributes:
        held: the number of buffered bytes of the incomplete frame.
        rest: the first bytes of the incomplete frame, or of one that is refused.

    >>> joiner = FrameJoiner()
    >>> [frame.hex() for frame in joiner.feed(bytes.fromhex("00000004 0000 0007 0000"))], joiner.held
    (['0000000400000007'], 2)
    >>> [frame.hex() for frame in joiner.feed(bytes.fromhex("0004 00000008"))], joiner.held
    (['0000000400000008'], 0)
    """

    __slots__ = ("_missing", "_parts", "_passed", "_whole", "held", "limit", "rest")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit: int = limit
        self.held: int = 0
        self.rest: bytes = b""
        self._parts: list[bytes] | None = None  # of the incomplete frame; an empty list for each idle client takes 72 B
        self._missing = 0  # size of the incomplete frame in bytes; 0 if unknown
        self._passed = 0  # bytes of frames that were yielded
        self._whole: bytearray | None = None  # the incomplete frame, once its bytes are read into `room`

    def room(self) -> memoryview | None:
        """Return memory for the rest of the incomplete frame, into which a socket can read it; then call `filled`.

        Returns:
            The memory; None for a small rest, or while too little of the frame has come: a size that a client only
            claims takes no memory.

        >>> joiner = FrameJoiner()
        >>> list(joiner.feed((1 << 18).to_bytes(4, "big") + bytes(1 << 16))), len(joiner.room())
        ([], 196608)
        >>> joiner.filled(196607), len(joiner.filled(1))
        (None, 262148)
        """
        if self._whole is None:
            if not LEAST_PART <= self._missing <= MOST_AHEAD * self.held:
                return None
            held, self._whole = self.held, bytearray(self.held + self._missing)
            self._whole[:held], self.held = self._joined(), held
        return memoryview(self._whole)[self.held :]

    def filled(self, count: int) -> bytes | None:
        """Count bytes that were read into `room`. Returns the frame once it is complete; it must be fed next."""
        assert self._whole is not None
        self.held += count
        self._missing -= count
        if self._missing:
            return None
        frame, self._whole, self.held = bytes(self._whole), None, 0
        return frame

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes, and yield the frames that they complete.

        Raises:
            BadFrame: a size is negative, too small for a correlation id, or above the limit.
        """
        if self.held and not self._missing:  # the size field was received in parts
            data = self._joined(data)
        at, count = 0, len(data)
        while count - at >= (self._missing or 4):
            if not self._missing:
                self.rest = data[at : at + 8]
                self._missing = 4 + self._checked_size(data, at)
                continue
            stop = at + self._missing
            last = data if stop - at == count else memoryview(data)[at:stop]
            frame = self._joined(last) if self._parts else bytes(last)
            self._missing, self.rest = 0, b""
            self._passed += len(frame)
            yield frame
            at = stop
        if at < count:
            self._keep(data[at:] if at else data)

    def _checked_size(self, data: bytes, at: int) -> int:
        try:
            return checked_size(data, at, self.limit)
        except BadFrame as error:
            error.offset = self._passed
            raise

    def _joined(self, last: bytes | memoryview = b"") -> bytes:
        """Return all buffered parts joined with a last part."""
        whole = b"".join((*(self._parts or ()), last))
        self._parts, self.held = None, 0
        return whole

    def _keep(self, data: bytes) -> None:
        """Buffer a part of a frame; small parts are joined, because each part has a memory overhead."""
        self.held += len(data)
        self._missing -= len(data) if self._missing else 0
        self._parts = self._parts or []
        if self._parts and len(self._parts[-1]) < LEAST_PART:
            data = self._parts.pop() + data
        self._parts.append(data)


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


def cut_short(data: bytes, cause: str = "") -> CutShort | None:
    """Return the fault of a truncated frame; None if the frame is complete.

    Args:
        data: the available bytes of the frame, including the size field.
        cause: what truncated the frame.

    >>> print(cut_short(bytes.fromhex("0000002c 00000007"), "the connection closed"))
    cut short: 8 of 48 bytes, then the connection closed
    """
    have, size = len(data), int32(data, 0)
    if have >= 4 and not (LEAST <= size <= LIMIT and have < 4 + size):
        return None
    return CutShort(need=4 + size if have >= 4 else None, have=have, cause=cause) if have else None


def size_fault(data: bytes) -> DecodeError | None:
    """Return the error of an invalid size field, if the frame cannot be read because of it."""
    if len(data) < 8:
        return Truncated(offset=0, need=8, have=len(data))
    size = int32(data, 0)
    if not LEAST <= size <= LIMIT:
        return BadFrame(offset=0, found=size, need=LEAST, have=LIMIT)
    return bytes_after_frame(data) if size < len(data) - 4 else None


def bytes_after_frame(data: bytes) -> BytesAfterFrame:
    """Return the error of a frame with a valid size, and bytes after it.

    >>> print(bytes_after_frame(bytes.fromhex("00000004 00000007 00000004 00000008 00")))
    9 more bytes (1 whole frame) follow the frame of 8 bytes (offset 0)
    """
    size = int32(data, 0)
    start = 4 + size
    frames = sum(1 for frame in cut_frames(data[start:]) if cut_short(frame.data) is None)
    whole = f" ({frames} whole {'frame' if frames == 1 else 'frames'})" if frames else ""
    behind = f"{len(data) - start} more bytes{whole} follow the frame of {start} bytes"
    return BytesAfterFrame(offset=0, found=size, need=LEAST, have=LIMIT, behind=behind)


def int16(data: bytes, offset: int) -> int:
    """Read a big-endian int16."""
    return int.from_bytes(data[offset : offset + 2], "big", signed=True)


def int32(data: bytes, offset: int) -> int:
    """Read a big-endian int32."""
    return int.from_bytes(data[offset : offset + 4], "big", signed=True)


class Endpoints(Protocol):
    """The endpoints of a connection.

    Attributes:
        connection: the number of the connection, counted from 0.
        note: free for use by the reader of frames; initially None.
    """

    connection: int
    note: Any

    @property
    def client(self) -> str:
        """`ip:port` of the client."""

    @property
    def broker(self) -> str:
        """`ip:port` of the broker."""

    @property
    def client_ip(self) -> str:
        """The IP address of the client; empty if unknown."""


class NamedEnds:
    """Endpoints given as text."""

    __slots__ = ("broker", "client", "connection", "note")

    def __init__(self, client: str, broker: str, connection: int) -> None:
        self.client: str = client
        self.broker: str = broker
        self.connection: int = connection
        self.note: Any = None

    @property
    def client_ip(self) -> str:
        """The address of the client."""
        return self.client.rpartition(":")[0]


NOBODY = NamedEnds("", "", -1)  # the endpoints of items that concern the whole file

# Endpoints, whether the client sent it, the offset in the stream of that direction, nanoseconds since 1970, the bytes,
# and the reason if they are not a complete frame. Complete frames also have the two int32 after the size, other frames
# have None and 0. The numbers of a request are api key and version as one number, and the correlation id; those of a
# response are the correlation id, and the first bytes of the body.
CapturedFrame = tuple[Endpoints, bool, int, int | None, bytes, DecodeError | None, int | None, int]
# A single number stands for a connection that has ended: it has no more frames.
CapturedBatch = FrameBatch


class OpenConnection(int):
    """The number of a connection that was still open when its capture ended."""


SECOND = 1_000_000_000  # nanoseconds
NUMBERS = Struct(">iii").unpack_from  # size, and the two numbers after it


def numbers_of(data: bytes) -> tuple[int | None, int]:
    """Return the two numbers after the size of a frame, as in `CapturedFrame`.

    >>> numbers_of(bytes.fromhex("00000008 00000007 00000001")), numbers_of(bytes.fromhex("00000009 00000007"))
    ((7, 1), (None, 0))
    """
    count = len(data)
    if count >= 12:
        size, first, second = NUMBERS(data)
        return (first, second) if size == count - 4 else (None, 0)
    if count >= 8 and int.from_bytes(data[:4], "big") == count - 4:
        return int.from_bytes(data[4:8], "big", signed=True), 0
    return None, 0


def count_frames(batch: CapturedBatch) -> int:
    """Count the frames of a batch, excluding items with a fault and ends of connections."""
    return len(batch) - sum(type(one) is not tuple or one[5] is not None for one in batch.others())


def frame_of(captured: CapturedFrame, file: str, number: int, closed: Sequence[int] = ()) -> Frame:
    """Create a `Frame`; `number` counts from 0, `closed` has the connections that ended since the previous frame."""
    ends, asked, offset, nanoseconds, data, fault, _, _ = captured
    if ends is NOBODY:
        return Frame(data, Source(file, number, offset if data else None), fault=fault)
    time = None if nanoseconds is None else nanoseconds / SECOND
    direction = "request" if asked else "response"
    source = Source(file, number, offset, time, ends.client, ends.broker, ends.connection, direction)
    return Frame(data, source, None, None, False, None, fault, tuple(closed))
