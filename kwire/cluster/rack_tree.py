"""Racks as paths such as `/DC1/R1` (KIP-879), the tree that they make, and how evenly replicas are spread over it: what
is lost with each rack, and which rules are violated.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors.refused import BrokerNotAvailable, InvalidRack
from .java_compat import utf16
from .rack_aware_placement import check_distinct
from .state import Broker

K = TypeVar("K", bound=Hashable)
MOST_LEVELS = 100  # far above any building; a rack from the wire has up to 32,767 bytes


def rack_path(rack: str) -> list[str]:
    """Take a rack apart: names from the top level down; none for `/`, the root itself.

    Raises:
        InvalidRack: it does not start with `/` (KIP-879), a name in it is empty, or it has more than
            100 levels.

    >>> rack_path("/DC1/R1")
    ['DC1', 'R1']
    """
    if not rack.startswith("/"):
        raise InvalidRack("must_start_with_slash", rack=rack)
    names = rack[1:].split("/") if rack != "/" else []
    if "" in names:
        raise InvalidRack("empty_component", rack=rack)
    if len(names) > MOST_LEVELS:
        raise InvalidRack("too_many_levels", rack=rack, levels=len(names), most=MOST_LEVELS)
    return names


class Node:
    """A place in the tree: the root, a data centre, a rack and so on; or a broker, which has no children.

    `size` is how many brokers it holds, `depth` how many levels are above it, `index` its place among the children of
    its parent; `broker` is None but for a broker.
    """

    __slots__ = ("broker", "children", "depth", "index", "name", "parent", "size")

    def __init__(self, name: str, parent: Node | None, broker: int | None = None) -> None:
        self.name: str = name
        self.parent: Node | None = parent
        self.broker: int | None = broker
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[Node] = []
        self.size: int = 0
        self.index: int = 0

    @property
    def path(self) -> str:
        """Its path as text; of a broker that of its rack."""
        node = self if self.broker is None else self.parent
        names = [above.name for above in node.upwards()] if node else []
        return "".join(reversed(names)) or "/"

    def upwards(self) -> Iterator[Node]:
        """Yield the node and those above it, the root last."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def __repr__(self) -> str:
        return f"<Node {self.path if self.broker is None else f'broker {self.broker}'}>"


class RackTree:
    """Brokers by the paths of their racks. Children are ordered by name (UTF-16 units), then brokers by id.

    Args:
        brokers: at least those to place on; their order does not matter.
        strict: each broker must have a rack that is a path. Otherwise any other rack counts as one name below the root,
            and brokers without a rack are children of the root.

    Raises:
        InvalidRack: a broker has no rack, or one that is not a path.
        InvalidReplicaAssignment: a broker is listed twice.

    >>> tree = RackTree([Broker(1, rack="/DC1/R1"), Broker(2, rack="/DC2/R1"), Broker(0, rack="/DC1/R1")])
    >>> tree.nodes
    [<Node />, <Node /DC1>, <Node /DC2>, <Node /DC1/R1>, <Node /DC2/R1>]
    >>> tree.nodes[3].children
    [<Node broker 0>, <Node broker 1>]
    """

    def __init__(self, brokers: Sequence[Broker], strict: bool = True) -> None:
        check_distinct(broker.node_id for broker in brokers)
        if strict and (without := [broker.node_id for broker in brokers if broker.rack is None]):
            raise InvalidRack("no_rack", without=without)
        self.root: Node = Node("", None)
        self.brokers: dict[int, Node] = {}
        known: dict[tuple[Node, str], Node] = {}
        for broker in brokers:
            self._add(broker, _names(broker.rack, strict), known)
        self.nodes: list[Node] = [self.root]
        for node in self.nodes:
            node.children.sort(key=_order)
            for index, child in enumerate(node.children):
                child.index = index
            self.nodes.extend(child for child in node.children if child.broker is None)

    def _add(self, broker: Broker, names: list[str], known: dict[tuple[Node, str], Node]) -> None:
        node = self.root
        for name in names:
            if (node, name) not in known:
                known[node, name] = Node(name, node)
                node.children.append(known[node, name])
            node = known[node, name]
        leaf = self.brokers[broker.node_id] = Node("", node, broker.node_id)
        node.children.append(leaf)
        for above in leaf.upwards():
            above.size += 1

    def leaves(self, replicas: Iterable[int]) -> list[Node]:
        """Return the nodes of brokers, in the order given.

        Raises:
            BrokerNotAvailable: some of them are not there.
        """
        ids = list(replicas)
        if unknown := [node_id for node_id in ids if node_id not in self.brokers]:
            raise BrokerNotAvailable("unknown_broker", unknown=unknown)
        return [self.brokers[node_id] for node_id in ids]


def _names(rack: str | None, strict: bool) -> list[str]:
    if rack is None:
        return []
    try:
        return [f"/{name}" for name in rack_path(rack)]
    except InvalidRack:
        if strict:
            raise
        return [rack]


def _order(node: Node) -> tuple[bool, bytes, int]:
    is_broker = node.broker is not None
    return is_broker, utf16(node.name), node.broker or 0


@dataclass(slots=True)
class Load:
    """How many replicas a data centre, a rack or a broker holds, and how many of them are preferred leaders."""

    node: Node
    replicas: int = 0
    leaders: int = 0


@dataclass(slots=True)
class Level(Generic[K]):
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
class Loss(Generic[K]):
    """The losses if a node fails: partitions that keep half of their replicas or fewer, and those that keep none."""

    node: Node
    majority: list[K] = field(default_factory=list)
    everything: list[K] = field(default_factory=list)


