"""Converts changes of znodes, brokers and log directories to requests and znodes (KIP-112). Ports KafkaController."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .... import messages
from ...events.partition_states import partition_errors, stopped_partitions
from ..kafka_zk_client import (
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
from ..releases import KIP, Behaviour, InterBrokerProtocol, protocol_for
from ..values import NONE, PartitionStates, ReplicaState, TopicPartition
from .new_topics import Topics
from .partition_leader_election import elect_and_leave_out, elect_for_shutdown, elect_preferred, elect_unclean
from .reassignment import PartitionReassigner
from .replica_liveness import ReplicaLiveness
from .request_batch import SendRequest
from .state_machines import ControllerPart, Machines
from .topic_deletion import TopicDeletionManager


class KafkaController(ControllerPart):
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
        self.reassignment: PartitionReassigner = PartitionReassigner(machines, self.deletion)
        self.liveness: ReplicaLiveness = ReplicaLiveness(machines, self.deletion, self.reassignment)

    def take_requests(self) -> list[SendRequest]:
        """Return the requests added since the last call, in order."""
        requests = self.batch.outbox
        self.batch.outbox = []
        return requests

    def on_failover(self) -> None:
        """Take over (scenario 6): read all state from ZooKeeper, query every broker about its replicas, elect
        leaders.

        Ports KafkaController.onControllerFailover.
        """
        # 1. Notifications from before are obsolete: all state is read anyway.
        for folder in (ISR_CHANGES, LOG_DIR_EVENTS):
            self.zk.delete(self.zk.notifications(folder))
        # 2. Brokers, topics and topics to delete are read (initializeControllerContext).
        self.context.add_brokers(self.zk.brokers())
        self.topics.learn_all()
        self.deletion.startup(self.zk.zk.children(DELETE_TOPICS))
        # 3. Brokers learn the live brokers before LeaderAndIsr, so that followers know the addresses of leaders.
        self.batch.update_metadata(self.context.brokers, ())
        # 4. The state machines query all brokers about their replicas, and elect missing leaders.
        self.replicas.startup()
        self.partitions.startup()
        # 5. What the former controller has begun goes on.
        self._start_reassignments()
        self.deletion.resume()
        self._elect_preferred()

    def on_change(self, path: str) -> None:
        """Handle a change of a znode that the controller watches; ignore other znodes."""
        for prefix, handler in self._list_watches():
            if path.startswith(f"{prefix}/") or path == prefix:
                handler(path)
                return

    def _list_watches(self) -> tuple[tuple[str, Callable[[str], None]], ...]:
        return (
            (BROKERS, lambda path: self.liveness.process_broker_change()),
            (TOPICS, self._process_topic_change),
            (DELETE_TOPICS, lambda path: self._delete_topics()),
            (LOG_DIR_EVENTS, lambda path: self.liveness.process_log_dir_event()),
            (ISR_CHANGES, lambda path: self.topics.process_isr_change()),
            (REASSIGN, lambda path: self._start_reassignments()),
            (PREFERRED_ELECTION, lambda path: self._elect_preferred()),
        )

    def on_response(self, broker_id: int, broker_epoch: int, request: Any, response: Any) -> None:
        """Handle a broker's response to a request; ignore a response from an earlier start of the broker."""
        if self.context.broker_epochs.get(broker_id) != broker_epoch or response.error_code != NONE:
            return
        names = {topic_id: topic for topic, topic_id in self.context.topic_ids.items()}
        if isinstance(response, messages.LeaderAndIsrResponse):
            self.liveness.process_leader_and_isr_response(broker_id, partition_errors(response, names))
        elif isinstance(response, messages.StopReplicaResponse):
            deleted = {partition for partition, delete, _ in stopped_partitions(request) if delete}
            errors = partition_errors(response, names)
            answered = {partition: code for partition, code in errors.items() if partition in deleted}
            self.deletion.process_stop_replica_response(broker_id, answered)

    def on_controlled_shutdown(self, request: Any) -> Any:
        """Move leaders off a broker that is about to stop; return the ControlledShutdownResponse.

        Ports KafkaController.doControlledShutdown:

        1. Partitions that the broker leads get another leader.
        2. Its other replicas stop, and leave the ISR.
        3. The response lists the partitions that it still leads.
        """
        broker_id = request.broker_id
        self.context.shutting_down.add(broker_id)
        moved = [
            partition
            for partition, broker in self.context.replicas_on([broker_id])
            if len(self.context.assignments[partition].replicas) > 1
            and partition in self.context.leaders
            and (self.behaviour.stops_deleted or not self.context.is_deleted(partition))
        ]
        led = [partition for partition in moved if self.context.leaders[partition].leader == broker_id]
        followed = [partition for partition in moved if partition not in led]
        elect = elect_for_shutdown if self.behaviour.informs_leaving else elect_and_leave_out
        self.partitions.handle(led, PartitionStates.ONLINE, elect)
        for partition in followed:
            self.batch.add_stop_replica(broker_id, partition, delete=False)
        self.batch.send_requests()
        self.replicas.handle([(partition, broker_id) for partition in followed], ReplicaState.OFFLINE)
        remaining = [partition for partition in led if self.context.leaders[partition].leader == broker_id]
        row = messages.ControlledShutdownResponse.RemainingPartition
        rows = tuple(row(*partition) for partition in remaining)
        return messages.ControlledShutdownResponse(remaining_partitions=rows)

    def elect_preferred(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect the preferred replica of each partition if it is live and in sync."""
        changing = [
            partition
            for partition in self._skip_unknown(partitions)
            if self.behaviour.raises_unchanged_epoch
            or self.context.leaders[partition].leader != self.context.assignments[partition].replicas[0]
        ]
        self.partitions.handle(changing, PartitionStates.ONLINE, elect_preferred)

    def elect_unclean(self, partitions: Iterable[TopicPartition]) -> None:
        """Elect a live replica of each partition without a live leader, even an out-of-sync replica (KIP-460)."""
        leaders = self.context.leaders
        leaderless = [
            partition
            for partition in self._skip_unknown(partitions)
            if leaders[partition].leader not in self.context.brokers
        ]
        self.partitions.handle(leaderless, PartitionStates.ONLINE, elect_unclean)

    def _skip_unknown(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions that have had a leader and are not deleted."""
        led = (partition for partition in partitions if partition in self.context.leaders)
        return [partition for partition in led if not self.context.is_deleted(partition)]

    def reassign(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Move a partition to other replicas (scenario 7)."""
        if partition in self.context.leaders and not self.context.is_deleted(partition):
            self.reassignment.start(partition, replicas)

    def _process_topic_change(self, path: str) -> None:
        partition = partition_of(path)
        if partition is None:
            self.topics.process_topic_change()
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
        requested = self.zk.read(REASSIGN)
        for row in requested.partitions if requested else ():
            if (row.topic, row.partition) not in self.context.reassigning:
                self.reassign((row.topic, row.partition), row.replicas)

    def _elect_preferred(self) -> None:
        requested = self.zk.read(PREFERRED_ELECTION)
        self.elect_preferred((row.topic, row.partition) for row in (requested.partitions if requested else ()))
        if requested:
            self.zk.delete([PREFERRED_ELECTION])
