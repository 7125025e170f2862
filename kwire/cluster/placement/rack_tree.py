"""KIP-879: racks as paths such as `/DC1/R1`, and the tree of these racks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...errors.refused import BrokerNotAvailable, InvalidRack
from ..java.hash_order import utf16
from ..state import Broker
from .rack_aware import check_distinct

MOST_LEVELS = 100  # far more than any building has; a rack name on the wire has up to 32,767 bytes


def rack_path(rack: str) -> list[str]:
    """Split a rack into names, from the top level down; `/`, the root itself, has none.

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


class RackNode:
    """A node of the rack tree: the root, a data centre, a rack and so on; or a broker, which has no children.

    `size` is the number of brokers below it, `depth` the number of levels above it, `index` its position among the
    children of its parent; `broker` is None except for brokers.
    """

    __slots__ = ("broker", "children", "depth", "index", "name", "parent", "size")

    def __init__(self, name: str, parent: RackNode | None, broker: int | None = None) -> None:
        self.name: str = name
        self.parent: RackNode | None = parent
        self.broker: int | None = broker
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[RackNode] = []
        self.size: int = 0
        self.index: int = 0

    @property
    def path(self) -> str:
        """The path as text; for a broker, the path of its rack."""
        node = self if self.broker is None else self.parent
        names = [above.name for above in node.upwards()] if node else []
        return "".join(reversed(names)) or "/"

    def upwards(self) -> Iterator[RackNode]:
        """Yield the node and its ancestors, the root last."""
        node: RackNode | None = self
        while node is not None:
            yield node
            node = node.parent

    def __repr__(self) -> str:
        return f"<Node {self.path if self.broker is None else f'broker {self.broker}'}>"


class RackTree:
    """The tree of brokers by the paths of their racks. Children are ordered by name (UTF-16 units), then brokers by id.

    Args:
        brokers: at least the brokers to place on; their order does not matter.
        strict: require a path as the rack of each broker. Otherwise any other rack counts as one name below the root,
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
        self.root: RackNode = RackNode("", None)
        self.brokers: dict[int, RackNode] = {}
        known: dict[tuple[RackNode, str], RackNode] = {}
        for broker in brokers:
            self._add(broker, _names(broker.rack, strict), known)
        self.nodes: list[RackNode] = [self.root]
        for node in self.nodes:
            node.children.sort(key=_order)
            for index, child in enumerate(node.children):
                child.index = index
            self.nodes.extend(child for child in node.children if child.broker is None)

    def _add(self, broker: Broker, names: list[str], known: dict[tuple[RackNode, str], RackNode]) -> None:
        node = self.root
        for name in names:
            if (node, name) not in known:
                known[node, name] = RackNode(name, node)
                node.children.append(known[node, name])
            node = known[node, name]
        leaf = self.brokers[broker.node_id] = RackNode("", node, broker.node_id)
        node.children.append(leaf)
        for above in leaf.upwards():
            above.size += 1

    def leaves(self, replicas: Iterable[int]) -> list[RackNode]:
        """Return the nodes of brokers, in the given order.

        Raises:
            BrokerNotAvailable: a broker is not in the tree.
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


def _order(node: RackNode) -> tuple[bool, bytes, int]:
    is_broker = node.broker is not None
    return is_broker, utf16(node.name), node.broker or 0
