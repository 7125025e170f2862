"""The apis and versions in headers; each api is looked up only once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...codecs.message_codec import Codec, codec_in
from ...codecs.native import CallState
from ...errors import EncodeError
from ...runtime.caches import once_attribute
from ...schema.catalog import Catalog, catalog_for
from ..frames.frame import Frame
from .api_versions_downgrade import API_VERSIONS, REFUSED
from .frame_tables import frame_table
from .header_versions import header_version_for
from .requests_without_response import list_prefixes

if TYPE_CHECKING:
    from ...codecs.native import FrameTable

SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36
ENVELOPE = 58
MOST_KNOWN = 4096  # a spec with an open version range may have any number
MOST_PREFIXES = 16  # of a call; more cost more than decoding saves
MOST_CLIENTS = 1024  # number of client ids whose calls are shared by all connections


class Api:
    """An api at a version.

    Args:
        key, version: the numbers in the header; None without a header.
        name: the name of the api, or of a message that is neither request nor response; None if unknown.
        catalog: the specs of its messages.
        message: the name of the message, if the container of a frame declares it.
        bare: whether frames consist only of the body.

    Attributes:
        asks, answers: whether requests and responses are to be decoded; both by default.
    """

    def __init__(
        self,
        key: int | None,
        version: int | None,
        name: str | None,
        catalog: Catalog,
        *,
        message: str | None = None,
        bare: bool = False,
    ) -> None:
        self.key: int | None = key
        self.version: int | None = version
        self.name: str | None = name
        self.catalog: Catalog = catalog
        self.message: str | None = message
        self.bare: bool = bare
        self.asks = self.answers = True

    @once_attribute
    def number(self) -> int:
        """The key and version as one number, as at the start of a request."""
        return (self.key or 0) << 16 | (self.version or 0) & 0xFFFF

    @once_attribute
    def is_sasl(self) -> bool:
        """Whether its requests belong to SASL authentication."""
        return self.key in (SASL_HANDSHAKE, SASL_AUTHENTICATE)

    @once_attribute
    def answered(self) -> tuple[bytes, ...]:
        """First bytes after the client id of requests that certainly get a response; empty if all requests do."""
        return self.prefixes(answered=True)

    @once_attribute
    def unanswered(self) -> tuple[bytes, ...]:
        """First bytes after the client id of requests that certainly get no response."""
        return self.prefixes(answered=False)

    def prefixes(self, *, answered: bool, message: Any = None) -> tuple[bytes, ...]:
        """Return the first bytes after the client id, see `list_prefixes`."""
        tags = b"\0" if self.request_header == 2 else b""
        prefixes = list_prefixes(self.request, answered=answered, message=message) if self.request else ()
        return tuple(tags + prefix for prefix in prefixes)

    @once_attribute
    def request_header(self) -> int | None:
        """The header version of requests; None if they have no header, or the api is unknown."""
        spec = None if self.key is None else self.catalog.find(self.key, "request", self.version)
        return None if spec is None or self.version is None else header_version_for(spec, self.version)

    @once_attribute
    def response_header(self) -> int | None:
        """The header version of responses; None if they have no header, or the api is unknown."""
        spec = None if self.key is None else self.catalog.find(self.key, "response", self.version)
        return None if spec is None or self.version is None else header_version_for(spec, self.version)

    @once_attribute
    def request(self) -> Codec | None:
        """The codec of its requests; None if the api is unknown."""
        return self._codec("request")

    @once_attribute
    def response(self) -> Codec | None:
        """The codec of its responses; None if the api is unknown."""
        return self._codec("response")

    @once_attribute
    def request_frame(self) -> FrameTable | None:
        """Reads requests in one call; None if they must be read in parts."""
        return self._frame_of(self.request)

    @once_attribute
    def response_frame(self) -> FrameTable | None:
        """Reads responses in one call; None if they must be read in parts."""
        return self._frame_of(self.response)

    def _frame_of(self, codec: Codec | None) -> FrameTable | None:
        # The others contain tokens, requests, the client's software, or responses in version 0.
        is_usual = self.key not in (API_VERSIONS, SASL_AUTHENTICATE, ENVELOPE) and self.message is None
        return frame_table(self.catalog, codec) if is_usual and codec is not None else None

    def codec(self, is_request: bool | None) -> Codec | None:
        """Return the codec of one direction, or of the message that the container names."""
        if self.message is not None and self.version is not None:
            return codec_in(self.catalog, self.message, self.version)
        if is_request is None:
            return None
        return self.request if is_request else self.response

    def _codec(self, type_name: str) -> Codec | None:
        spec = None if self.key is None else self.catalog.find(self.key, type_name, self.version)
        return None if spec is None or self.version is None else codec_in(self.catalog, spec.name, self.version)


class Call(CallState):
    """The common properties of all requests by a client to an api at one version, and of their responses.

    Attributes:
        api: the api, at the requested version.
        version: the version of request bodies, and of responses unless they are `downgraded`.
        client: the client id as in the header, including its length; empty if there is none.
        client_id: the client id as text; None for null.
        start: position after the client id.
        is_answered: whether all requests get a response; otherwise, only requests that continue with one of `answered`
            certainly do.
        is_plain: whether all responses have the requested version.
        refused: the first bytes of responses that may have another version; empty if there are none.
        note: free for use by the reader of headers; initially None.
    """

    __slots__ = ()
    api: Api
    _downgraded: Call | None

    def __init__(self, api: Api, client: bytes) -> None:
        self.api = api
        self.client: bytes = client
        self.client_id: str | None = (
            None if client[:1] >= b"\x80" or not client else client[2:].decode("utf-8", "replace")
        )
        self.start: int = 12 + len(client)
        self.version: int = -1 if api.version is None else api.version
        self.answered: tuple[bytes, ...] = api.answered
        self.refused: bytes = REFUSED if api.key == API_VERSIONS else b""
        self.is_plain: bool = not self.refused
        self.is_answered: bool = not self.answered

    def add_answered(self, message: Any) -> None:
        """Add the first bytes of requests like one that gets a response, so that they need not be decoded: each request
        of a transactional producer was, a fifth of the time of a capture with few frames a connection.
        """
        if len(self.answered) < MOST_PREFIXES:
            with suppress(EncodeError):  # text that became too long when invalid UTF-8 was replaced
                self.answered += self.api.prefixes(answered=True, message=message)

    @property
    def is_clean(self) -> bool:
        """Whether the client id is valid: UTF-8 text, or null with length -1."""
        if self.client_id is None:
            return self.client in (b"", b"\xff\xff")
        return self.client_id.encode() == self.client[2:]

    def codec(self, is_request: bool | None) -> Codec | None:
        """Return the codec of its requests or of its responses; None if the api is unknown."""
        codec = self.api.codec(is_request)
        if codec is None or codec.version == self.version:
            return codec
        return codec_in(self.api.catalog, codec.name, self.version)

    @property
    def downgraded(self) -> Call:
        """The same call, with responses in version 0 (KIP-511)."""
        if self._downgraded is None:
            self._downgraded = Call(self.api, self.client)
            self._downgraded.version = 0
        return self._downgraded


class Apis:
    """The apis of a catalog, by api key and version as one number.

    Args:
        catalog: the specs.
        choose: sets which frames of an api are to be decoded.

    >>> apis = Apis(catalog_for())
    >>> apis.get(3 << 16 | 12).name, apis.get(3 << 16 | 999)
    ('Metadata', None)
    """

    def __init__(self, catalog: Catalog, choose: Callable[[Api], None] = lambda api: None) -> None:
        self.catalog: Catalog = catalog
        self._choose = choose
        self._known: dict[int, Api] = {}
        self._ranges: dict[int, tuple[tuple[int, int], ...]] = {}  # the request versions of each api key
        self._calls: dict[tuple[bytes, Hashable], dict[int, Call]] = {}

    def calls(self, client: bytes, group: Hashable = None) -> dict[int, Call]:
        """Return the known calls of a client, by the number of the api; connections add calls to the result.

        Args:
            client: the client id as in headers.
            group: connections of different groups do not share calls.
        """
        calls = self._calls.get((client, group))
        if calls is None or len(calls) > MOST_KNOWN:
            if len(self._calls) >= MOST_CLIENTS:
                self._calls.clear()
            calls = self._calls[client, group] = {}
        return calls

    def get(self, number: int) -> Api | None:
        """Return an api at a version; None if the catalog, or its release, has no such request."""
        api = self._known.get(number)
        if api is not None:
            return api
        key = number >> 16
        version = (number & 0xFFFF ^ 0x8000) - 0x8000
        ranges = self._ranges.get(key)
        if ranges is None:
            ranges = self._ranges[key] = self._ranges_of(key)
        for low, high in ranges:
            if low <= version <= high:
                return self._find(number, key, version)
        return None

    def named(self, frame: Frame) -> Api:
        """Return the message that the container of a frame declares."""
        assert frame.message is not None and frame.version is not None
        catalog = catalog_for(frame.profile) if frame.profile else self.catalog
        spec = catalog.spec(frame.message, frame.version)
        is_of_api = spec.type in ("request", "response")
        name = spec.api_name if is_of_api else spec.name
        key = spec.api_key if is_of_api else None
        return self._choose_codecs(Api(key, frame.version, name, catalog, message=frame.message, bare=frame.bare))

    def unknown(self, key: int, version: int) -> Api:
        """Return an `Api` for an api or version that the catalog does not have."""
        spec = self.catalog.find(key, "request")
        return Api(key, version, None if spec is None else spec.api_name, self.catalog)

    def _ranges_of(self, key: int) -> tuple[tuple[int, int], ...]:
        layered = (layer.find(key, "request", None, self.catalog.release) for layer in self.catalog.layers)
        specs = [spec for spec in layered if spec is not None]
        return tuple(span for spec in specs for span in spec.versions.meets(self.catalog.versions_of(spec)).ranges)

    def _find(self, number: int, key: int, version: int) -> Api:
        spec = self.catalog.find(key, "request", version)
        assert spec is not None  # the ranges have this version
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        api = self._known[number] = self._choose_codecs(Api(key, version, spec.api_name, self.catalog))
        return api

    def _choose_codecs(self, api: Api) -> Api:
        self._choose(api)
        return api
