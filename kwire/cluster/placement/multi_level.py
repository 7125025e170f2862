"""KIP-879: racks as paths such as `/DC1/R1`, the tree of these racks, and the placement of replicas level by level.

At each node of the rack tree, a ring of its children (racks by name, brokers by id) selects the child for the next
replica. It skips children whose brokers all have a replica of the partition, so that children differ by at most one
replica. All randomness comes from `rng`. Where the KIP leaves a choice open, a docstring describes the choice made.
The module also measures how evenly replicas are spread, what is lost with each rack, and which rules are violated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, cycle, islice
from typing import Generic, TypeVar

from ...errors.refused import BrokerNotAvailable, InvalidRack, InvalidReplicationFactor
from ..java.hash_order import OPTIONAL_STRINGS, Rng, hash_order_of, utf16
from ..state import Broker
from .rack_aware import Assignment, check_counts, check_distinct

K = TypeVar("K", bound=Hashable)
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


class Node:
    """A node of the rack tree: the root, a data centre, a rack and so on; or a broker, which has no children.

    `size` is the number of brokers below it, `depth` the number of levels above it, `index` its position among the
    children of its parent; `broker` is None except for brokers.
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
        """The path as text; for a broker, the path of its rack."""
        node = self if self.broker is None else self.parent
        names = [above.name for above in node.upwards()] if node else []
        return "".join(reversed(names)) or "/"

    def upwards(self) -> Iterator[Node]:
        """Yield the node and its ancestors, the root last."""
        node: Node | None = self
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


def _order(node: Node) -> tuple[bool, bytes, int]:
    is_broker = node.broker is not None
    return is_broker, utf16(node.name), node.broker or 0


@dataclass(slots=True)
class Load:
    """The number of replicas on a data centre, a rack or a broker, and how many of them are preferred leaders."""

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
    """The partitions that lose at least half of their replicas if a node fails, and those that lose all."""

    node: Node
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


def uneven_nodes(tree: RackTree, replicas: Iterable[int]) -> list[Node]:
    """Return the nodes whose children could share the replicas more evenly; arguments as for `is_even`."""
    counts = _counts(tree, replicas)
    return [node for node in counts if _is_uneven(node, counts)]


def spread_of(tree: RackTree, assignment: Mapping[K, Sequence[int]]) -> list[Level[K]]:
    """Count replicas and leaders on every node, level by level.

    Args:
        tree: all brokers, including those without replicas.
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
    """Return the partitions that lose half or all of their replicas with each data centre, rack and broker.

    Nodes without losses are omitted. For arguments and errors see `spread_of`.

    >>> from kwire.cluster.state import Broker
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
    """Whether a child has at least two replicas more than another child that still has a free broker."""
    found = [(counts.get(child, 0), child.size) for child in node.children]
    spare = [count for count, size in found if count < size]
    return bool(spare) and max(count for count, _ in found) > min(spare) + 1


KIP_36, KIP_879 = "KIP-36", "KIP-879"


