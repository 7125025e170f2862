"""Follows consumer groups through captured frames: each response is handled with its request."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ...protocol import Request, Response, Result, Source
from ..cluster_identity import ClusterIdentity
from ..events.apply import learn
from .captured_groups import CapturedGroups
from .responses import HANDLERS

_IN_FLIGHT = 1000  # requests of one connection that may wait for a response
_ANSWERED = frozenset(name.removesuffix("Response") for name in HANDLERS)
APIS = (*sorted(_ANSWERED), "Metadata", "DescribeCluster", "DescribeTopicPartitions", "UpdateMetadata")


class _PendingRequest(NamedTuple):
    """A request that waits for its response."""

    correlation_id: int | None
    api_key: int | None
    request: Request


class GroupTracker(CapturedGroups):
    """Derives consumer groups from frames; `apply` takes one frame after the other.

    Args:
        has_several_files: whether connections are numbered in each file anew. Rows of tables name the file in which a
            frame ends, and one connection may go on in another file.

    Attributes:
        identity: the cluster ids in the frames: `identity.check()` refuses several.
    """

    def __init__(self, *, has_several_files: bool = False) -> None:
        super().__init__()
        self._has_several_files = has_several_files
        self.identity: ClusterIdentity = ClusterIdentity()
        self._pending: dict[object, deque[_PendingRequest]] = {}  # by connection

    def apply(self, result: Result) -> bool:
        """Apply a frame; return whether it was about groups or the cluster.

        1. Requests of a closed connection get no response anymore.
        2. A request waits for its response: only then its effect is known.
        3. What describes the cluster, request or response, changes the state of the cluster.
        4. A response about groups is handled with its request, or without it if that was not captured.
        """
        for connection in result.frame.closed:
            self._pending.pop(self._key(result.frame.source, connection), None)
        if isinstance(result, Request) and result.api_name in _ANSWERED:
            source = result.frame.source
            pending = self._pending.setdefault(self._key(source, source.connection), deque(maxlen=_IN_FLIGHT))
            pending.append(_PendingRequest(result.correlation_id, result.api_key, result))
        if not isinstance(result, Request | Response):
            return False
        if learn(self.cluster, result.message, result.codec):
            self.identity.add(getattr(result.message, "cluster_id", None), result.frame.source.file or "")
            self.learn_brokers()
            self.learn_topic_ids(result.message)
            return True
        handler = HANDLERS.get(type(result.message).__name__)
        if handler is None or not isinstance(result, Response):
            return False
        handler(self, result, self._take_request(result))
        return True

    def _key(self, source: Source, connection: int | None) -> object:
        """Return what identifies a connection."""
        return (source.file, connection) if self._has_several_files else connection

    def _take_request(self, response: Response) -> Request | None:
        """Return the request of a response; discard earlier requests of the connection, which have no response.

        `Response.request` cannot stand in: it is the header only, and rows of tables (`kwire.arrow`) are decoded one by
        one, without the state of a connection.
        """
        source = response.frame.source
        pending = self._pending.get(self._key(source, source.connection), deque())
        for position, waiting in enumerate(pending):
            if (waiting.correlation_id, waiting.api_key) == (response.correlation_id, response.api_key):
                for _ in range(position + 1):
                    pending.popleft()
                return waiting.request
        return None
