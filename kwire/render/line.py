"""Renders frames as lines of text (number, time, direction, api, client, size, errors, topics) or as JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Protocol

import msgspec

from ..codecs import Codec, table_of
from ..errors import UnexpectedResponse
from ..native import ENGINE
from ..protocol import Frame, FrameDecoder, Request, Response, Result, SaslMessage, Token, Undecodable
from ..protocol.framing import SECOND, CapturedBatch, CapturedFrame, CutShort, Endpoints, frame_of
from ..protocol.header_reader import DecodedConnection, Kind, Kinds, decode_clean
from ..protocol.headers import Apis, Call, Header
from ..protocol.results import Facts, MessageSummary, body_facts, client_of, seconds_between
from ..redact.masking import mask_message
from ..redact.metadata_log_secrets import MESSAGES, METADATA_LOG
from ..redact.secret_messages import may_carry, may_hold_secrets
from .json_objects import token_text
from .style import PLAIN, Style, escape
from .value_text import count_text, duration_text, shorten

ARROWS = {"request": "->", "response": "<-"}  # to the broker, and back


REASON = 160  # minimum columns for the reason why a frame was not decoded


class FrameLines:
    """Writes the lines of several dumps, with a line for each day: `# 2023-11-14` (UTC).

    Args:
        summary: extracts topics and errors.
        style: colours and width.
    """

    def __init__(self, summary: MessageSummary, style: Style = PLAIN) -> None:
        self.summary: MessageSummary = summary
        self.style: Style = style
        self._day = 0

    def text(self, result: Result) -> str:
        """Return the line of a frame with its newline; a line with the date precedes it if the date has changed."""
        moment = _moment(result.frame)
        date = "" if moment is None else self.date(moment)
        return f"{date}{frame_line(result, self.summary, self.style)}\n"

    def date(self, moment: datetime) -> str:
        """Return the line of a date with its newline if the date has changed; else an empty string."""
        day = moment.toordinal()
        if day == self._day:
            return ""
        self._day = day
        return self.style.paint("dim", f"# {moment:%Y-%m-%d}") + "\n"


def frame_line(result: Result, summary: MessageSummary, style: Style = PLAIN) -> str:
    """Return a frame as one line that is at most as wide as the style.

    Args:
        result: the frame, decoded or not.
        summary: extracts topics and errors; shared by all lines of a dump.
        style: colours and width.

    >>> import kwire
    >>> request = kwire.messages.MetadataRequest(topics=None)
    >>> frame = kwire.Frame(kwire.encode_request(request, 1, correlation_id=7, client_id="me"))
    >>> frame_line(next(kwire.decode_frames([frame])), MessageSummary())
    '    - -> Metadata:1         #7       20 B  me'
    """
    head, tail = _parts(result, summary)
    rest = "  ".join(part for part in tail if part)
    text = f"{_place(result.frame)} {head} {len(result.frame.data):>5} B  {rest}".rstrip()
    width = max(style.width, REASON) if isinstance(result, Undecodable) else style.width
    return style.paint(_colour(result), fitted(text, width))


def fitted(text: str, width: int) -> str:
    """Return text as one line that is safe to show, truncated to the width."""
    if not text.isprintable():
        text = escape(text).replace("\n", " ").replace("\t", " ")
    return shorten(text, width)


def name_text(codec: Codec) -> str:
    """Return the name of a frame's message for a line.

    >>> import kwire
    >>> name_text(kwire.codec("MetadataResponse", 4))
    'Metadata:4        '
    """
    spec = codec.spec
    return f"{(spec.api_name if spec.type in ARROWS else spec.name) + ':' + str(codec.version):<18}"


def _place(frame: Frame) -> str:
    """Return the number of a frame, and its time (UTC) if its container has a valid one."""
    number, moment = frame.source.frame, _moment(frame)
    text = f"{'-' if number is None else number:>5}"
    return text if moment is None else f"{text} {time_text(moment)}"


def time_text(moment: datetime) -> str:
    """Format the time of day, rounded down to milliseconds."""
    return f"{moment.hour:02}:{moment.minute:02}:{moment.second:02}.{moment.microsecond // 1000:03}"


def _moment(frame: Frame) -> datetime | None:
    if frame.source.time is not None:
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(frame.source.time, UTC)
    return None


def link_text(latency: float | None, request_frame: int | None) -> str:
    """Format the latency of a response and the frame number of its request.

    >>> link_text(0.2582, 21), link_text(None, 21), link_text(None, None)
    ('258ms @21', '@21', '')
    """
    took = [] if latency is None else [duration_text(latency)]
    return " ".join(took if request_frame is None else [*took, f"@{request_frame}"])


def request_words(faults: str, carried: str, client: str, topics: str) -> tuple[str, ...]:
    """Return the words in the line of a request, in order."""
    return faults, carried, client, topics


def response_words(errors: str, link: str, carried: str, topics: str, client: str) -> tuple[str, ...]:
    """Return the words in the line of a response: errors first, the least important words last."""
    return (errors, carried, topics, client, link) if errors else (link, carried, topics, client)


def errors_text(facts: Facts) -> str:
    """Format the errors of a message, each with its count if it is repeated.

    >>> from kwire.values import ErrorCode
    >>> errors_text(Facts(errors=(ErrorCode(3), ErrorCode(3), ErrorCode(29))))
    '!UNKNOWN_TOPIC_OR_PARTITION x2, TOPIC_AUTHORIZATION_FAILED'
    """
    errors = Counter(str(error) for error in facts.errors)
    words = [f"{name} x{count}" if count > 1 else name for name, count in errors.items()]
    return f"!{', '.join(words)}" if words else ""


def _parts(result: Result, summary: MessageSummary) -> tuple[str, list[str]]:
    if isinstance(result, Undecodable):
        return _undecodable(result)
    if isinstance(result, Token):
        arrow = ARROWS["request" if result.from_client else "response"]
        return f"{arrow} {'SASL token':<18} {'':<5}", [token_text(result.content, short=True)]
    return _decoded(result, summary)


def _decoded(result: Request | Response, summary: MessageSummary) -> tuple[str, list[str]]:
    number = "" if result.correlation_id is None else f"#{result.correlation_id}"
    head = f"{ARROWS.get(result.codec.spec.type, '  ')} {name_text(result.codec)} {number:<5}"
    facts = summary.facts(result.codec, result.message)
    faults = f"!{count_text(len(result.faults), 'fault')}" if result.faults else ""
    client, topics = client_of(result) or "", ", ".join(facts.topics)
    carried = _inside(result, summary)
    if isinstance(result, Request):
        return head, [*request_words(faults, carried, client, topics)]
    link, errors = link_text(result.latency, result.request_frame), errors_text(facts)
    return head, [faults, *response_words(errors, link, carried, topics, client)]


def _inside(result: Request | Response, summary: MessageSummary) -> str:
    """Return the words for messages that are nested in a message."""
    inside = result.inside
    if isinstance(inside, SaslMessage):
        return token_text(inside, short=True)
    if not isinstance(inside, Request | Response):
        return ""
    facts = summary.facts(inside.codec, inside.message)
    words = [f"[{inside.api_name}:{inside.codec.version}", client_of(inside) or "", errors_text(facts), *facts.topics]
    return "  ".join(word for word in words if word) + "]"


def _undecodable(result: Undecodable) -> tuple[str, list[str]]:
    correlation = getattr(result.header, "correlation_id", None)
    number = "" if correlation is None else f"#{correlation}"
    if result.is_failure:
        return f"?  {number}".rstrip() + " " * (not number), [f"!undecodable: {result.error}"]
    arrow = ARROWS.get(result.frame.source.direction or "", "  ")
    name = f"{result.codec.spec.api_name}:{result.codec.version}" if result.codec else ""
    client = "" if isinstance(result.error, CutShort | UnexpectedResponse) else result.frame.source.client or ""
    return f"{arrow} {name:<18} {number:<5}", [str(result.error), client]


def _colour(result: Result) -> str:
    if isinstance(result, Undecodable):
        return "error" if result.is_failure else "dim"
    return "warning" if not isinstance(result, Token) and result.faults else "value"


# code -> its name, singular and plural
WORDS = {
    "CUT_SHORT": ("frame cut short", "frames cut short"),
    "GAP": ("gap", "gaps"),
    "BEGUN_BEFORE": ("stream begun before the capture", "streams begun before the capture"),
    "FRAGMENT": ("fragment of frames", "fragments of frames"),
    "REQUEST_NOT_CAPTURED": ("response whose request was not captured", "responses whose requests were not captured"),
    "LOST_PACKETS": ("kind of packets that cannot be read", "kinds of packets that cannot be read"),
    "SASL_TOKEN": ("SASL token", "SASL tokens"),
    "NOT_KAFKA": ("stream of another protocol", "streams of other protocols"),
    "DAMAGED": ("damaged place", "damaged places"),
    "NO_FRAME": ("piece without frames", "pieces without frames"),
}
OTHERS = "frame that did not decode", "frames that did not decode"


def unread_text(counts: Mapping[str, int]) -> str:
    """Return the numbers of undecodable frames and of gaps as text; an empty string if there are none.

    Args:
        counts: the number of frames by code of `DecodeError`.

    >>> unread_text({"GAP": 2, "UNSUPPORTED_API": 1, "BAD_FIELD": 3})
    '4 frames that did not decode, 2 gaps'
    """
    others = sum(count for code, count in counts.items() if code not in WORDS)
    known = [(WORDS[code], counts[code]) for code in WORDS if counts.get(code)]
    named = [(OTHERS, others)] if others else []
    return ", ".join(f"{count} {words[count != 1]}" for words, count in named + known)


MOST_TEXT = 1 << 20  # approximate number of characters per write
Carefully = Callable[[Result], str]


class _Lines(Protocol):
    decoder: FrameDecoder

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or its decoded result, if it had to be decoded."""


