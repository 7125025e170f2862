"""Topics and partitions appear, and their leaders change the ISR: what ZooKeeper tells becomes what is remembered."""

from __future__ import annotations

from .machines import Machines
from .values import PartitionStates, ReplicaAssignment, ReplicaState, TopicPartition
from .znodes import ISR_CHANGES


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
        """Make the partitions that are new (scenario 1): their replicas are new until they are told to be there."""
        new = self._learn_topics()
        if new:
            self.partitions.handle(new, PartitionStates.NEW)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.NEW)
            self.partitions.handle(new, PartitionStates.ONLINE)
            self.replicas.handle(self.context.replicas_of(new), ReplicaState.ONLINE)

    def isr_changed(self) -> None:
        """Read the ISR of the partitions whose leaders changed it, and tell everybody."""
        events = self.zk.notifications(ISR_CHANGES)
        told = [event.partitions for event in events.values() if event is not None]
        partitions = {(one.topic, one.partition) for rows in told for one in rows} & set(self.context.assignments)
        for partition in partitions:
            self._learn_state(partition)
        if partitions:
            self.batch.update_metadata(self.context.brokers, partitions)
        self.zk.delete(events)

    def _learn_topics(self) -> list[TopicPartition]:
        """Read assignments from ZooKeeper; returns the partitions that are new."""
        new = []
        for topic, told in self.zk.topics().items():
            if topic in self.context.topics_to_delete:
                continue
            self.context.topic_ids[topic] = self.zk.topic_id(topic)
            adding, removing = told.adding_replicas or {}, told.removing_replicas or {}
            for index, replicas in told.partitions.items():
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
