"""Fetch sessions (KIP-227): a client lists all its partitions once, and then only changes; so do responses.

This module handles the rows of Fetch requests and responses; it reads no log.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from .. import messages
from ..values import ErrorCode

MOST_SESSIONS = 1000  # as Kafka's max.incremental.fetch.session.cache.slots
FIRST, FINAL = 0, -1  # epochs that begin and end a session
_HIGHEST = 2**31 - 1

Key = tuple[str, bytes, int]  # name or id of a topic, and partition


@dataclass(slots=True, eq=False)
class Session:
    """A session of a client with a broker.

    Attributes:
        session_id: the id of the session.
        epoch: the epoch of the next request.
        parts: the fetch position and limits of each partition, in the order of reading.
        sent: the high watermark and log start offset of each partition that the client has received.
        is_new: whether the next response lists all partitions.
    """

    session_id: int
    epoch: int = 1
    parts: dict[Key, Any] = field(default_factory=dict)
    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_new: bool = True

    def update(self, asked: Any) -> None:
        """Update the session with the rows of a request."""
        for row in asked.topics:
            for part in row.partitions:
                self.parts[row.topic, row.topic_id, part.partition] = part
        for row in asked.forgotten_topics_data:
            for index in row.partitions:
                self.parts.pop((row.topic, row.topic_id, index), None)
                self.sent.pop((row.topic, row.topic_id, index), None)

    def topics(self) -> tuple[Any, ...]:
        """Return the session's partitions as the rows of a full request."""
        rows: list[tuple[tuple[str, bytes], list[Any]]] = []
        for (name, topic_id, _), part in self.parts.items():
            if not rows or rows[-1][0] != (name, topic_id):
                rows.append(((name, topic_id), []))
            rows[-1][1].append(part)
        row = messages.FetchRequest.FetchTopic
        return tuple(row(topic=name, topic_id=topic_id, partitions=tuple(parts)) for (name, topic_id), parts in rows)

    def only_news(self, response: Any) -> Any:
        """Return a response without unchanged partitions; partitions with records move to the end of the reading
        order."""
        rows = []
        for row in response.responses:
            parts = tuple(part for part in row.partitions if self._is_news(row, part))
            if parts:
                rows.append(msgspec.structs.replace(row, partitions=parts))
        self.is_new = False
        return msgspec.structs.replace(response, responses=tuple(rows), session_id=self.session_id)

    def _is_news(self, row: Any, part: Any) -> bool:
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
    """The sessions of one cluster, by broker and id; a new session may evict the least recently used one."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._sessions: OrderedDict[tuple[int, int], Session] = OrderedDict()

    def found(self, node_id: int, asked: Any) -> Session | int | None:
        """Return the session of a request, updated with the request.

        Args:
            node_id: the broker that received the request.
            asked: the request message.

        Returns:
            The session; None for a request without one; or an error code.
        """
        key = node_id, asked.session_id
        if asked.session_epoch in (FIRST, FINAL):
            self._sessions.pop(key, None)
            return self._made(node_id, asked) if asked.session_epoch == FIRST else None
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != asked.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = session.epoch % _HIGHEST + 1
        session.update(asked)
        self._sessions.move_to_end(key)
        return session

    def _made(self, node_id: int, asked: Any) -> Session | None:
        session = Session(self._rng.randrange(1, _HIGHEST))
        session.update(asked)
        if not session.parts or (node_id, session.session_id) in self._sessions:
            return None
        self._sessions[node_id, session.session_id] = session
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session
