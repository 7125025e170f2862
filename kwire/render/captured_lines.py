"""Text lines and JSON lines of captured frames, written from bytes without building frames and messages.

Complete frames without faults are written here, which are nearly all; any other frame is decoded first. The lines are
equal to those of `line.FrameLines` and `json_frame.json_line`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Protocol

import msgspec

from ..codecs import Codec
from ..codecs.fast_path import table_of
from ..native import ENGINE
from ..protocol import FrameDecoder, Result
from ..protocol.framing import SECOND, CapturedBatch, CapturedFrame, Endpoints, frame_of
from ..protocol.header_reader import DecodedConnection, Kind, Kinds, decode_clean
from ..protocol.headers import Apis, Call, Header
from ..protocol.results import seconds_between
from ..protocol.summary import body_facts
from ..redaction.masking import mask_message
from ..redaction.rules import MESSAGES, METADATA_LOG, may_carry, may_hold_secrets
from .line import ARROWS, FrameLines, errors_text, fitted, link_text, name_text, request_words, response_words
from .style import escape

MOST_TEXT = 1 << 20  # approximate number of characters that are written together
Carefully = Callable[[Result], str]


class _Lines(Protocol):
    decoder: FrameDecoder

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or its decoded result, if it had to be decoded."""


def one_by_one(
    writer: _Lines, batch: CapturedBatch, number: int, carefully: Carefully, start: int
) -> Iterator[tuple[str, int]]:
    """Yield the lines of a batch from an item on, each with the number of frames that it is of; arguments as of a
    `Writer`."""
    for captured in islice(batch, start, None):
        if type(captured) is not tuple:
            writer.decoder.connections.forget(captured)
            continue
        line = writer.line(captured, number)
        yield line if isinstance(line, str) else carefully(line), 1
        number += 1


class _Writer:
    """The common part of both writers; batches write most frames themselves (`FrameBatch.lines`).

    Args:
        decoder: decodes what is left to it; the connections are its own.
        file: the name of the capture.
        sealed: leave secrets out.
    """

    is_text = False

    def __init__(self, decoder: FrameDecoder, file: str, kinds: Kinds[Any], *, sealed: bool) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self.sealed: bool = sealed
        self.apis: Apis = decoder.connections.apis
        self.kinds, self.meet, self.forget = kinds.of, kinds.meet, decoder.connections.forget

    def written(
        self, batch: CapturedBatch, number: int, carefully: Carefully, start: int = 0
    ) -> Iterator[tuple[str, int]]:
        """Yield the lines of a batch from an item on, many together, with the number of their frames; arguments as of a
        `Writer`."""
        if ENGINE != "native":
            yield from one_by_one(self, batch, number, carefully, start)
            return
        self._carefully, at = carefully, start
        while at < len(batch):
            at, frames, text, interrupt = batch.lines(self, at, number, MOST_TEXT)
            number += frames
            yield text, frames
            if interrupt is not None:
                raise interrupt

    def rest(
        self, captured: CapturedFrame, number: int, connection: DecodedConnection | None, header: Header | None
    ) -> str:
        """Return the line of a frame that batches do not write; its connection and header are there if these were asked
        for."""
        if connection is None or header is None:
            return self._carefully(self.result(captured, number))
        frame = frame_of(captured, self.file, number)
        return self._carefully(self.decoder.result(frame, connection, header, SECOND))

    def result(self, captured: CapturedFrame, number: int) -> Result:
        """Decode a frame, given its number in the capture."""
        connection = self.decoder.connections.of(captured[0])
        header = connection.pair(captured)
        if captured[1]:
            header.number(number)
        return self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND)

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or its decoded result, if it had to be decoded."""
        return self.result(captured, number)


class CapturedLines(_Writer):
    """Writes the text lines of one capture.

    Args:
        decoder, file, sealed: as of a `_Writer`.
        lines: writes the lines of all dumps, with the dates.
    """

    is_text = True

    def __init__(self, decoder: FrameDecoder, file: str, lines: FrameLines, *, sealed: bool = True) -> None:
        super().__init__(decoder, file, Kinds(self._kind), sealed=sealed)
        self.begin = decoder.connections.of
        self.width: int = lines.style.width
        before, _, behind = lines.style.paint("value", "-").partition("-")
        self.colour: tuple[bytes, bytes] = before.encode(), behind.encode()
        self.link = link_text
        self._lines = lines

    def date(self, time: float) -> str:
        """Return the line of the date of a time, in seconds, where it is another than before."""
        return self._lines.date(datetime.fromtimestamp(time, UTC))

    def fit(self, line: str) -> str:
        """Return a line that is safe to show and not too wide."""
        return fitted(line.rstrip(), self.width)

    def topics(self, found: list[tuple[bytes | None, str | None]]) -> str:
        """Return the topics of a body, given their ids and names."""
        return ", ".join(self._lines.summary.names(found))

    def read(self, kind: _Kind, body: bytes) -> tuple[str, str] | None:
        """Return the parts of a line about a body: errors, and topics."""
        codec = kind.codec
        message = decode_clean(codec, body)
        if message is None or (self.sealed and may_hold_secrets(codec, message)):
            return None
        facts = self._lines.summary.facts(codec, message)
        return "" if kind.is_request else errors_text(facts), ", ".join(facts.topics)

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> _Kind | None:
        if self.sealed and (may_carry(codec) or not (is_request or str(call.client_id).isprintable())):
            return None
        kind = _Kind(call, is_request, codec, tagged)
        kind.facts = body_facts(codec, METADATA_LOG if self.sealed and codec.name in MESSAGES else frozenset())
        return kind


def link_of(header: Header, now: int) -> tuple[float | None, int | None]:
    """Return how long a response took, in seconds, and the number of the frame of its request.

    Args:
        header: of the response, from `Connection.pair`.
        now: when it was captured, in nanoseconds.
    """
    request = header if header.is_request else header.request
    if request is None:
        return None, None
    return None if request.time is None else seconds_between(request.time / SECOND, now / SECOND), request.frame


class _Kind(Kind):
    """The common parts of the lines of requests or responses: the text before the correlation id, the client, and the
    order of what follows the size: Client, Topics, Link, Errors."""

    __slots__ = ()

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.front = f"{ARROWS[codec.spec.type]} {name_text(codec)} ".encode()
        self.back = (call.client_id or "").encode()
        asked = "".join(request_words("", "", "C", "T")).encode()
        without, failed = ("".join(response_words(errors, "L", "", "T", "C")).encode() for errors in ("", "E"))
        self.order = (asked, asked) if is_request else (without, failed)


Tails = tuple[bytes, bytes, str, str]


class JsonLines(_Writer):
    """Writes the JSON lines of one capture; arguments as of a `_Writer`."""

    def __init__(self, decoder: FrameDecoder, file: str, *, sealed: bool = True) -> None:
        self._kinds = Kinds(self._kind)
        super().__init__(decoder, file, self._kinds, sealed=sealed)
        start = f'"source":{{"file":{_json_text(file)},"frame":'
        self._heads = tuple(f'{{"kwire":1,"type":"{kind}",{start}' for kind in ("response", "request"))
        self.heads: tuple[bytes, ...] = tuple(head.encode() for head in self._heads)  # for batches

    def begin(self, ends: Endpoints) -> DecodedConnection:
        """Return the connection that frames came on."""
        connection = self.decoder.connections.of(ends)
        if connection.note is None:
            _json_tails(connection, ends)
        return connection

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame, given its number in the capture; or what it was decoded to, if it had to be."""
        ends, asked, offset, now, _, _, first, second = captured
        connection = self.decoder.connections.of(ends)
        header, kind, body = self._kinds.take(connection, captured, number)
        text = None if kind is None or now is None or now < SECOND else self.body_text(kind, body)
        if kind is None or text is None or now is None:
            return self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND)
        if asked and header.call is not connection.call:
            self.meet(connection, kind, body)
        tails = (connection.note or _json_tails(connection, ends))[2:]
        time, correlation_id = repr(now / SECOND), second if asked else first
        place = f'{number},"offset":{offset},"time":{time}{"" if asked else _json_link(header, now)}'
        head = f"{self._heads[asked]}{place}{tails[asked]}{kind.head}{correlation_id}"
        return head + kind.tail + text + "}\n"

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> _JsonKind | None:
        carries = self.sealed and may_carry(codec)
        if (carries or (self.sealed and not is_request)) and not str(call.client_id).isprintable():
            return None  # it may be read out of a secret
        return _JsonKind(call, is_request, codec, tagged, carries or (self.sealed and codec.name in MESSAGES))

    def body_text(self, kind: _JsonKind, body: bytes) -> str | None:
        """Return the text of a body, without the secrets in it."""
        codec = kind.codec
        message = decode_clean(codec, body) if kind.may_hold_secrets else None
        if message is not None and may_hold_secrets(codec, message):
            text: str | None = msgspec.json.encode(codec.jsonable(mask_message(codec, message))).decode()
        else:
            text = codec.json_text(body)
        return None if text is None else escape(text)


