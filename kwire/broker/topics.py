"""Topics and partitions of a served cluster: replicas with their logs, leaders, ISR; names and assignments are
checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC
from typing import Any

from ..cluster.state import NO_LEADER
from ..errors.refused import InvalidReplicaAssignment, InvalidRequest, InvalidTopicException, TopicAlreadyExists
from ..records import RecordBatch
from . import codes
from .configs import LogDir, Node
from .log import Log, stamped


@dataclass(slots=True)
class Replica:
    """A copy of the partition on one broker; `log` is None where its directory failed before it was opened."""

    log_dir: LogDir
    log: Log | None

    @property
    def is_online(self) -> bool:
        """Whether it can be read and written."""
        return self.log is not None and self.log_dir.works


@dataclass(slots=True)
class Partition:
    """A partition. `replicas` are by broker, the preferred leader first; `isr` are the brokers in sync."""

    topic: str
    index: int
    replicas: dict[int, Replica]
    isr: list[int] = field(default_factory=list)
    leader: int = NO_LEADER
    leader_epoch: int = -1

    @property
    def offline(self) -> tuple[int, ...]:
        """The brokers whose replica cannot be reached."""
        return tuple(node_id for node_id, replica in self.replicas.items() if not replica.is_online)

    def elect(self) -> None:
        """Let the first replica in sync lead that is online, if the leader is not; take out of sync who is offline.

        The last one in sync stays so, for it alone has all records: nobody leads until it is back (KIP-112).
        """
        live = [node_id for node_id in self.replicas if node_id in self.isr and self.replicas[node_id].is_online]
        if live:
            self.isr = live
        if self.leader not in live:
            self.leader = live[0] if live else NO_LEADER
            self.leader_epoch += 1

    def log_at(self, node_id: int, leader_epoch: int = -1) -> Log | int:
        """Return the log for a client of a broker, or the error code that says why there is none.

        Args:
            node_id: the broker that was asked.
            leader_epoch: the one that the client believes in; -1 is any.
        """
        replica = self.replicas.get(node_id)
        if replica is not None and not replica.is_online:
            return codes.KAFKA_STORAGE_ERROR
        if replica is None or replica.log is None or self.leader != node_id:
            return codes.NOT_LEADER_OR_FOLLOWER
        if leader_epoch >= 0 and leader_epoch != self.leader_epoch:
            is_old = leader_epoch < self.leader_epoch
            return codes.FENCED_LEADER_EPOCH if is_old else codes.UNKNOWN_LEADER_EPOCH
        return replica.log

    def append(self, log: Log, batch: RecordBatch) -> tuple[int | None, list[LogDir]]:
        """Write a batch to all replicas in sync, the leader's `log` first.

        Returns:
            The offset of the first record, None if the leader could not write it; and the directories that failed.
        """
        whole = stamped(batch, log.end, self.leader_epoch)
        failed: list[LogDir] = []
        for node_id in sorted(self.isr, key=lambda node_id: node_id != self.leader):
            replica = self.replicas[node_id]
            try:
                if replica.log_dir.is_full:
                    raise OSError(ENOSPC, "No space left on device", replica.log_dir.path)
                if replica.log is not None:
                    replica.log.append(whole)
            except OSError:
                failed.append(replica.log_dir)
                if node_id == self.leader:
                    return None, failed
        return whole.base_offset, failed

    def online_logs(self) -> dict[int, Log]:
        """Return the logs that can be read and written, by broker."""
        return {node_id: one.log for node_id, one in self.replicas.items() if one.log is not None and one.is_online}

    def retain(self, retention_bytes: int) -> list[LogDir]:
        """Drop the oldest batches of all replicas that are larger; returns the directories that failed."""
        failed = []
        for replica in self.replicas.values():
            try:
                if replica.log is not None and replica.is_online:
                    replica.log.drop(retention_bytes)
            except OSError:
                failed.append(replica.log_dir)
        return failed

    def close(self) -> None:
        """Let go of all files."""
        for replica in self.replicas.values():
            if replica.log is not None:
                replica.log.store.close()


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
