"""Reads headers of frames and pairs responses with requests, on one or many connections, without decoding bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..spec.catalog import Catalog, catalog_for
from .api_registry import Api, Apis, Call
from .connection import Connection
from .connection_state import is_whole
from .fragments import CutShort
from .frame_header import Header
from .frame_parser import API_VERSIONS
from .framing import Frame, int32
from .results import NOBODY, Client

if TYPE_CHECKING:
    from typing_extensions import Buffer


FORWARDED = 4096  # requests inside envelopes that are remembered

C = TypeVar("C", bound=Connection)


class Connections(Generic[C]):
    """Any number of connections.

    Args:
        apis: the apis that are known.
        make: makes a connection.
    """

    def __init__(self, apis: Apis, make: Callable[[Apis], C]) -> None:
        self.apis: Apis = apis
        self._make = make
        self._connections: dict[object, C] = {}

    def on(self, key: object, profile: str | None = None) -> C:
        """Return a connection by its number or its ends; it begins if it is new."""
        connection = self._connections.get(key)
        if connection is None:
            apis = Apis(catalog_for(profile)) if profile else self.apis
            connection = self._connections[key] = self._make(apis)
        return connection

    def forget(self, key: object) -> None:
        """Take note that a connection has ended."""
        self._connections.pop(key, None)

    def receive(self, frame: Frame) -> tuple[C, Header]:
        """Let the connection of a frame take it; return both that and what the header says."""
        for number in frame.closed:
            self.forget(number)
        source, data = frame.source, frame.data
        key = (source.client, source.broker) if source.connection is None else source.connection
        connection = self.on(key, frame.profile)
        if frame.message is None or frame.version is None or not isinstance(frame.fault, CutShort | None):
            from_client = None if source.direction is None else source.direction == "request"
            return connection, connection.receive(data, from_client, source.time, frame.fault)
        if frame.bare:
            return connection, Header(None, None, None, source.time)
        return connection, connection.receive_named(data, self.apis.named(frame), source.time)


class DecodedConnection(Connection):
    """A connection whose bodies are decoded too.

    Attributes:
        client: who asks, as far as decoded requests say it.
        call: which request said it; None where every one is to be looked at.
        note: for whoever reads the frames: None at first.
    """

    __slots__ = ("_forwarded", "call", "client", "note")

    def __init__(self, apis: Apis) -> None:
        super().__init__(apis=apis)
        self.client: Client = NOBODY
        self.call: Call | None = None
        self.note: Any = None
        self._forwarded: dict[int, Any] = {}

    def meet(self, key: int | None, client_id: str | None, software: str = "") -> None:
        """Note who has sent a request.

        Args:
            key: the api key of the request.
            client_id: of the request; what was known stays if that is None.
            software: what it tells of the client's software.
        """
        self.call = None
        if key == API_VERSIONS:
            self.client = Client(client_id, software or self.client.software)
        elif client_id is not None and client_id != self.client.client_id:
            self.client = Client(client_id, self.client.software)

    def forward(self, correlation_id: int, header: Any) -> None:
        """Note which request is inside an envelope."""
        if len(self._forwarded) >= FORWARDED:
            del self._forwarded[next(iter(self._forwarded))]
        self._forwarded[correlation_id] = header

    def forwarded(self, correlation_id: int) -> Any:
        """Return the header of the request inside an envelope, and forget it; None if it is not known."""
        return self._forwarded.pop(correlation_id, None)


class Peek(NamedTuple):
    """What a frame's header says.

    `api_key`, `version` and `client_id` of a response are those of the request it answers, and `asked_at` is the
    time of that request. `is_request` is None for a frame that is neither; all else is then unknown.
    """

    is_request: bool | None
    api_key: int = -1
    version: int = -1
    correlation_id: int = -1
    client_id: str | None = None
    asked_at: float | None = None


NEITHER = Peek(None)


def peek(frame: Frame | Buffer, catalog: Catalog | None = None) -> Peek:
    """Return what the header of one frame says. The body is not touched; it need not even be there.

    Args:
        frame: a frame, or its first bytes, size field and all.
        catalog: the specs to use; those of Kafka's releases unless told.

    Returns:
        Of a request its api key, version, correlation id and client id. What is no request, or is said to come from
        the broker, is taken for a response, whose header has but the correlation id: `HeaderReader` says which
        request it answers. Eight bytes are the least that tell anything.

    >>> import kwire
    >>> request = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 9, correlation_id=7, client_id="me")
    >>> peek(request[:16])
    Peek(is_request=True, api_key=3, version=9, correlation_id=7, client_id='me', asked_at=None)
    """
    frame = frame if isinstance(frame, Frame) else Frame(bytes(frame))
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
    """Reads headers of the frames of any number of connections, each frame in the order of its connection.

    Args:
        catalog: the specs to use; those of Kafka's releases unless told.

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
        """Return what a frame's header says."""
        _, header = self._connections.receive(frame)
        return peek_of(frame, header, self._connections.apis)


def peek_of(frame: Frame, header: Header, apis: Apis) -> Peek:
    """Return in short what a header says; of a response, what that of its request does.

    Args:
        frame: the frame; what its container says of it is believed.
        header: of the frame.
        apis: the apis that are known.
    """
    if frame.message is not None and frame.version is not None:
        return _named(frame, header, apis.named(frame))
    return NEITHER if frame.fault is not None or not is_whole(frame.data) else _peek_of(header)


def _named(frame: Frame, header: Header, api: Api) -> Peek:
    """Return what is to be said of a frame whose container says what it is: a fixture, or a line of a log."""
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
