"""KafkaController: converts changes of znodes, brokers and log directories to requests and znodes (KIP-112).

It creates, deletes (TopicDeletionManager, scenario 8 of the KIP) and reassigns (scenario 7) topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ... import messages
from ..events.event import partition_errors, stopped_partitions
from .kafka_zk_client import (
    BROKERS,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN,
    TOPICS,
    KafkaZkClient,
    partition_of,
)
from .replica_states import (
    KAFKA_STORAGE_ERROR,
    KIP,
    NONE,
    Behaviour,
    InterBrokerProtocol,
    LeaderAndIsr,
    PartitionStates,
    ReplicaAssignment,
    ReplicaState,
    TopicPartition,
    protocol_for,
)
from .state_machines import (
    ControllerBrokerRequestBatch,
    ControllerContext,
    Machines,
    PartitionStateMachine,
    Replica,
    ReplicaStateMachine,
    Send,
    elect_and_leave_out,
    elect_for_shutdown,
    elect_preferred,
    elect_reassigned,
    elect_unclean,
)


class _UsesMachines:
    """A part of the controller; all parts share the state machines."""

    def __init__(self, machines: Machines) -> None:
        self.context: ControllerContext = machines.context
        self.zk: KafkaZkClient = machines.zk
        self.batch: ControllerBrokerRequestBatch = machines.batch
        self.behaviour: Behaviour = machines.behaviour
        self.replicas: ReplicaStateMachine = machines.replicas
        self.partitions: PartitionStateMachine = machines.partitions


class Topics(_UsesMachines):
    """The controller's handling of new topics and partitions."""

    def learn_all(self) -> None:
        """Read all topics and the state of each partition."""
        for partition in self._learn_topics():
            self._learn_state(partition)

    def changed(self) -> None:
        """Create the new partitions (scenario 1): replicas count as new until a broker has confirmed them."""
        new = self._learn_topics()
        if new:
            self.partitions.handle(new, PartitionStates.NEW)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.NEW)
            self.partitions.handle(new, PartitionStates.ONLINE)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.ONLINE)

    def isr_changed(self) -> None:
        """Read the ISR of the partitions whose leaders have changed it, and send it to all brokers."""
        events = self.zk.notifications(ISR_CHANGES)
        stored = [event.partitions for event in events.values() if event is not None]
        partitions = {(one.topic, one.partition) for rows in stored for one in rows} & set(self.context.assignments)
        for partition in partitions:
            self._learn_state(partition)
        if partitions:
            self.batch.update_metadata(self.context.brokers, partitions)
        self.zk.delete(events)

    def _learn_topics(self) -> list[TopicPartition]:
        """Read assignments from ZooKeeper; return the new partitions."""
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


