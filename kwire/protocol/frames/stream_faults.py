"""The reasons why bytes of a stream are not a complete frame: gaps, fragments, other protocols, damage.

The subclasses of `NoFrame` are the types of a frame's `fault`.
"""

from __future__ import annotations

from typing import Any

from ...errors import DecodeError, Truncated, UnexpectedResponse


class NoFrame(DecodeError):
    """Bytes outside of frames. `count` is their number; None if unknown.

    Bytes are missing, but no complete frame failed to decode: Gap, BegunBefore, Fragment, LostPackets, CutRecord. Bytes
    are not frames: PassedOver, Damaged, OddLine, BrokenDump. The others: BareToken, NotKafka and its subclass
    Encrypted. Faults of frames are `CutShort`, a truncated frame, its subclass `BodyNotLogged`, and
    `RequestNotCaptured`.
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


class OddLine(NoFrame):
    """A line of a request log that cannot be read; reading continues at the next line."""

    code = "ODD_LINE"
    problem = "a line of the log is not a request: {found}"
    hint = "reading continues at the next line"


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


class BodyNotLogged(CutShort):
    """The header of a frame of which a text log has no body that can be read back."""

    code = "BODY_NOT_LOGGED"
    problem = "the log has no body of this message that can be read back"


class RequestNotCaptured(UnexpectedResponse):
    """A response on a connection with missing bytes, which may include its request."""

    problem = "the request with correlation id {found} was not captured"
    code = "REQUEST_NOT_CAPTURED"
    is_failure = False


def unexpected_response(correlation_id: int, need: int | None, *, lossy: bool) -> UnexpectedResponse:
    """Return the error for a response that answers no request in flight.

    `lossy` means that bytes of its connection are missing.
    """
    kind = RequestNotCaptured if lossy else UnexpectedResponse
    return kind(offset=4, found=correlation_id, need=need)


def loses_bytes(fault: DecodeError | None) -> bool:
    """Whether a fault means that bytes of the connection, possibly requests, are missing."""
    return fault is not None and not isinstance(fault, BareToken)
