"""The controller's state, leader elections, PartitionStateMachine, ReplicaStateMachine, ControllerBrokerRequestBatch.

ControllerContext holds brokers, assignments, leaders, and replicas on failed log directories. The state machines
collect requests in the ControllerBrokerRequestBatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..state import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_EPOCH, Broker
from .kafka_zk_client import KafkaZkClient
from .replica_states import (
    Behaviour,
    InterBrokerProtocol,
    LeaderAndIsr,
    PartitionStates,
    ReplicaAssignment,
    ReplicaState,
    TopicPartition,
    leader_and_isr_request,
    stop_replica_requests,
    update_metadata_request,
)

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
            self.brokers[broker_id], self.broker_epochs[broker_id] = broker, epoch

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


Election = tuple[LeaderAndIsr, tuple[int, ...]]  # the state to write, and the replicas to notify


def elect_for_offline(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader for a partition without one: the first live in-sync replica.

    Args:
        context: the controller's state, with the online replicas.
        partition: the partition without a leader.
        state: its current state.
        unclean: whether a live out-of-sync replica may become the leader if there is no other.

    Returns:
        The next state and the replicas to notify; None if no replica can lead.
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
    """Choose a leader even if no live replica is in sync; see `elect_for_offline`."""
    return elect_for_offline(context, partition, state, True)


def elect_preferred(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the preferred replica, the first assigned one, if it is live and in sync; see `elect_for_offline`."""
    replicas = context.assignments[partition].replicas
    if context.is_online(replicas[0], partition) and replicas[0] in state.isr:
        return state.next(replicas[0], state.isr), replicas
    return None


