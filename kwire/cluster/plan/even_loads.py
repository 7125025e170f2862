"""Even loads of brokers, by the fewest exchanges of one broker for another.

The algorithm is explained at `EvenLoads`.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import lcm

from .broker_masks import bits, scatter

INFINITE = float("inf")
# Cost, its rank among equals, partition, version of its set, possible replacements.
Offer = tuple[int, int, int, int, int]
Targets = Callable[[int, int, int], int]


class EvenLoads:
    """Makes the loads of brokers as even as possible with the fewest exchanges of brokers in the sets of partitions.

    Loads are even if the sum of their squares is least, each divided by the weight of its broker: a broker of weight 2
    should have twice the load. These are separable convex costs, for which the following holds as well.

    If the sets that exchanges can reach are the bases of a matroid, the result is the optimum. The loads then form an
    M-convex set: a choice is optimal as soon as no chain of exchanges from one broker to another improves it, and a
    chain that is cheapest, and shortest among the cheapest, leads from the best choice for some loads to the best
    choice for the next ones (K. Murota, Discrete Convex Analysis, 2003). This is a minimum-cost flow; its network is
    stored as one best exchange for each pair of brokers.

    Args:
        chosen: the set of each partition, as a bit mask of brokers. Each must be the cheapest possible set.
        costs: for each partition, a list of sets of brokers with the cost of each broker in them; together they have
            all brokers.
        loads: the load of each broker, including load from other sources.
        targets: returns, for a partition, its set and a broker in it, the brokers that can replace this broker.
        weights: the positive weight of each broker; all are equal by default.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        costs: Sequence[Sequence[tuple[int, int]]],
        loads: Sequence[int],
        targets: Targets,
        weights: Sequence[int] = (),
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self.loads: list[int] = list(loads)
        unit = lcm(*weights)
        self._steps = [unit // weight for weight in weights] or [1] * len(loads)
        self._cost_classes = costs
        self._targets = targets
        self._versions = [0] * len(chosen)
        size = len(loads)
        self._offers: list[list[Offer]] = [[] for _ in range(size)]
        # By broker: cost of its best exchanges -> the brokers that can replace it at this cost.
        self._replacements: list[dict[int, int]] = [{} for _ in range(size)]
        self._best = [[-1] * size for _ in range(size)]  # the partition of each best exchange
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._offers[broker] += self._offers_of(partition, broker)
        for broker, offers in enumerate(self._offers):
            offers.sort()
            self._fill(broker, (1 << size) - 1)

    def even_out(self, most_cost: float = INFINITE) -> None:
        """Make the loads as even as possible: minimise the weighted sum of their squares, then the cost.

        Args:
            most_cost: the maximum cost of a chain of exchanges. 0 allows only chains that cost nothing in total: the
                sum of the costs then stays minimal, and the loads are as even as it allows.
        """
        changed = True
        while changed:
            changed = False
            for level in self._levels():
                changed |= self._shift(level, most_cost)
            if most_cost > 0:  # otherwise nothing can become cheaper
                for level in self._levels():
                    changed |= self._shift(level, -1)

    def _relief(self, broker: int) -> int:
        """Return by how much the sum of the squares falls if a broker loses one."""
        return (2 * self.loads[broker] - 1) * self._steps[broker]

    def _burden(self, broker: int) -> int:
        """Return by how much the sum of the squares rises if a broker gets one."""
        return (2 * self.loads[broker] + 1) * self._steps[broker]

    def _levels(self) -> Iterator[int]:
        """Yield the reliefs of brokers from the greatest on, as they are when the next one is wanted."""
        level: int | None = None
        while True:
            reliefs = (self._relief(broker) for broker in range(len(self.loads)))
            level = max((relief for relief in reliefs if level is None or relief < level), default=None)
            if level is None:
                return
            yield level

    def _shift(self, level: int, most_cost: float) -> bool:
        """Shift load from brokers with this relief or more to brokers with less burden, while a chain exists."""
        changed = False
        exactly = most_cost < 0  # loads are only exchanged, so they stay as even as before
        while True:
            sources = self._sources(level, exactly)
            if not sources:
                return changed
            distances = _Distances(self._replacements, sources)
            reached = [distances.of[broker] for broker in self._sinks(level, exactly)]
            nearest = min(reached, default=INFINITE)
            if nearest > most_cost or nearest == INFINITE:
                return changed
            while path := self._path(distances, nearest, level, exactly):
                self._follow(path)
                changed = True

    def _sources(self, level: int, exactly: bool) -> list[int]:
        reliefs = map(self._relief, range(len(self.loads)))
        return [broker for broker, relief in enumerate(reliefs) if relief == level or (relief > level and not exactly)]

    def _sinks(self, level: int, exactly: bool) -> list[int]:
        burdens = map(self._burden, range(len(self.loads)))
        if exactly:
            return [broker for broker, burden in enumerate(burdens) if burden == level]
        return [broker for broker, burden in enumerate(burdens) if burden < level]

    def _path(self, distances: _Distances, cost: float, level: int, exactly: bool) -> list[int]:
        """Return a chain of this cost with the fewest exchanges, to the least burden there; empty if none."""
        starts = [broker for broker in self._sources(level, exactly) if distances.of[broker] == 0]
        sinks = {broker for broker in self._sinks(level, exactly) if distances.of[broker] == cost}
        before: dict[int, int] = dict.fromkeys(starts, -1)
        layer = starts
        while layer and not sinks.intersection(layer):
            layer = distances.next_layer(layer, before)
        reached = sinks.intersection(layer)
        if not reached:
            return []
        path = [min(reached, key=lambda broker: (self._burden(broker), broker))]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        return path[::-1]

    def _follow(self, path: list[int]) -> None:
        """Make the exchanges of a chain."""
        changes: dict[int, int] = {}
        for giver, taker in pairwise(path):
            partition = self._best[giver][taker]
            changes[partition] = changes.get(partition, self.chosen[partition]) ^ (1 << giver) ^ (1 << taker)
        self.loads[path[0]] -= 1
        self.loads[path[-1]] += 1
        for partition, mask in changes.items():
            self._change(partition, mask)

    def _change(self, partition: int, mask: int) -> None:
        """Assign another set to a partition, and update the best exchanges of the brokers concerned."""
        old = self.chosen[partition]
        self.chosen[partition] = mask
        self._versions[partition] += 1
        for broker in bits(mask):
            for offer in self._offers_of(partition, broker):
                insort(self._offers[broker], offer)
        for broker in bits(old | mask):
            lost = sum(1 << other for other, owner in enumerate(self._best[broker]) if owner == partition)
            if mask >> broker & 1:
                lost |= self._targets(partition, mask, broker)
            self._fill(broker, lost)

    def _offers_of(self, partition: int, broker: int) -> list[Offer]:
        """Return offers to replace a broker in the set of a partition, one offer for each cost."""
        replacements = self._targets(partition, self.chosen[partition], broker)
        version = self._versions[partition]
        rank = scatter(partition, broker)
        classes = self._cost_classes[partition]
        saved = next(cost for mask, cost in classes if mask >> broker & 1)
        return [
            (cost - saved, rank, partition, version, replacements & mask)
            for mask, cost in classes
            if replacements & mask
        ]

    def _fill(self, broker: int, missing: int) -> None:
        """Find the best exchanges from a broker to given others; offers for sets that have changed are dropped."""
        at_cost = self._replacements[broker]
        best = self._best[broker]
        stale = 0
        self._forget(broker, missing)
        for cost, _, partition, version, replacements in self._offers[broker]:
            if self._versions[partition] != version:
                stale += 1
                continue
            if replacements & missing:
                at_cost[cost] = at_cost.get(cost, 0) | replacements & missing
                for other in bits(replacements & missing):
                    best[other] = partition
                missing &= ~replacements
            if not missing:
                break
        if stale > 64:
            versions = self._versions
            self._offers[broker] = [offer for offer in self._offers[broker] if versions[offer[2]] == offer[3]]

    def _forget(self, broker: int, others: int) -> None:
        """Drop the best exchanges from a broker to given others."""
        at_cost = self._replacements[broker]
        best = self._best[broker]
        for cost in list(at_cost):
            at_cost[cost] &= ~others
            if not at_cost[cost]:
                del at_cost[cost]
        for other in bits(others):
            best[other] = -1


class _Distances:
    """The costs of the cheapest chains from a set of sources to each broker (Bellman-Ford).

    Args:
        costs: by broker: cost of an exchange -> the brokers that can take over at this cost.
        sources: the brokers where chains begin.
    """

    def __init__(self, costs: Sequence[dict[int, int]], sources: Sequence[int]) -> None:
        self._costs = costs
        self.of: list[float] = [INFINITE] * len(costs)
        self._levels: dict[float, int] = {0: sum(1 << source for source in sources)}  # distance -> brokers
        for source in sources:
            self.of[source] = 0
        waiting = deque(sources)
        queued = set(sources)
        while waiting:
            broker = waiting.popleft()
            queued.discard(broker)
            for other in self._relax(broker):
                if other not in queued:
                    queued.add(other)
                    waiting.append(other)

    def _relax(self, broker: int) -> Iterator[int]:
        """Yield the brokers that a chain over this broker reaches at a lower cost than before."""
        of = self.of
        levels = self._levels
        for cost, mask in self._costs[broker].items():
            reached = of[broker] + cost
            if mask & mask - 1:  # if there are many, first drop those that are already as near
                for distance, near in levels.items():
                    if distance <= reached:
                        mask &= ~near
            for other in bits(mask):
                before = of[other]
                if reached < before:
                    if before != INFINITE:
                        levels[before] ^= 1 << other
                    of[other] = reached
                    levels[reached] = levels.get(reached, 0) | 1 << other
                    yield other

    def next_layer(self, layer: Sequence[int], before: dict[int, int]) -> list[int]:
        """Return the brokers that are one exchange further on the cheapest chains; store their predecessors in
        `before`.
        """
        following: list[int] = []
        fresh = ~sum(1 << broker for broker in before)
        for broker in layer:
            for cost, mask in self._costs[broker].items():
                reached = mask & fresh & self._levels.get(self.of[broker] + cost, 0)
                fresh &= ~reached
                for other in bits(reached):
                    before[other] = broker
                    following.append(other)
        return following
