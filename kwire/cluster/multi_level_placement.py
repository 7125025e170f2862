"""KIP-879: replicas passed down a tree of racks, level by level, by a ring over the children of each node.

At each node of the rack tree, a ring of its children (racks by name, brokers by id) selects the one for the next
replica, without children whose brokers all have the partition: so children differ by at most one replica. All
randomness comes from `rng`. Where the KIP leaves a choice open, the docstrings name it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, cycle, islice
from typing import Generic, TypeVar

from ..errors.refused import InvalidRack, InvalidReplicationFactor
from .java_compat import OPTIONAL_STRINGS, Rng, hash_order_of, utf16
from .rack_aware_placement import Assignment, check_counts, check_distinct
from .rack_tree import Node, RackTree
from .state import Broker

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Rings(Enum):
    """The treatment of the rings between two partitions (KIP-879 does not define it)."""

    KEPT = "kept"  # they continue
    ANEW = "anew"  # they restart at their start index, or at a new one from the rng
    # They continue, but advance by one where a cycle has ended, unless the ring jumped there because of an existing
    # replica. All children then have equally many replicas, and leaders are spread, too: with as many replicas as data
    # centres, kept rings would put all leaders into the first one.
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
        self.begin: int = start  # where its current cycle started
        self.jumped: bool = False  # whether its last move was a jump

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
        """Advance after a child that already has a replica: a jump, unless the ring would have selected this child."""
        before = (*self.children[self.place :], *self.children[: self.place])
        self.jumped = next(filter(has_room, before), None) is not self.children[index]
        self.place = (index + 1) % len(self.children)

    def turn(self) -> None:
        """Advance by one where a cycle has ended, so that the next cycle starts with another child."""
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
        starts: path of a node, such as `/DC1`, to the first index of its ring; others are drawn from `rng`, or 0.
        rings: what happens to the rings between partitions.
        existing: the topic's partitions so far: rings and numbers of new partitions continue after them.

    Returns:
        For each new partition the ids of its brokers; the first is the preferred leader.

    Raises:
        InvalidRack: a rack is missing or not a path, or `starts` has an unknown node; as `check_counts`, too.

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
    """Add replicas to partitions, continuing each one's placement (KIP-879).

    Each ring continues after the child with the partition's last replica below its node, among the children with the
    fewest replicas of the partition, so that all levels become even for any existing placement (KAFKA-14281). The other
    rings stay as they are between partitions.

    Args:
        brokers: the brokers to place on, and all brokers with existing replicas.
        assignment: partitions, by any keys, with their replicas, which stay first.
        replication_factor: replicas of each partition afterwards.
        starts, rng, rings: as in `assign_multi_level`.

    Raises:
        InvalidReplicationFactor: a partition already has more replicas, or there are fewer brokers.
        InvalidReplicaAssignment, BrokerNotAvailable: a partition has a broker twice, or an unknown one.
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
        """Place replicas of a partition until there are `count`; existing ones stay first."""
        self._used = {}
        for leaf in self._tree.leaves(replicas):
            self._go_on_behind(leaf.upwards())
        return [*replicas, *(self._pass_down(bool(replicas)) for _ in range(count - len(replicas)))]

    def _go_on_behind(self, upwards: Iterable[Node]) -> None:
        """Advance the rings above a broker with an existing replica."""
        for node in upwards:
            if node.parent is not None:
                self._rings[node.parent].go_on_behind(node.index, self._has_room)
            self._used[node] = self._used.get(node, 0) + 1

    def _pass_down(self, evenly: bool) -> int:
        """Place a replica: at each node its ring selects the child.

        Args:
            evenly: select only among the children with the fewest replicas. If rings have placed all existing replicas,
                the next child with an available broker is one of these anyway.
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
    """Place the replicas of new partitions: the first in each rack in turn, the others in the following racks.

    Args:
        brokers: all brokers in the controller's order; fenced ones are used last.
        num_partitions: how many partitions; below 1 there is no result.
        replication_factor: replicas of each.
        rng: `java.Random(seed)` for the same numbers as Kafka; it advances even if the placement is refused.

    Returns:
        For each partition the ids of its brokers, the preferred leader first.

    Raises:
        InvalidReplicationFactor: not positive, no unfenced broker, or more replicas than brokers.
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
        """Return the next broker for the partition with this `epoch`; None if there is no other."""
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
        # In the first round, the leader's rack has already been used.
        turns = chain((name for name in around if name != leading), cycle(around))
        others = (broker for broker in (self._take(name, epoch) for name in turns) if broker is not None)
        return [leader, *islice(others, count - 1)]

    def _take(self, name: str | None, epoch: int) -> int | None:
        fenced, ready = self._stripes[name]
        broker = ready.take(epoch)
        return fenced.take(epoch) if broker is None else broker
