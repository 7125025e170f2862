"""Fetch sessions (KIP-227): the first Fetch request of a session lists all partitions, the following ones only changes.

Responses omit unchanged partitions in the same way. Ported from FetchSession.scala.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from random import Random

import msgspec

from .. import messages
from ..values import ErrorCode

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
    parts: dict[Key, messages.FetchRequest.FetchPartition] = field(default_factory=dict)
    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_new: bool = True

    def update(self, request: messages.FetchRequest) -> None:
        """Update the session with the partitions that a request lists or forgets."""
        for row in request.topics:
            for part in row.partitions:
                self.parts[row.topic, row.topic_id, part.partition] = part
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                self.parts.pop((forgotten.topic, forgotten.topic_id, index), None)
                self.sent.pop((forgotten.topic, forgotten.topic_id, index), None)

    def topics(self) -> tuple[messages.FetchRequest.FetchTopic, ...]:
        """Return the session's partitions as rows of a full Fetch request."""
        rows: list[tuple[tuple[str, bytes], list[messages.FetchRequest.FetchPartition]]] = []
        for (name, topic_id, _), part in self.parts.items():
            if not rows or rows[-1][0] != (name, topic_id):
                rows.append(((name, topic_id), []))
            rows[-1][1].append(part)
        row = messages.FetchRequest.FetchTopic
        return tuple(row(topic=name, topic_id=topic_id, partitions=tuple(parts)) for (name, topic_id), parts in rows)

    def changes_in(self, response: messages.FetchResponse) -> messages.FetchResponse:
        """Return the response without unchanged partitions; partitions with records move to the end of the reading
        order."""
        rows = []
        for row in response.responses:
            parts = tuple(part for part in row.partitions if self._has_changed(row, part))
            if parts:
                rows.append(msgspec.structs.replace(row, partitions=parts))
        self.is_new = False
        return msgspec.structs.replace(response, responses=tuple(rows), session_id=self.session_id)

    def _has_changed(
        self, row: messages.FetchResponse.FetchableTopicResponse, part: messages.FetchResponse.PartitionData
    ) -> bool:
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

    def __init__(self, rng: Random, limit: int = 1000) -> None:
        self._rng = rng
        self._limit = limit  # max.incremental.fetch.session.cache.slots
        self._sessions: OrderedDict[tuple[int, int], FetchSession] = OrderedDict()

    def session_for(self, node_id: int, request: messages.FetchRequest) -> FetchSession | int | None:
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
            return self._create(node_id, request) if request.session_epoch == FIRST else None
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = session.epoch % _HIGHEST + 1
        session.update(request)
        self._sessions.move_to_end(key)
        return session

    def throttled(self, node_id: int, session: FetchSession | None, throttle_ms: int) -> messages.FetchResponse:
        """Return the empty response to a throttled request; a session that is new does not begin."""
        # Kafka: FetchContext.getThrottledResponse; a session is created with the first response that has partitions
        if session is None or session.is_new:
            if session is not None:
                self.evict(node_id, session.session_id)
            return messages.FetchResponse(throttle_time_ms=throttle_ms)
        return messages.FetchResponse(throttle_time_ms=throttle_ms, session_id=session.session_id)

    def evict(self, node_id: int, session_id: int) -> bool:
        """Forget a session, as a full cache does; returns whether there was one."""
        return self._sessions.pop((node_id, session_id), None) is not None

    def _create(self, node_id: int, request: messages.FetchRequest) -> FetchSession | None:
        """Begin a session; return None, for a response without one, if it has no partitions or its id is in use."""
        session = FetchSession(self._rng.randrange(1, _HIGHEST))
        session.update(request)
        if not session.parts or (node_id, session.session_id) in self._sessions:
            return None
        self._sessions[node_id, session.session_id] = session
        if len(self._sessions) > self._limit:
            self._sessions.popitem(last=False)
        return session