class _JsonKind(Kind):
    """The common parts of the lines of requests or responses: the text before and after the correlation id."""

    __slots__ = ("head", "may_hold_secrets", "tail")

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool, may_hold_secrets: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.may_hold_secrets: bool = may_hold_secrets
        api = call.api
        self.head: str = (
            f'{api.key},"apiName":{_json_text(codec.spec.api_name)},"apiVersion":{api.version},"correlationId":'
        )
        client_id = call.client_id if call.client else ""  # headers of version 0 have none: the default of the field
        version = f',"payloadVersion":{codec.version}' if codec.version != api.version and not is_request else ""
        self.tail: str = f',"clientId":{_json_text(client_id)}}}{version},"payload":'
        self.front, self.back = self.head.encode(), self.tail.encode()
        self.facts = body_facts(codec, METADATA_LOG) if may_hold_secrets and not may_carry(codec) else None
        self.table = None if may_hold_secrets and self.facts is None else table_of(codec)


def _json_link(header: Header, now: int) -> str:
    """Return the members of a response's source about its request."""
    latency, number = link_of(header, now)
    frame = "" if number is None else f',"requestFrame":{number}'
    return frame if latency is None else f',"latencySeconds":{msgspec.json.encode(latency).decode()}{frame}'


def _json_tails(connection: DecodedConnection, ends: Endpoints) -> Tails:
    """Store with a connection the part of `source` that follows the time in the lines of its frames: as bytes, and as
    text.
    """
    start = f',"client":{_json_text(ends.client)},"broker":{_json_text(ends.broker)},"connection":{ends.connection}'
    response, request = (f'{start},"direction":"{word}"}},"header":{{"apiKey":' for word in ("response", "request"))
    tails = connection.note = response.encode(), request.encode(), response, request
    return tails


def _json_text(value: str | None) -> str:
    return escape(msgspec.json.encode(value).decode())
