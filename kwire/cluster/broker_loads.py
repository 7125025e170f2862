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
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from .even_replica_sets import bits, scattered

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
        self._costs: list[dict[int, int]] = [{} for _ in range(size)]  # of the best exchanges: cost -> who takes over
        self._best = [[-1] * size for _ in range(size)]  # the partition of each
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
            if most_cost > 0:  # otherwise nothing can be cheaper
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
            distances = _Distances(self._costs, sources)
            reached = [distances.of[broker] for broker in self._sinks(least, most_cost < 0)]
            nearest = min(reached, default=INFINITE)
            if nearest > most_cost or nearest == INFINITE:
                return changed
            while path := self._path(distances, nearest, (most, least, most_cost < 0)):
                self._follow(path)
                changed = True

    def _sinks(self, least: int, exactly: bool) -> list[int]:
        return [broker for broker, load in enumerate(self.loads) if load == least or (load < least and not exactly)]

    def _path(self, distances: _Distances, cost: float, ends: tuple[int, int, bool]) -> list[int]:
        """Return a chain of this cost with the fewest exchanges, to the lowest load that is so near; empty if none."""
        most, least, exactly = ends
        starts = [
            broker
            for broker, load in enumerate(self.loads)
            if distances.of[broker] == 0 and (load == most or (load > most and not exactly))
        ]
        sinks = {broker for broker in self._sinks(least, exactly) if distances.of[broker] == cost}
        before: dict[int, int] = dict.fromkeys(starts, -1)
        layer = starts
        while layer and not sinks.intersection(layer):
            layer = distances.next_layer(layer, before)
        reached = sinks.intersection(layer)
        if not reached:
            return []
        path = [min(reached, key=lambda broker: (self.loads[broker], broker))]
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
        """Give a partition another set, and renew the best exchanges of the brokers that are concerned."""
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
        """Return for what a partition exchanges a broker of its set, by what that costs."""
        found = self._targets(partition, self.chosen[partition], broker)
        version, rank = self._versions[partition], scattered(partition, broker)
        classes = self._classes[partition]
        saved = next(cost for mask, cost in classes if mask >> broker & 1)
        return [(cost - saved, rank, partition, version, found & mask) for mask, cost in classes if found & mask]

    def _fill(self, broker: int, missing: int) -> None:
        """Find the best exchanges from a broker to some others; offers of sets that have changed are dropped."""
        costs, best, stale = self._costs[broker], self._best[broker], 0
        self._forget(broker, missing)
        for cost, _, partition, version, found in self._offers[broker]:
            if self._versions[partition] != version:
                stale += 1
                continue
            if found & missing:
                costs[cost] = costs.get(cost, 0) | found & missing
                for other in bits(found & missing):
                    best[other] = partition
                missing &= ~found
            if not missing:
                break
        if stale > 64:
            versions = self._versions
            self._offers[broker] = [offer for offer in self._offers[broker] if versions[offer[2]] == offer[3]]

    def _forget(self, broker: int, others: int) -> None:
        """Drop the best exchanges from a broker to some others."""
        costs, best = self._costs[broker], self._best[broker]
        for cost in list(costs):
            costs[cost] &= ~others
            if not costs[cost]:
                del costs[cost]
        for other in bits(others):
            best[other] = -1


