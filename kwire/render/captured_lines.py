"""Text lines of captured frames, made from bytes without building frames and results.

Only of what nearly all frames are; the rest is decoded. The lines are those of `line.FrameLines`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Protocol

from ..codecs import Codec
from ..protocol import FrameDecoder, Result
from ..protocol.api_registry import Call
from ..protocol.body_cache import Bodies, Kind, Repeats, decode_clean
from ..protocol.captured_frame import SECOND, CapturedBatch, CapturedFrame, frame_of
from ..redaction.rules import may_carry, may_hold_secrets
from .line import ARROWS, FrameLines, errors_text, fitted, name_text, time_text

LATEST = 253402300799 * SECOND  # what calendars have


MOST_TEXT = 1 << 20  # characters that are written at once, about
Carefully = Callable[[Result], str]


class _Lines(Protocol):
    decoder: FrameDecoder

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or what it was decoded to, if it had to be."""


def one_by_one(writer: _Lines, batch: CapturedBatch, number: int, carefully: Carefully) -> Iterator[tuple[str, int]]:
    """Yield the lines of a batch, each with the number of frames that it is of; arguments as of a `Writer`."""
    for captured in batch:
        if type(captured) is not tuple:
            writer.decoder.connections.forget(captured)
            continue
        line = writer.line(captured, number)
        yield line if isinstance(line, str) else carefully(line), 1
        number += 1


class CapturedLines:
    """Writes the lines of one capture.

    Args:
        decoder: decodes what is left to it; the connections are its own.
        file: the name of the capture.
        lines: writes the lines of all dumps, with the dates.
        sealed: leave secrets out.
    """

    def __init__(self, decoder: FrameDecoder, file: str, lines: FrameLines, *, sealed: bool = True) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self.lines: FrameLines = lines
        self.sealed: bool = sealed
        self._repeats = Repeats(self._kind, self._read, len)

    def written(self, batch: CapturedBatch, number: int, carefully: Carefully) -> Iterator[tuple[str, int]]:
        """Yield the lines of a batch, as `one_by_one` does."""
        return one_by_one(self, batch, number, carefully)

    def result(self, captured: CapturedFrame, number: int) -> Result:
        """Decode a frame, given its number in the capture."""
        connection = self.decoder.connections.of(captured[0])
        return self.decoder.result(frame_of(captured, self.file, number), connection, connection.pair(captured), SECOND)

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame, given its number in the capture; or what it was decoded to, if it had to be."""
        ends, asked, _, now, data, _, first, second = captured
        connection = self.decoder.connections.of(ends)
        header, kind, text = self._repeats.take(connection, captured)
        if kind is None or text is None or now is None or not 0 <= now < LATEST:
            return self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND)
        moment = datetime.fromtimestamp(now / SECOND, UTC)
        first_word, second_word = (kind.client, text) if asked else (text, kind.client)
        rest = f"{first_word}  {second_word}" if first_word else second_word
        correlation_id = f"#{second if asked else first}"
        line = f"{time_text(moment)} {kind.head} {correlation_id:<5} {len(data):>5} B  {rest}".rstrip()
        style = self.lines.style
        return f"{self.lines.date(moment)}{style.paint('value', fitted(line, style.width))}\n"

    def _kind(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> _Kind | None:
        if self.sealed and may_carry(codec):
            return None
        kind = _Kind(call, is_request, codec, bodies, tagged)
        kind.is_held = not self.lines.summary.is_named_by_others(codec)
        return kind

    def _read(self, kind: _Kind, body: bytes) -> str | None:
        """Return what a line says of a body: errors and topics."""
        codec = kind.codec
        message = decode_clean(codec, body)
        if message is None or (self.sealed and may_hold_secrets(codec, message)):
            return None
        facts = self.lines.summary.facts(codec, message)
        errors, topics = "" if kind.is_request else errors_text(facts), ", ".join(facts.topics)
        return f"{errors}  {topics}" if errors and topics else errors or topics


class _Kind(Kind):
    """What the lines of requests or responses have in common: the text in front of the correlation id, the client."""

    __slots__ = ("client", "head")

    def __init__(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> None:
        super().__init__(call, is_request, codec, bodies, tagged)
        self.head = f"{ARROWS[codec.spec.type]} {name_text(codec)}"
        self.client = call.client_id or ""
