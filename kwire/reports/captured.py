"""Counts the frames of a capture into a `Tally`, and reads each body that comes again only once.

Only what nearly all frames are: whole, in the order of things, without faults. The rest is decoded by a `FrameDecoder`
and counted one by one; requests in flight are handed over to it, and taken back behind it, so that counts are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ..catalog import catalog_for
from ..codecs import Codec, codec_in
from ..dumps.sources import frame_of
from ..errors import DecodeError
from ..frames import FrameDecoder
from ..frames.connection_state import MOST_IN_FLIGHT
from ..frames.frame_header import CLIENT_ID
from ..frames.pairing import expects_response
from ..frames.repeats import Kind, Repeats, answered_api, client_in
from ..frames.said import NOBODY, Batch, Ends, Said
from ..gist import error_codes
from .tally import Tally

SECOND = 1_000_000_000  # nanoseconds
TAKEN_BACK = 64  # requests in flight; where a connection has more, its frames are decoded one by one
SIZE = 128  # bytes that an error code counts where it is held
MOST_CLIENTS = 10_000  # client ids that are remembered


class CapturedTally:
    """Counts the frames of one capture.

    Args:
        tally: what they are counted in.
        decoder: decodes what is left to it; its connections are those of this capture alone.
        file: the name of the capture.
    """

    def __init__(self, tally: Tally, decoder: FrameDecoder, file: str) -> None:
        self.tally, self.decoder, self.file = tally, decoder, file
        self._held = Repeats(decoder.catalog, _Kind, lambda read: 0 if isinstance(read, bool) else len(read) * SIZE)
        self._connections: dict[int, _Connection] = {}
        self._uses: dict[bytes, dict[int, _Use]] = {}  # by the client id, and api key and version in one number
        self._changed: set[_Connection | _Use | _Kind] = set()  # what has counts that are not in the tally yet
        self._times: tuple[list[int], list[int]] = [], []  # of responses, of requests
        self._number = 0
        self._header: Any = codec_in(catalog_for(), "RequestHeader", 2).message_class

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        for said in batch:
            if type(said) is tuple:
                connection = self._connections.get(said[0].connection) or self._begin(said[0])
                if not self._count(said, connection):
                    self._decode(said, connection)
                self._number += 1
            else:
                self._connections.pop(said, None)  # type: ignore[arg-type]
                self.decoder.forget(said)
        for one in self._changed:
            one.flush(self.tally)
        self._changed.clear()
        for kind, times in zip(("response", "request"), self._times, strict=True):
            self.tally.add_times(kind, [time / SECOND for time in times])
            times.clear()

    def _begin(self, ends: Ends) -> _Connection:
        connection = self._connections[ends.connection] = _Connection(ends)
        return connection

    def _count(self, said: Said, connection: _Connection) -> bool:
        """Count a frame; False if it must be decoded."""
        _, asked, offset, now, data, fault, first, second = said
        if fault is not None or first is None or now is None or connection.in_decoder:
            return False
        if not asked:
            found = self._answered(connection, data, now, first, offset)
        else:
            use = connection.uses.get(first)
            if use is None or not data.startswith(connection.client, CLIENT_ID):
                use = self._use(connection, data, first)
            found = use is not None and self._asked(connection, use, data, now, second)
        if found:
            self._times[asked].append(now)
            connection.frames += 1
            self._changed.add(connection)
        return found

    def _use(self, connection: _Connection, data: bytes, api: int) -> _Use | None:
        """Return what counts the requests of an api by a client; None if they are not read here."""
        found, kind = client_in(data), self._held.kind(api, is_request=True)
        if found is None or kind is None:
            return None
        if found[0] != connection.client:
            if len(self._uses) >= MOST_CLIENTS:
                self._uses.clear()
            connection.client, connection.uses = found[0], self._uses.setdefault(found[0], {})
        if api not in connection.uses:
            connection.uses[api] = _Use(kind, found[1])
        return connection.uses[api]

    def _asked(self, connection: _Connection, use: _Use, data: bytes, now: int, number: int) -> bool:
        kind, start = use.kind, CLIENT_ID + len(connection.client)
        if kind.tagged:
            if data[start : start + 1] != b"\0":
                return False
            start += 1
        body = data[start:]
        awaits = kind.newer.get(body)
        if awaits is None:
            awaits = self._read(kind, body, _awaits)
            if awaits is None:
                return False
        use.count += 1
        use.size += len(data)
        self._changed.add(use)
        connection.heard = True
        if awaits:
            connection.waiting.append((number, now, use.api))
        return True

    def _answered(self, connection: _Connection, data: bytes, now: int, number: int, offset: int) -> bool:
        waiting = connection.waiting
        if not waiting or waiting[0][0] != number:
            return False
        _, then, api = waiting[0]
        kind = self._held.kind(answered_api(api, data), is_request=False)
        if kind is None or (kind.tagged and data[8:9] != b"\0"):
            return False
        body = data[9:] if kind.tagged else data[8:]
        codes = kind.newer.get(body)
        if codes is None:
            codes = self._read(kind, body, error_codes)
            if codes is None:
                return False
        waiting.popleft()
        kind.count += 1
        kind.size += len(data)
        kind.times.append((then, now))
        self._changed.add(kind)
        for path, code in codes:
            self.tally.add_error((kind.name, path, code), f"frame {self._number} at {offset}")
        return True

    def _read(self, kind: _Kind, body: bytes, read: Callable[[Codec, Any], Any]) -> Any:
        """Return what is read of a body; None if it must be decoded with its faults."""
        found = self._held.recall(kind, body)
        if found is None:
            try:
                found = read(kind.codec, kind.codec.decode(body))
            except DecodeError:
                return None
            self._held.hold(kind, body, found)
        return found

    def _decode(self, said: Said, connection: _Connection) -> None:
        """Hand over what is known of a connection, decode and count a frame, and take back what is known then."""
        ends, tally = said[0], self.tally
        if ends is NOBODY:
            tally.add(self.decoder.decode(frame_of(said, self.file, self._number)))
            return
        talk, place = self.decoder.talk_on(ends.connection), (ends.client, ends.broker)
        if connection.heard:
            talk.authenticating = talk.bare = connection.heard = False
        for number, then, api in connection.waiting:
            key, version = api >> 16 & 0xFFFF, api & 0xFFFF
            talk.waiting.add(self._header(request_api_key=key, request_api_version=version, correlation_id=number))
            if then is not None:
                tally.note_request((*place, number), then / SECOND)
        connection.waiting.clear()
        tally.add(self.decoder.decode(frame_of(said, self.file, self._number)))
        connection.in_decoder = len(talk.waiting) > TAKEN_BACK
        if not connection.in_decoder:
            for header in talk.waiting.take():
                time = tally.asked_at((*place, header.correlation_id))
                api = (header.request_api_key & 0xFFFF) << 16 | header.request_api_version & 0xFFFF
                then = None if time is None else round(time * SECOND)
                connection.waiting.append((header.correlation_id, then, api))


def _awaits(codec: Codec, message: Any) -> bool:
    return expects_response(message)


class _Connection:
    """A connection.

    Attributes:
        client: the client id of its newest request, with its length, as bytes; `uses` are for that one alone.
        waiting: of the requests in flight, correlation id, time in nanoseconds, and api key and version in one number.
        heard: whether a request came since the decoder had the connection.
        in_decoder: whether the decoder has it.
        frames: those that are not in the tally yet.
    """

    __slots__ = ("client", "ends", "frames", "heard", "in_decoder", "uses", "waiting")

    def __init__(self, ends: Ends) -> None:
        self.ends, self.client = ends, b""
        self.uses: dict[int, _Use] = {}
        self.waiting: deque[tuple[int, int | None, int]] = deque(maxlen=MOST_IN_FLIGHT)
        self.heard = self.in_decoder = False
        self.frames = 0

    def flush(self, tally: Tally) -> None:
        tally.connections.add((self.ends.client, self.ends.broker), self.frames)
        self.frames = 0


class _Kind(Kind):
    """Responses of an api and version: how many, their bytes, and the times of each and of its request."""

    __slots__ = ("count", "name", "size", "times")

    def __init__(self, codec: Codec, version: int, tagged: bool) -> None:
        super().__init__(codec, version, tagged)
        self.name = codec.spec.api_name
        self.count = self.size = 0
        self.times: list[tuple[int | None, int]] = []

    def flush(self, tally: Tally) -> None:
        tally.add_frames("response", self.count, self.size)
        durations = [(now - then) / SECOND for then, now in self.times if then is not None]
        tally.add_responses(self.name, self.count, self.size, durations)
        self.count = self.size = 0
        self.times.clear()


class _Use:
    """Requests of an api and version by a client: how many, and their bytes."""

    __slots__ = ("api", "client", "count", "kind", "size")

    def __init__(self, kind: _Kind, client: str | None) -> None:
        self.kind, self.client = kind, client
        self.api = kind.key << 16 | kind.version if kind.key is not None else 0
        self.count = self.size = 0

    def flush(self, tally: Tally) -> None:
        tally.add_frames("request", self.count, self.size)
        tally.add_requests(self.kind.name, self.client, self.kind.version, self.count, self.size)
        self.count = self.size = 0
