"""Even sets of replicas, and the even set nearest to a given one.

A partition is even (KAFKA-14281, KIP-879) if at each node the numbers of replicas below its children differ by at most
one, except for children whose brokers are all used. For a replication factor, this is one interval per node, at most
one wide. Such sets are the bases of a laminar matroid, so any two of them are connected by exchanges of one broker for
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..placement.rack_tree import RackNode, RackTree
from .broker_masks import bits, scatter


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
        nodes: list[RackNode] = [*leaves, *tree.nodes]
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
            self._filled[count] = [node for node, minimum in enumerate(low) if minimum]
        concerned = {node for index in bits(mask) for node in self.upwards(index)}.union(self._filled[count])
        return all(low[node] <= (mask & self.masks[node]).bit_count() <= high[node] for node in concerned)

    def bounds(self, count: int) -> tuple[list[int], list[int]]:
        """Return for each node the smallest and largest number of replicas that it holds, of `count` in total."""
        if count not in self._bounds:
            low = [0] * len(self.sizes)
            high = [0] * len(self.sizes)
            low[self.root] = high[self.root] = count
            nodes = [self.root]
            for node in nodes:
                share, extra = self.share(node, low[node])
                more = 1 if extra or high[node] > low[node] else 0
                for child in self.children[node]:
                    low[child] = min(share, self.sizes[child])
                    high[child] = min(share + more, self.sizes[child])
                nodes += self.children[node]
            self._bounds[count] = low, high
        return self._bounds[count]

    def targets(self, chosen: int, index: int) -> int:
        """Return the brokers that can replace a broker of an even set such that the set stays even."""
        low, high = self.bounds(chosen.bit_count())
        replacements = 0
        node = index
        while node != self.root and (chosen & self.masks[node]).bit_count() > low[node]:
            parent = self.parents[node]
            replacements |= self._open(parent, chosen, high) & ~self.masks[node]
            node = parent
        return replacements

    def _open(self, node: int, chosen: int, high: list[int]) -> int:
        """Return the brokers below a node that can take another replica, considering only the nodes below it."""
        candidates = self.masks[node] & ~chosen
        for child in self.children[node]:
            inside = chosen & self.masks[child]
            if inside and self.children[child]:
                candidates &= ~self.masks[child]
                if inside.bit_count() < high[child]:
                    candidates |= self._open(child, chosen, high)
        return candidates

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
        self._sets = sets
        self._wanted = wanted
        self._first = first
        self._loads = loads
        self._turn = turn
        self._memo: dict[tuple[int, int], int] = {}

    def _kept(self, node: int, count: int) -> int:
        """Return the value of the brokers that an even set of this size below a node keeps.

        A wanted broker counts 2, the first one another 1.
        """
        sets = self._sets
        wanted = sets.masks[node] & self._wanted
        if not count or not wanted:
            return 0
        if count == sets.sizes[node]:
            return 2 * wanted.bit_count() + (wanted & self._first).bit_count()
        if (node, count) not in self._memo:
            share, extra = sets.share(node, count)
            children = sets.children[node]
            gains = sorted((self._gain(child, share) for child in children), reverse=True)
            base = sum(self._kept(child, min(share, sets.sizes[child])) for child in children)
            self._memo[node, count] = base + sum(gains[:extra])
        return self._memo[node, count]

    def _gain(self, node: int, share: int) -> int:
        if self._sets.sizes[node] <= share:
            return -1  # the node is full
        return self._kept(node, share + 1) - self._kept(node, share)

    def choose(self, node: int, count: int) -> int:
        """Return a set below a node that keeps as many brokers as possible."""
        sets = self._sets
        loads = self._loads
        if count == sets.sizes[node]:
            return sets.masks[node]
        share, extra = sets.share(node, count)
        ranks = [
            (-self._gain(child, share), loads[child] / sets.sizes[child], scatter(child, self._turn), child)
            for child in sets.children[node]
        ]
        mask = 0
        for rank, (*_, child) in enumerate(sorted(ranks)):
            part = min(share + (rank < extra), sets.sizes[child])
            if part:
                mask |= self.choose(child, part)
        return mask
