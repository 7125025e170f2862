"""What a request names: its api, groups, transactional ids and partitions. Fault rules match these."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

NamedPartition = tuple[str | None, int | None]  # topic and partition; None matches any
_PARTS = ("partitions", "partition_data", "partition_indexes")
_INDEXES = ("partition_index", "partition", "index", "partition_id")


class MatchedRequest(Protocol):
    """The fields of a request that rules match."""

    @property
    def message(self) -> Any:
        """The request message."""

    @property
    def node_id(self) -> int:
        """The id of the broker that received the request."""

    @property
    def client_id(self) -> str:
        """The client id of the request."""

    @property
    def cluster(self) -> Any:
        """The cluster, which resolves topic ids."""

    @property
    def fault(self) -> Any:
        """The fault of this request alone; None if there is none."""


def api_of(message: Any) -> str:
    """Return the name of the api of a request message."""
    return _api_named(type(message).__name__)


@cache
def _api_named(message_name: str) -> str:
    return message_name.removesuffix("Request")


def groups_in(message: Any) -> Iterator[str]:
    """Yield the groups or transactional ids that a request names."""
    for name in ("group_id", "transactional_id", "key"):
        if isinstance(value := getattr(message, name, None), str):
            yield value
    for name in ("groups", "groups_names", "group_ids", "coordinator_keys", "transactional_ids"):
        for row in getattr(message, name, None) or ():
            yield row if isinstance(row, str) else row.group_id
    for row in getattr(message, "transactions", None) or ():
        if isinstance(named := getattr(row, "transactional_id", None), str):
            yield named


def partitions_in(request: MatchedRequest) -> Iterator[NamedPartition]:
    """Yield the partitions that a request names; the partition is None if the request lists only topics."""
    message = request.message
    nested = [getattr(row, "topics", None) for row in getattr(message, "transactions", None) or ()]
    for rows in (getattr(message, name, None) for name in ("topics", "topic_data", "topic_names")):
        nested.append(rows)
    for rows in nested:
        for row in rows or ():
            yield from _partitions_of(request, row)


def _partitions_of(request: MatchedRequest, row: Any) -> Iterator[NamedPartition]:
    if isinstance(row, str):
        yield row, None
        return
    name = getattr(row, "name", None) or getattr(row, "topic", None)
    known_topic = request.cluster.controller.find(name, getattr(row, "topic_id", bytes(16)))
    topic = known_topic.name if known_topic is not None else name
    parts = next((parts for field in _PARTS if (parts := getattr(row, field, None))), None)
    if not isinstance(parts, tuple) or not parts:
        yield topic, None
        return
    for part in parts:
        index = next((getattr(part, field) for field in _INDEXES if hasattr(part, field)), None)
        yield topic, part if isinstance(part, int) else index
