"""Even loads of brokers within each topic, without a change of the loads as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from .broker_masks import bits
from .even_loads import Targets

MOST_ROUNDS = 1000


class EvenTopics:
    """Spreads the replicas of each topic over the brokers, by exchanges that keep the loads of all topics together.

    A broker gives a replica of one topic to another broker and takes one of another topic in return, or takes none if
    loads stay as even so, as long as this lowers the sum over all topics of the squares of their loads. This is a local
    search: it ends where no exchange between two brokers helps.

    Args:
        chosen: the set of each partition, as a bit mask of brokers.
        topics: the number of each partition's topic.
        costs: the cost of each broker for each partition, as for `EvenLoads`.
        topic_loads: by topic, the load of each broker, including partitions that do not change.
        targets: as for `EvenLoads`.
        weights: the weight of each broker; all are equal by default.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        topics: Sequence[int],
        costs: Sequence[Sequence[tuple[int, int]]],
        topic_loads: Sequence[Sequence[int]],
        targets: Targets,
        weights: Sequence[int] = (),
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self._topics = topics
        self._costs = costs
        self._loads = [list(loads) for loads in topic_loads]
        self._targets = targets
        self._brokers = len(self._loads[0]) if self._loads else 0
        self._weights = list(weights) or [1] * self._brokers
        self._totals: list[int] = [sum(loads) for loads in zip(*self._loads, strict=True)]
        self._partitions_of: list[set[int]] = [set() for _ in range(self._brokers)]
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._partitions_of[broker].add(partition)

    def even_out(self) -> None:
        """Exchange replicas until none between two brokers makes topics more even, or as even and cheaper."""
        for _ in range(MOST_ROUNDS):
            relieved = [self._relieve(giver, taker) for giver, taker in permutations(range(self._brokers), 2)]
            if not any(relieved):
                return

    def _relieve(self, giver: int, taker: int) -> bool:
        """Exchange replicas between two brokers while this helps; return whether any was exchanged."""
        is_changed = False
        while (exchange := self._best(giver, taker)) is not None:
            for partition in exchange:
                self._move(partition, giver, taker)
            is_changed = True
        return is_changed

    def _move(self, partition: int, giver: int, taker: int) -> None:
        if not self.chosen[partition] >> giver & 1:
            giver, taker = taker, giver
        self.chosen[partition] ^= 1 << giver ^ 1 << taker
        self._partitions_of[giver].remove(partition)
        self._partitions_of[taker].add(partition)
        loads = self._loads[self._topics[partition]]
        loads[giver] -= 1
        loads[taker] += 1
        self._totals[giver] -= 1
        self._totals[taker] += 1

    def _best(self, giver: int, taker: int) -> tuple[int, ...] | None:
        """Return the partitions of different topics whose exchange helps most, or one to give; None if none helps."""
        given = self._cheapest(giver, taker)
        exchanges: list[tuple[tuple[int, int], tuple[int, ...]]] = []
        if self._is_neutral(giver, taker):
            exchanges += [((gain, cost), (partition,)) for gain, cost, partition in given.values()]
        taken = self._cheapest(taker, giver) if taker < giver else {}
        exchanges += (
            ((gain + other_gain, cost + other_cost), (partition, other))
            for topic, (gain, cost, partition) in given.items()
            for other_topic, (other_gain, other_cost, other) in taken.items()
            if topic != other_topic
        )
        value, exchange = min(exchanges, default=((0, 0), ()))
        return exchange if value < (0, 0) else None

    def _is_neutral(self, giver: int, taker: int) -> bool:
        """Whether loads are as even as before if one broker gives a replica to the other."""
        relief = (2 * self._totals[giver] - 1) * self._weights[taker]
        burden = (2 * self._totals[taker] + 1) * self._weights[giver]
        return relief == burden

    def _cheapest(self, giver: int, taker: int) -> dict[int, tuple[int, int, int]]:
        """Return by topic what it costs to move one of its replicas: squares, moves, and the cheapest partition."""
        moves: dict[int, tuple[int, int, int]] = {}
        for partition, open_cost in self._movable(giver, taker):
            topic = self._topics[partition]
            loads = self._loads[topic]
            move = 2 * (loads[taker] - loads[giver] + 1), open_cost, partition
            moves[topic] = min(moves.get(topic, move), move)
        return moves

    def _movable(self, giver: int, taker: int) -> Iterator[tuple[int, int]]:
        """Yield the partitions that can move from a broker to another, and by how much this changes the cost."""
        for partition in self._partitions_of[giver] - self._partitions_of[taker]:
            if self._targets(partition, self.chosen[partition], giver) >> taker & 1:
                yield partition, self._cost(partition, taker) - self._cost(partition, giver)

    def _cost(self, partition: int, broker: int) -> int:
        return next(cost for mask, cost in self._costs[partition] if mask >> broker & 1)
