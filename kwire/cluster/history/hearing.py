"""A message as somebody heard it: when, on which connection, in which version. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...frames import Request, Response, Result

APIS = ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "Metadata")


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of one of the four `APIS`, request or response.

    Attributes:
        message: the decoded body.
        version: of the body.
        time: in seconds since 1970; None where nobody wrote it down.
        client, broker: the ends of its connection as `ip:port`; nothing where they are not known.
        correlation_id: that of its header.
    """

    message: Any
    version: int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None

    @property
    def name(self) -> str:
        """The name of the message: `UpdateMetadataRequest`."""
        return type(self.message).__name__

    @property
    def connection(self) -> str:
        """What tells its connection from others."""
        return f"{self.client}>{self.broker}"


def heard(result: Result) -> Heard | None:
    """Return what a decoded frame lets one hear; None for those that are of no use here."""
    if not isinstance(result, Request | Response) or result.api_name not in APIS:
        return None
    source = result.frame.source
    return Heard(
        result.message,
        result.codec.version,
        source.time,
        source.client or "",
        source.broker or "",
        result.correlation_id,
    )
