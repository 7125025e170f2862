"""Buckets of a Java HashMap with more than eight keys: a red-black tree beside the list, and the list's order after it.

A new key stands behind its parent in the tree, and the root comes first: so the order shows how the tree grew.
Knows the keys of one bucket; knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

TREEIFY_THRESHOLD = 8  # a bucket with more keys than this becomes a tree
UNTREEIFY_THRESHOLD = 6  # a tree that a growing table splits into at most so many keys becomes a list again

_END = object()
K = TypeVar("K", bound=Hashable)


class TreeBin(Generic[K]):
    """A bucket as a tree.

    Args:
        items: pairs of spread hash and key, in the order of the bucket.
        compared_by: the sort key of a key; None where keys are not Comparable.

    >>> list(TreeBin([(0, number) for number in range(9)], lambda number: number))
    [3, 0, 1, 2, 4, 5, 6, 7, 8]
    """

    def __init__(self, items: Iterable[tuple[int, K]], compared_by: Callable[[K], Any] | None) -> None:
        self._tree: _Tree[K] = _Tree()
        self._compared_by = compared_by
        self._after: dict[Any, Any] = {_END: _END}
        self._before: dict[Any, Any] = {_END: _END}
        for spread, key in items:
            self._tree.insert(key, self._rank(spread, key))
            self._link(self._before[_END], key)
        self._root_to_front()

    def __iter__(self) -> Iterator[K]:
        key = self._after[_END]
        while key is not _END:
            yield key
            key = self._after[key]

    def put(self, spread: int, key: K) -> None:
        """Add a key that is not there."""
        parent = self._tree.insert(key, self._rank(spread, key))
        self._link(parent, key)
        self._root_to_front()

    def remove(self, key: K) -> bool:
        """Remove a key that is there; return whether the bucket became a list with it, and the tree is done with."""
        self._unlink(key)
        if self._tree.is_small:
            return True
        self._tree.remove(key)
        self._root_to_front()
        return False

    def _rank(self, spread: int, key: K) -> tuple[Any, ...]:
        # Of what is not Comparable Java takes the address in memory; nobody can know it, so the last comes last.
        return (spread, self._compared_by(key)) if self._compared_by else (spread,)

    def _root_to_front(self) -> None:
        root = self._tree.root
        if root is not None:
            self._unlink(root.key)
            self._link(_END, root.key)

    def _link(self, before: Any, key: K) -> None:
        after = self._after[before]
        self._after[before] = self._before[after] = key
        self._before[key], self._after[key] = before, after

    def _unlink(self, key: K) -> None:
        before, after = self._before.pop(key), self._after.pop(key)
        self._after[before], self._before[after] = after, before


class _Node(Generic[K]):
    """A place in a tree. `child` is the left and the right one; a side is 0 or 1."""

    __slots__ = ("child", "key", "parent", "rank", "red")

    def __init__(self, key: K, rank: tuple[Any, ...]) -> None:
        self.key, self.rank, self.red = key, rank, True
        self.parent: _Node[K] | None = None
        self.child: list[_Node[K] | None] = [None, None]


class _Tree(Generic[K]):
    """A red-black tree: the root is black, a red node has black children, all ways down have as many black nodes."""

    def __init__(self) -> None:
        self.root: _Node[K] | None = None
        self._nodes: dict[K, _Node[K]] = {}

    @property
    def is_small(self) -> bool:
        """Whether Java gives up the tree when a key is removed: the root has too little below it."""
        left, right = self.root.child if self.root else (None, None)
        return left is None or right is None or left.child[0] is None

    def insert(self, key: K, rank: tuple[Any, ...]) -> K | None:
        """Add a key; return the key that was its parent before the tree was balanced."""
        node = self._nodes[key] = _Node(key, rank)
        parent, side, place = None, 0, self.root
        while place is not None:
            parent, side = place, int(rank >= place.rank)
            place = parent.child[side]
        self._attach(node, parent, side)
        self._balance_red(node)
        return parent.key if parent else None

    def remove(self, key: K) -> None:
        """Remove a key that is there."""
        node = self._nodes.pop(key)
        if node.child[0] is not None and node.child[1] is not None:
            next_up = node.child[1]
            while next_up.child[0] is not None:
                next_up = next_up.child[0]
            node.key, node.rank = next_up.key, next_up.rank
            self._nodes[node.key], node = node, next_up
        heir = node.child[0] or node.child[1]
        if heir is None and not node.red:
            self._balance_black(node)
        self._replace(node, heir)
        if heir is not None:
            heir.red = False  # an only child is red, below a black parent

    def _attach(self, node: _Node[K] | None, parent: _Node[K] | None, side: int) -> None:
        if parent is None:
            self.root = node
        else:
            parent.child[side] = node
        if node is not None:
            node.parent = parent

    def _replace(self, node: _Node[K], other: _Node[K] | None) -> None:
        parent = node.parent
        self._attach(other, parent, int(parent is not None and parent.child[1] is node))

    def _rotate(self, node: _Node[K], side: int) -> None:
        """Let a node sink to a side; its child of the other side takes its place."""
        riser = _there(node.child[1 - side])
        self._replace(node, riser)
        self._attach(riser.child[side], node, 1 - side)
        self._attach(node, riser, side)

    def _balance_red(self, node: _Node[K]) -> None:
        """Mend the tree above a new red node."""
        while node.parent is not None and node.parent.red:
            parent = node.parent
            grand = _there(parent.parent)
            side = int(grand.child[1] is parent)
            uncle = grand.child[1 - side]
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grand.red, node = True, grand
                continue
            if parent.child[1 - side] is node:
                self._rotate(parent, side)
                node, parent = parent, node
            parent.red, grand.red = False, True
            self._rotate(grand, 1 - side)
        _there(self.root).red = False

    def _balance_black(self, node: _Node[K]) -> None:
        """Mend the tree for ways through a node that are to lose a black one."""
        while node.parent is not None and not node.red:
            parent = node.parent
            side = int(parent.child[1] is node)
            sibling = _there(parent.child[1 - side])
            if sibling.red:
                sibling.red, parent.red = False, True
                self._rotate(parent, side)
                sibling = _there(parent.child[1 - side])
            if not any(child is not None and child.red for child in sibling.child):
                sibling.red, node = True, parent
                continue
            self._lend(parent, sibling, side)
            return
        node.red = False

    def _lend(self, parent: _Node[K], sibling: _Node[K], side: int) -> None:
        """Let a side have a black node more, out of a sibling with a red child."""
        far = sibling.child[1 - side]
        if far is None or not far.red:
            near = _there(sibling.child[side])
            near.red, sibling.red = False, True
            self._rotate(sibling, 1 - side)
            sibling, far = near, sibling
        sibling.red, parent.red, far.red = parent.red, False, False
        self._rotate(parent, side)


def _there(node: _Node[K] | None) -> _Node[K]:
    """A node that the rules of the tree promise."""
    assert node is not None
    return node
