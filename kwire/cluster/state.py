"""Brokers by rack, and partitions with their replicas. Plain values; knows no messages."""

from __future__ import annotations

from dataclasses import dataclass, field

NO_LEADER = -1
# Ids that name no directory: not known yet, lost, on its way from ZooKeeper.
UNASSIGNED, LOST, MIGRATING = (bytes(15) + bytes([last]) for last in range(3))


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker. `rack` is None where nobody said one; `fenced` is true for one that may not serve; `log_dirs` are the
    ids of its log directories that are online, none where nobody said them."""

    node_id: int
    host: str = ""
    port: int = -1
    rack: str | None = None
    fenced: bool = False
    log_dirs: tuple[bytes, ...] = ()

    def has_online(self, directory: bytes) -> bool:
        """Whether a log directory is online, as far as it is known (KIP-858)."""
        if directory == LOST:
            return False
        return directory in (UNASSIGNED, MIGRATING) or not self.log_dirs or directory in self.log_dirs


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition. Replicas stand in the order of the wire: the first is the preferred leader.

    `offline` is None where the message could not say it. `directories` are the ids of the log directories of the
    replicas, in their order, as the metadata log has them; None where nobody said them.
    """

    topic: str
    index: int
    leader: int = NO_LEADER
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] | None = None
    leader_epoch: int = -1
    directories: tuple[bytes, ...] | None = None

    @property
    def preferred(self) -> int:
        """The replica that should lead; -1 where there are no replicas.

        >>> Partition("orders", 0, leader=2, replicas=(3, 2)).preferred
        3
        """
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def has_leader(self) -> bool:
        """Whether somebody leads."""
        return self.leader >= 0

    @property
    def is_under_replicated(self) -> bool:
        """Whether replicas are not in sync."""
        return not set(self.replicas) <= set(self.isr)


@dataclass(slots=True)
class ClusterState:
    """What is known of a cluster at one moment. `brokers` is None until somebody listed them.

    >>> state = ClusterState()
    >>> state.put(Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1,)))
    >>> [partition.index for partition in state.under_replicated()]
    [0]
    """

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, Broker] | None = None
    topics: dict[str, dict[int, Partition]] = field(default_factory=dict)
    topic_names: dict[bytes, str] = field(default_factory=dict)  # by id, of the metadata log

    def put(self, partition: Partition) -> None:
        """Remember a partition as it is now."""
        self.topics.setdefault(partition.topic, {})[partition.index] = partition

    def drop(self, topic: str, index: int | None = None) -> None:
        """Forget a partition, or a topic with all its partitions; one that is not there is no error."""
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
        """Return the replicas that are offline, in the order of the wire.

        Where no message said it: those whose broker is not among the live ones, if these are known; by the metadata
        log also those whose broker is fenced or whose directory is not online.
        """
        if partition.offline is not None:
            return partition.offline
        if partition.directories is not None:
            return tuple(node for place, node in enumerate(partition.replicas) if self._is_down(partition, place, node))
        if self.brokers is None:
            return ()
        return tuple(node for node in partition.replicas if node not in self.brokers)

    def _is_down(self, partition: Partition, place: int, node: int) -> bool:
        broker = (self.brokers or {}).get(node)
        if broker is None or broker.fenced:
            return True
        directories = partition.directories or ()
        return place < len(directories) and not broker.has_online(directories[place])

    def by_rack(self) -> dict[str | None, list[Broker]]:
        """Return the brokers of each rack, both in their order; those without a rack come last, under None."""
        racks: dict[str | None, list[Broker]] = {}
        known = self.brokers or {}
        for broker in sorted(known.values(), key=lambda one: (one.rack is None, one.rack or "", one.node_id)):
            racks.setdefault(broker.rack, []).append(broker)
        return racks

    def leaderless(self) -> list[Partition]:
        """Return the partitions that nobody leads."""
        return [partition for partition in self.partitions() if not partition.has_leader]

    def under_replicated(self) -> list[Partition]:
        """Return the partitions with replicas that are not in sync."""
        return [partition for partition in self.partitions() if partition.is_under_replicated]
