"""The state of a cluster at one moment: brokers, partitions with their replicas, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..runtime.earlier_pickles import restore_fields, restore_slots

MIN_ISR = "min.insync.replicas"
NO_LEADER = -1
LEADER_DURING_DELETE = EPOCH_DURING_DELETE = -2  # the leader and epoch of a partition that is being deleted
NO_EPOCH = -1
# Ids that do not identify a directory (KIP-858): the partition is being migrated from ZooKeeper, unknown, lost.
MIGRATING, UNASSIGNED, LOST = (bytes(15) + bytes([last]) for last in range(3))


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker.

    Attributes:
        rack: the rack; None if no message contains it.
        fenced: whether it is registered and may not serve (KIP-631).
        log_dirs: the ids of its online log directories (KIP-858); empty if no message contains them.
    """

    node_id: int
    host: str = ""
    port: int = -1
    rack: str | None = None
    fenced: bool = False
    log_dirs: tuple[bytes, ...] = ()

    def has_online(self, directory: bytes) -> bool:
        """Return whether a log directory is online, according to what is known (KIP-858)."""
        if directory == LOST:
            return False
        return directory in (UNASSIGNED, MIGRATING) or not self.log_dirs or directory in self.log_dirs


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition. Replicas are in the order of the wire: the first is the preferred leader.

    Attributes:
        leader, leader_epoch, partition_epoch: -1 for none, or if no message contains them.
        offline: the offline replicas, in the order of the replicas; None if no message contains them.
        directories: the ids of the log directories of the replicas, in the same order (KIP-858); None if no message
            contains them.
        elr, last_known_elr: eligible leader replicas, and the last known ones (KIP-966); None if no message contains
            them.
        adding, removing: replicas that a reassignment adds and removes (KIP-455); None if no message contains them.
        topic_id: the id of the topic; None if no message contains it.
        deleting: the replicas that its deletion still waits for; None if it is not being deleted.
    """

    topic: str
    index: int
    leader: int = NO_LEADER
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] | None = None
    leader_epoch: int = -1
    directories: tuple[bytes, ...] | None = None
    partition_epoch: int = -1
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    topic_id: bytes | None = None
    deleting: tuple[int, ...] | None = None

    def __setstate__(self, state: Sequence[object]) -> None:
        """Load a pickle, also of a version with fewer fields."""
        restore_slots(self, state)

    @property
    def preferred(self) -> int:
        """The replica that should lead; -1 for a partition without replicas.

        >>> Partition("orders", 0, leader=2, replicas=(3, 2)).preferred
        3
        """
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def has_leader(self) -> bool:
        """Whether the partition has a leader."""
        return self.leader >= 0

    @property
    def is_under_replicated(self) -> bool:
        """Whether any replica is not in sync."""
        return not set(self.replicas) <= set(self.isr)

    @property
    def is_reassigned(self) -> bool:
        """Whether the partition is being reassigned."""
        return bool(self.adding or self.removing)


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker, from a DescribeLogDirs response (KIP-113, KIP-827).

    Attributes:
        error_code: 0, or 56 (KAFKA_STORAGE_ERROR) for an offline directory.
        total, usable: the size and usable space of its volume, in bytes; -1 if the broker does not report it.
        sizes: the bytes of each replica in it, by topic and partition, without future replicas.
        future: the bytes of each replica that is being moved to it.
    """

    path: str
    error_code: int = 0
    total: int = -1
    usable: int = -1
    sizes: dict[tuple[str, int], int] = field(default_factory=dict)
    future: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A replica of the metadata log (KIP-595, KIP-853).

    Attributes:
        is_voter: whether it votes; the others are observers, such as brokers.
        log_end_offset: the offset after its last record, as far as the leader knows; -1 if it does not.
        directory: the id of its log directory; None if it is unknown.
    """

    node_id: int
    is_voter: bool
    log_end_offset: int = -1
    directory: bytes | None = None


@dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum of controllers, from a DescribeQuorum response.

    Attributes:
        leader: the active controller; -1 for none.
        high_watermark: the offset below which most voters have the metadata log.
        replicas: voters, then observers.
    """

    leader: int
    leader_epoch: int
    high_watermark: int
    replicas: tuple[QuorumReplica, ...]

    def lag(self, replica: QuorumReplica) -> int | None:
        """Return how many records a replica is behind the leader; None if an offset is unknown."""
        ends = [other.log_end_offset for other in self.replicas if other.node_id == self.leader]
        if not ends or min(ends[0], replica.log_end_offset) < 0:
            return None
        return max(0, ends[0] - replica.log_end_offset)


Names = tuple[str, str]


