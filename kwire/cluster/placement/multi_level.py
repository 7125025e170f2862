"""KIP-879: the placement of replicas level by level.

At each node of the rack tree, a ring of its children (racks by name, brokers by id) selects the child for the next
replica. It skips children whose brokers all have a replica of the partition, so that children differ by at most one
replica. All randomness comes from `rng`. Where the KIP leaves a choice open, a docstring describes the choice made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Generic, TypeVar

from ...errors.refused import InvalidRack, InvalidReplicationFactor
from ..java.random import Rng
from ..state import Broker
from .rack_aware import Assignment, check_counts, check_distinct, check_factor
from .rack_spread import K
from .rack_tree import RackNode, RackTree

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
    tree = RackTree(brokers)
    existing = existing or {}
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
    check_factor(replication_factor, brokers)


class _Descent:
    """A rack tree with its rings."""

    def __init__(self, tree: RackTree, starts: Mapping[str, int], rng: Rng | None) -> None:
        self._tree = tree
        self._starts = dict(starts)
        self._rng = rng
        paths = {node.path: node for node in tree.nodes} if starts else {}
        for path, start in starts.items():
            _check_start(path, start, paths.get(path))
        self._rings = {node: Ring(node.children, self._start(node)) for node in tree.nodes}
        self._used: dict[RackNode, int] = {}

    def _start(self, node: RackNode) -> int:
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

    def _go_on_behind(self, upwards: Iterable[RackNode]) -> None:
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
        node = self._tree.root
        used = self._used
        while node.broker is None:
            used[node] = used.get(node, 0) + 1
            node = self._rings[node].take(self._has_fewest(node) if evenly else self._has_room)
        used[node] = 1
        return node.broker

    def _has_room(self, child: RackNode) -> bool:
        return self._used.get(child, 0) < child.size

    def _has_fewest(self, node: RackNode) -> Callable[[RackNode], bool]:
        fewest = min(self._used.get(child, 0) for child in node.children if self._has_room(child))
        return lambda child: self._used.get(child, 0) == fewest < child.size


def _check_start(path: str, start: int, node: RackNode | None) -> None:
    if node is None:
        raise InvalidRack("no_such_start", node=path, start=start, problem="there is no such node")
    if not 0 <= start < len(node.children):
        problem = f"it has {len(node.children)} children"
        raise InvalidRack("no_such_start", node=path, start=start, problem=problem)
