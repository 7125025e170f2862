"""Brokers and log directories that fail and return. Ports KafkaController.onBrokerFailure, onBrokerStartup and
onBrokerLogDirFailure.
"""

from __future__ import annotations

from typing import Any

from ..kafka_zk_client import LOG_DIR_EVENTS
from ..values import KAFKA_STORAGE_ERROR, NONE, PartitionStates, ReplicaState, TopicPartition
from .controller_context import Replica
from .reassignment import PartitionReassigner
from .state_machines import ControllerPart, Machines
from .topic_deletion import TopicDeletionManager


class ReplicaLiveness(ControllerPart):
    """The controller's view of the liveness of brokers and of their log directories."""

    def __init__(self, machines: Machines, deletion: TopicDeletionManager, reassignment: PartitionReassigner) -> None:
        super().__init__(machines)
        self.deletion: TopicDeletionManager = deletion
        self.reassignment: PartitionReassigner = reassignment

    def process_broker_change(self) -> None:
        """Update the live brokers: brokers that started, stopped or restarted.

        Ports KafkaController.processBrokerChange; a broker with another epoch has restarted unnoticed (KIP-380).
        """
        now = self.zk.brokers()
        known = self.context.broker_epochs
        new = {broker: row for broker, row in now.items() if broker not in known}
        bounced = {broker: row for broker, row in now.items() if known.get(broker, row[1]) != row[1]}
        dead = [broker for broker in known if broker not in now]
        if new:
            self._on_broker_startup(new)
        if bounced:
            self._on_broker_failure(list(bounced))
            self._on_broker_startup(bounced)
        if dead:
            self._on_broker_failure(dead)

    def process_log_dir_event(self) -> None:
        """Query brokers that lost a log directory about all their replicas (scenario 2).

        Ports KafkaController.processLogDirEventNotification and onBrokerLogDirFailure.
        """
        events = self.zk.notifications(LOG_DIR_EVENTS)
        brokers = {event.broker for event in events.values() if event is not None} & set(self.context.brokers)
        if self.behaviour.delete_event_first:
            self.zk.delete(events)
        if brokers:
            self.replicas.handle(self.context.replicas_on(sorted(brokers)), ReplicaState.ONLINE)
        self.zk.delete(events)

    def process_leader_and_isr_response(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Derive the offline replicas of a broker from its response (KIP-112).

        Ports KafkaController.processLeaderAndIsrResponseReceived.
        """
        known = self.context.offline_dirs.get(broker_id, set())
        online = {partition for partition, code in errors.items() if code == NONE}
        offline = {partition for partition, code in errors.items() if self._is_offline(code)}
        failed = offline.intersection(self.context.assignments)
        self.context.offline_dirs[broker_id] = (known - online) | failed
        new = sorted(failed - known)
        if new:
            self._on_replicas_become_offline([(partition, broker_id) for partition in new])

    def _on_broker_startup(self, brokers: dict[int, Any]) -> None:
        """Send requests about all their replicas to started brokers (scenario 3).

        The responses determine which replicas may lead. Ports KafkaController.onBrokerStartup.
        """
        existing = [broker for broker in self.context.brokers if broker not in brokers]
        self.context.add_brokers(brokers)
        for broker in brokers:
            self.context.offline_dirs.pop(broker, None)
        if self.behaviour.metadata_to_new:
            self.batch.update_metadata(existing, ())
            selected = [partition for partition in self.context.leaders if self._is_listed(partition)]
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

    def _on_broker_failure(self, brokers: list[int]) -> None:
        self.context.remove_brokers(brokers)
        for broker in brokers:
            self.context.offline_dirs.pop(broker, None)
            self.context.shutting_down.discard(broker)
        self._on_replicas_become_offline(self.context.replicas_on(brokers))

    def _on_replicas_become_offline(self, replicas: list[Replica]) -> None:
        """Elect leaders for replicas that went offline, remove them from the ISR, notify all brokers (scenario 2).

        Ports KafkaController.onReplicasBecomeOffline:

        1. Partitions whose leader is offline go offline, and get another leader where a replica in sync is left.
        2. The replicas go offline, and leave the ISR.
        3. The deletion of topics with such replicas waits.
        4. If no election has informed the brokers already, they learn which brokers are live.
        """
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
