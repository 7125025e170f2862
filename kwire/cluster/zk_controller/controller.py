"""KafkaController: changes in ZooKeeper, of brokers and of log directories become requests and znodes (KIP-112)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ... import messages
from ..events import partition_errors, stopped_partitions
from .controller_context import Replica, elect_and_leave_out, elect_for_shutdown, elect_preferred, elect_unclean
from .state_machines import Machines, Send
from .topics import PartitionReassignment, TopicDeletionManager, Topics
from .values import (
    KAFKA_STORAGE_ERROR,
    KIP,
    NONE,
    Behaviour,
    InterBrokerProtocol,
    PartitionStates,
    ReplicaState,
    TopicPartition,
    protocol_for,
)
from .zookeeper import (
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


class ReplicaLiveness:
    """What a controller knows of the liveness of brokers and of their log directories."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager, reassignment: PartitionReassignment) -> None:
        self.zk: KafkaZkClient = machines.zk
        self.context, self.batch = machines.context, machines.batch
        self.behaviour: Behaviour = machines.behaviour
        self.replicas, self.partitions = machines.replicas, machines.partitions
        self.deletion: TopicDeletionManager = deletion
        self.reassignment: PartitionReassignment = reassignment

    def brokers_changed(self) -> None:
        """Learn which brokers came up, went away, or did both."""
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
        """Ask brokers that lost a log directory about all their replicas (scenario 2)."""
        events = self.zk.notifications(LOG_DIR_EVENTS)
        brokers = {event.broker for event in events.values() if event is not None} & set(self.context.brokers)
        if self.behaviour.delete_event_first:
            self.zk.delete(events)
        if brokers:
            self.replicas.handle(self.context.replicas_on(sorted(brokers)), ReplicaState.ONLINE)
        self.zk.delete(events)

    def leader_and_isr_answered(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Derive which replicas of a broker are offline from its answer (KIP-112)."""
        known = self.context.offline_dirs.get(broker_id, set())
        online = {one for one, code in errors.items() if code == NONE}
        failed = {one for one, code in errors.items() if self._is_offline(code) and one in self.context.assignments}
        self.context.offline_dirs[broker_id] = (known - online) | failed
        new = sorted(failed - known)
        if new:
            self._replicas_offline([(partition, broker_id) for partition in new])

    def _brokers_started(self, brokers: dict[int, Any]) -> None:
        """Ask brokers that came up about all their replicas (scenario 3): what they say decides who may lead."""
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
        """Elect where the leader went offline, take the replicas from the ISR, tell everybody (scenario 2)."""
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


class KafkaController:
    """A broker that is the controller, from its election to the end of its session.

    Args:
        broker_id: of the broker.
        epoch: the controller epoch that its election gave it.
        zk: its session with ZooKeeper.
        behaviour: the KIP's text, or a release.
        protocol: the `inter.broker.protocol.version`; decides the versions of what is sent.
        unclean: whether replicas that are not in sync may lead, where a topic does not say.

    Each method that takes an event leaves requests in the outbox; `take_requests` takes them.
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
        self.broker_id: int = broker_id
        self.zk: KafkaZkClient = zk
        self.behaviour: Behaviour = behaviour
        machines = Machines(broker_id, epoch, zk, behaviour, protocol or protocol_for("3.9"), unclean)
        self.context, self.batch = machines.context, machines.batch
        self.replicas, self.partitions = machines.replicas, machines.partitions
        self.topics: Topics = Topics(machines)
        self.deletion: TopicDeletionManager = TopicDeletionManager(machines)
        self.reassignment: PartitionReassignment = PartitionReassignment(machines, self.deletion)
        self.liveness: ReplicaLiveness = ReplicaLiveness(machines, self.deletion, self.reassignment)

    def take_requests(self) -> list[Send]:
        """Return the requests to send since this was last asked, in their order."""
        requests, self.batch.outbox = self.batch.outbox, []
        return requests

    def on_failover(self) -> None:
        """Take over (scenario 6): learn all from ZooKeeper, ask every broker about every replica, elect leaders."""
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
        """Take a change of a znode that the controller watches; others are of no concern."""
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
        """Take a broker's answer to a request; one from an earlier start of it is of no concern."""
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
        """Move leaders off a broker that is about to stop; returns the ControlledShutdownResponse."""
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
        """Let the preferred replica lead each partition, where it is live and in sync."""
        wanted = [
            one
            for one in self._led(partitions)
            if self.behaviour.elects_in_vain
            or self.context.leaders[one].leader != self.context.assignments[one].replicas[0]
        ]
        self.partitions.handle(wanted, PartitionStates.ONLINE, elect_preferred)

    def elect_unclean(self, partitions: Iterable[TopicPartition]) -> None:
        """Let a live replica lead each partition whose leader is gone, even one that is not in sync (KIP-460)."""
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
