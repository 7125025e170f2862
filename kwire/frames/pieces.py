"""Bytes of a stream or of a dump that are in no frame, and why: what a frame's `fault` may be.

NoFrame
+-- Gap, PassedOver, BareToken
+-- NotKafka                +-- Encrypted
+-- LostPackets, BrokenDump
"""

from __future__ import annotations

from typing import Any

from ..errors import DecodeError


class NoFrame(DecodeError):
    """Bytes that belong to no frame. `count` is their number, None where nothing tells it; `is_failure` says whether
    something of Kafka's is lost by it."""

    count: int | None = None
    is_failure = True
    quotes = False

    def __init__(self, count: int | None = None, **facts: Any) -> None:
        super().__init__(count=count, **facts)


class Gap(NoFrame):
    """Bytes of a TCP stream that were not captured."""

    hint = "packets were dropped or cut while capturing: tcpdump -s 0, a larger buffer (-B), a narrower filter"

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Say how many, if that is known."""
        if self.count is None:
            return "the capture begins in the middle of this stream"
        return "{count} bytes of this stream were not captured"


class PassedOver(NoFrame):
    """Bytes between the place where the frames were lost (a gap, an impossible size) and the next frame."""

    problem = "{count} bytes are in no whole frame"
    hint = "something before them is missing or damaged"


class BareToken(NoFrame):
    """A SASL token without a header, as it follows SaslHandshake v0."""

    problem = "a SASL token of {count} bytes, without a header (SaslHandshake v0)"


class NotKafka(NoFrame):
    """A stream of another protocol, or of one that is not known here; `found` names it, `missing` counts its gaps."""

    missing = 0
    is_failure = False

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Say how much it was."""
        return "{count} bytes of {found}, not Kafka's protocol" + (", {missing} not captured" if self.missing else "")


class Encrypted(NotKafka):
    """A TLS stream."""

    hint = (
        "kwire does not decrypt: capture on a PLAINTEXT listener, or decrypt it with the keys of the session "
        "(SSLKEYLOGFILE); kwire help tls says how"
    )


class LostPackets(NoFrame):
    """Packets that may have been part of a TCP stream, and could not be read."""

    problem = "{count} packets are {found}"


class BrokenDump(NoFrame):
    """The place where a container cannot be read further; `found` says why."""

    problem = "the dump cannot be read further: {found}"
