"""Deletions of topics by a controller of the ZooKeeper era: which replicas are gone, and for which the rest waits.

A deletion begins with leader -2 in UpdateMetadata requests, or in ZooKeeper. It ends when each replica's broker has
answered StopReplica without an error, so that one offline replica keeps the topic. KRaft deletes topics at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...values import ErrorCode
from .partition_timeline import PartitionTimeline

Key = tuple[str, int]
MOST_REQUESTS = 10_000  # of one cluster that are in flight at the same time


class Deletions:
    """The replicas that brokers have deleted, of topics whose deletion is in progress.

    >>> deletions = Deletions()
    >>> deletions.ask(("1:9 > 2:9", 7), [("solo", 0)])
    >>> deletions.answer(("1:9 > 2:9", 7), {("solo", 0): 0}, 2)
    {'solo'}
    >>> deletions.waits_for(("solo", 0), (1, 2))
    (1,)
    """

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int | None], tuple[Key, ...]] = {}
        self._gone: dict[Key, set[int]] = {}

    def ask(self, request: tuple[str, int | None], partitions: Iterable[Key]) -> None:
        """Note a StopReplica request that deletes replicas.

        Args:
            request: its connection and correlation id.
            partitions: the partitions whose replicas the broker is to delete.
        """
        self._asked[request] = tuple(partitions)
        if len(self._asked) > MOST_REQUESTS:
            del self._asked[next(iter(self._asked))]

    def answer(self, request: tuple[str, int | None], errors: Mapping[Key, int], broker: int | None) -> set[str]:
        """Note the response of a broker; return the topics of which it has deleted replicas.

        Args:
            request: the connection and correlation id of the request.
            errors: the error code of each partition.
            broker: the broker that answered; None if it is unknown.
        """
        # Kafka: KafkaController.processTopicDeletionStopReplicaResponseReceived
        keys = [key for key in self._asked.pop(request, ()) if errors.get(key) == ErrorCode.NONE]
        if broker is None:
            return set()
        for key in keys:
            self._gone.setdefault(key, set()).add(broker)
        return {topic for topic, _ in keys}

    def waits_for(self, key: Key, replicas: Iterable[int]) -> tuple[int, ...]:
        """Return the replicas of a partition that are not deleted yet."""
        return tuple(node_id for node_id in replicas if node_id not in self._gone.get(key, ()))

    def has_ended(self, topic: str, timelines: Mapping[Key, PartitionTimeline]) -> bool:
        """Whether all replicas of a topic that is being deleted are gone."""
        # Kafka: TopicDeletionManager.resumeDeletions: all replicas are in the state ReplicaDeletionSuccessful
        for key, timeline in timelines.items():
            if key[0] != topic or not timeline.entries or timeline.entries[-1].state.is_deleted:
                continue
            state = timeline.entries[-1].state
            if not state.is_deleting or not state.replicas or self.waits_for(key, state.replicas):
                return False
        return True

    def forget(self, topic: str) -> None:
        """Forget a topic that is deleted: another one may get its name."""
        for key in [key for key in self._gone if key[0] == topic]:
            del self._gone[key]
