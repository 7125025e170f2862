"""Even sets of replicas and even loads of brokers, with the fewest changes. `reassignment_plan` uses both.

A partition is even (KAFKA-14281, KIP-879) if at each node the numbers of replicas below its children differ by at most
one, except for children whose brokers are all used. For a replication factor, this is one interval per node, at most
one wide. Such sets are the bases of a laminar matroid, so any two of them are connected by exchanges of one broker for
another. Sets are bit masks of broker indexes. The algorithm for loads is explained at `EvenLoads`.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ..placement.multi_level import Node, RackTree


def scattered(one: int, other: int) -> int:
    """Return a deterministic hash of two numbers, used to choose among equal candidates.

    >>> scattered(1, 2), scattered(2, 1)
    (22572, 60412)
    """
    return ((one + 1) * 2654435761 ^ (other + 1) * 2246822519) * 3266489917 >> 16 & 0xFFFF


def bits(mask: int) -> Iterator[int]:
    """Yield the indexes of the bits that are set, in ascending order.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class EvenSets:
    """The even sets of a tree's brokers.

    Args:
        tree: the brokers to place on.

    >>> from kwire.cluster.state import Broker
    >>> sets = EvenSets(RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(6)]))
    >>> sets.is_even(sets.mask([0, 2, 4])), sets.is_even(sets.mask([0, 1, 4]))
    (True, False)
    >>> sets.brokers(sets.nearest(sets.mask([0, 1, 4]), sets.mask([1]), 3, [0] * len(sets.sizes)))
    [1, 2, 4]
    """

    def __init__(self, tree: RackTree) -> None:
        self.ids: list[int] = sorted(tree.brokers)
        self.index: dict[int, int] = {node_id: index for index, node_id in enumerate(self.ids)}
        leaves = [tree.brokers[node_id] for node_id in self.ids]
        nodes: list[Node] = [*leaves, *tree.nodes]
        numbers = {node: number for number, node in enumerate(nodes)}
        self.root: int = numbers[tree.root]
        self.sizes: list[int] = [node.size for node in nodes]
        self.parents: list[int] = [numbers[node.parent] if node.parent else -1 for node in nodes]
        self.children: list[list[int]] = [[numbers[child] for child in node.children] for node in nodes]
        self.masks: list[int] = [1 << number if number < len(leaves) else 0 for number in range(len(nodes))]
        for leaf in leaves:
            for node in leaf.upwards():
                self.masks[numbers[node]] |= 1 << numbers[leaf]
        self._bounds: dict[int, tuple[list[int], list[int]]] = {}
        self._filled: dict[int, list[int]] = {}  # count -> the nodes that hold at least one replica
        self._shares: dict[tuple[int, int], tuple[int, int]] = {}

    def mask(self, ids: Sequence[int]) -> int:
        """Return the set of the given brokers; brokers outside of the tree are ignored."""
        return sum(1 << self.index[node_id] for node_id in ids if node_id in self.index)

    def brokers(self, mask: int) -> list[int]:
        """Return the broker ids of a set, in ascending order."""
        return [self.ids[index] for index in bits(mask)]

    def upwards(self, index: int) -> Iterator[int]:
        """Yield the node of a broker and its ancestors, the root last."""
        while index >= 0:
            yield index
            index = self.parents[index]

    def is_even(self, mask: int) -> bool:
        """Return whether a set is as even as possible at every node."""
        count = mask.bit_count()
        low, high = self.bounds(count)
        if count not in self._filled:
            self._filled[count] = [node for node, least in enumerate(low) if least]
        held = {node for index in bits(mask) for node in self.upwards(index)}.union(self._filled[count])
        return all(low[node] <= (mask & self.masks[node]).bit_count() <= high[node] for node in held)

    def bounds(self, count: int) -> tuple[list[int], list[int]]:
        """Return for each node the smallest and largest number of replicas that it holds, of `count` in total."""
        if count not in self._bounds:
            low, high = [0] * len(self.sizes), [0] * len(self.sizes)
            low[self.root] = high[self.root] = count
            nodes = [self.root]
            for node in nodes:
                share, extra = self.share(node, low[node])
                more = 1 if extra or high[node] > low[node] else 0
                for child in self.children[node]:
                    low[child], high[child] = min(share, self.sizes[child]), min(share + more, self.sizes[child])
                nodes += self.children[node]
            self._bounds[count] = low, high
        return self._bounds[count]

    def targets(self, chosen: int, index: int) -> int:
        """Return the brokers that can replace a broker of an even set such that the set stays even."""
        low, high = self.bounds(chosen.bit_count())
        found, node = 0, index
        while node != self.root and (chosen & self.masks[node]).bit_count() > low[node]:
            parent = self.parents[node]
            found |= self._open(parent, chosen, high) & ~self.masks[node]
            node = parent
        return found

    def _open(self, node: int, chosen: int, high: list[int]) -> int:
        """Return the brokers below a node that can take another replica, considering only the nodes below it."""
        found = self.masks[node] & ~chosen
        for child in self.children[node]:
            held = chosen & self.masks[child]
            if held and self.children[child]:
                found &= ~self.masks[child]
                if held.bit_count() < high[child]:
                    found |= self._open(child, chosen, high)
        return found

    def nearest(self, wanted: int, first: int, count: int, loads: Sequence[int], turn: int = 0) -> int:
        """Return an even set that has as many brokers of a given set as possible.

        Args:
            wanted: the given set.
            first: a broker of this set, which is kept in preference to others.
            count: the size of the even set, at most the number of brokers.
            loads: the load of each node; among equal choices, brokers of the nodes with the lowest load per broker are
                chosen.
            turn: any number; if loads are equal too, different numbers lead to different choices.
        """
        return _Nearest(self, wanted, first, loads, turn).choose(self.root, count)

    def share(self, node: int, count: int) -> tuple[int, int]:
        """Return how many of `count` replicas each child of a node gets, unless it is full, and how many get one
        more.
        """
        if (node, count) not in self._shares:
            sizes = [self.sizes[child] for child in self.children[node]]
            share = 0
            while share < max(sizes, default=0) and sum(min(share + 1, size) for size in sizes) <= count:
                share += 1
            self._shares[node, count] = share, count - sum(min(share, size) for size in sizes)
        return self._shares[node, count]