def elect_reassigned(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the first live in-sync target replica of a reassignment; see `elect_for_offline`."""
    target = context.assignments[partition].target
    leader = next((one for one in target if context.is_online(one, partition) and one in state.isr), None)
    return None if leader is None else (state.next(leader, state.isr), target)


def elect_for_shutdown(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a replica whose broker is not shutting down and remove the others from the ISR; see
    `elect_for_offline`.
    """
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
    """Choose like `elect_for_shutdown`, but notify only the replicas that stay, as Kafka 1.x does."""
    elected = elect_for_shutdown(context, partition, state, unclean)
    return elected and (elected[0], tuple(one for one in elected[1] if one not in context.shutting_down))


@dataclass(frozen=True, slots=True)
class Send:
    """A request to a broker. `broker_epoch` identifies an incarnation of the broker; a later one must not receive
    it.
    """

    broker_id: int
    broker_epoch: int
    message: Any
    version: int


class ControllerBrokerRequestBatch:
    """Collects requests and sends them in Kafka's order: LeaderAndIsr, then UpdateMetadata, then StopReplica."""

    def __init__(
        self, broker_id: int, context: ControllerContext, protocol: InterBrokerProtocol, behaviour: Behaviour
    ) -> None:
        self.broker_id: int = broker_id
        self.context: ControllerContext = context
        self.protocol: InterBrokerProtocol = protocol
        self.behaviour: Behaviour = behaviour
        self.outbox: list[Send] = []
        self._new_batch()

    def _new_batch(self) -> None:
        self._leader_and_isr: dict[int, dict[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, bool]]] = {}
        self._metadata: dict[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, tuple[int, ...]]] = {}
        self._metadata_brokers: set[int] = set()
        self._stop: dict[int, dict[TopicPartition, tuple[bool, int]]] = {}

    def add_leader_and_isr(
        self, brokers: Iterable[int], partition: TopicPartition, state: LeaderAndIsr, *, is_new: bool
    ) -> None:
        """Add the leader and ISR of a partition for its brokers, and its metadata for all brokers.

        `is_new` is KIP-112's `is_new_replica`: true only when the replica goes from NewReplica to Online.
        """
        assignment = self.context.assignments[partition]
        for broker in brokers:
            rows = self._leader_and_isr.setdefault(broker, {})
            rows[partition] = (state, assignment, is_new or (partition in rows and rows[partition][2]))
        self.add_update_metadata(self.context.brokers, {partition})

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Add the metadata of partitions and the live brokers, for given brokers."""
        self._metadata_brokers.update(brokers)
        wanted = set(partitions)
        if self.behaviour.metadata_of_all:
            wanted = wanted or {one for one in self.context.leaders if not self.context.is_deleted(one)}
            wanted |= {one for one in self.context.assignments if self.context.is_deleted(one)}
        for partition in sorted(wanted):
            self._add_metadata(partition)

    def update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send the metadata of partitions and the live brokers to given brokers immediately."""
        self.add_update_metadata(brokers, partitions)
        self.send_requests()

    def _add_metadata(self, partition: TopicPartition) -> None:
        state = self.context.leaders.get(partition)
        if state is None:
            return
        if self.context.is_deleted(partition):
            state = LeaderAndIsr(LEADER_DURING_DELETE, state.isr, controller_epoch=state.controller_epoch)
        offline = self.context.offline_replicas(partition)
        self._metadata[partition] = (state, self.context.assignments[partition], offline)

    def add_stop_replica(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        """Add a request that a broker stop a replica, or delete it."""
        rows = self._stop.setdefault(broker, {})
        state = self.context.leaders.get(partition)
        epoch = state.leader_epoch if state else NO_EPOCH
        deleted = EPOCH_DURING_DELETE if self.context.is_deleted(partition) else epoch
        rows[partition] = (delete or (partition in rows and rows[partition][0]), deleted)

    def send_requests(self) -> None:
        """Put the collected requests for live brokers into the outbox, and start a new batch."""
        controller = (self.broker_id, self.context.epoch)
        live, ids = list(self.context.brokers.values()), self.context.topic_ids
        for broker, rows in self._leader_and_isr.items():
            version, epoch = self.protocol.leader_and_isr, self.context.broker_epochs.get(broker, -1)
            self._send(broker, leader_and_isr_request(version, controller, epoch, rows, live, ids), version)
        for broker in sorted(self._metadata_brokers):
            version, epoch = self.protocol.update_metadata, self.context.broker_epochs.get(broker, -1)
            self._send(broker, update_metadata_request(version, controller, epoch, self._metadata, live, ids), version)
        for broker, stops in self._stop.items():
            version, epoch = self.protocol.stop_replica, self.context.broker_epochs.get(broker, -1)
            for message in stop_replica_requests(version, controller, epoch, stops):
                self._send(broker, message, version)
        self._new_batch()

    def _send(self, broker: int, message: Any, version: int) -> None:
        if broker in self.context.brokers:
            self.outbox.append(Send(broker, self.context.broker_epochs[broker], message, version))


P = PartitionStates
PREVIOUS_PARTITION_STATES = {
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.NON_EXISTENT: {P.OFFLINE},
}
Elector = Callable[[ControllerContext, TopicPartition, LeaderAndIsr, bool], Election | None]


class PartitionStateMachine:
    """The states of all partitions; elects leaders, writes states to ZooKeeper, and collects requests."""

    def __init__(
        self, context: ControllerContext, zk: KafkaZkClient, batch: ControllerBrokerRequestBatch, unclean: bool = False
    ) -> None:
        self.context: ControllerContext = context
        self.zk: KafkaZkClient = zk
        self.batch: ControllerBrokerRequestBatch = batch
        self.unclean: bool = unclean

    def startup(self) -> None:
        """Initialise all partitions when a broker becomes the controller, and elect missing leaders (scenario 6)."""
        for partition in self.context.assignments:
            state = self.context.leaders.get(partition)
            if state is None:
                self.context.partition_states[partition] = P.NEW
            else:
                online = self.context.is_online(state.leader, partition)
                self.context.partition_states[partition] = P.ONLINE if online else P.OFFLINE
        self.elect_where_offline()

    def elect_where_offline(self) -> None:
        """Try to bring all offline partitions online."""
        waiting = [
            partition
            for partition, state in self.context.partition_states.items()
            if state in (P.OFFLINE, P.NEW) and not self.context.is_deleted(partition)
        ]
        self.handle(waiting, P.ONLINE)

    def handle(
        self, partitions: Iterable[TopicPartition], target: PartitionStates, elect: Elector = elect_for_offline
    ) -> None:
        """Move partitions to a state, and send the required requests."""
        allowed = [one for one in partitions if self.context.partition_state(one) in PREVIOUS_PARTITION_STATES[target]]
        for partition in allowed:
            if target is P.NON_EXISTENT:
                self.context.partition_states.pop(partition, None)
            elif target is not P.ONLINE or self._bring_online(partition, elect):
                self.context.partition_states[partition] = target
        self.batch.send_requests()

    def _bring_online(self, partition: TopicPartition, elect: Elector) -> bool:
        if self.context.partition_state(partition) is P.NEW:
            return self._initialize(partition)
        return self._elect(partition, elect)

    def _initialize(self, partition: TopicPartition) -> bool:
        """Create a new partition: its live replicas are in sync and create their logs (scenario 1)."""
        live = self.context.live_replicas(partition)
        state = LeaderAndIsr(live[0], live, controller_epoch=self.context.epoch) if live else None
        if state is None or not self.zk.create_state(partition, state):
            return False
        self.context.leaders[partition] = state
        self.batch.add_leader_and_isr(live, partition, state, is_new=True)
        return True

    def _elect(self, partition: TopicPartition, elect: Elector) -> bool:
        state = self.zk.state(partition)
        if state is None or state.controller_epoch > self.context.epoch:
            return False
        elected = elect(self.context, partition, state, self.zk.unclean_leader_election(partition[0], self.unclean))
        if elected is None:
            return False
        chosen = replace(elected[0], controller_epoch=self.context.epoch)
        version = self.zk.set_state(partition, chosen)
        assert version is not None  # read in this step
        self.context.leaders[partition] = replace(chosen, zk_version=version)
        self.batch.add_leader_and_isr(elected[1], partition, self.context.leaders[partition], is_new=False)
        return True


S = ReplicaState
PREVIOUS_REPLICA_STATES = {
    S.NEW: {S.NON_EXISTENT},
    S.ONLINE: {S.NEW, S.ONLINE, S.OFFLINE, S.DELETION_INELIGIBLE},
    S.OFFLINE: {S.NEW, S.ONLINE, S.OFFLINE, S.DELETION_INELIGIBLE},
    S.DELETION_STARTED: {S.OFFLINE},
    S.DELETION_SUCCESSFUL: {S.DELETION_STARTED},
    S.DELETION_INELIGIBLE: {S.OFFLINE, S.DELETION_STARTED},
    S.NON_EXISTENT: {S.DELETION_SUCCESSFUL},
}


class ReplicaStateMachine:
    """The states of all replicas; writes the ISR and collects requests when states change."""

    def __init__(self, context: ControllerContext, zk: KafkaZkClient, batch: ControllerBrokerRequestBatch) -> None:
        self.context: ControllerContext = context
        self.zk: KafkaZkClient = zk
        self.batch: ControllerBrokerRequestBatch = batch

    def startup(self) -> None:
        """Initialise all replicas when a broker becomes the controller: online ones first (scenario 6)."""
        replicas = self.context.replicas_of(self.context.assignments)
        online = [replica for replica in replicas if self.context.is_online(replica[1], replica[0])]
        offline = [replica for replica in replicas if replica not in set(online)]
        self.context.replica_states.update(dict.fromkeys(online, S.ONLINE))
        self.context.replica_states.update(dict.fromkeys(offline, S.DELETION_INELIGIBLE))
        self.handle(online, S.ONLINE)
        if not self.batch.behaviour.dead_stay_in_sync:
            self.handle(offline, S.OFFLINE)

    def handle(self, replicas: Iterable[Replica], target: ReplicaState) -> None:
        """Move replicas to a state, broker by broker, and send the required requests."""
        by_broker: dict[int, list[TopicPartition]] = {}
        for partition, broker in replicas:
            if self._is_allowed(self.context.replica_state((partition, broker)), target):
                by_broker.setdefault(broker, []).append(partition)
        for broker, partitions in sorted(by_broker.items()):
            self._moves(target)(broker, partitions)
            self._put(broker, partitions, target)
        self.batch.send_requests()

    def _is_allowed(self, state: ReplicaState, target: ReplicaState) -> bool:
        if (state, target) == (S.OFFLINE, S.DELETION_INELIGIBLE):
            return self.batch.behaviour.offline_is_ineligible
        return state in PREVIOUS_REPLICA_STATES[target]

    def _moves(self, target: ReplicaState) -> Callable[[int, list[TopicPartition]], None]:
        moves = {S.NEW: self._new, S.ONLINE: self._online, S.OFFLINE: self._offline, S.DELETION_STARTED: self._delete}
        return moves.get(target, lambda broker, partitions: None)

    def _put(self, broker: int, partitions: list[TopicPartition], state: ReplicaState) -> None:
        for partition in partitions:
            if state is S.NON_EXISTENT:
                self.context.replica_states.pop((partition, broker), None)
            else:
                self.context.replica_states[partition, broker] = state

    def _new(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            state = self.context.leaders.get(partition)
            if state is not None and state.leader != broker:
                self.batch.add_leader_and_isr([broker], partition, state, is_new=True)

    def _online(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            state = self.context.leaders.get(partition)
            if state is not None and self.context.replica_state((partition, broker)) is not S.NEW:
                self.batch.add_leader_and_isr([broker], partition, state, is_new=False)

    def _offline(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.batch.add_stop_replica(broker, partition, delete=False)
        for partition in partitions:
            state = self._remove_from_isr(broker, partition)
            if state is None:
                self.batch.add_update_metadata(self.context.brokers, {partition})
            elif not self.context.is_deleted(partition):
                others = [one for one in self.context.assignments[partition].replicas if one != broker]
                self.batch.add_leader_and_isr(others, partition, state, is_new=False)

    def _delete(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.batch.add_stop_replica(broker, partition, delete=True)

    def _remove_from_isr(self, broker: int, partition: TopicPartition) -> LeaderAndIsr | None:
        """Write the ISR without an offline replica (KIP-112: it is removed in ZooKeeper, and leaders are notified)."""
        state = self.zk.state(partition) if partition in self.context.leaders else None
        if state is None:
            return None
        if state.controller_epoch > self.context.epoch:
            return None
        if broker in state.isr:
            shrunk = replace(state.without(broker), controller_epoch=self.context.epoch)
            version = self.zk.set_state(partition, shrunk)
            assert version is not None  # read in this step
            state = replace(shrunk, zk_version=version)
        self.context.leaders[partition] = state
        return state


class Machines:
    """State that topics, deletions, reassignments and liveness share; for the arguments see `KafkaController`."""

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        zk: KafkaZkClient,
        behaviour: Behaviour,
        protocol: InterBrokerProtocol,
        unclean: bool,
    ) -> None:
        self.zk: KafkaZkClient = zk
        self.behaviour: Behaviour = behaviour
        self.context: ControllerContext = ControllerContext(epoch)
        self.batch: ControllerBrokerRequestBatch = ControllerBrokerRequestBatch(
            broker_id, self.context, protocol, behaviour
        )
        self.replicas: ReplicaStateMachine = ReplicaStateMachine(self.context, zk, self.batch)
        self.partitions: PartitionStateMachine = PartitionStateMachine(self.context, zk, self.batch, unclean)