class TopicDeletionManager(_UsesMachines):
    """The topics that are waiting for deletion."""

    def startup(self, topics: Iterable[str]) -> None:
        """Record the topics to delete when a broker becomes the controller; topics with offline replicas wait."""
        self.context.topics_to_delete |= set(topics) & set(self.context.topic_ids)
        self.context.deletion_ineligible |= {
            topic
            for topic in self.context.topics_to_delete
            if any(self.context.offline_replicas(one) for one in self.context.partitions_of(topic))
        }

    def enqueue(self, topics: Iterable[str]) -> None:
        """Begin to delete topics; topics with a reassignment wait for its end."""
        wanted = set(topics)
        self.context.topics_to_delete |= wanted
        self.context.deletion_ineligible |= wanted & {topic for topic, _ in self.context.reassigning}
        self.resume()

    def resume_for(self, topics: Iterable[str]) -> None:
        """Retry the deletion of topics whose replicas have come back."""
        wanted = set(topics) & self.context.topics_to_delete
        if wanted:
            self.context.deletion_ineligible -= wanted
            self.resume()

    def fail(self, replicas: Iterable[Replica]) -> None:
        """Postpone the deletion of topics whose replicas could not be deleted, or went offline."""
        failed = [replica for replica in replicas if self.context.is_deleted(replica[0])]
        if failed:
            self.replicas.handle(failed, ReplicaState.DELETION_INELIGIBLE)
            self.context.deletion_ineligible |= {partition[0] for partition, _ in failed}
            self.resume()

    def answered(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Process a broker's response to a StopReplica with deletion: deleted replicas, and failures."""
        self.fail((partition, broker_id) for partition, code in errors.items() if code != NONE)
        done = [(one, broker_id) for one, code in errors.items() if code == NONE and self.context.is_deleted(one)]
        if done:
            self.replicas.handle(done, ReplicaState.DELETION_SUCCESSFUL)
            self.resume()

    def resume(self) -> None:
        """Advance the deletion of each topic as far as possible."""
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
        """Delete online replicas; an offline replica is treated as if its broker were offline (KIP-112, scenario 8)."""
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


class PartitionReassignment(_UsesMachines):
    """The partitions being reassigned."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager) -> None:
        super().__init__(machines)
        self.deletion: TopicDeletionManager = deletion

    def start(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        """Start to reassign a partition; a target equal to the current replicas ends the current reassignment."""
        self.context.reassigning[partition] = target
        self.context.deletion_ineligible.add(partition[0])
        assignment = self.context.assignments[partition]
        if self.behaviour.adding_replicas:
            wanted = assignment.reassign_to(target)
            self._assign(partition, wanted)
            self._drop(partition, tuple(one for one in assignment.replicas if one not in wanted.replicas))
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
        """Stop and delete replicas. StopReplica fails for an offline replica; its response is not awaited."""
        gone = [(partition, one) for one in replicas]
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
            topic = {one[1]: self.context.assignments[one] for one in self.context.partitions_of(partition[0])}
            self.zk.write_topic(partition[0], topic)


class ReplicaLiveness(_UsesMachines):
    """The controller's view of the liveness of brokers and of their log directories."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager, reassignment: PartitionReassignment) -> None:
        super().__init__(machines)
        self.deletion: TopicDeletionManager = deletion
        self.reassignment: PartitionReassignment = reassignment

    def brokers_changed(self) -> None:
        """Update the live brokers: brokers that started, stopped or restarted."""
        now, known = self.zk.brokers(), self.context.broker_epochs
        new = {broker: row for broker, row in now.items() if broker not in known}
        bounced = {broker: row for broker, row in now.items() if known.get(broker, row[1]) != row[1]}
        dead = [broker for broker in known if broker not in now]
        if new:
            self._brokers_started(new)
        if bounced:
            self._brokers_failed(list(bounced))
            self._brokers_started(bounced)
        if dead:
            self._brokers_failed(dead)

    def log_dirs_failed(self) -> None:
        """Query brokers that lost a log directory about all their replicas (scenario 2)."""
        events = self.zk.notifications(LOG_DIR_EVENTS)
        brokers = {event.broker for event in events.values() if event is not None} & set(self.context.brokers)
        if self.behaviour.delete_event_first:
            self.zk.delete(events)
        if brokers:
            self.replicas.handle(self.context.replicas_on(sorted(brokers)), ReplicaState.ONLINE)
        self.zk.delete(events)

    def leader_and_isr_answered(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Derive the offline replicas of a broker from its response (KIP-112)."""
        known = self.context.offline_dirs.get(broker_id, set())
        online = {one for one, code in errors.items() if code == NONE}
        failed = {one for one, code in errors.items() if self._is_offline(code) and one in self.context.assignments}
        self.context.offline_dirs[broker_id] = (known - online) | failed
        new = sorted(failed - known)
        if new:
            self._replicas_offline([(partition, broker_id) for partition in new])

    def _brokers_started(self, brokers: dict[int, Any]) -> None:
        """Send requests about all their replicas to started brokers (scenario 3).

        The responses determine which replicas may lead.
        """
        existing = [broker for broker in self.context.brokers if broker not in brokers]
        self.context.add_brokers(brokers)
        for broker in brokers:
            self.context.offline_dirs.pop(broker, None)
        if self.behaviour.metadata_to_new:
            self.batch.update_metadata(existing, ())
            selected = [one for one in self.context.leaders if self._is_listed(one)]
            self.batch.update_metadata(brokers, selected)
        else:
            self.batch.update_metadata(self.context.brokers, ())
        replicas = self.context.replicas_on(brokers)
        self.replicas.handle(replicas, ReplicaState.ONLINE)
        self.partitions.elect_where_offline()
        for partition, target in list(self.context.reassigning.items()):
            if set(target) & set(brokers):
                self.reassignment.resume(partition)
        self.deletion.resume_for({partition[0] for partition, _ in replicas})

    def _is_listed(self, partition: TopicPartition) -> bool:
        return self.behaviour.metadata_of_deleted or not self.context.is_deleted(partition)

    def _brokers_failed(self, brokers: list[int]) -> None:
        self.context.remove_brokers(brokers)
        for broker in brokers:
            self.context.offline_dirs.pop(broker, None)
            self.context.shutting_down.discard(broker)
        self._replicas_offline(self.context.replicas_on(brokers))

    def _replicas_offline(self, replicas: list[Replica]) -> None:
        """Elect leaders for replicas that went offline, remove them from the ISR, notify all brokers (scenario 2)."""
        leaderless = [
            partition
            for partition, state in self.context.leaders.items()
            if not self.context.is_online(state.leader, partition) and not self.context.is_deleted(partition)
        ]
        self.partitions.handle(leaderless, PartitionStates.OFFLINE)
        self.partitions.elect_where_offline()
        kept = [replica for replica in replicas if not self.context.is_deleted(replica[0])]
        self.replicas.handle(kept, ReplicaState.OFFLINE)
        self.deletion.fail(replica for replica in replicas if self.context.is_deleted(replica[0]))
        if not leaderless:
            self.batch.update_metadata(self.context.brokers, ())

    def _is_offline(self, code: int) -> bool:
        return code != NONE if self.behaviour.any_error_is_offline else code == KAFKA_STORAGE_ERROR


class KafkaController(_UsesMachines):
    """A broker that is the controller, from its election to the end of its session.

    Args:
        broker_id: the id of the broker.
        epoch: the controller epoch of its election.
        zk: its session with ZooKeeper.
        behaviour: the text of the KIP, or a release.
        protocol: the `inter.broker.protocol.version`; determines the versions of requests.
        unclean: whether out-of-sync replicas may become leaders, unless the topic configures it.

    Each method that handles an event puts requests into the outbox; `take_requests` removes them.
    """

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        zk: KafkaZkClient,
        *,
        behaviour: Behaviour = KIP,
        protocol: InterBrokerProtocol | None = None,
        unclean: bool = False,
    ) -> None:
        machines = Machines(broker_id, epoch, zk, behaviour, protocol or protocol_for("3.9"), unclean)
        super().__init__(machines)
        self.broker_id: int = broker_id
        self.topics: Topics = Topics(machines)
        self.deletion: TopicDeletionManager = TopicDeletionManager(machines)
        self.reassignment: PartitionReassignment = PartitionReassignment(machines, self.deletion)
        self.liveness: ReplicaLiveness = ReplicaLiveness(machines, self.deletion, self.reassignment)

    def take_requests(self) -> list[Send]:
        """Return the requests added since the last call, in order."""
        requests, self.batch.outbox = self.batch.outbox, []
        return requests

    def on_failover(self) -> None:
        """Take over (scenario 6): read all state from ZooKeeper, query every broker about its replicas, elect
        leaders.
        """
        for folder in (ISR_CHANGES, LOG_DIR_EVENTS):
            self.zk.delete(self.zk.notifications(folder))
        self.context.add_brokers(self.zk.brokers())
        self.topics.learn_all()
        self.deletion.startup(self.zk.zk.children(DELETE_TOPICS))
        self.batch.update_metadata(self.context.brokers, ())
        self.replicas.startup()
        self.partitions.startup()
        self._start_reassignments()
        self.deletion.resume()
        self._elect_preferred()

    def on_change(self, path: str) -> None:
        """Handle a change of a znode that the controller watches; ignore other znodes."""
        for prefix, handler in self._watched():
            if path.startswith(f"{prefix}/") or path == prefix:
                handler(path)
                return

    def _watched(self) -> tuple[tuple[str, Callable[[str], None]], ...]:
        return (
            (BROKERS, lambda path: self.liveness.brokers_changed()),
            (TOPICS, self._topic_changed),
            (DELETE_TOPICS, lambda path: self._delete_topics()),
            (LOG_DIR_EVENTS, lambda path: self.liveness.log_dirs_failed()),
            (ISR_CHANGES, lambda path: self.topics.isr_changed()),
            (REASSIGN, lambda path: self._start_reassignments()),
            (PREFERRED_ELECTION, lambda path: self._elect_preferred()),
        )

    def on_response(self, broker_id: int, broker_epoch: int, request: Any, response: Any) -> None:
        """Handle a broker's response to a request; ignore a response from an earlier start of the broker."""
        if self.context.broker_epochs.get(broker_id) != broker_epoch or response.error_code != NONE:
            return
        names = {topic_id: topic for topic, topic_id in self.context.topic_ids.items()}
        if isinstance(response, messages.LeaderAndIsrResponse):
            self.liveness.leader_and_isr_answered(broker_id, partition_errors(response, names))
        elif isinstance(response, messages.StopReplicaResponse):
            deleted = {partition for partition, delete, _ in stopped_partitions(request) if delete}
            errors = partition_errors(response, names)
            self.deletion.answered(broker_id, {one: code for one, code in errors.items() if one in deleted})

    def on_controlled_shutdown(self, request: Any) -> Any:
        """Move leaders off a broker that is about to stop; return the ControlledShutdownResponse."""
        broker_id = request.broker_id
        self.context.shutting_down.add(broker_id)
        moved = [
            partition
            for partition, broker in self.context.replicas_on([broker_id])
            if len(self.context.assignments[partition].replicas) > 1
            and partition in self.context.leaders
            and (self.behaviour.stops_deleted or not self.context.is_deleted(partition))
        ]
        led = [one for one in moved if self.context.leaders[one].leader == broker_id]
        followed = [one for one in moved if one not in led]
        selected = elect_for_shutdown if self.behaviour.informs_leaving else elect_and_leave_out
        self.partitions.handle(led, PartitionStates.ONLINE, selected)
        for partition in followed:
            self.batch.add_stop_replica(broker_id, partition, delete=False)
        self.batch.send_requests()
        self.replicas.handle([(partition, broker_id) for partition in followed], ReplicaState.OFFLINE)
        remaining = [one for one in led if self.context.leaders[one].leader == broker_id]
        row = messages.ControlledShutdownResponse.RemainingPartition
        return messages.ControlledShutdownResponse(remaining_partitions=tuple(row(*one) for one in remaining))

    def elect_preferred(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect the preferred replica of each partition if it is live and in sync."""
        wanted = [
            one
            for one in self._led(partitions)
            if self.behaviour.raises_unchanged_epoch
            or self.context.leaders[one].leader != self.context.assignments[one].replicas[0]
        ]
        self.partitions.handle(wanted, PartitionStates.ONLINE, elect_preferred)

    def elect_unclean(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect a live replica of each partition without a live leader, even an out-of-sync replica (KIP-460)."""
        wanted = [one for one in self._led(partitions) if self.context.leaders[one].leader not in self.context.brokers]
        self.partitions.handle(wanted, PartitionStates.ONLINE, elect_unclean)

    def _led(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        return [one for one in partitions if one in self.context.leaders and not self.context.is_deleted(one)]

    def reassign(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Move a partition to other replicas (scenario 7)."""
        if partition in self.context.leaders and not self.context.is_deleted(partition):
            self.reassignment.start(partition, replicas)

    def _topic_changed(self, path: str) -> None:
        partition = partition_of(path)
        if partition is None:
            self.topics.changed()
        else:
            self.reassignment.resume(partition)

    def _delete_topics(self) -> None:
        wanted = set(self.zk.zk.children(DELETE_TOPICS))
        known = {partition[0] for partition in self.context.assignments}
        self.zk.delete(f"{DELETE_TOPICS}/{topic}" for topic in wanted - known)
        if wanted & known - self.context.topics_to_delete:
            self.deletion.enqueue(wanted & known)

    def _start_reassignments(self) -> None:
        for partition, assignment in list(self.context.assignments.items()):
            if (assignment.adding or assignment.removing) and partition not in self.context.reassigning:
                self.reassign(partition, assignment.target)
        selected = self.zk.read(REASSIGN)
        for one in selected.partitions if selected else ():
            if (one.topic, one.partition) not in self.context.reassigning:
                self.reassign((one.topic, one.partition), one.replicas)

    def _elect_preferred(self) -> None:
        selected = self.zk.read(PREFERRED_ELECTION)
        self.elect_preferred((one.topic, one.partition) for one in (selected.partitions if selected else ()))
        if selected:
            self.zk.delete([PREFERRED_ELECTION])