class _Nearest:
    """Finds the even set that keeps most brokers: at each node, the children that lose least get fewer replicas."""

    def __init__(self, sets: EvenSets, wanted: int, first: int, loads: Sequence[int], turn: int) -> None:
        self._sets, self._wanted, self._first, self._loads, self._turn = sets, wanted, first, loads, turn
        self._memo: dict[tuple[int, int], int] = {}

    def _kept(self, node: int, count: int) -> int:
        """Return the value of the brokers that an even set of this size below a node keeps.

        A wanted broker counts 2, the first one another 1.
        """
        sets = self._sets
        found = sets.masks[node] & self._wanted
        if not count or not found:
            return 0
        if count == sets.sizes[node]:
            return 2 * found.bit_count() + (found & self._first).bit_count()
        if (node, count) not in self._memo:
            share, extra = sets.share(node, count)
            children = sets.children[node]
            gains = sorted((self._gain(child, share) for child in children), reverse=True)
            least = sum(self._kept(child, min(share, sets.sizes[child])) for child in children)
            self._memo[node, count] = least + sum(gains[:extra])
        return self._memo[node, count]

    def _gain(self, node: int, share: int) -> int:
        if self._sets.sizes[node] <= share:
            return -1  # the node is full
        return self._kept(node, share + 1) - self._kept(node, share)

    def choose(self, node: int, count: int) -> int:
        """Return a set below a node that keeps as many brokers as possible."""
        sets, loads = self._sets, self._loads
        if count == sets.sizes[node]:
            return sets.masks[node]
        share, extra = sets.share(node, count)
        ranks = [
            (-self._gain(child, share), loads[child] / sets.sizes[child], scattered(child, self._turn), child)
            for child in sets.children[node]
        ]
        found = 0
        for place, (*_, child) in enumerate(sorted(ranks)):
            part = min(share + (place < extra), sets.sizes[child])
            if part:
                found |= self.choose(child, part)
        return found


