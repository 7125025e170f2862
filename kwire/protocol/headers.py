"""Headers of frames, and the apis and versions in them; each api is looked up only once.

The module defines which requests have no response (acks=0), and which header version a message has (KIP-482): a
flexible body has the newer header, request header 2 and response header 1; any other body has request header 1 and
response header 0. The exceptions are in one table with their reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from ..caches import once_attribute
from ..codecs import Codec, codec_in
from ..errors import EncodeError
from ..native import CallState
from ..spec import MessageSpec
from ..spec.catalog import Catalog, catalog_for
from ..spec.model import Versions
from ..wire import Reader
from .framing import Frame

# message -> (versions, header version); None means no header
EXCEPTIONS: dict[str, tuple[Versions, int | None]] = {
    # The first brokers sent their shutdown requests to the controller without a client id.
    "ControlledShutdownRequest": (Versions.parse("0"), 0),
    # KIP-511: a client must be able to read it before it knows the broker's versions.
    "ApiVersionsResponse": (Versions.parse("0+"), 0),
    # KIP-36 defines the correlation id as the body's first field, without a header.
    "TopicMetadataResponse": (Versions.parse("1"), None),
}


def header_version_for(spec: MessageSpec, version: int) -> int | None:
    """Return the version of RequestHeader or ResponseHeader that precedes a body.

    Args:
        spec: a request or a response.
        version: the version of the body.

    Returns:
        0 to 2 for requests, 0 or 1 for responses; None if there is no header.

    Raises:
        ValueError: the message is neither a request nor a response.

    >>> from kwire.spec.catalog import catalog_for
    >>> [header_version_for(catalog_for().spec("ApiVersionsResponse"), version) for version in (0, 3)]
    [0, 0]
    >>> [header_version_for(catalog_for().spec("MetadataRequest"), version) for version in (8, 9)]
    [1, 2]
    """
    if spec.type not in ("request", "response"):
        raise ValueError(f"{spec.name} is {spec.type}; only requests and responses have headers")
    versions, header_version = EXCEPTIONS.get(spec.name, (Versions(), None))
    if version in versions:
        return header_version
    return (version in spec.flexible_versions) + (spec.type == "request")


# Requests without a response: message -> (attribute, value).
UNANSWERED: dict[str, tuple[str, Any]] = {
    "ProduceRequest": ("acks", 0),  # the producer requests no acknowledgement
}
ALL_REPLICAS, LEADER_ONLY = -1, 1  # values of acks


def expects_response(message: Any) -> bool:
    """Whether a request gets a response.

    >>> from kwire import messages
    >>> expects_response(messages.ProduceRequest(acks=0)), expects_response(messages.ProduceRequest(acks=1))
    (False, True)
    """
    attribute, value = UNANSWERED.get(type(message).__name__, ("", None))
    return not attribute or bool(getattr(message, attribute) != value)


def prefixes_of(codec: Codec, *, answered: bool, message: Any = None) -> tuple[bytes, ...]:
    """Return the possible first bytes of request bodies that certainly get a response, or certainly get none.

    The tuple is empty if all requests get a response. Other requests must be decoded. With `message`, bodies have
    its fields before the one that decides, such as the transactional id; else those have their defaults.

    >>> from kwire import codec
    >>> [[p.hex() for p in prefixes_of(codec("ProduceRequest", 9), answered=answered)] for answered in (True, False)]
    [['00ffff', '000001'], ['000000']]
    >>> prefixes_of(codec("MetadataRequest", 1), answered=True)
    ()
    """
    attribute, unanswered = UNANSWERED.get(codec.name, ("", None))
    prefixes = []
    for value in () if not attribute else (ALL_REPLICAS, LEADER_ONLY) if answered else (unanswered,):
        names = codec.message_class.__struct_fields__
        before = {} if message is None else {name: getattr(message, name) for name in names[: names.index(attribute)]}
        body = codec.encode(codec.message_class(**before, **{attribute: value}))
        stop = next(span.stop for span in codec.trace(body) if span.path == attribute)
        prefixes.append(body[:stop])
    return tuple(prefixes)


API_VERSIONS, UNSUPPORTED_VERSION = 18, 35
REFUSED = UNSUPPORTED_VERSION.to_bytes(2, "big")  # first bytes of ApiVersions responses that may have version 0


def may_be_downgraded(api_key: int | None, data: bytes) -> bool:
    """Whether a response may be in version 0 instead of the requested version.

    KIP-511: a broker that does not support the version of an ApiVersions request responds in version 0, with error 35.
    """
    return api_key == API_VERSIONS and data.startswith(REFUSED, 8)


SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE = 17, 36, 58
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
        """Return the first bytes after the client id, see `prefixes_of`."""
        tags = b"\0" if self.request_header == 2 else b""
        found = prefixes_of(self.request, answered=answered, message=message) if self.request else ()
        return tuple(tags + prefix for prefix in found)

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

    def codec(self, asked: bool | None) -> Codec | None:
        """Return the codec of one direction, or of the message that the container names."""
        if self.message is not None and self.version is not None:
            return codec_in(self.catalog, self.message, self.version)
        return self.request if asked else None if asked is None else self.response

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
        """Return an api at a version; None if the catalog has no such request."""
        api = self._known.get(number)
        if api is not None:
            return api
        key, version = number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000
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
        return self._chosen(Api(key, frame.version, name, catalog, message=frame.message, bare=frame.bare))

    def unknown(self, key: int, version: int) -> Api:
        """Return an `Api` for an api or version that the catalog does not have."""
        spec = self.catalog.find(key, "request")
        return Api(key, version, None if spec is None else spec.api_name, self.catalog)

    def _ranges_of(self, key: int) -> tuple[tuple[int, int], ...]:
        specs = (layer.find(key, "request", None, self.catalog.release) for layer in self.catalog.layers)
        return tuple(span for spec in specs if spec is not None for span in spec.versions.ranges)

    def _find(self, number: int, key: int, version: int) -> Api:
        spec = self.catalog.find(key, "request", version)
        assert spec is not None  # the ranges have this version
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        api = self._known[number] = self._chosen(Api(key, version, spec.api_name, self.catalog))
        return api

    def _chosen(self, api: Api) -> Api:
        self._choose(api)
        return api


CLIENT_ID, SHORTEST = 12, 14  # position of the client id's length; minimum size of a request with a client id


class Header(msgspec.Struct, frozen=True, gc=False):
    """The header of a frame, combined with the state of its connection.

    Attributes:
        is_request: True from the client, False from the broker, None if unknown.
        call: the api, version and client id; for a response, those of its request. None if unknown.
        correlation_id: the correlation id; None if there is none.
        time: the time that was passed to `Connection.receive`.
        request: for a response, the header of the request that it answers.
        problem: empty for a request, and for a response with a known request; else `token` (SASL, without a header),
            `unpaired` (a response that answers no request in flight), `unknown` (neither a request of a known api nor a
            response; `call` is set if there is a client id) or `fragment` (not a complete frame).
        overtaken: for a response, older requests in flight, which will get no response.
        decoded: for a request, its header as a message, if a `FrameDecoder` has decoded it.
        frame: for a request, the number of its frame in the capture, if the reader of frames has set it.
    """

    is_request: bool | None
    call: Call | None
    correlation_id: int | None
    time: Any = None
    request: Header | None = None
    problem: str = ""
    overtaken: tuple[Header, ...] = ()
    decoded: Any = None
    frame: int | None = None

    @property
    def api_key(self) -> int | None:
        """The api key; None if unknown."""
        return None if self.call is None else self.call.api.key

    @property
    def api_version(self) -> int | None:
        """The version of the body. An ApiVersions response may have version 0 for any requested version (KIP-511)."""
        return None if self.call is None else self.call.version

    @property
    def client_id(self) -> str | None:
        """The client id of the request; None if it is null or unknown."""
        return None if self.call is None else self.call.client_id

    @property
    def codec(self) -> Codec | None:
        """The codec of the body; None if the api is unknown."""
        if self.call is None or self.call.api.key is None:
            return None
        return self.call.codec(self.is_request)

    @property
    def message(self) -> Any:
        """The header of a request as a message: the decoded one, or else an equal one without tagged fields."""
        if self.decoded is not None or self.call is None:
            return self.decoded
        header: Any = codec_in(catalog_for(), "RequestHeader", 2).message_class
        return header(
            request_api_key=self.api_key,
            request_api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
        )

    def number(self, frame: int | None) -> None:
        """Set the frame number of the request, to which the response refers."""
        force_setattr(self, "frame", frame)

    def answer(self, time: Any) -> Header:
        """Return the header of a regular response to this request."""
        return Header(False, self.call, self.correlation_id, time, self, self.problem)

    def body_start(self, data: bytes) -> int:
        """Return the position of the body, in bytes from the start of the size field.

        Args:
            data: the frame with this header.

        Raises:
            DecodeError: the tagged fields of the header do not decode.
            ValueError: the type of the frame is unknown.
        """
        if self.call is None or self.codec is None:
            raise ValueError(f"a frame without a known api has no body: {self.problem or self}")
        api = self.call.api
        version = api.request_header if self.is_request else api.response_header
        if version is None:
            return 4
        start, flexible = (self.call.start, version == 2) if self.is_request else (8, version == 1)
        if not flexible or data[start : start + 1] == b"\0":
            return start + flexible
        reader: Reader = Reader(data, 4, salvage=True)
        codec_in(api.catalog, "RequestHeader" if self.is_request else "ResponseHeader", version).read(reader)
        return reader.pos


def client_in(data: bytes) -> bytes | None:
    """Return the client id of a request as raw bytes, including its length; None if it exceeds the frame.

    Any negative length means null, as in Kafka.
    """
    length = int.from_bytes(data[CLIENT_ID:SHORTEST], "big", signed=True)
    stop = SHORTEST + max(length, 0)
    return None if len(data) < stop else data[CLIENT_ID:stop]
