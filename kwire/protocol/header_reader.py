"""Reads headers of frames and pairs responses with requests, without decoding bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..codecs.wire import bytes_of
from ..schema.catalog import Catalog, catalog_for
from .connections.connection import Connection
from .connections.connection_state import is_whole
from .connections.connection_table import Connections
from .frames.frame import Frame
from .frames.frame_size import get_int32
from .headers.apis import Api, Apis
from .headers.header import Header

if TYPE_CHECKING:
    from typing_extensions import Buffer


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
    request = None if is_answer else Connection(catalog).read_request(frame.data, frame.source.time)
    if request is not None:
        return peek_header(request)
    if frame.source.direction == "request":
        return NEITHER
    return Peek(False, correlation_id=get_int32(frame.data, 4))


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
        return _peek_named(frame, header, apis.named(frame))
    return NEITHER if frame.fault is not None or not is_whole(frame.data) else peek_header(header)


def _peek_named(frame: Frame, header: Header, api: Api) -> Peek:
    """Return the header of a frame whose container declares its message: a fixture, or a line of a log."""
    codec = api.codec(None)
    if codec is None or codec.spec.type not in ("request", "response") or api.key is None:
        return NEITHER
    is_request = codec.spec.type == "request"
    is_read = header.correlation_id is not None if is_request else header.request is not None
    return peek_header(header) if is_read else Peek(is_request, api.key, codec.version)


def peek_header(header: Header) -> Peek:
    """Return a header as a `Peek`; that of a response has the values of its request."""
    request = header.request or header
    call = request.call
    if header.problem or call is None or call.api.key is None or request.correlation_id is None:
        return NEITHER
    return Peek(header.is_request, call.api.key, call.version, request.correlation_id, call.client_id, request.time)