INFINITE = float("inf")
Offer = tuple[
    int, int, int, int, int
]  # cost, its rank among equals, partition, version of its set, possible replacements
Targets = Callable[[int, int, int], int]


class EvenLoads:
    """Makes the loads of brokers as even as possible with the fewest exchanges of brokers in the sets of partitions.

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
        self._costs: list[dict[int, int]] = [{} for _ in range(size)]  # of the best exchanges: cost -> the replacements
        self._best = [[-1] * size for _ in range(size)]  # the partition of each best exchange
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._offers[broker] += self._offers_of(partition, broker)
        for broker, offers in enumerate(self._offers):
            offers.sort()
            self._fill(broker, (1 << size) - 1)

    def even_out(self, most_cost: float = INFINITE) -> None:
        """Make the loads as even as possible: minimise the sum of their squares, then the cost.

        Args:
            most_cost: the maximum cost of a chain of exchanges. 0 allows only chains that cost nothing in total: the
                sum of the costs then stays minimal, and the loads are as even as it allows.
        """
        changed = True
        while changed:
            changed = False
            for load in range(max(self.loads), min(self.loads) + 1, -1):
                changed |= self._shift(load, load - 2, most_cost)
            if most_cost > 0:  # otherwise nothing can become cheaper
                for load in range(max(self.loads), min(self.loads), -1):
                    changed |= self._shift(load, load - 1, -1)

    def _shift(self, most: int, least: int, most_cost: float) -> bool:
        """Shift load from brokers with `most` or more to brokers with `least` or fewer, as long as a chain exists."""
        changed = False
        while True:
            sources = [broker for broker, load in enumerate(self.loads) if load >= most]
            if most_cost < 0:  # loads are only exchanged, so they stay as even as before
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
        """Return a chain of this cost with the fewest exchanges, to the lowest load at this distance; empty if none."""
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
        found = self._targets(partition, self.chosen[partition], broker)
        version, rank = self._versions[partition], scattered(partition, broker)
        classes = self._classes[partition]
        saved = next(cost for mask, cost in classes if mask >> broker & 1)
        return [(cost - saved, rank, partition, version, found & mask) for mask, cost in classes if found & mask]

    def _fill(self, broker: int, missing: int) -> None:
        """Find the best exchanges from a broker to given others; offers for sets that have changed are dropped."""
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
        """Drop the best exchanges from a broker to given others."""
        costs, best = self._costs[broker], self._best[broker]
        for cost in list(costs):
            costs[cost] &= ~others
            if not costs[cost]:
                del costs[cost]
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
        waiting, queued = deque(sources), set(sources)
        while waiting:
            broker = waiting.popleft()
            queued.discard(broker)
            for other in self._relax(broker):
                if other not in queued:
                    queued.add(other)
                    waiting.append(other)

    def _relax(self, broker: int) -> Iterator[int]:
        """Yield the brokers that a chain over this broker reaches at a lower cost than before."""
        here, of, levels = self.of[broker], self.of, self._levels
        for cost, mask in self._costs[broker].items():
            there = here + cost
            if mask & mask - 1:  # if there are many, first drop those that are already as near
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
        """Return the brokers that are one exchange further on the cheapest chains; store their predecessors in
        `before`.
        """
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
    """Balances the bytes of brokers if partitions have different sizes.

    This is bin packing, for which no fast exact algorithm is known. Each step moves the partition that reduces the sum
    of the squares most, from the fullest broker that has such a partition.

    Args:
        chosen: the set of each partition, as a bit mask of brokers.
        sizes: the bytes of one replica of each partition.
        loads: the bytes on each broker, including other partitions.
        targets: as for `EvenLoads`.
        tolerance: brokers whose bytes differ by less than this fraction of the mean count as even.
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
        """Move partitions until no single move relieves a broker."""
        while self._pass():
            pass  # a broker that could not be relieved may be relieved after others

    def _pass(self) -> bool:
        """Relieve each broker as often as possible; return whether any was relieved."""
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
        """Return the partition whose move from a broker makes loads most even, and its target; None if there is
        none.
        """
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
