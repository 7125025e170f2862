"""A topic of a served cluster, and what one may be: its name, and an assignment that a client brings.

Knows brokers by their ids; what cannot be is `Refused`, with Kafka's error code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..refusals import InvalidReplicaAssignment, InvalidRequest, InvalidTopicException, TopicAlreadyExists
from .nodes import Node
from .partitions import Partition

INTERNAL = ("__consumer_offsets", "__transaction_state")
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # as Kafka's, so that it is a safe name of a folder
RESERVED = "__cluster_metadata"


@dataclass(slots=True)
class Topic:
    """A topic; `partitions` are by index from 0 on, `configs` what it has of its own."""

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)

    def number(self, config: str, default: int) -> int:
        """Return a config of its own, or the default where it has none."""
        return int(self.configs.get(config, default))


def check_name(name: str, topics: Collection[str]) -> None:
    """Refuse a name that a new topic cannot have.

    Args:
        name: the name.
        topics: the names that there are. A dot and a _ are the same in the names of metrics, so one of two names that
            differ in these alone is refused.
    """
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise InvalidTopicException("bad_topic_name", topic=name)
    if name == RESERVED:
        raise InvalidRequest("reserved_topic", topic=name)
    if name in topics:
        raise TopicAlreadyExists("topic_exists", topic=name)
    if "." in name or "_" in name:
        metric = name.replace(".", "_")
        if other := next((one for one in topics if one.replace(".", "_") == metric), None):
            raise InvalidTopicException("topic_collides", topic=name, other=other)


def check_assignment(
    assignment: Mapping[int, Sequence[int]],
    nodes: Mapping[int, Node],
    first: int = 0,
    replication_factor: int | None = None,
) -> None:
    """Refuse an assignment of a client's own: of other partitions than the next, or to brokers that are not.

    Args:
        assignment: for each partition the ids of its brokers.
        nodes: all brokers by id.
        first: number of the first partition.
        replication_factor: how many replicas each must have; None: as the first one.
    """
    if sorted(assignment) != list(range(first, first + len(assignment))):
        raise InvalidReplicaAssignment("partitions_not_consecutive", first=first, found=sorted(assignment))
    factor = replication_factor
    for index, ids in sorted(assignment.items()):
        factor = len(ids) if factor is None else factor
        _check_replicas(index, ids, nodes)
        if len(ids) != factor:
            raise InvalidReplicaAssignment(
                "replication_factor_differs_between_partitions",
                partition=index,
                found=len(ids),
                replication_factor=factor,
            )


def _check_replicas(index: int, ids: Sequence[int], nodes: Mapping[int, Node]) -> None:
    if not ids:
        raise InvalidReplicaAssignment("empty_replica_list", partition=index)
    if len(set(ids)) < len(ids):
        raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=index, replicas=list(ids))
    if unknown := sorted(node_id for node_id in ids if node_id not in nodes):
        raise InvalidReplicaAssignment("unknown_broker", unknown=unknown)
    if not any(nodes[node_id].is_alive for node_id in ids):
        raise InvalidReplicaAssignment("no_live_replica", partition=index, replicas=list(ids))


def unique_rows(rows: Sequence[Any]) -> list[tuple[Any, bool]]:
    """Return one row for each name, and whether the request has more."""
    counts = Counter(row.name for row in rows)
    return [(row, counts[row.name] > 1) for row in {row.name: row for row in rows}.values()]