def is_even(tree: RackTree, replicas: Iterable[int]) -> bool:
    """Whether the replicas of a partition are as even as they can be, at every node.

    Raises:
        BrokerNotAvailable: a broker is not in the tree.

    >>> from .state import Broker
    >>> tree = RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(6)])
    >>> is_even(tree, [0, 2, 4]), is_even(tree, [0, 1, 4])
    (True, False)
    """
    return not uneven_nodes(tree, replicas)


def uneven_nodes(tree: RackTree, replicas: Iterable[int]) -> list[Node]:
    """Return the nodes over whose children replicas could be spread more evenly; arguments as for `is_even`."""
    counts = _counts(tree, replicas)
    return [node for node in counts if _is_uneven(node, counts)]


def spread_of(tree: RackTree, assignment: Mapping[K, Sequence[int]]) -> list[Level[K]]:
    """Count replicas and leaders on every node, level by level.

    Args:
        tree: the brokers, of which some may have no replicas.
        assignment: the replicas of each partition, the preferred leader first.

    Raises:
        BrokerNotAvailable: a broker is not in the tree.
    """
    depth = max(node.depth for node in tree.nodes)
    levels: list[Level[K]] = [Level(number + 1) for number in range(depth + 1)]
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


def losses_of(tree: RackTree, assignment: Mapping[K, Sequence[int]]) -> list[Loss[K]]:
    """Return the partitions that are lost with each data centre, rack and broker; nodes without losses are omitted.

    Arguments and errors as for `spread_of`.

    >>> from .state import Broker
    >>> tree = RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(4)])
    >>> [(loss.node, loss.majority, loss.everything) for loss in losses_of(tree, {"a": [0, 1, 2], "b": [3]})]
    [(<Node /DC0>, ['a'], []), (<Node /DC1>, [], ['b']), (<Node broker 3>, [], ['b'])]
    """
    losses: dict[Node, Loss[K]] = {node: Loss(node) for node in _below_root(tree)}
    for partition, replicas in assignment.items():
        for node, count in _counts(tree, replicas).items():
            if node is tree.root or count * 2 < len(replicas):
                continue
            loss = losses[node]
            (loss.everything if count == len(replicas) else loss.majority).append(partition)
    return [loss for loss in losses.values() if loss.majority or loss.everything]


def _below_root(tree: RackTree) -> list[Node]:
    return [*tree.nodes[1:], *(leaf for _, leaf in sorted(tree.brokers.items()))]


def _counts(tree: RackTree, replicas: Iterable[int]) -> dict[Node, int]:
    """Count the replicas on the root and on every node below it that has any."""
    counts: dict[Node, int] = {}
    for leaf in tree.leaves(replicas):
        for node in leaf.upwards():
            counts[node] = counts.get(node, 0) + 1
    return counts


def _is_uneven(node: Node, counts: dict[Node, int]) -> bool:
    """Whether a child has two replicas more than another one that has a broker left."""
    found = [(counts.get(child, 0), child.size) for child in node.children]
    spare = [count for count, size in found if count < size]
    return bool(spare) and max(count for count, _ in found) > min(spare) + 1


KIP_36, KIP_879 = "KIP-36", "KIP-879"


class RackRule:
    """The rule for the replicas of a partition on racks.

    KIP-36: no two replicas are on one rack while another rack has none. KIP-879, where all racks are paths and some
    have two levels or more: replicas are as even as they can be at every level. That is a finding, not a violation of
    Kafka's guarantees.

    Args:
        brokers: the known brokers by id. Some may have no rack.

    >>> rule = RackRule({id: Broker(id, rack=f"r{id // 2}") for id in range(6)})
    >>> rule.is_violated([0, 2, 4]), rule.is_violated([0, 1, 4]), rule.is_violated([0, 1, 2, 4])
    (False, True, False)
    >>> deep = RackRule({1: Broker(1, rack="/a/1"), 2: Broker(2, rack="/a/2"), 3: Broker(3, rack="/b/1")})
    >>> deep.broken_by([1, 2]), deep.broken_by([1, 3])
    ('KIP-879', None)
    """

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self.racks: dict[int, str] = {
            node_id: broker.rack for node_id, broker in brokers.items() if broker.rack is not None
        }
        self._count = len(set(self.racks.values()))
        is_deep = len(self.racks) == len(brokers) and _is_deep(self.racks.values())
        self._tree = RackTree(list(brokers.values()), strict=False) if is_deep else None

    def is_violated(self, replicas: Sequence[int]) -> bool | None:
        """Whether replicas break one of the rules for certain; None where no rack is known."""
        return self.broken_by(replicas) is not None if self.racks else None

    def broken_by(self, replicas: Sequence[int]) -> str | None:
        """Return the rule that replicas break for certain, `KIP-36` before `KIP-879`; None if they break none."""
        holders = set(replicas)
        known = [node_id for node_id in holders if node_id in self.racks]
        used = len({self.racks[node_id] for node_id in known})
        if used + len(holders) - len(known) < min(len(holders), self._count):
            return KIP_36
        if self._tree is not None and len(known) == len(holders) and not is_even(self._tree, known):
            return KIP_879
        return None


def _is_deep(racks: Iterable[str]) -> bool:
    found = list(racks)
    return all(rack.startswith("/") for rack in found) and any(rack.count("/") > 1 for rack in found)
