"""The controller's memory: brokers, assignments, leaders, replicas on failed log directories; and leader elections
on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..state import Broker
from .values import LeaderAndIsr, PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition

Replica = tuple[TopicPartition, int]


class ControllerContext:
    """The memory of one controller.

    `offline_dirs` has for each broker the partitions whose replica there is on a failed log directory, as
    LeaderAndIsrResponses reported (KIP-112).
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
        """Remember live brokers, with their epochs."""
        for broker_id, (broker, epoch) in brokers.items():
            self.brokers[broker_id], self.broker_epochs[broker_id] = broker, epoch

    def remove_brokers(self, brokers: Iterable[int]) -> None:
        """Forget brokers that are no longer live."""
        for broker_id in brokers:
            self.brokers.pop(broker_id, None)
            self.broker_epochs.pop(broker_id, None)

    def is_online(self, replica: int, partition: TopicPartition, *, even_shutting_down: bool = False) -> bool:
        """Return whether a replica is online: its broker lives, and its log directory works.

        KIP-112: the controller uses both the liveness of brokers and LeaderAndIsrResponses to tell.
        """
        alive = replica in self.brokers and (even_shutting_down or replica not in self.shutting_down)
        return alive and partition not in self.offline_dirs.get(replica, ())

    def offline_replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replicas that are offline, because of their broker or its disk, in the order of the replicas."""
        return tuple(one for one in self.assignments[partition].replicas if not self.is_online(one, partition))

    def live_replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return the replicas that are online."""
        return tuple(one for one in self.assignments[partition].replicas if self.is_online(one, partition))

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
        return [(partition, one) for partition in partitions for one in self.assignments[partition].replicas]

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
        """Return whether the partition's topic waits for its deletion."""
        return partition[0] in self.topics_to_delete

    def forget_partition(self, partition: TopicPartition) -> None:
        """Forget a partition, and where its replicas are."""
        for broker in self.offline_dirs.values():
            broker.discard(partition)
        self.assignments.pop(partition, None)
        self.leaders.pop(partition, None)
        self.partition_states.pop(partition, None)
        self.reassigning.pop(partition, None)
        for replica in [replica for replica in self.replica_states if replica[0] == partition]:
            del self.replica_states[replica]


Election = tuple[LeaderAndIsr, tuple[int, ...]]  # what to write, and whom to tell


def elect_for_offline(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader for a partition that has none: the first live replica in sync.

    Args:
        context: tells which replicas are online.
        partition: the one without a leader.
        state: its state now.
        unclean: whether a live replica that is not in sync may lead, if there is no other.

    Returns:
        The next state and the replicas to tell; None if nobody can lead.
    """
    live = context.live_replicas(partition)
    leader = next((one for one in live if one in state.isr), None)
    if leader is not None:
        return state.next(leader, tuple(one for one in state.isr if context.is_online(one, partition))), live
    if unclean and live:
        return state.next(live[0], live[:1]), live
    return None


def elect_unclean(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader even if no live replica is in sync. As `elect_for_offline`."""
    return elect_for_offline(context, partition, state, True)


def elect_preferred(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the preferred replica, the first assigned, if it is live and in sync. As `elect_for_offline`."""
    replicas = context.assignments[partition].replicas
    if context.is_online(replicas[0], partition) and replicas[0] in state.isr:
        return state.next(replicas[0], state.isr), replicas
    return None


def elect_reassigned(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the first target replica of a reassignment that is live and in sync. As `elect_for_offline`."""
    target = context.assignments[partition].target
    leader = next((one for one in target if context.is_online(one, partition) and one in state.isr), None)
    return None if leader is None else (state.next(leader, state.isr), target)


def elect_for_shutdown(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a replica whose broker does not shut down, and take those that do from the ISR. As `elect_for_offline`."""
    replicas = [
        one
        for one in context.assignments[partition].replicas
        if context.is_online(one, partition, even_shutting_down=True)
    ]
    staying = [one for one in replicas if one in state.isr and one not in context.shutting_down]
    if not staying:
        return None
    isr = tuple(one for one in state.isr if one not in context.shutting_down)
    return state.next(staying[0], isr), tuple(replicas)


def elect_and_leave_out(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """As `elect_for_shutdown`, but tell only the replicas that stay, as Kafka 1.x does."""
    elected = elect_for_shutdown(context, partition, state, unclean)
    return elected and (elected[0], tuple(one for one in elected[1] if one not in context.shutting_down))
