"""Which partitions moved between members, and which to move back instead of another. Ports PartitionMovements."""

from __future__ import annotations

from ...java.hash_order import TOPIC_PARTITIONS, HashOrder
from ..members import TopicPartition

Pair = tuple[str, str]  # from a member, to a member


class Movements:
    """The moves of one rebalance: for each partition from its first to its last owner."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[tuple[str, Pair], HashOrder[TopicPartition]] = {}

    def note(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record a move; a partition that returns to its first owner counts as not moved."""
        former = self._pairs.pop(partition, None)
        if former is not None:
            self._forget(partition, former)
            source = former[0]
            if source == target:
                return
        self._pairs[partition] = (source, target)
        self._moved.setdefault((partition[0], (source, target)), HashOrder(TOPIC_PARTITIONS)).put(partition)

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move: if possible another one of this topic that moved in the opposite direction."""
        if partition in self._pairs:
            source = self._pairs[partition][0]
        back = self._moved.get((partition[0], (target, source)))
        return partition if back is None else next(iter(back))

    def _forget(self, partition: TopicPartition, pair: Pair) -> None:
        key = (partition[0], pair)
        self._moved[key].remove(partition)
        if not self._moved[key]:
            del self._moved[key]
