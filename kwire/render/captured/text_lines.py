"""Writes the text lines of one capture."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from ...codecs.message_codec import Codec
from ...protocol import FrameDecoder
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.frame_kinds import FrameKind, FrameKinds
from ...protocol.frames.captured_frame import Endpoints
from ...protocol.headers.apis import Call
from ...protocol.message_summary import MessageFacts, MessageSummary, make_body_facts
from ...query.captured_query import CapturedQuery
from ...redact.secret_messages import may_carry
from ...values import kind
from ..frame_line import ARROWS, FrameLines, errors_text, fitted, name_text, request_words, response_words
from ..value_text import duration_text
from .line_writer import CaptureWriterBase


class CapturedLines(CaptureWriterBase):
    """Writes the text lines of one capture.

    Args:
        decoder, file, sealed, selection: the same as for `CaptureWriterBase`.
        lines: writes the lines of all dumps, with their dates.
    """

    is_text = True

    def __init__(
        self,
        decoder: FrameDecoder,
        file: str,
        lines: FrameLines,
        *,
        sealed: bool = True,
        selection: CapturedQuery | None = None,
    ) -> None:
        super().__init__(decoder, file, FrameKinds(self._kind), sealed=sealed, selection=selection)
        self.begin: Callable[[Endpoints], DecodedConnection] = decoder.connections.of
        self.width: int = lines.style.width
        before, _, behind = lines.style.paint("value", "-").partition("-")
        self.colour: tuple[bytes, bytes] = before.encode(), behind.encode()
        self.summary: MessageSummary = lines.summary
        self.error_names: dict[int, str] = {}
        self.duration = duration_text
        self.label: bytes = lines.labels.get(file, "").encode("utf-8", "surrogatepass")
        self._lines = lines

    def date(self, time: float) -> str:
        """Return the line of the date of a time in seconds if the date has changed; else an empty string."""
        return self._lines.date(datetime.fromtimestamp(time, UTC))

    def fit(self, line: str) -> str:
        """Return a line shortened to the width of the terminal, with control characters escaped."""
        return fitted(line.rstrip(), self.width)

    def name_error(self, code: int) -> str:
        """Return the name of an error code, and store it in `error_names`."""
        name = self.error_names[code] = str(kind("ErrorCode")(code))
        return name

    def errors(self, codes: list[int]) -> str:
        """Return the errors of a response that has many different ones."""
        return errors_text(MessageFacts(errors=tuple(map(kind("ErrorCode"), codes))))

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> _TextKind | None:
        # No word of a line is a secret, except in an Envelope and in SASL messages, which are decoded; but a client id
        # may contain bytes of one.
        if self.sealed and (may_carry(codec) or not is_request) and not str(call.client_id).isprintable():
            return None
        return _TextKind(call, is_request, codec, tagged)


class _TextKind(FrameKind):
    """The common parts of the lines of requests or responses.

    These are the text before the correlation id, the client, and the order of Client, Topics, Link and Errors.
    """

    __slots__ = ()

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.front = f"{ARROWS[codec.spec.type]} {name_text(codec)} ".encode()
        self.back = (call.client_id or "").encode()
        request = "".join(request_words("", "", "C", "T")).encode()
        without, failed = ("".join(response_words(errors, "L", "", "T", "C")).encode() for errors in ("", "E"))
        self.order = (request, request) if is_request else (without, failed)
        self.facts = make_body_facts(codec)
