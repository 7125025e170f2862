"""Reads headers of frames and pairs responses with requests, on one or many connections, without decoding bodies.

It is meant for millions of frames for which no `Request` or `Response` is needed. A `Kind` has the common properties of
all requests, or all responses, of a call. Unusual frames are left to the `FrameDecoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..codecs import Codec
from ..errors import DecodeError
from ..native import KindState
from ..spec.catalog import Catalog, catalog_for
from ..wire import bytes_of
from .connection import Connection, is_whole
from .framing import NOBODY as WHOLE_FILE
from .framing import CapturedFrame, CutShort, Endpoints, Frame, int32
from .headers import API_VERSIONS, ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api, Apis, Call, Header
from .results import NOBODY, Client, software_of

if TYPE_CHECKING:
    from typing_extensions import Buffer


FORWARDED = 4096  # number of requests in envelopes that are stored

C = TypeVar("C", bound=Connection)
CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # by response header version; request header versions are one higher


class Connections(Generic[C]):
    """Any number of connections.

    Args:
        apis: the known apis.
        make: creates the state of a connection.
    """

    def __init__(self, apis: Apis, make: Callable[[Apis], C]) -> None:
        self.apis: Apis = apis
        self._make = make
        self._connections: dict[object, C] = {}

    def on(self, key: object, profile: str | None = None) -> C:
        """Return a connection by its number or its endpoints; create it if it is unknown."""
        connection = self._connections.get(key)
        if connection is None:
            apis = Apis(catalog_for(profile)) if profile else self.apis
            connection = self._connections[key] = self._make(apis)
        return connection

    def of(self, ends: Endpoints) -> C:
        """Return the connection with the endpoints of a captured frame."""
        noted = ends.note
        if noted is not None and noted.apis is self.apis:
            return noted  # type: ignore[no-any-return]
        connection = self._connections.get(ends.connection)
        if connection is None:
            connection = self._connections[ends.connection] = self._make(self.apis)
        if ends is not WHOLE_FILE:
            ends.note = connection
        return connection

    def __iter__(self) -> Iterator[C]:
        return iter(self._connections.values())

    def forget(self, key: object) -> None:
        """Drop the state of a connection that has ended."""
        self._connections.pop(key, None)

    def on_frame(self, frame: Frame) -> C:
        """Return the connection of a frame; drop connections that ended before it."""
        for number in frame.closed:
            self.forget(number)
        return self.on(frame.source.connection_key, frame.profile)

    def receive(self, frame: Frame) -> tuple[C, Header]:
        """Pass a frame to its connection; return the connection and the header."""
        source, data = frame.source, frame.data
        connection = self.on_frame(frame)
        if frame.message is None or frame.version is None or not isinstance(frame.fault, CutShort | None):
            from_client = None if source.direction is None else source.direction == "request"
            header = connection.receive(data, from_client, source.time, frame.fault)
        elif frame.bare:
            return connection, Header(None, None, None, source.time)
        else:
            header = connection.receive_named(data, self.apis.named(frame), source.time)
        if header.is_request:
            header.number(source.frame)
        return connection, header


class DecodedConnection(Connection):
    """The state of a connection whose bodies are decoded.

    Attributes:
        client: the client, according to decoded requests.
        call: the call that identified the client; None if every request must be checked.
        note: free for use by the reader of frames; initially None.
    """

    __slots__ = ("_forwarded", "client")
    call: Call | None

    def __init__(self, apis: Apis) -> None:
        super().__init__(apis=apis)
        self.client: Client = NOBODY
        self._forwarded: dict[int, Any] | None = None

    def meet(self, key: int | None, client_id: str | None, software: str = "") -> None:
        """Update the client from one of its requests.

        Args:
            key: the api key of the request.
            client_id: the client id of the request; None keeps the known one.
            software: the client software that the request contains.
        """
        self.call = None
        if key == API_VERSIONS:
            self.client = Client(client_id, software or self.client.software)
        elif client_id is not None and client_id != self.client.client_id:
            self.client = Client(client_id, self.client.software)

    def forward(self, correlation_id: int, header: Any) -> None:
        """Store the header of a request inside an envelope."""
        self._forwarded = {} if self._forwarded is None else self._forwarded
        if len(self._forwarded) >= FORWARDED:
            del self._forwarded[next(iter(self._forwarded))]
        self._forwarded[correlation_id] = header

    def forwarded(self, correlation_id: int) -> Any:
        """Return and remove the header of a request in an envelope; None if unknown."""
        return None if self._forwarded is None else self._forwarded.pop(correlation_id, None)


class Peek(NamedTuple):
    """The header of a frame, as returned by `HeaderReader` and `peek`.

    For a response, `api_key`, `version` and `client_id` are those of its request, and `asked_at` is the time of the
    request. `is_request` is None for a frame that is neither a request nor a response; the other fields are then
    unknown.
    """

    is_request: bool | None
    api_key: int = -1
    version: int = -1
    correlation_id: int = -1
    client_id: str | None = None
    asked_at: float | None = None


NEITHER = Peek(None)


def peek(frame: Frame | Buffer, catalog: Catalog | None = None) -> Peek:
    """Return the header of one frame. The body is not read, and may be missing.

    Args:
        frame: a frame, or its first bytes, including the size field; at least 8 bytes.
        catalog: the specs to use; those of Kafka's releases by default.

    Returns:
        For a request, the api key, version, correlation id and client id. A frame that is not a request, or is declared
        to come from the broker, is read as a response; its header has only the correlation id. `HeaderReader` finds the
        request of a response.

    >>> import kwire
    >>> request = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 9, correlation_id=7, client_id="me")
    >>> peek(request[:16])
    Peek(is_request=True, api_key=3, version=9, correlation_id=7, client_id='me', asked_at=None)
    """
    frame = frame if isinstance(frame, Frame) else Frame(bytes_of(frame))
    if frame.fault is not None or len(frame.data) < 8:
        return NEITHER
    is_answer = frame.source.direction == "response"
    asked = None if is_answer else Connection(catalog).read_request(frame.data, frame.source.time)
    if asked is not None:
        return _peek_of(asked)
    if frame.source.direction == "request":
        return NEITHER
    return Peek(False, correlation_id=int32(frame.data, 4))


class HeaderReader:
    """Reads the headers of frames of any number of connections; frames of one connection must be in order.

    Args:
        catalog: the specs to use; by default those of Kafka's releases.

    >>> import kwire
    >>> reader = HeaderReader()
    >>> data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, correlation_id=7, client_id="me")
    >>> reader.read(kwire.Frame(data))
    Peek(is_request=True, api_key=3, version=1, correlation_id=7, client_id='me', asked_at=None)
    >>> reader.read(kwire.Frame(bytes.fromhex("00000008 00000007 00000000"))).api_key
    3
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._connections = Connections(Apis(catalog or catalog_for()), lambda apis: Connection(apis=apis))

    def read(self, frame: Frame) -> Peek:
        """Return the header of a frame."""
        _, header = self._connections.receive(frame)
        return peek_of(frame, header, self._connections.apis)


