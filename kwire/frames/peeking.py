"""Reads the headers of frames and pairs answers with requests, without a look at any body that it can do without.

Knows api keys, versions, correlation and client ids; where a header alone leaves open which way a frame goes, it
decodes that one frame.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import Any, NamedTuple

from ..catalog import Catalog, catalog_for
from ..codecs import codec_in
from ..headers import header_version_for
from .cutting import Frame
from .decoding import FrameDecoder
from .results import Undecodable

_HEAD = Struct(">ihhi")  # size, api key, api version, correlation id
_INT32 = Struct(">i")
_INT16 = Struct(">h")
MOST_WAITING = 65536
NO_CLIENT, SHORTEST = -1, 14


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


def peek(frame: Frame | bytes, catalog: Catalog | None = None) -> Peek:
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
    asked = None if is_answer else HeaderReader(catalog).request(frame.data, frame.source.time)
    if asked is not None:
        return asked
    if frame.source.direction == "request":
        return NEITHER
    return Peek(False, correlation_id=_INT32.unpack_from(frame.data, 4)[0])


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
        self.catalog = catalog or catalog_for()
        self._waiting: dict[object, deque[Peek]] = {}
        self._header_versions: dict[tuple[int, int], int | None] = {}
        self._clients: dict[bytes, str | None] = {}

    def read(self, frame: Frame) -> Peek:
        """Return what a frame's header says."""
        data, source = frame.data, frame.source
        if frame.message is not None and frame.version is not None:
            return self._named(frame, frame.message, frame.version)
        if frame.fault is not None or len(data) < 8 or _INT32.unpack_from(data)[0] != len(data) - 4:
            return NEITHER
        for number in frame.closed:
            self._waiting.pop(number, None)
        connection = (source.client, source.broker) if source.connection is None else source.connection
        waiting = self._waiting.get(connection)
        if waiting is None:
            waiting = self._waiting[connection] = deque(maxlen=MOST_WAITING)
        asked = None if source.direction == "response" else self.request(data, source.time)
        correlation_id: int = _INT32.unpack_from(data, 4)[0]
        if source.direction == "request":
            waiting.extend([asked] if asked else [])
            return asked or NEITHER
        if waiting and waiting[0].correlation_id == correlation_id and (asked is None or self._answers(frame, waiting)):
            return waiting.popleft()._replace(is_request=False)
        if asked is not None:
            waiting.append(asked)
            return asked
        return self._later(waiting, correlation_id)

    def _named(self, frame: Frame, message: str, version: int) -> Peek:
        """Read the header of a frame whose container says what it is: a fixture, or a line of a log."""
        spec = self.catalog.spec(message, version)
        if spec.type not in ("request", "response") or spec.api_key is None:
            return NEITHER
        if spec.type == "request":
            asked = None if frame.bare else self.request(frame.data, frame.source.time)
            asked = asked or Peek(True, spec.api_key, version)
            if not frame.bare:
                connection = frame.source.client, frame.source.broker
                self._waiting.setdefault(connection, deque(maxlen=MOST_WAITING)).append(asked)
            return asked
        waiting = self._waiting.get((frame.source.client, frame.source.broker))
        if waiting and not frame.bare and len(frame.data) >= 8:
            answered = self._later(waiting, _INT32.unpack_from(frame.data, 4)[0])
            if answered is not NEITHER:
                return answered
        return Peek(False, spec.api_key, version)

    def request(self, data: bytes, time: float | None) -> Peek | None:
        """Read a request header, if there is one; `time` is kept as the time of the request."""
        if len(data) < 12:
            return None
        _, api_key, version, correlation_id = _HEAD.unpack_from(data)
        key = api_key, version
        if key not in self._header_versions:
            self._header_versions[key] = self._header_version(api_key, version)
        header_version = self._header_versions[key]
        if not header_version:
            return None if header_version is None else Peek(True, api_key, version, correlation_id, None, time)
        if len(data) < SHORTEST:
            return None
        length: int = _INT16.unpack_from(data, 12)[0]
        if length < NO_CLIENT or SHORTEST + length > len(data):
            return None
        client = self._client(data[SHORTEST : SHORTEST + length]) if length >= 0 else None
        return Peek(True, api_key, version, correlation_id, client, time)

    def _client(self, raw: bytes) -> str:
        client = self._clients.get(raw)
        if client is None:
            client = raw.decode("utf-8", "replace")
            if len(self._clients) < MOST_WAITING:
                self._clients[raw] = client
        return client

    def _header_version(self, api_key: int, version: int) -> int | None:
        spec = self.catalog.find(api_key, "request", version)
        return None if spec is None else header_version_for(spec, version)

    def _answers(self, frame: Frame, waiting: deque[Peek]) -> bool:
        """Whether a frame that could be a request, too, decodes as the answer awaited next."""
        wanted = waiting[0]
        spec = self.catalog.find(wanted.api_key, "response", wanted.version)
        if spec is None:
            return False
        decoder = FrameDecoder(self.catalog, answers=codec_in(self.catalog, spec.name, wanted.version))
        result: Any = decoder.decode(Frame(frame.data))
        return not isinstance(result, Undecodable) and bool(result.codec.spec.type == "response")

    def _later(self, waiting: deque[Peek], correlation_id: int) -> Peek:
        """Take a frame that is no request for the answer to one awaited later; those before it have none."""
        if all(asked.correlation_id != correlation_id for asked in waiting):
            return NEITHER
        while waiting[0].correlation_id != correlation_id:
            waiting.popleft()
        return waiting.popleft()._replace(is_request=False)