class _Distances:
    """The cost of the cheapest chain from any of some sources to each broker, found as Bellman and Ford do.

    Args:
        costs: by broker: cost of an exchange -> the brokers that can take over at this cost.
        sources: where chains begin.
    """

    def __init__(self, costs: Sequence[dict[int, int]], sources: Sequence[int]) -> None:
        self._costs = costs
        self.of: list[float] = [INFINITE] * len(costs)
        self._levels: dict[float, int] = {0: sum(1 << source for source in sources)}  # distance -> brokers
        for source in sources:
            self.of[source] = 0
        waiting, queued = deque(sources), set(sources)
        while waiting:
            broker = waiting.popleft()
            queued.discard(broker)
            for other in self._relax(broker):
                if other not in queued:
                    queued.add(other)
                    waiting.append(other)

    def _relax(self, broker: int) -> Iterator[int]:
        """Yield the brokers that a chain over this one reaches at less cost than before."""
        here, of, levels = self.of[broker], self.of, self._levels
        for cost, mask in self._costs[broker].items():
            there = here + cost
            if mask & mask - 1:  # of many, leave out at once those that are as near
                for distance, near in levels.items():
                    if distance <= there:
                        mask &= ~near
            for other in bits(mask):
                before = of[other]
                if there < before:
                    if before != INFINITE:
                        levels[before] ^= 1 << other
                    of[other] = there
                    levels[there] = levels.get(there, 0) | 1 << other
                    yield other

    def next_layer(self, layer: Sequence[int], before: dict[int, int]) -> list[int]:
        """Return the brokers one exchange behind some others on cheapest chains; `before` gets who is before them."""
        following: list[int] = []
        fresh = ~sum(1 << broker for broker in before)
        for broker in layer:
            for cost, mask in self._costs[broker].items():
                found = mask & fresh & self._levels.get(self.of[broker] + cost, 0)
                fresh &= ~found
                for other in bits(found):
                    before[other] = broker
                    following.append(other)
        return following


class EvenBytes:
    """Makes the bytes of brokers even, where partitions have different sizes.

    That is bin packing, for which no fast exact way is known: the partition goes first whose move takes most away
    from the sum of the squares, from the fullest broker that has one.

    Args:
        chosen: the set of each partition, as a bit mask of brokers.
        sizes: bytes of a replica of each partition.
        loads: bytes of each broker, those of other partitions included.
        targets: as for `EvenLoads`.
        tolerance: brokers whose bytes differ by less than this share of the mean are even enough.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        sizes: Sequence[int],
        loads: Sequence[int],
        targets: Targets,
        tolerance: float = 0.02,
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self.loads: list[int] = list(loads)
        self._sizes, self._targets = sizes, targets
        self._least = tolerance * sum(loads) / len(loads)
        self._held: list[set[int]] = [set() for _ in loads]
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._held[broker].add(partition)

    def even_out(self) -> None:
        """Move partitions until no broker can be relieved by one move."""
        while self._pass():
            pass  # a broker that could not be relieved may be, once others are

    def _pass(self) -> bool:
        """Relieve each broker as long as that is possible; returns whether any was."""
        left, changed = set(range(len(self.loads))), False
        while left:
            broker = max(left, key=lambda one: (self.loads[one], one))
            best = self._best(broker)
            if best is None:
                left.remove(broker)
                continue
            partition, other = best
            self.chosen[partition] ^= 1 << broker ^ 1 << other
            self._held[broker].remove(partition)
            self._held[other].add(partition)
            self.loads[broker] -= self._sizes[partition]
            self.loads[other] += self._sizes[partition]
            changed = True
        return changed

    def _best(self, broker: int) -> tuple[int, int] | None:
        """Return the partition whose move from a broker makes loads most even, and where it goes; None if none does."""
        order = sorted(range(len(self.loads)), key=self.loads.__getitem__)
        order = order[: next((place for place, one in enumerate(order) if not self._is_far(broker, one)), len(order))]
        best, most = None, 0
        for partition in sorted(self._held[broker]):
            size = self._sizes[partition]
            if not order or size * (self.loads[broker] - self.loads[order[0]] - size) <= most:
                continue
            open_to = self._targets(partition, self.chosen[partition], broker)
            other = next((one for one in order if open_to >> one & 1), None)
            if other is not None and (gain := size * (self.loads[broker] - self.loads[other] - size)) > most:
                best, most = (partition, other), gain
        return best

    def _is_far(self, broker: int, other: int) -> bool:
        return self.loads[broker] - self.loads[other] > self._least
