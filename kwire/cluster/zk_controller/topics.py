"""Topics of the controller: creation, deletion (TopicDeletionManager, scenario 8) and reassignment (scenario 7 of
KIP-112).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .controller_context import Replica, elect_reassigned
from .state_machines import Machines
from .values import NONE, LeaderAndIsr, PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition
from .zookeeper import DELETE_TOPICS, ISR_CHANGES, REASSIGN, TOPICS


class Topics:
    """What a controller learns of topics."""

    def __init__(self, machines: Machines) -> None:
        self.context, self.zk, self.batch = machines.context, machines.zk, machines.batch
        self.replicas, self.partitions = machines.replicas, machines.partitions

    def learn_all(self) -> None:
        """Read all topics, with the state of each partition."""
        for partition in self._learn_topics():
            self._learn_state(partition)

    def changed(self) -> None:
        """Make the partitions that are new (scenario 1): their replicas are new until a broker has confirmed them."""
        new = self._learn_topics()
        if new:
            self.partitions.handle(new, PartitionStates.NEW)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.NEW)
            self.partitions.handle(new, PartitionStates.ONLINE)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.ONLINE)

    def isr_changed(self) -> None:
        """Read the ISR of the partitions whose leaders changed it, and tell everybody."""
        events = self.zk.notifications(ISR_CHANGES)
        stored = [event.partitions for event in events.values() if event is not None]
        partitions = {(one.topic, one.partition) for rows in stored for one in rows} & set(self.context.assignments)
        for partition in partitions:
            self._learn_state(partition)
        if partitions:
            self.batch.update_metadata(self.context.brokers, partitions)
        self.zk.delete(events)

    def _learn_topics(self) -> list[TopicPartition]:
        """Read assignments from ZooKeeper; returns the partitions that are new."""
        new = []
        for topic, stored in self.zk.topics().items():
            if topic in self.context.topics_to_delete:
                continue
            self.context.topic_ids[topic] = self.zk.topic_id(topic)
            adding, removing = stored.adding_replicas or {}, stored.removing_replicas or {}
            for index, replicas in stored.partitions.items():
                if (topic, index) not in self.context.assignments:
                    new.append((topic, index))
                    self.context.assignments[topic, index] = ReplicaAssignment(
                        replicas, adding.get(index, ()), removing.get(index, ())
                    )
        return new

    def _learn_state(self, partition: TopicPartition) -> None:
        state = self.zk.state(partition)
        if state is not None:
            self.context.leaders[partition] = state


class TopicDeletionManager:
    """The topics that wait for their deletion."""

    def __init__(self, machines: Machines) -> None:
        self.context, self.zk, self.batch = machines.context, machines.zk, machines.batch
        self.replicas, self.partitions = machines.replicas, machines.partitions

    def startup(self, topics: Iterable[str]) -> None:
        """Remember the topics to delete when a broker becomes the controller; those with offline replicas wait."""
        self.context.topics_to_delete |= set(topics) & set(self.context.topic_ids)
        self.context.deletion_ineligible |= {
            topic
            for topic in self.context.topics_to_delete
            if any(self.context.offline_replicas(one) for one in self.context.partitions_of(topic))
        }

    def enqueue(self, topics: Iterable[str]) -> None:
        """Begin to delete topics; those with a reassignment wait for its end."""
        wanted = set(topics)
        self.context.topics_to_delete |= wanted
        self.context.deletion_ineligible |= wanted & {topic for topic, _ in self.context.reassigning}
        self.resume()

    def resume_for(self, topics: Iterable[str]) -> None:
        """Try again with topics whose replicas have come back."""
        wanted = set(topics) & self.context.topics_to_delete
        if wanted:
            self.context.deletion_ineligible -= wanted
            self.resume()

    def fail(self, replicas: Iterable[Replica]) -> None:
        """Put off topics whose replicas could not be deleted, or went offline."""
        failed = [replica for replica in replicas if self.context.is_deleted(replica[0])]
        if failed:
            self.replicas.handle(failed, ReplicaState.DELETION_INELIGIBLE)
            self.context.deletion_ineligible |= {partition[0] for partition, _ in failed}
            self.resume()

    def answered(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Take a broker's answer to a StopReplica that deletes: what it deleted, and what it could not."""
        self.fail((partition, broker_id) for partition, code in errors.items() if code != NONE)
        done = [(one, broker_id) for one, code in errors.items() if code == NONE and self.context.is_deleted(one)]
        if done:
            self.replicas.handle(done, ReplicaState.DELETION_SUCCESSFUL)
            self.resume()

    def resume(self) -> None:
        """Take each topic as far as it gets."""
        retried: list[Replica] = []
        eligible: list[str] = []
        for topic in sorted(self.context.topics_to_delete):
            states = self._states(topic)
            if states and set(states.values()) == {ReplicaState.DELETION_SUCCESSFUL}:
                self._complete_topic(topic)
                continue
            if ReplicaState.DELETION_STARTED not in states.values():
                retried += [one for one, state in states.items() if state is ReplicaState.DELETION_INELIGIBLE]
                if topic not in self.context.deletion_ineligible:
                    eligible.append(topic)
        if retried:
            self.replicas.handle(retried, ReplicaState.OFFLINE)
        if eligible:
            self._delete(eligible)

    def _states(self, topic: str) -> dict[Replica, ReplicaState]:
        partitions = self.context.partitions_of(topic)
        return {one: self.context.replica_state(one) for one in self.context.replicas_of(partitions)}

    def _delete(self, topics: list[str]) -> None:
        partitions = [one for topic in topics for one in self.context.partitions_of(topic)]
        unseen = [one for one in partitions if one[0] not in self.context.deletion_started]
        self.partitions.handle(unseen, PartitionStates.OFFLINE)
        self.partitions.handle(unseen, PartitionStates.NON_EXISTENT)
        self.context.deletion_started |= set(topics)
        self.batch.update_metadata(self.context.brokers, partitions)
        self._delete_replicas(partitions)

    def _delete_replicas(self, partitions: list[TopicPartition]) -> None:
        """Delete what is online; an offline replica is handled as if its broker were offline (KIP-112, scenario 8)."""
        replicas = self.context.replicas_of(partitions)
        alive = [one for one in replicas if self.context.is_online(one[1], one[0])]
        dead = [one for one in replicas if not self.context.is_online(one[1], one[0])]
        left = [one for one in alive if self.context.replica_state(one) is not ReplicaState.DELETION_SUCCESSFUL]
        self.replicas.handle(dead, ReplicaState.DELETION_INELIGIBLE)
        self.replicas.handle(left, ReplicaState.OFFLINE)
        self.replicas.handle(left, ReplicaState.DELETION_STARTED)
        self.context.deletion_ineligible |= {partition[0] for partition, _ in dead}

    def _complete_topic(self, topic: str) -> None:
        partitions = self.context.partitions_of(topic)
        self.replicas.handle(self.context.replicas_of(partitions), ReplicaState.NON_EXISTENT)
        for partition in partitions:
            self.context.forget_partition(partition)
        for topics in (self.context.topics_to_delete, self.context.deletion_started, self.context.deletion_ineligible):
            topics.discard(topic)
        self.zk.delete([f"{TOPICS}/{topic}", f"/config/topics/{topic}", f"{DELETE_TOPICS}/{topic}"])


