"""A captured frame as a bare tuple, which costs less than a `Frame` where millions are counted.

A `Frame` says the same in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from ..errors import DecodeError
from .framing import Frame, Source


class Endpoints:
    """The ends of a connection, by what they are; `client` and `broker` are `ip:port`, `connection` counts from 0."""

    __slots__ = ("broker", "client", "connection")

    def __init__(self, client: str, broker: str, connection: int) -> None:
        self.client: str = client
        self.broker: str = broker
        self.connection: int = connection


NOBODY = Endpoints("", "", -1)  # whose words are about the dump as a whole

# Endpoints, whether the client sent it, the offset in what that side sent, nanoseconds since 1970, the bytes, the
# reason if they are no whole frame; and of whole frames the two numbers behind the size, else None and 0: of a
# request api key and version in one and the correlation id, of an answer the correlation id and what comes next, if
# anything does.
CapturedFrame = tuple[Endpoints, bool, int, int | None, bytes, DecodeError | None, int | None, int]
# A number stands for the connection that has ended: it will say no more.
CapturedBatch = list[CapturedFrame | int]

SECOND = 1_000_000_000  # nanoseconds
NUMBERS = Struct(">iii").unpack_from  # size, and the two behind it


def numbers_of(data: bytes) -> tuple[int | None, int]:
    """Return the two numbers behind the size of a frame, as `CapturedFrame` has them.

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


def frame_of(said: CapturedFrame, file: str, number: int, closed: Sequence[int] = ()) -> Frame:
    """Write one frame; `number` counts from 0, `closed` are the connections that have ended before it."""
    ends, asked, offset, nanoseconds, data, fault, _, _ = said
    if ends is NOBODY:
        return Frame(data, Source(file, number, offset if data else None), fault=fault)
    time = None if nanoseconds is None else nanoseconds / SECOND
    direction = "request" if asked else "response"
    source = Source(file, number, offset, time, ends.client, ends.broker, ends.connection, direction)
    return Frame(data, source, None, None, False, None, fault, tuple(closed))
