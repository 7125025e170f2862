"""The results of decoding a frame: `Request`, `Response`, `Token` or `Undecodable`. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

from msgspec import Struct

from .. import hooks
from ..codecs import Codec
from ..codecs.tracing import Span
from ..errors import DecodeError
from .framing import Frame
from .sasl import SaslMessage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", bound=Struct, default=Struct, covariant=True)
else:
    from typing import TypeVar

    M = TypeVar("M")


class CodecOf(Protocol[M]):
    """A `Codec`, for type checkers: covariant in the class of messages, as decoding alone is."""

    @property
    def message_class(self) -> type[M]:
        """The class of decoded messages."""


class Client(NamedTuple):
    """Who is at the client's end of a connection, as its requests have told so far: client id, and its software
    with its version (KIP-511), empty where ApiVersions did not tell."""

    client_id: str | None = None
    software: str = ""


NOBODY = Client()


class _Drawn:
    """What a notebook may draw."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: bytes and fields beside each other."""
        return hooks.render_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoded(_Drawn, Generic[M]):
    """What requests and responses share.

    `header` is the message in front of the body (None for a bare body, or where there is none); `codec` the
    codec of the body; `faults` what salvage tolerated, with offsets in the frame; `rest` the bytes behind the
    body; `spans` is filled when the decoder traces. `client` is who speaks on this connection. `inside` is what the
    message carries: the forwarded request or response of an Envelope (KIP-590), the token of SaslAuthenticate.
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
        """The name of the api: `Metadata`."""
        return self.codec.spec.api_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(_Decoded[M]):
    """A decoded request."""

    @property
    def api_version(self) -> int:
        """The version of the body."""
        return self.codec.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(_Decoded[M]):
    """A decoded response. `request` is the header of the request it answers, where that is known, `asked_at` the time
    of its frame; `unanswered` are headers of requests that it overtook, which says that they will have no answer."""

    request: Any = None
    unanswered: tuple[Any, ...] = ()
    asked_at: float | None = None

    @property
    def api_version(self) -> int:
        """The version of the request; the body's own is `codec.version` (KIP-511: ApiVersions may answer in v0)."""
        return self.codec.version if self.request is None else int(self.request.request_api_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_Drawn):
    """A SASL token without a header, as it follows SaslHandshake v0. `from_client` says who sent it."""

    frame: Frame
    content: SaslMessage
    from_client: bool
    spans: tuple[Span, ...] = ()
    client: Client = NOBODY

    @property
    def codec(self) -> None:
        """A token is no message of Kafka's."""

    @property
    def header(self) -> None:
        """A token has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable(_Drawn):
    """A frame that could not be decoded, whole or in part. `error` has offset, path and the part that could;
    `header` and `codec` are there as far as they were found out. `is_private` says that the client was
    authenticating; `hidden` how many of its last bytes are not to be shown."""

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
        """Whether something complete did not decode: not where bytes are missing, or are another protocol's."""
        return self.error.is_failure


Result = Request | Response | Token | Undecodable
