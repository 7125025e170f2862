"""How evenly replicas are spread over the levels of a rack tree, and what is lost with each rack (KIP-879)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .rack_tree import RackNode, RackTree

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Load:
    """The number of replicas on a data centre, a rack or a broker, and how many of them are preferred leaders."""

    node: RackNode
    replicas: int = 0
    leaders: int = 0


@dataclass(slots=True)
class LevelSpread(Generic[K]):
    """One level of the rack tree: level 1 is below the root, the last level is the brokers.

    `uneven` lists the partitions whose replicas could be spread more evenly over the nodes of this level.
    """

    number: int
    loads: list[Load] = field(default_factory=list)
    uneven: list[K] = field(default_factory=list)

    @property
    def is_of_brokers(self) -> bool:
        """Whether its nodes are brokers."""
        return bool(self.loads) and self.loads[0].node.broker is not None


@dataclass(slots=True)
class RackLoss(Generic[K]):
    """The partitions that lose at least half of their replicas if a node fails, and those that lose all."""

    node: RackNode
    majority: list[K] = field(default_factory=list)
    everything: list[K] = field(default_factory=list)


def is_even(tree: RackTree, replicas: Iterable[int]) -> bool:
    """Whether the replicas of a partition are spread as evenly as possible, at every node.

    Raises:
        BrokerNotAvailable: a broker is not in the tree.

    >>> from kwire.cluster.state import Broker
    >>> tree = RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(6)])
    >>> is_even(tree, [0, 2, 4]), is_even(tree, [0, 1, 4])
    (True, False)
    """
    return not uneven_nodes(tree, replicas)


def uneven_nodes(tree: RackTree, replicas: Iterable[int]) -> list[RackNode]:
    """Return the nodes whose children could share the replicas more evenly; arguments as for `is_even`."""
    counts = _counts(tree, replicas)
    return [node for node in counts if _is_uneven(node, counts)]


def spread_of(tree: RackTree, assignment: Mapping[K, Sequence[int]]) -> list[LevelSpread[K]]:
    """Count replicas and leaders on every node, level by level.

    Args:
        tree: all brokers, including those without replicas.
        assignment: the replicas of each partition, the preferred leader first.

    Raises:
        BrokerNotAvailable: a broker is not in the tree.
    """
    depth = max(node.depth for node in tree.nodes)
    levels: list[LevelSpread[K]] = [LevelSpread(number + 1) for number in range(depth + 1)]
    loads = {node: Load(node) for node in [tree.root, *_below_root(tree)]}
    for node in _below_root(tree):
        levels[depth if node.broker is not None else node.depth - 1].loads.append(loads[node])
    for partition, replicas in assignment.items():
        counts = _counts(tree, replicas)
        for above in {node.depth for node in counts if _is_uneven(node, counts)}:
            levels[above].uneven.append(partition)
        for node, count in counts.items():
            loads[node].replicas += count
        for node in _counts(tree, replicas[:1]):
            loads[node].leaders += 1
    return levels


def losses_of(tree: RackTree, assignment: Mapping[K, Sequence[int]]) -> list[RackLoss[K]]:
    """Return the partitions that lose half or all of their replicas with each data centre, rack and broker.

    Nodes without losses are omitted. For arguments and errors see `spread_of`.

    >>> from kwire.cluster.state import Broker
    >>> tree = RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(4)])
    >>> [(loss.node, loss.majority, loss.everything) for loss in losses_of(tree, {"a": [0, 1, 2], "b": [3]})]
    [(<Node /DC0>, ['a'], []), (<Node /DC1>, [], ['b']), (<Node broker 3>, [], ['b'])]
    """
    losses: dict[RackNode, RackLoss[K]] = {node: RackLoss(node) for node in _below_root(tree)}
    for partition, replicas in assignment.items():
        for node, count in _counts(tree, replicas).items():
            if node is tree.root or count * 2 < len(replicas):
                continue
            loss = losses[node]
            (loss.everything if count == len(replicas) else loss.majority).append(partition)
    return [loss for loss in losses.values() if loss.majority or loss.everything]


def _below_root(tree: RackTree) -> list[RackNode]:
    return [*tree.nodes[1:], *(leaf for _, leaf in sorted(tree.brokers.items()))]


def _counts(tree: RackTree, replicas: Iterable[int]) -> dict[RackNode, int]:
    """Count the replicas on the root and on every node below it that has any."""
    counts: dict[RackNode, int] = {}
    for leaf in tree.leaves(replicas):
        for node in leaf.upwards():
            counts[node] = counts.get(node, 0) + 1
    return counts


def _is_uneven(node: RackNode, counts: dict[RackNode, int]) -> bool:
    """Whether a child has at least two replicas more than another child that still has a free broker."""
    children = [(counts.get(child, 0), child.size) for child in node.children]
    spare = [count for count, size in children if count < size]
    return bool(spare) and max(count for count, _ in children) > min(spare) + 1