def one_by_one(
    writer: _Lines, batch: CapturedBatch, number: int, carefully: Carefully, start: int
) -> Iterator[tuple[str, int]]:
    """Yield the lines of a batch from an item on, each with its number of frames; for the arguments see `Writer`."""
    for captured in islice(batch, start, None):
        if type(captured) is not tuple:
            writer.decoder.connections.forget(captured)
            continue
        line = writer.line(captured, number)
        yield line if isinstance(line, str) else carefully(line), 1
        number += 1


class _Writer:
    """The common base of both writers; batches write most frames themselves (`FrameBatch.lines`).

    Args:
        decoder: decodes the frames that the native engine does not decode; must not be shared.
        file: the name of the capture.
        sealed: omit secrets.
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
        """Yield the lines of a batch from an item on, many at a time, with their number of frames; for the arguments
        see `Writer`.
        """
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
        """Return the line of a frame that batches do not write.

        `connection` and `header` are set if they were requested.
        """
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
        decoder, file, sealed: the same as for `_Writer`.
        lines: writes the lines of all dumps, with their dates.
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
        """Return the line of the date of a time in seconds if the date has changed; else an empty string."""
        return self._lines.date(datetime.fromtimestamp(time, UTC))

    def fit(self, line: str) -> str:
        """Return a line shortened to the width of the terminal, with control characters escaped."""
        return fitted(line.rstrip(), self.width)

    def topics(self, found: list[tuple[bytes | None, str | None]]) -> str:
        """Return the topics of a body, given their ids and names."""
        return ", ".join(self._lines.summary.names(found))

    def read(self, kind: _Kind, body: bytes) -> tuple[str, str] | None:
        """Return the parts of a line for a body: errors and topics; None if the body must be decoded completely."""
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
    """Return the latency of a response in seconds, and the frame number of its request.

    Args:
        header: the header of the response, from `Connection.pair`.
        now: the capture time of the response, in nanoseconds.
    """
    request = header if header.is_request else header.request
    if request is None:
        return None, None
    return None if request.time is None else seconds_between(request.time / SECOND, now / SECOND), request.frame


class _Kind(Kind):
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


Tails = tuple[bytes, bytes, str, str]


class JsonLines(_Writer):
    """Writes the JSON lines of one capture; for the arguments see `_Writer`."""

    def __init__(self, decoder: FrameDecoder, file: str, *, sealed: bool = True) -> None:
        self._kinds = Kinds(self._kind)
        super().__init__(decoder, file, self._kinds, sealed=sealed)
        start = f'"source":{{"file":{_json_text(file)},"frame":'
        self._heads = tuple(f'{{"kwire":1,"type":"{kind}",{start}' for kind in ("response", "request"))
        self.heads: tuple[bytes, ...] = tuple(head.encode() for head in self._heads)  # for batches

    def begin(self, ends: Endpoints) -> DecodedConnection:
        """Return the connection with the given endpoints."""
        connection = self.decoder.connections.of(ends)
        if connection.note is None:
            _json_tails(connection, ends)
        return connection

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame, given its number in the capture; or its result, if it had to be decoded."""
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
            return None  # it may contain bytes of a secret
        return _JsonKind(call, is_request, codec, tagged, carries or (self.sealed and codec.name in MESSAGES))

    def body_text(self, kind: _JsonKind, body: bytes) -> str | None:
        """Return a body as JSON text with its secrets masked; None if the codec cannot write the text."""
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
        client_id = call.client_id if call.client else ""  # a header of version 0 has none: the field's default
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
    """Store the part of `source` that follows the time with a connection, as bytes and as text."""
    start = f',"client":{_json_text(ends.client)},"broker":{_json_text(ends.broker)},"connection":{ends.connection}'
    response, request = (f'{start},"direction":"{word}"}},"header":{{"apiKey":' for word in ("response", "request"))
    tails = connection.note = response.encode(), request.encode(), response, request
    return tails


def _json_text(value: str | None) -> str:
    return escape(msgspec.json.encode(value).decode())
