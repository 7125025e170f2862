"""The results of decoding a frame: `Request`, `Response`, `Token` or `Undecodable`; and the summary of a message.

The summary has the topics, error codes and client software, which are found by the names and types of fields.
`with_response_frames` adds to each request the frame number of its response; it holds results in a bounded window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

from msgspec import Struct

from .. import hooks
from ..codecs import Codec, Place, Span, found_in, leaves, plan_of, table_of
from ..errors import DecodeError
from ..names import snake_case
from ..native import ENGINE
from ..values import Value, kind, kind_of
from ..wire import Integer, String
from .framing import Frame
from .headers import expects_response
from .sasl_tokens import SaslMessage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ..messages import RequestHeader, RequestMessage, ResponseHeader, ResponseMessage

    M = TypeVar("M", bound=Struct, covariant=True)
    Q = TypeVar("Q", bound=Struct, default=RequestMessage[Any], covariant=True)
    A = TypeVar("A", bound=Struct, default=ResponseMessage, covariant=True)
    # No bound: with one, pyright refuses a codec for `CodecOf[R]` after it was none for `CodecOf[RequestMessage[R]]`.
    N = TypeVar("N", covariant=True)
else:
    from typing import TypeVar

    M, Q, A, N = TypeVar("M"), TypeVar("Q"), TypeVar("A"), TypeVar("N")


class CodecOf(Protocol[N]):
    """A `Codec`, for type checkers: covariant in the message class, because it only decodes."""

    def read(self, reader: Any) -> N:
        """Decode one body at the reader's position."""


def seconds_between(then: float, now: float) -> float:
    """Return the difference of two times in seconds, in whole microseconds.

    Current times as floats have no higher precision.

    >>> seconds_between(1700000000.000001, 1700000000.25)
    0.249999
    """
    return round((now - then) * 1e6) / 1e6


class Client(NamedTuple):
    """The client of a connection, according to its requests so far.

    `software` has name and version (KIP-511); it is empty if ApiVersions did not contain them.
    """

    client_id: str | None = None
    software: str = ""


NOBODY = Client()


