"""The states of replicas and their transitions. Ports ReplicaStateMachine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..kafka_zk_client import KafkaZkClient
from ..values import LeaderAndIsr, ReplicaState, TopicPartition
from .controller_context import ControllerContext, Replica
from .request_batch import ControllerBrokerRequestBatch

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
