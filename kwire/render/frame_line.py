"""Renders a frame as one line: number, time, direction, api, client, size, errors, topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from ..codecs.message_codec import Codec
from ..errors import UnexpectedResponse
from ..protocol import Frame, Request, Response, Result, SaslMessage, Token, Undecodable
from ..protocol.frames.stream_faults import CutShort
from ..protocol.message_summary import MessageFacts, MessageSummary
from ..protocol.results import client_of
from .colours import PLAIN, Style
from .escaping import escape
from .response_link import link_text
from .sasl_token import token_text
from .value_text import count_text, shorten

ARROWS = {"request": "->", "response": "<-"}  # to the broker, and back
REASON = 160  # minimum columns for the reason why a frame was not decoded


class FrameLines:
    """Writes the lines of several dumps, with a line for each day: `# 2023-11-14` (UTC).

    Args:
        summary: extracts topics and errors.
        style: colours and width.
        labels: what stands at the start of the lines of a file, by its name; by default nothing.
    """

    def __init__(
        self, summary: MessageSummary, style: Style = PLAIN, labels: Mapping[str | None, str] | None = None
    ) -> None:
        self.summary: MessageSummary = summary
        self.style: Style = style
        self.labels: Mapping[str | None, str] = labels or {}
        self._day = 0

    def text(self, result: Result) -> str:
        """Return the line of a frame with its newline; a line with the date precedes it if the date has changed."""
        moment = _moment(result.frame)
        date = "" if moment is None else self.date(moment)
        label = self.labels.get(result.frame.source.file, "")
        return f"{date}{frame_line(result, self.summary, self.style, label)}\n"

    def date(self, moment: datetime) -> str:
        """Return the line of a date with its newline if the date has changed; else an empty string."""
        day = moment.toordinal()
        if day == self._day:
            return ""
        self._day = day
        return self.style.paint("dim", f"# {moment:%Y-%m-%d}") + "\n"


def frame_line(result: Result, summary: MessageSummary, style: Style = PLAIN, label: str = "") -> str:
    """Return a frame as one line that is at most as wide as the style.

    Args:
        result: the frame, decoded or not.
        summary: extracts topics and errors; shared by all lines of a dump.
        style: colours and width.
        label: the start of the line.

    >>> import kwire
    >>> request = kwire.messages.MetadataRequest(topics=None)
    >>> frame = kwire.Frame(kwire.encode_request(request, 1, correlation_id=7, client_id="me"))
    >>> frame_line(next(kwire.decode_frames([frame])), MessageSummary())
    '    - -> Metadata:1         #7       20 B  me'
    """
    head, tail = _parts(result, summary)
    rest = "  ".join(part for part in tail if part)
    text = f"{label}{_place(result.frame)} {head} {len(result.frame.data):>5} B  {rest}".rstrip()
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


def request_words(faults: str, carried: str, client: str, topics: str) -> tuple[str, ...]:
    """Return the words in the line of a request, in order."""
    return faults, carried, client, topics


def response_words(errors: str, link: str, carried: str, topics: str, client: str) -> tuple[str, ...]:
    """Return the words in the line of a response: errors first, the least important words last."""
    return (errors, carried, topics, client, link) if errors else (link, carried, topics, client)


def errors_text(facts: MessageFacts) -> str:
    """Format the errors of a message, each with its count if it is repeated.

    >>> from kwire.values import ErrorCode
    >>> errors_text(MessageFacts(errors=(ErrorCode(3), ErrorCode(3), ErrorCode(29))))
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
    return _message_parts(result, summary)


def _message_parts(result: Request | Response, summary: MessageSummary) -> tuple[str, list[str]]:
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
    """Return the start and the words of the line of a frame that was not decoded."""
    correlation = getattr(result.header, "correlation_id", None)
    number = "" if correlation is None else f"#{correlation}"
    if result.is_failure:
        return f"?  {number}" if number else "? ", [f"!undecodable: {result.error}"]
    arrow = ARROWS.get(result.frame.source.direction or "", "  ")
    name = f"{result.codec.spec.api_name}:{result.codec.version}" if result.codec else ""
    client = "" if isinstance(result.error, CutShort | UnexpectedResponse) else result.frame.source.client or ""
    return f"{arrow} {name:<18} {number:<5}", [str(result.error), client]


def _colour(result: Result) -> str:
    if isinstance(result, Undecodable):
        return "error" if result.is_failure else "dim"
    return "warning" if not isinstance(result, Token) and result.faults else "value"
