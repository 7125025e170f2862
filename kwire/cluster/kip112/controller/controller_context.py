"""What the controller knows: brokers, assignments, leaders, offline replicas. Ports ControllerContext."""

from __future__ import annotations

from collections.abc import Iterable

from ...state import Broker
from ..values import LeaderAndIsr, PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition

Replica = tuple[TopicPartition, int]


class ControllerContext:
    """The state that one controller keeps in memory.

    `offline_dirs` contains, for each broker, the partitions whose replica is on a failed log directory of that broker,
    as reported in LeaderAndIsrResponses (KIP-112).
    """

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.brokers: dict[int, Broker] = {}
        self.broker_epochs: dict[int, int] = {}
        self.shutting_down: set[int] = set()
        self.assignments: dict[TopicPartition, ReplicaAssignment] = {}
        self.leaders: dict[TopicPartition, LeaderAndIsr] = {}
        self.offline_dirs: dict[int, set[TopicPartition]] = {}
        self.replica_states: dict[Replica, ReplicaState] = {}
        self.partition_states: dict[TopicPartition, PartitionStates] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.topics_to_delete: set[str] = set()
        self.deletion_started: set[str] = set()
        self.deletion_ineligible: set[str] = set()
        self.reassigning: dict[TopicPartition, tuple[int, ...]] = {}

    def add_brokers(self, brokers: dict[int, tuple[Broker, int]]) -> None:
        """Add live brokers, with their epochs."""
        for broker_id, (broker, epoch) in brokers.items():
            self.brokers[broker_id] = broker
            self.broker_epochs[broker_id] = epoch

    def remove_brokers(self, brokers: Iterable[int]) -> None:
        """Remove brokers that are no longer live."""
        for broker_id in brokers:
            self.brokers.pop(broker_id, None)
            self.broker_epochs.pop(broker_id, None)

    def is_online(self, replica: int, partition: TopicPartition, *, even_shutting_down: bool = False) -> bool:
        """Return whether a replica is online: its broker is alive, and its log directory works.

        KIP-112: the controller uses both the liveness of brokers and LeaderAndIsrResponses.
        """
        alive = replica in self.brokers and (even_shutting_down or replica not in self.shutting_down)
        return alive and partition not in self.offline_dirs.get(replica, ())

    def offline_replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replicas that are offline because of their broker or its disk, in the order of the replicas."""
        return tuple(broker for broker in self.assignments[partition].replicas if not self.is_online(broker, partition))

    def live_replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replicas that are online."""
        return tuple(broker for broker in self.assignments[partition].replicas if self.is_online(broker, partition))

    def replicas_on(self, brokers: Iterable[int]) -> list[Replica]:
        """Return all replicas on some brokers."""
        return [
            (partition, broker)
            for broker in brokers
            for partition, assignment in self.assignments.items()
            if broker in assignment.replicas
        ]

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        """Return all replicas of some partitions."""
        return [(partition, broker) for partition in partitions for broker in self.assignments[partition].replicas]

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic."""
        return [partition for partition in self.assignments if partition[0] == topic]

    def replica_state(self, replica: Replica) -> ReplicaState:
        """Return the state of a replica."""
        return self.replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def partition_state(self, partition: TopicPartition) -> PartitionStates:
        """Return the state of a partition."""
        return self.partition_states.get(partition, PartitionStates.NON_EXISTENT)

    def is_deleted(self, partition: TopicPartition) -> bool:
        """Whether the topic of the partition is queued for deletion."""
        return partition[0] in self.topics_to_delete

    def forget_partition(self, partition: TopicPartition) -> None:
        """Remove a partition and the states of its replicas."""
        for broker in self.offline_dirs.values():
            broker.discard(partition)
        self.assignments.pop(partition, None)
        self.leaders.pop(partition, None)
        self.partition_states.pop(partition, None)
        self.reassigning.pop(partition, None)
        for replica in [replica for replica in self.replica_states if replica[0] == partition]:
            del self.replica_states[replica]
