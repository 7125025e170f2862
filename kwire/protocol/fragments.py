"""Bytes that are in no whole frame, and why: what a frame's `fault` may be.

NoFrame
+-- Gap, BegunBefore, Fragment, LostPackets, CutRecord      bytes are missing: nothing complete failed to decode
+-- PassedOver, Damaged, BrokenDump                         bytes are there, and are no frames
+-- BareToken
+-- NotKafka                +-- Encrypted

CutShort                    a frame whose last bytes are missing
RequestNotCaptured          a response whose request is missing
"""

from __future__ import annotations

from typing import Any

from ..errors import DecodeError
from ..errors.decode import Truncated, UnexpectedResponse


class NoFrame(DecodeError):
    """Bytes that belong to no frame. `count` is their number, None where nothing tells it."""

    count: int | None = None
    quotes = False
    code = "NO_FRAME"

    def __init__(self, count: int | None = None, **facts: Any) -> None:
        super().__init__(count=count, **facts)

    def __str__(self) -> str:
        return self.reason


class Gap(NoFrame):
    """Bytes of a TCP stream that were not captured; without a `count`, not before the packets that acknowledge them."""

    code = "GAP"
    is_failure = False
    hint = (
        "the capture lacks packets: they were dropped (a larger buffer helps, tcpdump -B, or a narrower filter), cut "
        "(tcpdump -s 0), filtered out, or sent after the capture ended"
    )

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Say how much is missing, if that is certain."""
        if self.count is None:
            return "gap: this stream goes on with bytes that the other side had, and that were not captured by then"
        return "gap: {count} bytes of this stream were not captured"


class BegunBefore(NoFrame):
    """The place where the capture of a TCP stream begins, which began earlier: nothing tells what came before."""

    code = "BEGUN_BEFORE"
    is_failure = False
    problem = "this stream began before the capture"
    hint = "responses to requests from before the capture cannot be decoded"


class Fragment(NoFrame):
    """Bytes behind a gap that belong to a frame whose begin is missing."""

    code = "FRAGMENT"
    is_failure = False
    problem = "{count} bytes of frames whose begin was not captured"


class PassedOver(NoFrame):
    """Bytes between an impossible size and the next frame."""

    problem = "{count} bytes are in no whole frame"
    hint = "they begin with a size that is impossible: damaged, or not Kafka's protocol"


class BareToken(NoFrame):
    """A SASL token without a header, as it follows SaslHandshake v0."""

    code = "SASL_TOKEN"
    is_failure = False
    problem = "a SASL token of {count} bytes, without a header (SaslHandshake v0)"


class NotKafka(NoFrame):
    """A stream of another protocol, or of one that is not known here; `found` names it, `missing` counts its gaps."""

    code = "NOT_KAFKA"
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
    """Packets that may have been part of a TCP stream, and could not be read; `count` is their number."""

    code = "LOST_PACKETS"
    is_failure = False
    problem = "{count} packets are {found}"


class Damaged(NoFrame):
    """Bytes of a container that are no record: reading goes on behind them. `offset` is their place in the file."""

    code = "DAMAGED"
    problem = "{count} bytes of the capture are damaged (offset {offset}): {found}"
    hint = "reading goes on at the next record"


class CutRecord(NoFrame):
    """The first bytes of a record whose others would come behind the end of the capture."""

    code = "CUT_SHORT"
    is_failure = False
    problem = "the capture ended inside a packet: {found}"


class BrokenDump(NoFrame):
    """The place where a container cannot be read further; `found` says why."""

    problem = "the dump cannot be read further: {found}"


class CutShort(Truncated):
    """A frame whose last bytes are missing: `have` of its `need` bytes are there; `cause` says what came then."""

    code = "CUT_SHORT"
    is_failure = quotes = False
    hint = ""
    cause = ""

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Say how much is there, as far as the size of the frame is."""
        size = "cut short: {have} of {need} bytes" if (self.have or 0) >= 4 else "cut short in the size of a frame"
        return size + (", then {cause}" if self.cause else "")

    def __str__(self) -> str:
        return self.reason


class RequestNotCaptured(UnexpectedResponse):
    """A response on a connection of which bytes are missing, so that its request may be among them."""

    problem = "the request with correlation id {found} was not captured"
    code = "REQUEST_NOT_CAPTURED"
    is_failure = False


def unexpected_response(found: int, need: int | None, *, lossy: bool) -> UnexpectedResponse:
    """Make the error of a response that answers no request in flight; `lossy`: bytes of its connection are missing."""
    kind = RequestNotCaptured if lossy else UnexpectedResponse
    return kind(offset=4, found=found, need=need)


def loses(fault: DecodeError | None) -> bool:
    """Whether the fault of a frame says that bytes of its connection are missing, so that requests may be."""
    return fault is not None and not isinstance(fault, BareToken)