class RackRule:
    """The rack rule for the replicas of a partition.

    KIP-36: no two replicas are on one rack while another rack has none. KIP-879, if all racks are paths and some have
    at least two levels: replicas are as even as possible at every level. A violation of KIP-879 is a finding; Kafka
    does not guarantee this rule.

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
        """Whether replicas certainly violate one of the rules; None if no rack is known."""
        return self.broken_by(replicas) is not None if self.racks else None

    def broken_by(self, replicas: Sequence[int]) -> str | None:
        """Return the rule that replicas certainly violate, `KIP-36` before `KIP-879`; None if there is none."""
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


T = TypeVar("T")


class Rings(Enum):
    """The treatment of the rings between two partitions (KIP-879 does not define it)."""

    KEPT = "kept"  # rings continue
    ANEW = "anew"  # rings restart at their start index, or at a new one from the rng
    # Rings continue, but advance by one after each cycle, unless the ring jumped there because of an existing replica.
    # All children then have equally many replicas, and leaders are spread too: with as many replicas as data centres,
    # kept rings would put all leaders into the first data centre.
    TURNED = "turned"


class Ring(Generic[T]):
    """Iterates over children in a cycle.

    >>> ring = Ring(["a", "b", "c"], start=2)
    >>> [ring.take() for _ in range(4)]
    ['c', 'a', 'b', 'c']
    """

    __slots__ = ("begin", "children", "jumped", "place")

    def __init__(self, children: Sequence[T], start: int = 0) -> None:
        self.children: Sequence[T] = children
        self.place: int = start
        self.begin: int = start  # where the current cycle started
        self.jumped: bool = False  # whether the last move was a jump

    def take(self, has_room: Callable[[T], bool] = lambda child: True) -> T:
        """Return the next child with an available broker, and advance after it.

        Raises:
            LookupError: no child has an available broker.
        """
        for _ in self.children:
            child = self.children[self.place]
            self.place = (self.place + 1) % len(self.children)
            if has_room(child):
                self.jumped = False
                return child
        raise LookupError("no child has an available broker")

    def go_on_behind(self, index: int, has_room: Callable[[T], bool]) -> None:
        """Advance past a child that already has a replica: a jump, unless the ring would have selected this child."""
        before = (*self.children[self.place :], *self.children[: self.place])
        self.jumped = next(filter(has_room, before), None) is not self.children[index]
        self.place = (index + 1) % len(self.children)

    def turn(self) -> None:
        """Advance by one at the end of a cycle, so that the next cycle starts with another child."""
        if self.place == self.begin and not self.jumped:
            self.begin = self.place = (self.place + 1) % len(self.children)


def assign_multi_level(
    brokers: Sequence[Broker],
    num_partitions: int,
    replication_factor: int,
    *,
    starts: Mapping[str, int] | None = None,
    rng: Rng | None = None,
    rings: Rings = Rings.KEPT,
    existing: Mapping[int, Sequence[int]] | None = None,
) -> Assignment:
    """Place the replicas of new partitions over racks of several levels (KIP-879, KAFKA-14281).

    Args:
        brokers: the brokers to place on, each with a rack that is a path.
        num_partitions, replication_factor: how many partitions, and how many replicas of each.
        starts: path of a node, such as `/DC1` -> the first index of its ring; others are drawn from `rng`, or are 0.
        rings: the treatment of the rings between partitions.
        existing: the existing partitions of the topic; rings and numbers of new partitions continue after them.

    Returns:
        For each new partition the ids of its brokers; the first is the preferred leader.

    Raises:
        InvalidRack: a rack is missing or not a path, or `starts` has an unknown node; also as `check_counts`.

    >>> racks = ["/DC1/R1", "/DC1/R2", "/DC2/R1", "/DC2/R2"]
    >>> assign_multi_level([Broker(id, rack=rack) for id, rack in enumerate(racks)], 2, 3)
    {0: [0, 2, 1], 1: [3, 0, 2]}
    """
    check_counts(num_partitions, replication_factor, len(brokers))
    tree, existing = RackTree(brokers), existing or {}
    descent = _Descent(tree, starts or {}, rng)
    for replicas in existing.values():
        descent.place([node_id for node_id in replicas if node_id in tree.brokers])
        descent.pass_on(rings)
    assignment: Assignment = {}
    for partition in range(len(existing), len(existing) + num_partitions):
        assignment[partition] = descent.place([], replication_factor)
        descent.pass_on(rings)
    return assignment


def increase_replication_factor(
    brokers: Sequence[Broker],
    assignment: Mapping[K, Sequence[int]],
    replication_factor: int,
    *,
    starts: Mapping[str, int] | None = None,
    rng: Rng | None = None,
    rings: Rings = Rings.KEPT,
) -> dict[K, list[int]]:
    """Add replicas to partitions, continuing the placement of each partition (KIP-879).

    Each ring continues after the child with the partition's last replica below its node, among the children with the
    fewest replicas of the partition, so that all levels become even for any existing placement (KAFKA-14281). All other
    rings are kept between partitions.

    Args:
        brokers: the brokers to place on, including all brokers with existing replicas.
        assignment: the replicas of partitions, by any keys; existing replicas stay first.
        replication_factor: the new number of replicas of each partition.
        starts, rng, rings: as in `assign_multi_level`.

    Raises:
        InvalidReplicationFactor: a partition already has more replicas, or there are fewer brokers.
        InvalidReplicaAssignment, BrokerNotAvailable: a partition lists a broker twice, or an unknown broker.
        InvalidRack: as in `assign_multi_level`.

    >>> racks = ["/DC1/R1", "/DC1/R2", "/DC2/R1", "/DC2/R2"]
    >>> increase_replication_factor([Broker(id, rack=rack) for id, rack in enumerate(racks)], {0: [3]}, 3)
    {0: [3, 0, 2]}
    >>> increase_replication_factor([Broker(id, rack=rack) for id, rack in enumerate(racks)], {0: [3, 1, 0]}, 4)
    {0: [3, 1, 0, 2]}
    """
    descent = _Descent(RackTree(brokers), starts or {}, rng)
    increased: dict[K, list[int]] = {}
    for partition, replicas in assignment.items():
        _check_increase(replicas, replication_factor, len(brokers))
        increased[partition] = descent.place(replicas, replication_factor)
        descent.pass_on(rings)
    return increased


def _check_increase(replicas: Sequence[int], replication_factor: int, brokers: int) -> None:
    check_distinct(replicas)
    if replication_factor < len(replicas):
        raise InvalidReplicationFactor("not_an_increase", existing=len(replicas), replication_factor=replication_factor)
    check_counts(1, replication_factor, brokers)


class _Descent:
    """A rack tree with its rings."""

    def __init__(self, tree: RackTree, starts: Mapping[str, int], rng: Rng | None) -> None:
        self._tree, self._starts, self._rng = tree, dict(starts), rng
        paths = {node.path: node for node in tree.nodes} if starts else {}
        for path, start in starts.items():
            _check_start(path, start, paths.get(path))
        self._rings = {node: Ring(node.children, self._start(node)) for node in tree.nodes}
        self._used: dict[Node, int] = {}

    def _start(self, node: Node) -> int:
        if self._starts and (named := self._starts.get(node.path)) is not None:
            return named
        return self._rng.randrange(len(node.children)) if self._rng and node.children else 0

    def pass_on(self, rings: Rings) -> None:
        """Prepare the rings for the next partition."""
        used = [node for node in self._used if node.broker is None] if rings is not Rings.KEPT else []
        for node in used:
            ring = self._rings[node]
            if rings is Rings.ANEW:
                ring.place = self._start(node)
            else:
                ring.turn()

    def place(self, replicas: Sequence[int], count: int = 0) -> list[int]:
        """Place replicas of a partition until there are `count`; existing replicas stay first."""
        self._used = {}
        for leaf in self._tree.leaves(replicas):
            self._go_on_behind(leaf.upwards())
        return [*replicas, *(self._pass_down(bool(replicas)) for _ in range(count - len(replicas)))]

    def _go_on_behind(self, upwards: Iterable[Node]) -> None:
        """Advance the rings above a broker that has an existing replica."""
        for node in upwards:
            if node.parent is not None:
                self._rings[node.parent].go_on_behind(node.index, self._has_room)
            self._used[node] = self._used.get(node, 0) + 1

    def _pass_down(self, evenly: bool) -> int:
        """Place a replica: at each node the ring selects the child.

        Args:
            evenly: select only among the children with the fewest replicas. If rings have placed all existing replicas,
                the next child with an available broker is always one of these.
        """
        node, used = self._tree.root, self._used
        while node.broker is None:
            used[node] = used.get(node, 0) + 1
            node = self._rings[node].take(self._has_fewest(node) if evenly else self._has_room)
        used[node] = 1
        return node.broker

    def _has_room(self, child: Node) -> bool:
        return self._used.get(child, 0) < child.size

    def _has_fewest(self, node: Node) -> Callable[[Node], bool]:
        fewest = min(self._used.get(child, 0) for child in node.children if self._has_room(child))
        return lambda child: self._used.get(child, 0) == fewest < child.size


def _check_start(path: str, start: int, node: Node | None) -> None:
    if node is None:
        raise InvalidRack("no_such_start", node=path, start=start, problem="there is no such node")
    if not 0 <= start < len(node.children):
        problem = f"it has {len(node.children)} children"
        raise InvalidRack("no_such_start", node=path, start=start, problem=problem)


def place_striped(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> list[list[int]]:
    """Place the replicas of new partitions: first replicas in each rack in turn, the others in the following racks.

    Args:
        brokers: all brokers in the controller's order; fenced ones are used last.
        num_partitions: the number of partitions; below 1 the result is empty.
        replication_factor: replicas of each.
        rng: `java.Random(seed)` for the same numbers as Kafka. It advances even if the placement is refused.

    Returns:
        For each partition the ids of its brokers, the preferred leader first.

    Raises:
        InvalidReplicationFactor: the factor is not positive, or exceeds the number of brokers; or all are fenced.
        InvalidReplicaAssignment: a broker is listed twice.
    """
    check_distinct(broker.node_id for broker in brokers)
    racks = _Racks(brokers, rng)
    unfenced = sum(not broker.fenced for broker in brokers)
    if replication_factor <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=replication_factor)
    if unfenced == 0:
        raise InvalidReplicationFactor("no_unfenced_broker")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(
            "replication_factor_larger_than_brokers", replication_factor=replication_factor, brokers=len(brokers)
        )
    return list(racks.place(num_partitions, replication_factor, unfenced))


class _Stripe:
    """The brokers of a rack, used in turn; each partition starts one broker later."""

    def __init__(self, ids: Iterable[int], rng: Rng) -> None:
        self.ids = sorted(ids)
        self._offset = rng.randrange(len(self.ids)) if self.ids else 0
        self._taken = 0
        self._epoch = 0

    def take(self, epoch: int) -> int | None:
        """Return the next broker for the partition with this `epoch`; None if there is no other one."""
        if self._epoch != epoch and self.ids:
            self._epoch, self._taken = epoch, 0
            self._offset = (self._offset + 1) % len(self.ids)
        if self._taken == len(self.ids):
            return None
        self._taken += 1
        return self.ids[(self._taken - 1 + self._offset) % len(self.ids)]


class _Racks:
    def __init__(self, brokers: Sequence[Broker], rng: Rng) -> None:
        self._rng = rng
        members: dict[str | None, list[Broker]] = {}
        for broker in brokers:
            members.setdefault(broker.rack, []).append(broker)
        self._stripes = {
            name: (self._stripe(members[name], True), self._stripe(members[name], False))
            for name in hash_order_of(members, OPTIONAL_STRINGS)
        }
        self._names = sorted(members, key=lambda name: (name is not None, utf16(name or "")))
        self._offset = rng.randrange(len(self._names)) if self._names else 0

    def _stripe(self, brokers: list[Broker], fenced: bool) -> _Stripe:
        return _Stripe((broker.node_id for broker in brokers if broker.fenced == fenced), self._rng)

    def place(self, num_partitions: int, replication_factor: int, unfenced: int) -> Iterator[list[int]]:
        epoch = 0
        for _ in range(num_partitions):
            if epoch == unfenced > 1:
                self._shuffle()
                epoch = 0
            yield self._replicas(replication_factor, epoch)
            epoch += 1
            self._offset = (self._offset + 1) % len(self._names)

    def _shuffle(self) -> None:
        self._rng.shuffle(self._names)
        for stripes in self._stripes.values():
            for stripe in stripes:
                self._rng.shuffle(stripe.ids)

    def _replicas(self, count: int, epoch: int) -> list[int]:
        around = [*self._names[self._offset :], *self._names[: self._offset]]
        unfenced = ((name, self._stripes[name][1].take(epoch)) for name in around)
        leading, leader = next((name, broker) for name, broker in unfenced if broker is not None)
        # In the first round, the rack of the leader has already been used.
        turns = chain((name for name in around if name != leading), cycle(around))
        others = (broker for broker in (self._take(name, epoch) for name in turns) if broker is not None)
        return [leader, *islice(others, count - 1)]

    def _take(self, name: str | None, epoch: int) -> int | None:
        fenced, ready = self._stripes[name]
        broker = ready.take(epoch)
        return fenced.take(epoch) if broker is None else broker