class PartitionReassignment:
    """The partitions being reassigned."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager) -> None:
        self.context, self.zk, self.batch = machines.context, machines.zk, machines.batch
        self.replicas, self.partitions = machines.replicas, machines.partitions
        self.deletion: TopicDeletionManager = deletion
        self.behaviour = machines.behaviour

    def start(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        """Begin to move a partition to other replicas; a target that is what there is ends the one under way."""
        self.context.reassigning[partition] = target
        self.context.deletion_ineligible.add(partition[0])
        assignment = self.context.assignments[partition]
        if self.behaviour.adding_replicas:
            wanted = assignment.reassign_to(target)
            self._assign(partition, wanted)
            self._drop(partition, tuple(one for one in assignment.replicas if one not in wanted.replicas))
        self._go_on(partition, target)

    def resume(self, partition: TopicPartition) -> None:
        """Go on with a partition once all its target replicas are in sync."""
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
        adding = (
            old.adding if self.behaviour.adding_replicas else tuple(one for one in target if one not in old.replicas)
        )
        if not self.behaviour.adding_replicas:
            self._assign(partition, ReplicaAssignment((*target, *(one for one in old.replicas if one not in target))))
        self._report_new_epoch(partition, old.origin, adding)
        for one in adding:
            self.replicas.handle([(partition, one)], ReplicaState.NEW)

    def _finish(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        old = self.context.assignments[partition]
        if self.behaviour.adding_replicas:
            self.replicas.handle([(partition, one) for one in old.adding], ReplicaState.ONLINE)
        else:
            for one in target:
                self.replicas.handle([(partition, one)], ReplicaState.ONLINE)
        self._assign(partition, ReplicaAssignment(target), write=False)
        self._move_leader(partition, old, target)
        self._drop(partition, tuple(one for one in old.replicas if one not in target))
        self._assign(partition, ReplicaAssignment(target))
        del self.context.reassigning[partition]
        self.zk.delete([] if self.context.reassigning else [REASSIGN])
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
        """Stop and delete replicas. StopReplica fails where one is offline, and nobody waits for the answer."""
        gone = [(partition, one) for one in replicas]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            self.replicas.handle(gone, state)

    def _report_new_epoch(self, partition: TopicPartition, known: Iterable[int], adding: Iterable[int]) -> None:
        """Raise the leader epoch and tell it; what is added is new: it may be made where a directory is bad."""
        state = self.zk.state(partition)
        if state is None or state.controller_epoch > self.context.epoch:
            return
        raised = replace(state.next(state.leader, state.isr), controller_epoch=self.context.epoch)
        version = self.zk.set_state(partition, raised)
        assert version is not None  # read in this very step
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
        # Kafka before 2.4 tells the old epoch in its UpdateMetadata: the new one is remembered afterwards
        self.context.leaders[partition] = state

    def _assign(self, partition: TopicPartition, assignment: ReplicaAssignment, *, write: bool = True) -> None:
        self.context.assignments[partition] = assignment
        if write:
            topic = {one[1]: self.context.assignments[one] for one in self.context.partitions_of(partition[0])}
            self.zk.write_topic(partition[0], topic)
