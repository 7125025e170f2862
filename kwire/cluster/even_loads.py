"""Choices of brokers for many partitions at once: loads as even as can be, by the fewest changes.

Each partition has a set of brokers; one broker of it can be exchanged for another, as `targets` allows. If the sets
that can be reached so are the bases of a matroid, the result is the optimum: the loads then form an M-convex set, in
which a choice is the best one as soon as no chain of exchanges from one broker to another makes it better, and a chain
that is cheapest, and shortest among these, leads from the best choice for some loads to the best for the next ones
(K. Murota, Discrete Convex Analysis, 2003). That is a minimum-cost flow, whose network is kept as one best exchange
for each pair of brokers.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

from .even_sets import bits, scattered

INFINITE = float("inf")
Offer = tuple[int, int, int, int, int]  # cost, its place among equals, partition, version of its set, who can take over
Targets = Callable[[int, int, int], int]


class EvenLoads:
    """The sets of partitions, and how they are changed.

    Args:
        chosen: the set of each partition, as a bit mask of brokers. Each must be the cheapest that it can have.
        costs: for each partition, sets of brokers with what each broker of them costs; all brokers are in one.
        loads: of each broker, those that come from elsewhere included.
        targets: for a partition, its set and one broker of it, the brokers that can take the place of that one.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        costs: Sequence[Sequence[tuple[int, int]]],
        loads: Sequence[int],
        targets: Targets,
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self.loads: list[int] = list(loads)
        self._classes, self._targets = costs, targets
        self._versions = [0] * len(chosen)
        size = len(loads)
        self._offers: list[list[Offer]] = [[] for _ in range(size)]
        self._costs: list[list[float]] = [[INFINITE] * size for _ in range(size)]
        self._best = [[-1] * size for _ in range(size)]
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._offers[broker] += self._offers_of(partition, broker)
        for broker, offers in enumerate(self._offers):
            offers.sort()
            self._fill(broker, (1 << size) - 1)

    def even_out(self, most_cost: float = INFINITE) -> None:
        """Make the loads as even as can be: their squares' sum is the least one; among such loads, the cheapest.

        Args:
            most_cost: of one chain of exchanges. 0 takes only those that cost nothing in all: then the sum of the
                costs stays the least one, and the loads are as even as it allows.
        """
        changed = True
        while changed:
            changed = False
            for load in range(max(self.loads), min(self.loads) + 1, -1):
                changed |= self._shift(load, load - 2, most_cost)
            for load in range(max(self.loads), min(self.loads), -1):
                changed |= self._shift(load, load - 1, -1)

    def _shift(self, most: int, least: int, most_cost: float) -> bool:
        """Shift load from brokers with `most` or more to brokers with `least` or fewer, as long as there is a way."""
        changed = False
        while True:
            sources = [broker for broker, load in enumerate(self.loads) if load >= most]
            if most_cost < 0:  # loads are exchanged, and their evenness stays
                sources = [broker for broker in sources if self.loads[broker] == most]
            if not sources:
                return changed
            distances = self._distances(sources)
            reached = [distances[broker] for broker in self._sinks(least, most_cost < 0)]
            nearest = min(reached, default=INFINITE)
            if nearest > most_cost or nearest == INFINITE:
                return changed
            while path := self._path(distances, nearest, (most, least, most_cost < 0)):
                self._follow(path)
                changed = True

    def _sinks(self, least: int, exactly: bool) -> list[int]:
        return [broker for broker, load in enumerate(self.loads) if load == least or (load < least and not exactly)]

    def _distances(self, sources: Sequence[int]) -> list[float]:
        """Return the cost of the cheapest chain from any of the sources to each broker (Bellman and Ford)."""
        distances: list[float] = [INFINITE] * len(self.loads)
        for source in sources:
            distances[source] = 0
        waiting, queued = deque(sources), set(sources)
        while waiting:
            broker = waiting.popleft()
            queued.discard(broker)
            here = distances[broker]
            for other, cost in enumerate(self._costs[broker]):
                if here + cost < distances[other]:
                    distances[other] = here + cost
                    if other not in queued:
                        queued.add(other)
                        waiting.append(other)
        return distances

    def _path(self, distances: list[float], cost: float, ends: tuple[int, int, bool]) -> list[int]:
        """Return a chain of this cost with the fewest exchanges, to the lowest load that is so near; empty if none."""
        most, least, exactly = ends
        starts = [
            broker
            for broker, load in enumerate(self.loads)
            if distances[broker] == 0 and (load == most or (load > most and not exactly))
        ]
        sinks = {broker for broker in self._sinks(least, exactly) if distances[broker] == cost}
        before: dict[int, int] = dict.fromkeys(starts, -1)
        layer = starts
        while layer and not sinks.intersection(layer):
            layer = self._next_layer(layer, distances, before)
        reached = sinks.intersection(layer)
        if not reached:
            return []
        path = [min(reached, key=lambda broker: (self.loads[broker], broker))]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        return path[::-1]

    def _next_layer(self, layer: list[int], distances: list[float], before: dict[int, int]) -> list[int]:
        following: list[int] = []
        for broker in layer:
            here = distances[broker]
            for other, cost in enumerate(self._costs[broker]):
                if here + cost == distances[other] and cost != INFINITE and other not in before:
                    before[other] = broker
                    following.append(other)
        return following

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
        """Give a partition another set, and renew the best exchanges of the brokers that are concerned."""
        old = self.chosen[partition]
        self.chosen[partition] = mask
        self._versions[partition] += 1
        for broker in bits(mask):
            for offer in self._offers_of(partition, broker):
                insort(self._offers[broker], offer)
        for broker in bits(old | mask):
            costs, best = self._costs[broker], self._best[broker]
            lost = 0
            for other, owner in enumerate(best):
                if owner == partition:
                    lost |= 1 << other
                    costs[other], best[other] = INFINITE, -1
            if mask >> broker & 1:
                lost |= self._targets(partition, mask, broker)
            self._fill(broker, lost)

    def _offers_of(self, partition: int, broker: int) -> list[Offer]:
        """Return for what a partition exchanges a broker of its set, by what that costs."""
        found = self._targets(partition, self.chosen[partition], broker)
        version, rank = self._versions[partition], scattered(partition, broker)
        classes = self._classes[partition]
        saved = next(cost for mask, cost in classes if mask >> broker & 1)
        return [(cost - saved, rank, partition, version, found & mask) for mask, cost in classes if found & mask]

    def _fill(self, broker: int, missing: int) -> None:
        """Find the best exchanges from a broker to some others; offers of sets that have changed are dropped."""
        costs, best, stale = self._costs[broker], self._best[broker], 0
        for cost, _, partition, version, found in self._offers[broker]:
            if self._versions[partition] != version:
                stale += 1
                continue
            for other in bits(found & missing):
                costs[other], best[other] = cost, partition
            missing &= ~found
            if not missing:
                break
        if stale > 64:
            versions = self._versions
            self._offers[broker] = [offer for offer in self._offers[broker] if versions[offer[2]] == offer[3]]
