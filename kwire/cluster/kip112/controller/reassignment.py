"""Reassigns partitions, scenario 7 of KIP-112. Ports KafkaController.onPartitionReassignment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..kafka_zk_client import REASSIGN
from ..values import LeaderAndIsr, PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition
from .partition_leader_election import elect_reassigned
from .state_machines import ControllerPart, Machines
from .topic_deletion import TopicDeletionManager


class PartitionReassigner(ControllerPart):
    """The partitions being reassigned."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager) -> None:
        super().__init__(machines)
        self.deletion: TopicDeletionManager = deletion

    # Letters and numbers of the steps are those of the comment at KafkaController.onPartitionReassignment since 2.4.

    def start(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        """Start to reassign a partition; a target equal to the current replicas ends the current reassignment."""
        self.context.reassigning[partition] = target
        self.context.deletion_ineligible.add(partition[0])
        assignment = self.context.assignments[partition]
        if self.behaviour.adding_replicas:
            # U1, U2. ZooKeeper and memory get the union of old and target replicas, with what is added and removed
            # (KIP-455).
            changed = assignment.reassign_to(target)
            self._assign(partition, changed)
            # U3. Replicas that only an earlier, now replaced, reassignment was adding are stopped.
            self._drop(partition, tuple(replica for replica in assignment.replicas if replica not in changed.replicas))
        self._go_on(partition, target)

    def resume(self, partition: TopicPartition) -> None:
        """Continue the reassignment of a partition once all its target replicas are in sync."""
        target = self.context.reassigning.get(partition)
        if target is not None and self._is_in_sync(partition, target):
            self._go_on(partition, target)

    def _is_in_sync(self, partition: TopicPartition, target: tuple[int, ...]) -> bool:
        state = self.zk.state(partition)
        return state is not None and set(target) <= set(state.isr)

    def _go_on(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        if self._is_in_sync(partition, target):
            self._finish(partition, target)
            return
        old = self.context.assignments[partition]
        adding = old.adding
        if not self.behaviour.adding_replicas:  # before KIP-455 only the union of old and new replicas is stored
            adding = tuple(replica for replica in target if replica not in old.replicas)
            leaving = (replica for replica in old.replicas if replica not in target)
            self._assign(partition, ReplicaAssignment((*target, *leaving)))
        # A1. All replicas, old and added, learn the new leader epoch.
        self._report_new_epoch(partition, old.origin, adding)
        # A2. The added replicas are new, so that they create their logs (isNew, KIP-112).
        for replica in adding:
            self.replicas.handle([(partition, replica)], ReplicaState.NEW)

    def _finish(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        old = self.context.assignments[partition]
        # B1. The added replicas are in sync, and no longer new.
        if self.behaviour.adding_replicas:
            self.replicas.handle([(partition, replica) for replica in old.adding], ReplicaState.ONLINE)
        else:
            for replica in target:
                self.replicas.handle([(partition, replica)], ReplicaState.ONLINE)
        # B2. The target is the assignment, in memory only.
        self._assign(partition, ReplicaAssignment(target), write=False)
        # B3. The leader is one of the target, and all learn the new epoch (moveReassignedPartitionLeaderIfRequired).
        self._move_leader(partition, old, target)
        # B4, B5. The removed replicas go offline, then cease to exist (stopRemovedReplicasOfReassignedPartition).
        self._drop(partition, tuple(replica for replica in old.replicas if replica not in target))
        # B6, B7. The target is written, and the request removed: from here on another controller does nothing more.
        self._assign(partition, ReplicaAssignment(target))
        del self.context.reassigning[partition]
        self.zk.delete([] if self.context.reassigning else [REASSIGN])
        # B8. All brokers learn the replicas; a deletion of the topic that has waited goes on.
        self.batch.update_metadata(self.context.brokers, {partition})
        if partition[0] not in {topic for topic, _ in self.context.reassigning}:
            self.context.deletion_ineligible.discard(partition[0])
            self.deletion.resume_for({partition[0]})

    def _move_leader(self, partition: TopicPartition, old: ReplicaAssignment, target: tuple[int, ...]) -> None:
        leader = self.context.leaders[partition].leader
        if leader in target and self.context.is_online(leader, partition):
            self._report_new_epoch(partition, target if self.behaviour.adding_replicas else old.replicas, ())
        else:
            self.partitions.handle([partition], PartitionStates.ONLINE, elect_reassigned)

    def _drop(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Stop and delete replicas. StopReplica fails for an offline replica; its response is not awaited."""
        gone = [(partition, replica) for replica in replicas]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            self.replicas.handle(gone, state)

    def _report_new_epoch(self, partition: TopicPartition, known: Iterable[int], adding: Iterable[int]) -> None:
        """Increase the leader epoch and send it; added replicas count as new, so they may be created despite a bad
        directory.
        """
        state = self.zk.state(partition)
        if state is None or state.controller_epoch > self.context.epoch:
            return
        raised = replace(state.next(state.leader, state.isr), controller_epoch=self.context.epoch)
        version = self.zk.set_state(partition, raised)
        assert version is not None  # read in this step
        self._send_new_epoch(partition, replace(raised, zk_version=version), known, adding)

    def _send_new_epoch(
        self, partition: TopicPartition, state: LeaderAndIsr, known: Iterable[int], adding: Iterable[int]
    ) -> None:
        if self.behaviour.adding_replicas:
            self.context.leaders[partition] = state
        others = () if self.behaviour.adding_replicas else adding
        self.batch.add_leader_and_isr((*known, *others), partition, state, is_new=False)
        if self.behaviour.adding_replicas:
            self.batch.add_leader_and_isr(adding, partition, state, is_new=True)
        self.batch.send_requests()
        # Before 2.4, Kafka sends the old epoch in UpdateMetadata: the new one is stored afterwards.
        self.context.leaders[partition] = state

    def _assign(self, partition: TopicPartition, assignment: ReplicaAssignment, *, write: bool = True) -> None:
        self.context.assignments[partition] = assignment
        if write:
            partitions = self.context.partitions_of(partition[0])
            assignments = {other[1]: self.context.assignments[other] for other in partitions}
            self.zk.write_topic(partition[0], assignments)