@dataclass(slots=True)
class Settings:
    """The settings of a cluster that messages contain, without secrets.

    Attributes:
        configs: overrides by type of resource (`topic`, `broker`) and its name; values that may be secret are masked.
        features: finalized levels by name (KIP-584).
        acls: rules by id; a rule has type, name and pattern of the resource, principal, host, operation, permission.
        quotas: quotas by entity (pairs of type and name; "" is the default) and key.
        scram: mechanisms by user.
        tokens: owners of delegation tokens, by token id.
        voters: ids and endpoints of the voting controllers (KIP-853).
    """

    configs: dict[Names, dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    acls: dict[object, tuple[str, ...]] = field(default_factory=dict)
    quotas: dict[tuple[Names, ...], dict[str, float]] = field(default_factory=dict)
    scram: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    voters: dict[int, str] = field(default_factory=dict)


class DeletedTopic(NamedTuple):
    """The end of a topic.

    Attributes:
        time: in seconds since 1970; None if its source has no time.
        is_exact: whether the source decides on deletions: a controller, the metadata log, or ZooKeeper. What brokers
            answer to clients tells only that the topic was gone by then.
    """

    time: float | None
    is_exact: bool


@dataclass(slots=True)
class ClusterState:
    """The known state of a cluster at one moment.

    Attributes:
        controller_id: the id of the controller; -1 if no message contains it.
        brokers: None until a message lists them.
        topics: partitions by topic and index.
        topic_names: by topic id.
        settings: configs, features, ACLs and more.
        log_dirs: the log directories of brokers, by path.
        offline_dirs: the number of offline log directories of a broker, if messages contain it (KIP-112).
        quorum: the quorum of controllers; None until a response describes it.
        deleted_topics: the topics that were deleted, by name.

    >>> state = ClusterState()
    >>> state.put(Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1,)))
    >>> [partition.index for partition in state.under_replicated()]
    [0]
    """

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, Broker] | None = None
    topics: dict[str, dict[int, Partition]] = field(default_factory=dict)
    topic_names: dict[bytes, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    log_dirs: dict[int, dict[str, LogDir]] = field(default_factory=dict)
    offline_dirs: dict[int, int] = field(default_factory=dict)
    quorum: Quorum | None = None
    deleted_topics: dict[str, DeletedTopic] = field(default_factory=dict)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Load a pickle, also of a version with fewer fields."""
        restore_fields(self, state[1])

    def put(self, partition: Partition) -> None:
        """Set a partition."""
        self.topics.setdefault(partition.topic, {})[partition.index] = partition

    def drop(self, topic: str, index: int | None = None) -> None:
        """Remove a partition, or a topic with all its partitions; ignore a missing one."""
        if index is None:
            self.topics.pop(topic, None)
            return
        partitions = self.topics.get(topic, {})
        partitions.pop(index, None)
        if not partitions:
            self.topics.pop(topic, None)

    def partitions(self, topic: str | None = None) -> list[Partition]:
        """Return all partitions, or those of a topic, by topic and index."""
        names = sorted(self.topics) if topic is None else [topic]
        return [
            self.topics[name][index] for name in names if name in self.topics for index in sorted(self.topics[name])
        ]

    def offline(self, partition: Partition) -> tuple[int, ...]:
        """Return the offline replicas, in the order of the message.

        If no message lists them, they are the replicas whose broker is not live, provided that the live brokers are
        known; with the metadata log, also those whose broker is fenced or whose directory is not online.
        """
        if partition.offline is not None:
            return partition.offline
        if partition.directories is not None:
            return tuple(
                node for position, node in enumerate(partition.replicas) if self._is_down(partition, position, node)
            )
        if self.brokers is None:
            return ()
        brokers = self.brokers
        return tuple(node for node in partition.replicas if node not in brokers or brokers[node].fenced)

    def _is_down(self, partition: Partition, position: int, node: int) -> bool:
        broker = (self.brokers or {}).get(node)
        if broker is None or broker.fenced:
            return True
        directories = partition.directories or ()
        return position < len(directories) and not broker.has_online(directories[position])

    def by_rack(self) -> dict[str | None, list[Broker]]:
        """Return the brokers of each rack; racks and brokers keep their order, brokers without a rack come last under
        None.
        """
        racks: dict[str | None, list[Broker]] = {}
        known = self.brokers or {}
        for broker in sorted(
            known.values(), key=lambda broker: (broker.rack is None, broker.rack or "", broker.node_id)
        ):
            racks.setdefault(broker.rack, []).append(broker)
        return racks

    def leaderless(self) -> list[Partition]:
        """Return the partitions without a leader."""
        return [partition for partition in self.partitions() if not partition.has_leader]

    def under_min_isr(self) -> list[Partition]:
        """Return the partitions with fewer in-sync replicas than `least_in_sync`."""
        return [partition for partition in self.partitions() if self.is_under_min_isr(partition)]

    def is_under_min_isr(self, partition: Partition) -> bool:
        """Return whether a partition has fewer in-sync replicas than `least_in_sync`."""
        return len(partition.isr) < self.least_in_sync(partition)

    def least_in_sync(self, partition: Partition) -> int:
        """Return how many replicas must be in sync for writes with `acks=all`: `min.insync.replicas`, and no more than
        there are replicas.
        """
        # Kafka: Partition.effectiveMinIsr, which also decides on the gauge UnderMinIsrPartitionCount
        return min(self.min_isr(partition.topic), len(partition.replicas))

    def min_isr(self, topic: str) -> int:
        """Return `min.insync.replicas` of a topic: its override, else the default of all brokers, else 1."""
        for key in (("topic", topic), ("broker", "")):
            value = self.settings.configs.get(key, {}).get(MIN_ISR, "")
            if value.isdecimal():
                return int(value)
        return 1

    def size(self, topic: str, index: int) -> int | None:
        """Return the size of a partition's largest replica in bytes; None if no DescribeLogDirs response contains
        it.
        """
        sizes = [log_dir.sizes.get((topic, index)) for dirs in self.log_dirs.values() for log_dir in dirs.values()]
        return max((size for size in sizes if size is not None), default=None)

    def under_replicated(self) -> list[Partition]:
        """Return the partitions with replicas that are not in sync."""
        return [partition for partition in self.partitions() if partition.is_under_replicated]