def peek_of(frame: Frame, header: Header, apis: Apis) -> Peek:
    """Return a header as a `Peek`; for a response, it has the values of the request.

    Args:
        frame: the frame; a message that its container declares takes precedence.
        header: the frame's header.
        apis: the known apis.
    """
    if frame.message is not None and frame.version is not None:
        return _named(frame, header, apis.named(frame))
    return NEITHER if frame.fault is not None or not is_whole(frame.data) else _peek_of(header)


def _named(frame: Frame, header: Header, api: Api) -> Peek:
    """Return the header of a frame whose container declares its message: a fixture, or a line of a log."""
    codec = api.codec(None)
    if codec is None or codec.spec.type not in ("request", "response") or api.key is None:
        return NEITHER
    is_request = codec.spec.type == "request"
    is_read = header.correlation_id is not None if is_request else header.request is not None
    return _peek_of(header) if is_read else Peek(is_request, api.key, codec.version)


def _peek_of(header: Header) -> Peek:
    request = header.request or header
    call = request.call
    if header.problem or call is None or call.api.key is None or request.correlation_id is None:
        return NEITHER
    return Peek(header.is_request, call.api.key, call.version, request.correlation_id, call.client_id, request.time)


def decode_clean(codec: Codec, body: bytes) -> Any:
    """Decode a body; return None if it has any fault, even one that salvage tolerates."""
    try:
        message, faults, rest = codec.decode(body, salvage=True)
    except DecodeError:
        return None
    return None if faults or rest else message


class Kind(KindState):
    """The requests or the responses of a call, and how to read them.

    Attributes:
        call, is_request: the call, and the direction.
        codec: the codec of the bodies.
        tagged: whether the headers have tagged fields.
        table: the native engine's table for the bodies; None if they must be decoded in Python.
        facts: finds topics and errors in bodies natively; None if bodies must be decoded.
    """

    __slots__ = ()
    call: Call
    codec: Codec[Any]

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        self.call, self.is_request, self.codec, self.tagged = call, is_request, codec, tagged
        self.table = self.facts = None


K = TypeVar("K", bound=Kind)


class Kinds(Generic[K]):
    """Creates and stores the kinds of a capture's frames.

    Args:
        make: creates a `Kind` or subclass; returns None if the frames must always be decoded completely.
    """

    def __init__(self, make: Callable[[Call, bool, Codec, bool], K | None]) -> None:
        self._make = make

    def of(self, call: Call) -> tuple[K | None, K | None]:
        """Return the kinds of the responses and the requests of a call, and store them with it."""
        kinds = call.note = self._kind(call, False), self._kind(call, True)
        return kinds

    def _kind(self, call: Call, is_request: bool) -> K | None:
        api, codec = call.api, call.codec(is_request)
        version = api.request_header if is_request else api.response_header
        tagged = None if version is None else TAGGED.get(version - is_request)
        if codec is None or tagged is None or api.key in CAREFULLY or not call.is_clean:
            return None
        return self._make(call, is_request, codec, tagged)

    def take(
        self, connection: DecodedConnection, captured: CapturedFrame, number: int
    ) -> tuple[Header, K | None, bytes]:
        """Process the next frame of a connection, given its number in the capture.

        Returns:
            The header, as from `Connection.pair`; the kind of the frame; and its body, or None if it must be decoded
            completely.
        """
        _, asked, _, now, data, _, first, _ = captured
        header = connection.pair(captured)
        if asked:
            header.number(number)
        call = header.call
        if header.problem or first is None or now is None or call is None or header.overtaken:
            return header, None, b""
        kind = (call.note or self.of(call))[asked]
        start = call.start if asked else 8
        if kind is None or (kind.tagged and data[start : start + 1] != b"\0"):
            return header, None, b""
        return header, kind, data[start + kind.tagged :]

    def meet(self, connection: DecodedConnection, kind: K, body: bytes) -> None:
        """Record the client of a request with its connection."""
        call = kind.call
        if call.api.key == API_VERSIONS:  # each request may contain different client software
            connection.meet(call.api.key, call.client_id, software_of(kind.codec.decode(body)))
        else:
            connection.meet(call.api.key, call.client_id)
            connection.call = call
