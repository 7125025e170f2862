"""The results of decoding a frame: `Request`, `Response`, `Token` or `Undecodable`."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

from msgspec import Struct

from ..codecs.message_codec import Codec
from ..codecs.tracing import Span
from ..errors import DecodeError
from ..runtime import hooks
from ..runtime.former_dataclasses import was_dataclass
from .frames.frame import Frame
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


def seconds_between(then: float | None, now: float | None) -> float | None:
    """Return the difference of two times in seconds, in whole microseconds; None if a time is unknown or not finite.

    Current times as floats have no higher precision.

    >>> seconds_between(1700000000.000001, 1700000000.25), seconds_between(float("nan"), 1.0)
    (0.249999, None)
    """
    if then is None or now is None:
        return None
    microseconds = (now - then) * 1e6
    return round(microseconds) / 1e6 if isfinite(microseconds) else None


class Client(NamedTuple):
    """The client of a connection, according to its requests so far.

    `software` has name and version (KIP-511); it is empty if ApiVersions did not contain them.
    """

    client_id: str | None = None
    software: str = ""


NOBODY = Client()


class _NotebookResult:
    """Base of results that notebooks can display."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: bytes and fields side by side."""
        return hooks.render_html(self)


class _DecodedFrame(Struct, _NotebookResult, Generic[M], frozen=True, kw_only=True):
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


@was_dataclass
class Request(_DecodedFrame[Q], frozen=True, kw_only=True):
    """A decoded request. `response_frame` is the frame number of its response, set by `with_response_frames`."""

    header: RequestHeader | Any = None  # None for a bare body only, for which users need not check everywhere
    response_frame: int | None = None

    @property
    def api_version(self) -> int:
        """The version of the body."""
        return self.codec.version


@was_dataclass
class Response(_DecodedFrame[A], frozen=True, kw_only=True):
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
        return seconds_between(self.asked_at, self.frame.source.time)

    @property
    def api_version(self) -> int:
        """The version of the request.

        The version of the body is `codec.version` (KIP-511: an ApiVersions response may have version 0).
        """
        return self.codec.version if self.request is None else int(self.request.request_api_version)


@was_dataclass
class Token(Struct, _NotebookResult, frozen=True, kw_only=True):
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


@was_dataclass
class Undecodable(Struct, _NotebookResult, frozen=True, kw_only=True):
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
