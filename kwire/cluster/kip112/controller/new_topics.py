"""New topics and partitions that the controller finds in ZooKeeper. Ports KafkaController.onNewPartitionCreation."""

from __future__ import annotations

from ..kafka_zk_client import ISR_CHANGES
from ..values import PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition
from .state_machines import ControllerPart


class Topics(ControllerPart):
    """The controller's handling of new topics and partitions."""

    def learn_all(self) -> None:
        """Read all topics and the state of each partition."""
        for partition in self._learn_topics():
            self._learn_state(partition)

    def process_topic_change(self) -> None:
        """Create the new partitions (scenario 1): replicas count as new until a broker has confirmed them."""
        new = self._learn_topics()
        if new:
            self.partitions.handle(new, PartitionStates.NEW)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.NEW)
            self.partitions.handle(new, PartitionStates.ONLINE)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.ONLINE)

    def process_isr_change(self) -> None:
        """Read the ISR of the partitions whose leaders have changed it, and send it to all brokers.

        Ports KafkaController.processIsrChangeNotification.
        """
        events = self.zk.notifications(ISR_CHANGES)
        stored = [event.partitions for event in events.values() if event is not None]
        partitions = {(row.topic, row.partition) for rows in stored for row in rows} & set(self.context.assignments)
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
            adding = stored.adding_replicas or {}
            removing = stored.removing_replicas or {}
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
