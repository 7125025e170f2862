"""PartitionStateMachine: partitions come into being, lose their leader and get one by an election.

A move from a state that does not allow it is left out. Knows no events; `controller` says what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from .controller_context import ControllerContext
from .elections import Election, elect_for_offline
from .request_batch import ControllerBrokerRequestBatch
from .values import LeaderAndIsr, PartitionStates, TopicPartition
from .znodes import KafkaZkClient

P = PartitionStates
PREVIOUS = {
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.NON_EXISTENT: {P.OFFLINE},
}
Elector = Callable[[ControllerContext, TopicPartition, LeaderAndIsr, bool], Election | None]


class PartitionStateMachine:
    """The states of all partitions; elects leaders, writes them, and gathers requests."""

    def __init__(
        self, context: ControllerContext, zk: KafkaZkClient, batch: ControllerBrokerRequestBatch, unclean: bool = False
    ) -> None:
        self.context, self.zk, self.batch, self.unclean = context, zk, batch, unclean

    def startup(self) -> None:
        """Take all partitions up when a broker becomes the controller, and elect where nobody leads (scenario 6)."""
        for partition in self.context.assignments:
            state = self.context.leaders.get(partition)
            if state is None:
                self.context.partition_states[partition] = P.NEW
            else:
                online = self.context.is_online(state.leader, partition)
                self.context.partition_states[partition] = P.ONLINE if online else P.OFFLINE
        self.elect_where_offline()

    def elect_where_offline(self) -> None:
        """Try to bring all partitions online that are not."""
        waiting = [
            partition
            for partition, state in self.context.partition_states.items()
            if state in (P.OFFLINE, P.NEW) and not self.context.is_deleted(partition)
        ]
        self.handle(waiting, P.ONLINE)

    def handle(
        self, partitions: Iterable[TopicPartition], target: PartitionStates, elect: Elector = elect_for_offline
    ) -> None:
        """Move partitions to a state, and send what that makes necessary."""
        allowed = [one for one in partitions if self.context.partition_state(one) in PREVIOUS[target]]
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
        """Make a new partition: its live replicas are in sync and create themselves (scenario 1)."""
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
        assert version is not None  # read in this very step
        self.context.leaders[partition] = replace(chosen, zk_version=version)
        self.batch.add_leader_and_isr(elected[1], partition, self.context.leaders[partition], is_new=False)
        return True
