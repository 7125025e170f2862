"""Reads the headers of frames and pairs answers with requests, without a look at any body that it can do without.

Knows api keys, versions, correlation and client ids; where a header alone leaves open which way a frame goes, it
decodes that one frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..spec.catalog import Catalog, catalog_for
from .apis import Api, Apis
from .connection import Connection
from .connection_state import is_whole
from .connections import Connections
from .cutting import Frame, int32
from .frame_header import Header

if TYPE_CHECKING:
    from typing_extensions import Buffer


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
