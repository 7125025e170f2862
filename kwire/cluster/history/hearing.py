"""A message as somebody heard it: when, on which connection, in which version. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...codecs import Codec
from ...frames import Request, Response, Result
from ..bodies import RELEASED, Body, body_of

APIS = ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "Metadata")
_NAMES = frozenset(api + kind for api in APIS for kind in ("Request", "Response"))


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of one of the four `APIS`, request or response.

    Attributes:
        message: the decoded body, of a draft's class too.
        codec: what decoded it; of a released message its version is enough.
        time: in seconds since 1970; None where nobody wrote it down.
        client, broker: the ends of its connection as `ip:port`; nothing where they are not known.
        correlation_id: that of its header.
    """

    message: Any
    codec: Codec | int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None

    @property
    def name(self) -> str:
        """The name of the released message: `UpdateMetadataRequest`."""
        name = type(self.message).__name__
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
    )
    return found if found.name in _NAMES else None
