"""The states of partitions and their transitions. Ports PartitionStateMachine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..kafka_zk_client import KafkaZkClient
from ..values import LeaderAndIsr, PartitionStates, TopicPartition
from .controller_context import ControllerContext
from .partition_leader_election import Election, elect_for_offline
from .request_batch import ControllerBrokerRequestBatch

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
        """Move partitions to a state, and send the required requests.

        Ports PartitionStateMachine.doHandleStateChanges; a partition whose state does not allow it stays as it is.
        """
        previous = PREVIOUS_PARTITION_STATES[target]
        allowed = [partition for partition in partitions if self.context.partition_state(partition) in previous]
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
        """Create a new partition: its live replicas are in sync and create their logs (scenario 1).

        Ports PartitionStateMachine.initializeLeaderAndIsrForPartitions.
        """
        live = self.context.live_replicas(partition)
        state = LeaderAndIsr(live[0], live, controller_epoch=self.context.epoch) if live else None
        if state is None or not self.zk.create_state(partition, state):
            return False
        self.context.leaders[partition] = state
        self.batch.add_leader_and_isr(live, partition, state, is_new=True)
        return True

    def _elect(self, partition: TopicPartition, elect: Elector) -> bool:
        """Elect a leader and write it to ZooKeeper. Ports PartitionStateMachine.doElectLeaderForPartitions."""
        # 1. A later controller has written the state: this one is a zombie.
        state = self.zk.state(partition)
        if state is None or state.controller_epoch > self.context.epoch:
            return False
        # 2. The strategy names a leader and ISR; none can lead if all replicas in sync are offline.
        elected = elect(self.context, partition, state, self.zk.unclean_leader_election(partition[0], self.unclean))
        if elected is None:
            return False
        # 3. ZooKeeper gets the result first, then the replicas.
        chosen = replace(elected[0], controller_epoch=self.context.epoch)
        version = self.zk.set_state(partition, chosen)
        assert version is not None  # read in this step
        self.context.leaders[partition] = replace(chosen, zk_version=version)
        self.batch.add_leader_and_isr(elected[1], partition, self.context.leaders[partition], is_new=False)
        return True
