"""The states of replicas and their transitions. Ports ReplicaStateMachine."""

from __future__ import annotations

from collections.abc import Iterable
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
        """Move replicas to a state, broker by broker, and send the required requests.

        Ports ReplicaStateMachine.handleStateChanges; a replica whose state does not allow it stays as it is.
        """
        by_broker: dict[int, list[TopicPartition]] = {}
        for partition, broker in replicas:
            if self._is_allowed(self.context.replica_state((partition, broker)), target):
                by_broker.setdefault(broker, []).append(partition)
        for broker, partitions in sorted(by_broker.items()):
            self._request(broker, partitions, target)
            for partition in partitions:
                if target is S.NON_EXISTENT:
                    self.context.replica_states.pop((partition, broker), None)
                else:
                    self.context.replica_states[partition, broker] = target
        self.batch.send_requests()

    def _is_allowed(self, state: ReplicaState, target: ReplicaState) -> bool:
        if (state, target) == (S.OFFLINE, S.DELETION_INELIGIBLE):
            return self.batch.behaviour.offline_is_ineligible
        return state in PREVIOUS_REPLICA_STATES[target]

    def _request(self, broker: int, partitions: list[TopicPartition], target: ReplicaState) -> None:
        """Collect the requests about replicas of a broker that change to a state.

        Ports ReplicaStateMachine.doHandleStateChanges, case by case; the states that are left need no request.
        """
        leaders = self.context.leaders
        # 1. NewReplica: followers learn their leader and create their logs (isNew, KIP-112). The leader of a new
        #    partition gets its request when the partition goes online.
        if target is S.NEW:
            followed = [key for key in partitions if key in leaders and leaders[key].leader != broker]
            self._inform(broker, followed, is_new=True)
        # 2. OnlineReplica: a replica that returns learns the present state; a new one has got it in step 1.
        elif target is S.ONLINE:
            states = self.context.replica_state
            returning = [key for key in partitions if key in leaders and states((key, broker)) is not S.NEW]
            self._inform(broker, returning, is_new=False)
        # 3. OfflineReplica: it stops fetching and leaves the ISR.
        elif target is S.OFFLINE:
            self._take_offline(broker, partitions)
        # 4. ReplicaDeletionStarted: it deletes its log.
        elif target is S.DELETION_STARTED:
            self._stop(broker, partitions, delete=True)

    def _inform(self, broker: int, partitions: Iterable[TopicPartition], *, is_new: bool) -> None:
        for partition in partitions:
            self.batch.add_leader_and_isr([broker], partition, self.context.leaders[partition], is_new=is_new)

    def _stop(self, broker: int, partitions: Iterable[TopicPartition], *, delete: bool) -> None:
        for partition in partitions:
            self.batch.add_stop_replica(broker, partition, delete=delete)

    def _take_offline(self, broker: int, partitions: list[TopicPartition]) -> None:
        """Stop replicas, remove them from the ISR, and tell the other replicas, or all brokers without a leader."""
        self._stop(broker, partitions, delete=False)
        for partition in partitions:
            state = self._remove_from_isr(broker, partition)
            if state is None:
                self.batch.add_update_metadata(self.context.brokers, {partition})
            elif not self.context.is_deleted(partition):
                others = [node for node in self.context.assignments[partition].replicas if node != broker]
                self.batch.add_leader_and_isr(others, partition, state, is_new=False)

    def _remove_from_isr(self, broker: int, partition: TopicPartition) -> LeaderAndIsr | None:
        """Write the ISR without an offline replica (KIP-112: it is removed in ZooKeeper, and leaders are notified).

        Ports ReplicaStateMachine.doRemoveReplicasFromIsr; a state that a later controller wrote is left alone.
        """
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
