"""The purgatory: delayed responses to fetches and to joins and syncs of groups. The caller passes the time.

Fetch sessions (KIP-227): the first Fetch request of a session lists all partitions, the following ones only changes;
responses omit unchanged partitions in the same way.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import msgspec

from .. import messages
from ..values import ErrorCode

_FEW = 64  # the number of completed requests below which none are removed


class Later(NamedTuple):
    """A response that is created only when it is sent, because many large responses may be due at the same time."""

    make: Callable[[], Any]


class Failed(NamedTuple):
    """The exception with which an attempt to complete a parked request ended."""

    error: Exception


class Parked:
    """A parked request, whose response is delayed.

    Args:
        attempt: called after each change; returns the response, or None to keep waiting. Its argument is true at the
            deadline.
        keys: the keys of changes that the request waits for.
    """

    __slots__ = ("_attempt", "_response", "is_timed", "keys")

    def __init__(self, attempt: Callable[[bool], Any] = lambda over: None, keys: Iterable[Hashable] = ()) -> None:
        self.keys: tuple[Hashable, ...] = tuple(keys)
        self._attempt = attempt
        self._response: Any = None
        self.is_timed: bool = False  # whether the purgatory calls `attempt` at the deadline

    @property
    def is_answered(self) -> bool:
        """Whether the response is set."""
        return self._response is not None

    @property
    def failure(self) -> Exception | None:
        """What the attempt to complete the request has raised."""
        return self._response.error if isinstance(self._response, Failed) else None

    @property
    def response(self) -> Any:
        """The response; None until it is set. Raises what the attempt to complete the request has raised."""
        if self.failure is not None:
            raise self.failure
        if isinstance(self._response, Later):
            self._response = self._response.make()
        return self._response

    def attempt(self, over: bool) -> Any:
        """Return the response, which may be a `Later`; None to keep waiting."""
        return self._attempt(over)


class Purgatory:
    """The parked requests, by keys and deadlines.

    Attributes:
        answered: the completed requests, until the caller removes them.
        now: the latest time that was passed.

    >>> purgatory = Purgatory()
    >>> poll = Parked(lambda over: "nothing" if over else None, ["orders-0"])
    >>> purgatory.park(poll, deadline=2.0)
    >>> purgatory.changed("orders-0"), purgatory.tick(1.9), purgatory.answered
    (None, None, [])
    >>> purgatory.tick(2.0), purgatory.answered[0].response
    (None, 'nothing')
    """

    def __init__(self) -> None:
        self.answered: list[Parked] = []
        self.now: float = 0.0
        self._by_key: dict[Hashable, dict[Parked, None]] = {}
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._count = self._forgotten = 0

    def park(self, parked: Parked, deadline: float) -> None:
        """Park a request until a change completes it, or until its deadline."""
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        self._count += 1
        parked.is_timed = True
        heapq.heappush(self._deadlines, (deadline, self._count, parked))

    def changed(self, key: Hashable) -> None:
        """Try to complete the requests that wait for a key."""
        for parked in list(self._by_key.get(key, ())):
            self._attempt(parked, False)

    def _attempt(self, parked: Parked, over: bool) -> None:
        """Try to complete a request. What that raises belongs to this request, not to the one that changed something,
        nor to the clock; it is raised where the response is read."""
        try:
            response = parked.attempt(over)
        except Exception as error:
            response = Failed(error)
        if response is not None:
            self.answer(parked, response)

    def answer(self, parked: Parked, response: Any) -> None:
        """Set the response of a parked request; later responses are ignored."""
        if not parked.is_answered:
            parked._response = response
            self.forget(parked)
            self.answered.append(parked)

    def forget(self, parked: Parked) -> None:
        """Remove a request that is completed, or whose client has disconnected."""
        for key in parked.keys:
            waiting = self._by_key.get(key, {})
            waiting.pop(parked, None)
            if not waiting:
                self._by_key.pop(key, None)
        parked._attempt = _nothing
        if parked.is_timed:
            parked.is_timed = False
            self._forgotten += 1
            self._clear()

    def _clear(self) -> None:
        """Remove forgotten requests: the oldest ones immediately, the others once they are the majority."""
        while self._deadlines and not self._deadlines[0][2].is_timed:
            heapq.heappop(self._deadlines)
            self._forgotten -= 1
        if self._forgotten > len(self._deadlines) // 2 + _FEW:
            self._deadlines = [row for row in self._deadlines if row[2].is_timed]
            heapq.heapify(self._deadlines)
            self._forgotten = 0

    def tick(self, now: float) -> None:
        """Complete the requests whose deadline has passed."""
        self.now = now
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = heapq.heappop(self._deadlines)[2]
            parked.is_timed = False
            self._clear()
            self._attempt(parked, True)

    @property
    def next_deadline(self) -> float | None:
        """The time of the next `tick`; None if no request is waiting."""
        return self._deadlines[0][0] if self._deadlines else None


def _nothing(over: bool) -> None:
    return None


MOST_SESSIONS = 1000  # the default of Kafka's max.incremental.fetch.session.cache.slots
FIRST, FINAL = 0, -1  # epochs that begin and end a session
_HIGHEST = 2**31 - 1

Key = tuple[str, bytes, int]  # topic name and id (one of them is empty), and partition


@dataclass(slots=True, eq=False)
class FetchSession:
    """A fetch session between a client and a broker.

    Attributes:
        session_id: the id of the session.
        epoch: the expected epoch of the next request.
        parts: the fetch position and limits of each partition, in the order in which partitions are read.
        sent: the high watermark and log start offset of each partition as last sent to the client.
        is_new: whether the next response lists all partitions.
    """

    session_id: int
    epoch: int = 1
    parts: dict[Key, Any] = field(default_factory=dict)
    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_new: bool = True

    def update(self, request: Any) -> None:
        """Update the session with the partitions that a request lists or forgets."""
        for row in request.topics:
            for part in row.partitions:
                self.parts[row.topic, row.topic_id, part.partition] = part
        for row in request.forgotten_topics_data:
            for index in row.partitions:
                self.parts.pop((row.topic, row.topic_id, index), None)
                self.sent.pop((row.topic, row.topic_id, index), None)

    def topics(self) -> tuple[Any, ...]:
        """Return the session's partitions as rows of a full Fetch request."""
        rows: list[tuple[tuple[str, bytes], list[Any]]] = []
        for (name, topic_id, _), part in self.parts.items():
            if not rows or rows[-1][0] != (name, topic_id):
                rows.append(((name, topic_id), []))
            rows[-1][1].append(part)
        row = messages.FetchRequest.FetchTopic
        return tuple(row(topic=name, topic_id=topic_id, partitions=tuple(parts)) for (name, topic_id), parts in rows)

    def changes_in(self, response: Any) -> Any:
        """Return the response without unchanged partitions; partitions with records move to the end of the reading
        order."""
        rows = []
        for row in response.responses:
            parts = tuple(part for part in row.partitions if self._has_changed(row, part))
            if parts:
                rows.append(msgspec.structs.replace(row, partitions=parts))
        self.is_new = False
        return msgspec.structs.replace(response, responses=tuple(rows), session_id=self.session_id)

    def _has_changed(self, row: Any, part: Any) -> bool:
        key = row.topic, row.topic_id, part.partition_index
        offsets = part.high_watermark, part.log_start_offset
        is_same = self.sent.get(key) == offsets and not part.error_code and part.preferred_read_replica < 0
        if part.error_code:
            self.sent.pop(key, None)
        else:
            self.sent[key] = offsets
        if part.records and key in self.parts:
            self.parts[key] = self.parts.pop(key)
        return self.is_new or bool(part.records) or not is_same


class FetchSessions:
    """The fetch sessions of one cluster, by broker and id; if the cache is full, a new session evicts the least
    recently used one.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._sessions: OrderedDict[tuple[int, int], FetchSession] = OrderedDict()

    def session_for(self, node_id: int, request: Any) -> FetchSession | int | None:
        """Return the fetch session of a request, after updating it with the request.

        Args:
            node_id: the broker that received the request.
            request: the request message.

        Returns:
            The session; None for a request without one; or an error code.
        """
        key = node_id, request.session_id
        if request.session_epoch in (FIRST, FINAL):
            self._sessions.pop(key, None)
            return self._created(node_id, request) if request.session_epoch == FIRST else None
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = session.epoch % _HIGHEST + 1
        session.update(request)
        self._sessions.move_to_end(key)
        return session

    def _created(self, node_id: int, request: Any) -> FetchSession | None:
        session = FetchSession(self._rng.randrange(1, _HIGHEST))
        session.update(request)
        if not session.parts or (node_id, session.session_id) in self._sessions:
            return None
        self._sessions[node_id, session.session_id] = session
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session
