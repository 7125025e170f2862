"""A message as somebody heard it: when, on which connection, in which version. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...codecs import Codec
from ...frames import Request, Response, Result
from ..bodies import RELEASED, Body, body_of

CONTROLLER = "LeaderAndIsrRequest", "UpdateMetadataRequest", "StopReplicaRequest"
ANSWERS = "LeaderAndIsrResponse", "UpdateMetadataResponse", "StopReplicaResponse"
VIEWS = "MetadataResponse", "DescribeTopicPartitionsResponse"
DIRECTORIES = "BrokerHeartbeatRequest", "BrokerRegistrationRequest", "AssignReplicasToDirsRequest"
MESSAGES = (*CONTROLLER, *ANSWERS, *VIEWS, *DIRECTORIES)  # what the history is made of


@dataclass(frozen=True, slots=True)
class Heard:
    """One of `MESSAGES`.

    Attributes:
        message: the decoded body, of a draft's class too; None where it could not be decoded.
        codec: what decoded it; of a released message its version is enough.
        time: in seconds since 1970; None where nobody wrote it down.
        client, broker: the ends of its connection as `ip:port`; nothing where they are not known.
        correlation_id: that of its header.
        file: where it was read.
    """

    message: Any
    codec: Codec | int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """The name of the released message: `UpdateMetadataRequest`."""
        name = self.codec.name if isinstance(self.codec, Codec) else type(self.message).__name__
        return RELEASED.get(name, name)

    @property
    def body(self) -> Body:
        """The message under its released names, with the fields that it carries."""
        return body_of(self.message, self.codec)

    @property
    def connection(self) -> str:
        """What tells its connection from others."""
        return f"{self.client}>{self.broker}"


def heard(result: Result) -> Heard | None:
    """Return what a decoded frame lets one hear; None for those that are of no use here."""
    if not isinstance(result, Request | Response):
        return None
    source = result.frame.source
    found = Heard(
        result.message,
        result.codec,
        source.time,
        source.client or "",
        source.broker or "",
        result.correlation_id,
        source.file or "",
    )
    return found if found.name in MESSAGES else None
