"""A frame, and where it came from."""

from __future__ import annotations

import msgspec

from ...errors import DecodeError
from ...runtime.former_dataclasses import was_dataclass
from .broker_times import BrokerTimes


@was_dataclass
class Source(msgspec.Struct, frozen=True):
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


@was_dataclass
class Frame(msgspec.Struct, frozen=True):
    """The bytes of one frame, including the size field.

    `message` and `version` are set if the container or the user declares the type of the frame: a message with its
    header, or with `bare` only its body. `profile` is the profile of the message's specs. `fault` is set if the
    container reports that these bytes are not a complete frame. `closed` has the numbers of connections that ended
    since the previous frame. `broker_times` is set for a response from a broker's request log; if the log has no
    response, for the request.

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
    broker_times: BrokerTimes | None = None