class _Drawn:
    """Base of results that notebooks can display."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: bytes and fields side by side."""
        return hooks.render_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoded(_Drawn, Generic[M]):
    """Base of requests and responses.

    `header` is the message before the body (None for a bare body, or without a header); `codec` is the codec of the
    body; `faults` are the faults that salvage tolerated, with offsets in the frame; `rest` are the bytes after the
    body; `spans` is filled with `trace`. `client` is the client of this connection. `inside` is the nested payload: the
    forwarded request or response of an Envelope (KIP-590), or the token of SaslAuthenticate.
    """

    frame: Frame
    codec: Codec
    message: M
    header: Any = None
    correlation_id: int | None = None
    faults: tuple[DecodeError, ...] = ()
    rest: bytes = b""
    spans: tuple[Span, ...] = ()
    client: Client = NOBODY
    inside: Request | Response | Undecodable | SaslMessage | None = None

    @property
    def api_key(self) -> int | None:
        """The api key; None for a bare message that is neither request nor response."""
        return self.codec.spec.api_key

    @property
    def api_name(self) -> str:
        """The name of the api, such as `Metadata`."""
        return self.codec.spec.api_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(_Decoded[Q]):
    """A decoded request. `response_frame` is the frame number of its response, set by `with_response_frames`."""

    header: RequestHeader | Any = None  # None for a bare body only, for which users need not check everywhere
    response_frame: int | None = None

    @property
    def api_version(self) -> int:
        """The version of the body."""
        return self.codec.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(_Decoded[A]):
    """A decoded response.

    `request` is the header of its request, if known; `asked_at` is the time of the request's frame, and `request_frame`
    its number. `unanswered` has the headers of requests that it overtook, which will get no response.
    """

    header: ResponseHeader | Any = None
    request: RequestHeader | Any = None
    unanswered: tuple[Any, ...] = ()
    asked_at: float | None = None
    request_frame: int | None = None

    @property
    def latency(self) -> float | None:
        """The seconds between the frames of request and response, in whole microseconds; None if unknown."""
        now = self.frame.source.time
        return None if self.asked_at is None or now is None else seconds_between(self.asked_at, now)

    @property
    def api_version(self) -> int:
        """The version of the request.

        The version of the body is `codec.version` (KIP-511: an ApiVersions response may have version 0).
        """
        return self.codec.version if self.request is None else int(self.request.request_api_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_Drawn):
    """A SASL token without a header, after SaslHandshake v0. `from_client` is true if the client sent it."""

    frame: Frame
    content: SaslMessage
    from_client: bool
    spans: tuple[Span, ...] = ()
    client: Client = NOBODY

    @property
    def codec(self) -> None:
        """None: a token is not a message of Kafka's protocol."""

    @property
    def header(self) -> None:
        """None: a token has no header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable(_Drawn):
    """A frame that could not be decoded, or only partially.

    `error` has the offset, path and decoded part; `header` and `codec` are set if known. `is_private` is true while the
    client authenticates; `hidden` is the number of trailing bytes that must not be shown.
    """

    frame: Frame
    error: DecodeError
    header: Any = None
    codec: Codec | None = None
    spans: tuple[Span, ...] = ()
    client: Client = NOBODY
    is_private: bool = False
    hidden: int = 0

    @property
    def is_failure(self) -> bool:
        """Whether a complete frame did not decode; False if bytes are missing or belong to another protocol."""
        return self.error.is_failure


Result = Request | Response | Token | Undecodable


def client_of(result: Result) -> str | None:
    """Return the client id of a request, or of the request that a response answers.

    If it is unknown, return the last client id on the connection; None if there is none.
    """
    header = result.request if isinstance(result, Response) else result.header
    if isinstance(result, Request | Response) and header is not None:
        client: str | None = getattr(header, "client_id", None)
        return client
    return result.client.client_id if result.frame.source.client else None


MOST_HELD, MOST_BYTES = 100_000, 1 << 26  # limits: waiting results, and bytes of their frames
T = TypeVar("T")


class _Held:
    """A result that is not yet yielded; for a waiting request, also its connection."""

    __slots__ = ("connection", "result", "size", "waits")

    def __init__(self, result: Any, size: int = 0, connection: object = None, *, waits: bool = False) -> None:
        self.result = result
        self.size: int = size
        self.connection: object = connection
        self.waits: bool = waits


class _Window:
    """Results in order; the oldest one is a request that waits for its response."""

    def __init__(self) -> None:
        self._held = deque[_Held]()
        self._requests: dict[object, dict[int, _Held]] = {}  # the waiting requests, by connection and frame number
        self._file: str | None = None
        self._size = 0  # in bytes

    def add(self, result: object) -> None:
        """Add a result. A response stores its frame number in its request; older requests stop waiting."""
        if isinstance(result, Request | Response | Token | Undecodable):
            self._add(result)
        else:
            self._held.append(_Held(result))

    def _add(self, result: Result) -> None:
        source = result.frame.source
        if source.file != self._file:
            self.release()
            self._file = source.file
        for number in result.frame.closed:
            self._end(number)
        connection = source.connection_key
        held = _Held(result, len(result.frame.data), connection)
        self._held.append(held)
        self._size += held.size
        if isinstance(result, Request) and source.frame is not None and expects_response(result.message):
            held.waits = True
            self._requests.setdefault(connection, {})[source.frame] = held
        elif isinstance(result, Response) and result.request_frame is not None:
            self._answer(connection, result.request_frame, source.frame)

    def _answer(self, connection: object, request: int, response: int | None) -> None:
        waiting = self._requests.get(connection, {})
        for number in list(takewhile(lambda number: number <= request, waiting)):
            held = waiting.pop(number)
            held.waits = False
            if number == request:
                held.result = replace(held.result, response_frame=response)

    def _end(self, connection: object) -> None:
        for held in self._requests.pop(connection, {}).values():
            held.waits = False

    def release(self) -> None:
        """Mark all results as ready."""
        for connection in list(self._requests):
            self._end(connection)

    def ready(self) -> Iterator[Any]:
        """Yield the first results that do not wait, and the results that exceed the window."""
        while self._held and (not self._held[0].waits or len(self._held) > MOST_HELD or self._size > MOST_BYTES):
            held = self._held.popleft()
            self._size -= held.size
            if held.waits:
                del self._requests[held.connection][held.result.frame.source.frame]
            yield held.result


def with_response_frames(results: Iterable[T]) -> Iterator[T]:
    """Yield results in the same order, each request with the frame number of its response.

    A request is held until its response, a response to a later request or the end of its connection has arrived. At
    most 100,000 results or 64 MiB of frames are held; then the oldest is yielded without the number.

    Args:
        results: results of frames that have numbers; other objects are yielded unchanged.

    >>> import kwire
    >>> results = kwire.decode_frames(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin"))
    >>> [getattr(result, "response_frame", None) for result in with_response_frames(results)]
    [1, None, 3, None, 5, None]
    """
    window = _Window()
    for result in results:
        window.add(result)
        yield from window.ready()
    window.release()
    yield from window.ready()


if TYPE_CHECKING or ENGINE == "native":
    from ..native import BodyFacts

TOPIC_FIELDS = frozenset(("topic_name", "topic", "topic_names", "subscribed_topic_names", "source_topics"))
SOFTWARE = ("client_software_name", "client_software_version")
MOST_TOPICS = 100_000  # the number of topic ids that are stored


class Facts(NamedTuple):
    """The summary of one message: distinct topics in order, and error codes other than 0 in order."""

    topics: tuple[str, ...] = ()
    errors: tuple[Value, ...] = ()


class MessageSummary:
    """Extracts topics and errors from messages; stores the topic names of topic ids.

    >>> import kwire
    >>> Reply = kwire.messages.ControlledShutdownResponse
    >>> MessageSummary().facts(kwire.codec("ControlledShutdownResponse", 1), Reply(error_code=7)).errors
    (<ErrorCode 7 REQUEST_TIMED_OUT>,)
    """

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def facts(self, codec: Codec, message: Any) -> Facts:
        """Return the topics and error codes of a decoded message.

        Args:
            codec: the codec of the message.
            message: the decoded message.

        A topic with only an id gets the name that an earlier message contained; otherwise `?` and the start of the id.
        """
        found: list[tuple[bytes | None, str]] = []
        for step, structs, held in found_in(plan_of(codec, _topic), message):
            if not isinstance(step.interest, _Id):
                found += [(None, name) for name in (held if step.is_array else (held,))]
            elif any(held):
                name = step.interest.name
                found.append((held, getattr(structs[-1], name) if name else ""))
        return Facts(self.names(found), tuple(kind("ErrorCode")(code) for _, code in error_codes(codec, message)))

    def names(self, topics: Iterable[tuple[bytes | None, str | None]]) -> tuple[str, ...]:
        """Return distinct names of topics in order; a topic with an id is named as in `facts`.

        Args:
            topics: ids and names; either may be missing.
        """
        return tuple({name or "" if id_ is None else self._named(id_, name): None for id_, name in topics})

    def _named(self, topic_id: bytes, name: str | None) -> str:
        if name and len(self._names) < MOST_TOPICS:
            self._names[topic_id] = name
        return name or self._names.get(topic_id) or f"?{topic_id.hex()[:8]}"


def error_codes(codec: Codec, message: Any) -> tuple[tuple[str, int], ...]:
    """Return (path without indices, code) for every error code of a message except 0 (no error).

    >>> import kwire
    >>> topic = kwire.messages.MetadataResponse.MetadataResponseTopic(error_code=3, name="t")
    >>> message = kwire.messages.MetadataResponse(topics=(topic,))
    >>> error_codes(kwire.codec("MetadataResponse", 0), message)
    (('topics.error_code', 3),)
    """
    return tuple(
        (step.path, code)
        for step, _, held in found_in(plan_of(codec, _error_code), message)
        for code in (held if step.is_array else (held,))
        if code
    )


def software_of(message: Any) -> str:
    """Return name and version of the client software in an ApiVersions request; an empty string for other messages.

    >>> import kwire
    >>> software_of(kwire.messages.ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2"))
    'librdkafka 2'
    """
    return " ".join(filter(None, (getattr(message, attribute, "") for attribute in SOFTWARE)))


def is_topic_field(struct: str, attribute: str) -> bool:
    """Whether a text field of a struct contains names of topics.

    >>> is_topic_field("MetadataResponseTopic", "name"), is_topic_field("CreatableTopicConfig", "name")
    (True, False)
    """
    named = attribute == "name" and "_topic" in f"_{snake_case(struct)}" and "Config" not in struct
    return named or attribute in TOPIC_FIELDS


@lru_cache(maxsize=1024)
def body_facts(codec: Codec, guarded: frozenset[str | bytes] = frozenset()) -> BodyFacts | None:
    """Return a native function that finds topics and error codes in bodies; None if bodies must be decoded.

    Args:
        codec: the codec of the bodies.
        guarded: names and ids of topics; bodies that contain one of them are not handled.
    """
    table = table_of(codec)
    if table is None:
        return None
    try:
        return BodyFacts(table, dict(step.interest for step in leaves(plan_of(codec, _mark))), guarded)
    except ValueError:
        return None


def _mark(place: Place) -> tuple[Any, str] | None:
    topic = _topic(place)
    if topic is not None:
        return place.field, "topic id" if isinstance(topic, _Id) else "topic name"
    return (place.field, "error code") if _error_code(place) else None


class _Id(NamedTuple):
    """A field with a topic id; `name` is the field beside it with the name of the topic."""

    name: str | None


def _topic(place: Place) -> _Id | bool | None:
    if place.name == "topic_id" and not place.is_array:
        names = [str(field.name) for field in place.struct.all_fields if isinstance(field.subcon, String)]
        return _Id(next((name for name in names if is_topic_field(place.owner, name)), None))
    # These fields are not topic indexes.
    return True if isinstance(place.node, String) and is_topic_field(place.owner, place.name) else None


def _error_code(place: Place) -> bool | None:
    is_number = isinstance(place.node, Integer)
    return (is_number and kind_of(place.message, place.owner, place.field.json_name) is kind("ErrorCode")) or None
