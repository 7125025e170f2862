"""Captured frames as named tuples, which are cheaper than `Frame`s for millions of frames; their endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple, Protocol

from ...codecs import native
from ...errors import DecodeError
from .frame import Frame, Source

# A single number stands for a connection that has ended: it has no more frames.
CapturedBatch = native.FrameBatch
SECOND = 1_000_000_000  # nanoseconds
NUMBERS = Struct(">iii").unpack_from  # size, and the two numbers after it


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


WHOLE_FILE = NamedEnds("", "", -1)  # the endpoints of items that concern the whole file


class CapturedFrame(NamedTuple):
    """A frame of a capture, or bytes of it that are none.

    Attributes:
        ends: the endpoints of its connection.
        is_request: whether the client sent it.
        offset: its position in the stream of that direction, in bytes.
        nanoseconds: since 1970; None if the time is unknown.
        data: its bytes, with the size field.
        fault: the reason if these are not a complete frame.
        first, second: the two int32 after the size of a complete frame: of a request, api key and version as one
            number, and the correlation id; of a response, the correlation id and the first bytes of the body. None
            and 0 where they are missing.
    """

    ends: Endpoints
    is_request: bool
    offset: int
    nanoseconds: int | None
    data: bytes
    fault: DecodeError | None = None
    first: int | None = None
    second: int = 0


if native.AVAILABLE:
    native.use_captured_frames(CapturedFrame)


class OpenConnection(int):
    """The number of a connection that was still open when its capture ended."""


def first_numbers(data: bytes) -> tuple[int | None, int]:
    """Return the two numbers after the size of a frame, as in `CapturedFrame`.

    >>> first_numbers(bytes.fromhex("00000008 00000007 00000001")), first_numbers(bytes.fromhex("00000009 00000007"))
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
    return len(batch) - sum(isinstance(item, int) or item.fault is not None for item in batch.others())


def make_frame(captured: CapturedFrame, file: str, number: int, closed: Sequence[int] = ()) -> Frame:
    """Create a `Frame`; `number` counts from 0, `closed` has the connections that ended since the previous frame."""
    ends, is_request, offset, nanoseconds, data, fault, *_ = captured
    if ends is WHOLE_FILE:
        return Frame(data, Source(file, number, offset if data else None), fault=fault)
    time = None if nanoseconds is None else nanoseconds / SECOND
    direction = "request" if is_request else "response"
    source = Source(file, number, offset, time, ends.client, ends.broker, ends.connection, direction)
    return Frame(data, source, None, None, False, None, fault, tuple(closed))
