"""Writes the text lines of one capture."""

from __future__ import annotations

from datetime import UTC, datetime

from ...codecs.message_codec import Codec
from ...protocol import FrameDecoder
from ...protocol.frame_kinds import FrameKind, FrameKinds, decode_clean
from ...protocol.headers.apis import Call
from ...protocol.message_summary import make_body_facts
from ...redact.metadata_log_secrets import MESSAGES, METADATA_LOG
from ...redact.secret_messages import may_carry, may_hold_secrets
from ..frame_line import ARROWS, FrameLines, errors_text, fitted, name_text, request_words, response_words
from ..response_link import link_text
from .line_writer import CaptureWriterBase


class CapturedLines(CaptureWriterBase):
    """Writes the text lines of one capture.

    Args:
        decoder, file, sealed: the same as for `CaptureWriterBase`.
        lines: writes the lines of all dumps, with their dates.
    """

    is_text = True

    def __init__(self, decoder: FrameDecoder, file: str, lines: FrameLines, *, sealed: bool = True) -> None:
        super().__init__(decoder, file, FrameKinds(self._kind), sealed=sealed)
        self.begin = decoder.connections.of
        self.width: int = lines.style.width
        before, _, behind = lines.style.paint("value", "-").partition("-")
        self.colour: tuple[bytes, bytes] = before.encode(), behind.encode()
        self.link = link_text
        self._lines = lines

    def date(self, time: float) -> str:
        """Return the line of the date of a time in seconds if the date has changed; else an empty string."""
        return self._lines.date(datetime.fromtimestamp(time, UTC))

    def fit(self, line: str) -> str:
        """Return a line shortened to the width of the terminal, with control characters escaped."""
        return fitted(line.rstrip(), self.width)

    def topics(self, found: list[tuple[bytes | None, str | None]]) -> str:
        """Return the topics of a body, given their ids and names."""
        return ", ".join(self._lines.summary.names(found))

    def read(self, kind: _TextKind, body: bytes) -> tuple[str, str] | None:
        """Return the parts of a line for a body: errors and topics; None if the body must be decoded completely."""
        codec = kind.codec
        message = decode_clean(codec, body)
        if message is None or (self.sealed and may_hold_secrets(codec, message)):
            return None
        facts = self._lines.summary.facts(codec, message)
        return "" if kind.is_request else errors_text(facts), ", ".join(facts.topics)

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> _TextKind | None:
        if self.sealed and (may_carry(codec) or not (is_request or str(call.client_id).isprintable())):
            return None
        kind = _TextKind(call, is_request, codec, tagged)
        kind.facts = make_body_facts(codec, METADATA_LOG if self.sealed and codec.name in MESSAGES else frozenset())
        return kind


class _TextKind(FrameKind):
    """The common parts of the lines of requests or responses.

    These are the text before the correlation id, the client, and the order of Client, Topics, Link and Errors.
    """

    __slots__ = ()

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.front = f"{ARROWS[codec.spec.type]} {name_text(codec)} ".encode()
        self.back = (call.client_id or "").encode()
        asked = "".join(request_words("", "", "C", "T")).encode()
        without, failed = ("".join(response_words(errors, "L", "", "T", "C")).encode() for errors in ("", "E"))
        self.order = (asked, asked) if is_request else (without, failed)
