"""Counts what the connections of a capture say, with no more work for a frame than its few header bytes need.

What is counted of a frame depends on its api, version and client id; these come again and again, so each connection
remembers where the counts of its client are.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..frames import Frame, Source
from ..frames.peeking import MOST_WAITING, SHORTEST
from ..frames.pieces import loses
from ..frames.said import Batch, Ends, Said
from .counts import NOTHING, Count, ip_of

if TYPE_CHECKING:
    from .counting import Traffic

# Api key and version in one number -> the count of such requests; as bytes, if requests tell the client's software, so
# that each of them is looked at.
Counts = dict[int | bytes, Count]


DIRECTIONS = {True: "request", False: "response"}


class _Talk:
    """A connection.

    Attributes:
        client: the newest client id, as bytes with its length in front; `counts` are for that one alone.
        counts: the counts of all such clients.
        software: client id -> the client's software.
        lossy: whether bytes of it are missing.
        waiting: of the requests without an answer, correlation id, time in nanoseconds, and the count.
    """

    __slots__ = ("client", "counts", "ip", "lossy", "software", "waiting")

    def __init__(self, ends: Ends) -> None:
        self.ip = ip_of(ends.client)
        self.client, self.lossy = b"", False
        self.counts: Counts = {}
        self.software: dict[bytes, str] = {}
        self.waiting: deque[tuple[int, int | None, Count]] = deque(maxlen=MOST_WAITING)


class Talks:
    """The connections of a capture.

    Args:
        traffic: what they are counted in.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._talks: dict[int, _Talk] = {}
        self._counts: dict[tuple[bytes, str, str], Counts] = {}  # by client id as bytes, ip, software

    def add(self, batch: Batch) -> None:
        """Count what was said."""
        talks, frames, total = self._talks, 0, 0
        for said in batch:
            if type(said) is not tuple:
                talks.pop(said, None)  # type: ignore[arg-type]
                continue
            ends, asked, _, now, data, fault, first, second = said
            size = len(data)
            frames += 1
            total += size
            talk = talks.get(ends.connection)
            if talk is None or first is None or fault is not None:
                self._carefully(said)
            elif asked:
                count = talk.counts.get(first)
                if count is None or not data.startswith(talk.client, 12):
                    self._carefully(said)
                    continue
                count.requests += 1
                count.request_bytes += size
                talk.waiting.append((second, now, count))
            else:
                waiting = talk.waiting
                if not waiting or waiting[0][0] != first:
                    self._carefully(said)
                    continue
                _, then, count = waiting.popleft()
                count.responses += 1
                count.response_bytes += size
                if then is not None and now is not None:
                    count.add_time(now - then)
        self._traffic.frames += frames
        self._traffic.bytes += total

    def _carefully(self, said: Said) -> None:
        ends, asked, _, now, data, fault, first, second = said
        talk = self._talks.get(ends.connection)
        if talk is None:
            talk = self._talks[ends.connection] = _Talk(ends)
        if fault is not None or first is None:
            self._leave_out(talk, Frame(data, Source(direction=DIRECTIONS[asked]), fault=fault))
            talk.lossy |= loses(fault)
        elif asked:
            self._request(talk, data, now, first, second)
        else:
            self._response(talk, data, now)

    def _leave_out(self, talk: _Talk, frame: Frame) -> None:
        self._traffic.leave_out(frame, lossy=talk.lossy)

    def _request(self, talk: _Talk, data: bytes, now: int | None, api: int, number: int) -> None:
        """Count a request of an api, or of a client id, that is new on its connection."""
        client = data[12 : SHORTEST + max(0, int.from_bytes(data[12:14], "big", signed=True))]
        told = self._traffic.software_in(data)
        if told is not None:
            talk.software[client] = told
        if told is not None or client != talk.client:
            talk.client = client
            talk.counts = self._counts.setdefault((client, talk.ip, talk.software.get(client, NOTHING)), {})
        key = api if told is None else data[4:8]
        count = talk.counts.get(key) or self._begin(talk, key, data)
        if count is None:
            self._leave_out(talk, Frame(data, Source(direction="request")))
            return
        count.add_request(len(data))
        talk.waiting.append((number, now, count))

    def _begin(self, talk: _Talk, key: int | bytes, data: bytes) -> Count | None:
        """Return a new count, if this is a request at all."""
        peek = self._traffic.headers.request(data, None)
        if peek is None:
            return None
        software = talk.software.get(talk.client, NOTHING)
        count = talk.counts[key] = self._traffic.count_of(peek, talk.ip, software)
        return count

    def _response(self, talk: _Talk, data: bytes, now: int | None) -> None:
        """Count an answer that is not the one awaited next; those before it will not come."""
        waiting, number = talk.waiting, int.from_bytes(data[4:8], "big", signed=True)
        if all(asked[0] != number for asked in waiting):
            self._leave_out(talk, Frame(data, Source(direction="response")))
            return
        while waiting[0][0] != number:
            waiting.popleft()
        _, then, count = waiting.popleft()
        count.add_response(len(data), None if then is None or now is None else now - then)
