"""Deletes topics, scenario 8 of KIP-112. Ports TopicDeletionManager."""

from __future__ import annotations

from collections.abc import Iterable

from ..kafka_zk_client import DELETE_TOPICS, TOPICS
from ..values import NONE, PartitionStates, ReplicaState, TopicPartition
from .controller_context import Replica
from .state_machines import ControllerPart


class TopicDeletionManager(ControllerPart):
    """The topics that are waiting for deletion.

    The steps for a topic, each as far as its replicas allow (KIP-112, scenario 8):

    1. It is enqueued, or ineligible for now: a reassignment or an offline replica delays it (`enqueue`, `fail`).
    2. Its partitions go offline and cease to exist, and all brokers learn that it has no leader (`_delete`).
    3. Its online replicas stop and delete their logs (`_delete_replicas`); each answers StopReplica.
    4. Replicas that could not be deleted are retried when their broker or disk is back (`resume_for`).
    5. Once all are deleted, nothing of the topic is left in memory and in ZooKeeper (`_complete_topic`).
    """

    def startup(self, topics: Iterable[str]) -> None:
        """Record the topics to delete when a broker becomes the controller; topics with offline replicas wait.

        Ports TopicDeletionManager.init, with the arguments that KafkaController.fetchTopicDeletionsInProgress finds.
        """
        self.context.topics_to_delete |= set(topics) & set(self.context.topic_ids)
        self.context.deletion_ineligible |= {
            topic
            for topic in self.context.topics_to_delete
            if any(self.context.offline_replicas(partition) for partition in self.context.partitions_of(topic))
        }

    def enqueue(self, topics: Iterable[str]) -> None:
        """Begin to delete topics; topics with a reassignment wait for its end.

        Ports TopicDeletionManager.enqueueTopicsForDeletion.
        """
        wanted = set(topics)
        self.context.topics_to_delete |= wanted
        self.context.deletion_ineligible |= wanted & {topic for topic, _ in self.context.reassigning}
        self.resume()

    def resume_for(self, topics: Iterable[str]) -> None:
        """Retry the deletion of topics whose replicas have come back (resumeDeletionForTopics)."""
        wanted = set(topics) & self.context.topics_to_delete
        if wanted:
            self.context.deletion_ineligible -= wanted
            self.resume()

    def fail(self, replicas: Iterable[Replica]) -> None:
        """Postpone the deletion of topics whose replicas could not be deleted, or went offline.

        Ports TopicDeletionManager.failReplicaDeletion.
        """
        failed = [replica for replica in replicas if self.context.is_deleted(replica[0])]
        if failed:
            self.replicas.handle(failed, ReplicaState.DELETION_INELIGIBLE)
            self.context.deletion_ineligible |= {partition[0] for partition, _ in failed}
            self.resume()

    def process_stop_replica_response(self, broker_id: int, errors: dict[TopicPartition, int]) -> None:
        """Process a broker's response to a StopReplica with deletion: deleted replicas, and failures.

        Ports KafkaController.processTopicDeletionStopReplicaResponseReceived.
        """
        self.fail((partition, broker_id) for partition, code in errors.items() if code != NONE)
        deleted = (partition for partition, code in errors.items() if code == NONE)
        done = [(partition, broker_id) for partition in deleted if self.context.is_deleted(partition)]
        if done:
            self.replicas.handle(done, ReplicaState.DELETION_SUCCESSFUL)
            self.resume()

    def resume(self) -> None:
        """Advance the deletion of each topic as far as possible. Ports TopicDeletionManager.resumeDeletions."""
        retried: list[Replica] = []
        eligible: list[str] = []
        for topic in sorted(self.context.topics_to_delete):
            states = self._states(topic)
            if states and set(states.values()) == {ReplicaState.DELETION_SUCCESSFUL}:
                self._complete_topic(topic)
                continue
            if ReplicaState.DELETION_STARTED not in states.values():
                retried += [replica for replica, state in states.items() if state is ReplicaState.DELETION_INELIGIBLE]
                if topic not in self.context.deletion_ineligible:
                    eligible.append(topic)
        if retried:
            self.replicas.handle(retried, ReplicaState.OFFLINE)
        if eligible:
            self._delete(eligible)

    def _states(self, topic: str) -> dict[Replica, ReplicaState]:
        partitions = self.context.partitions_of(topic)
        return {replica: self.context.replica_state(replica) for replica in self.context.replicas_of(partitions)}

    def _delete(self, topics: list[str]) -> None:
        """Take partitions offline, tell all brokers, delete replicas. Ports TopicDeletionManager.onTopicDeletion."""
        partitions = [partition for topic in topics for partition in self.context.partitions_of(topic)]
        unseen = [partition for partition in partitions if partition[0] not in self.context.deletion_started]
        self.partitions.handle(unseen, PartitionStates.OFFLINE)
        self.partitions.handle(unseen, PartitionStates.NON_EXISTENT)
        self.context.deletion_started |= set(topics)
        self.batch.update_metadata(self.context.brokers, partitions)
        self._delete_replicas(partitions)

    def _delete_replicas(self, partitions: list[TopicPartition]) -> None:
        """Delete online replicas; an offline replica is treated as if its broker were offline (KIP-112, scenario 8)."""
        replicas = self.context.replicas_of(partitions)
        alive = [replica for replica in replicas if self.context.is_online(replica[1], replica[0])]
        dead = [replica for replica in replicas if not self.context.is_online(replica[1], replica[0])]
        undeleted = [
            replica for replica in alive if self.context.replica_state(replica) is not ReplicaState.DELETION_SUCCESSFUL
        ]
        self.replicas.handle(dead, ReplicaState.DELETION_INELIGIBLE)
        self.replicas.handle(undeleted, ReplicaState.OFFLINE)
        self.replicas.handle(undeleted, ReplicaState.DELETION_STARTED)
        self.context.deletion_ineligible |= {partition[0] for partition, _ in dead}

    def _complete_topic(self, topic: str) -> None:
        """Forget a topic whose replicas are all deleted. Ports TopicDeletionManager.completeDeleteTopic."""
        partitions = self.context.partitions_of(topic)
        self.replicas.handle(self.context.replicas_of(partitions), ReplicaState.NON_EXISTENT)
        for partition in partitions:
            self.context.forget_partition(partition)
        for topics in (self.context.topics_to_delete, self.context.deletion_started, self.context.deletion_ineligible):
            topics.discard(topic)
        self.zk.delete([f"{TOPICS}/{topic}", f"/config/topics/{topic}", f"{DELETE_TOPICS}/{topic}"])
