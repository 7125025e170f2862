"""Which partitions moved from whom to whom in one rebalance, so that they need not cross. Knows no balance."""

from __future__ import annotations

from ..java import TOPIC_PARTITIONS, HashOrder
from .members import TopicPartition

Pair = tuple[str, str]  # from a member, to a member


class Movements:
    """The moves of one rebalance, each partition's from its first holder to its last."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[tuple[str, Pair], HashOrder[TopicPartition]] = {}

    def note(self, partition: TopicPartition, source: str, target: str) -> None:
        """Note a move; one that came back did not move."""
        former = self._pairs.pop(partition, None)
        if former is not None:
            self._forget(partition, former)
            source = former[0]
            if source == target:
                return
        self._pairs[partition] = (source, target)
        self._moved.setdefault((partition[0], (source, target)), HashOrder(TOPIC_PARTITIONS)).put(partition)

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return what to move rather than this partition: one of its topic that went the other way, if there is one."""
        if partition in self._pairs:
            source = self._pairs[partition][0]
        back = self._moved.get((partition[0], (target, source)))
        return partition if back is None else next(iter(back))

    def _forget(self, partition: TopicPartition, pair: Pair) -> None:
        key = (partition[0], pair)
        self._moved[key].remove(partition)
        if not self._moved[key]:
            del self._moved[key]
