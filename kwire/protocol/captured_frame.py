"""A captured frame as a plain tuple, which costs less than a `Frame` when there are millions.

`Frame` has the same content with named fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Protocol

from ..errors import DecodeError
from ..native.states import FrameBatch
from .framing import Frame, Source


class Endpoints(Protocol):
    """The endpoints of a connection.

    Attributes:
        connection: its number, from 0.
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
        """The address of the client; empty if it is not known."""


class NamedEnds:
    """Endpoints that are known as text."""

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


NOBODY = NamedEnds("", "", -1)  # the endpoints of items about the whole file

# Endpoints, whether the client sent it, the offset in that side's stream, nanoseconds since 1970, the bytes, and the
# reason if they are not a complete frame. For complete frames also the two numbers after the size, else None and 0: of
# a request the api key and version as one number, and the correlation id; of a response the correlation id, and what
# anything does.
CapturedFrame = tuple[Endpoints, bool, int, int | None, bytes, DecodeError | None, int | None, int]
# A number stands for a connection that has ended: no more frames follow.
CapturedBatch = FrameBatch

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


def frame_of(captured: CapturedFrame, file: str, number: int, closed: Sequence[int] = ()) -> Frame:
    """Create a `Frame`; `number` counts from 0, `closed` are the connections that ended since the previous frame."""
    ends, asked, offset, nanoseconds, data, fault, _, _ = captured
    if ends is NOBODY:
        return Frame(data, Source(file, number, offset if data else None), fault=fault)
    time = None if nanoseconds is None else nanoseconds / SECOND
    direction = "request" if asked else "response"
    source = Source(file, number, offset, time, ends.client, ends.broker, ends.connection, direction)
    return Frame(data, source, None, None, False, None, fault, tuple(closed))
