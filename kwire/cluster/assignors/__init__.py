"""Kafka's consumer assignors: they distribute partitions among the members of a group, with and without racks
(KIP-881).

Assignors are pure functions on values; the results equal Kafka's, including the order of each list.

Client assignors: before 3.5 (KIP-881), they ignore racks. The results of `range` and `roundrobin` without racks are the
same from 2.4 to 4.4; the sticky assignors are supported in 2.4 and from 2.8 on.

Broker assignors (KIP-848), `uniform` and `server-range`, are supported from 4.0 on. The broker's `range` is the
client's `range` without racks. Kafka orders topics by their ids, so the results equal those of 4.0 to 4.4 if ids are
given.

Only the sticky assignors and `uniform` take earlier assignments into account.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from itertools import islice
from typing import NamedTuple

from ...errors import UnknownMessage
from ...errors.refused import CannotAssign
from ..java.hash_order import INTEGERS, hash_order_of, int32, utf16
from ..state import ClusterState
from .members import (
    NEWEST,
    UNREADABLE,
    Assignment,
    Group,
    Held,
    Member,
    Racks,
    TopicPartition,
    Topics,
    by_topic,
    knows_sticky,
    member_of,
    numbers_in,
    racks_matter,
    rules_of,
    topics_of,
)
from .sticky.constrained import algorithm_for, assign_cooperative, assign_sticky, cooperative_past, sticky_past

Consumers = Mapping[str, str | None]  # member id -> rack, in processing order


def assign_range(topics: Topics, members: Iterable[Member]) -> Assignment:
    """Assign partitions as Kafka's `RangeAssignor` does.

    Args:
        topics: topic -> partition -> racks of its replicas (None: without rack); or topic -> number of partitions.
            Topics without subscribers or partitions are ignored.
        members: in the order of JoinGroupResponse.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader; empty without members.

    >>> assign_range({"orders": 3}, [Member("c1", ["orders"]), Member("c2", ["orders"])])
    {'c1': [('orders', 0), ('orders', 1)], 'c2': [('orders', 2)]}
    >>> orders = {0: ["b"], 1: ["a"]}
    >>> assign_range({"orders": orders}, [Member("c1", ["orders"], "a"), Member("c2", ["orders"], "b")])
    {'c1': [('orders', 1)], 'c2': [('orders', 0)]}

    Source: KIP-881 (racks), KIP-345 (static members keep their position).
    """
    group = Group(topics, members)
    assignment = group.nothing()
    shares = _shares(group)
    with_racks = any(share.needs_racks for share in shares)
    if with_racks:
        _match_racks(shares, assignment)
    for share in shares:
        share.fill(assignment)
    if with_racks:
        names = {topic: utf16(topic) for topic in group.topics}
        for partitions in assignment.values():
            partitions.sort(key=lambda partition: (names[partition[0]], partition[1]))
    return group.answer(assignment)


class _Share:
    """The distribution of the partitions of one topic."""

    def __init__(self, topic: str, numbers: Sequence[int], consumers: Consumers, racks: Racks) -> None:
        self.topic, self.numbers, self.consumers, self.racks = topic, numbers, consumers, racks
        self._each, self._extra = divmod(len(numbers), len(consumers))
        self._taken: set[int] = set()
        self._counts: dict[str, int] = {}
        of_members = (rack for rack in consumers.values() if rack)
        self.needs_racks = bool(racks) and racks_matter(of_members, racks.values())

    def room(self, consumer: str) -> int:
        """Return how many more partitions a member may get."""
        return max(0, self._each + (self._extra > 0) - self._counts.get(consumer, 0))

    def give(self, consumer: str, numbers: Sequence[int], assignment: Assignment) -> None:
        """Assign partitions to a member."""
        topic = self.topic
        assignment[consumer] += [(topic, number) for number in numbers]
        self._taken.update(numbers)
        self._counts[consumer] = count = self._counts.get(consumer, 0) + len(numbers)
        if count > self._each:
            self._extra -= 1

    def fill(self, assignment: Assignment) -> None:
        """Assign the remaining partitions to members, up to their share."""
        left = [number for number in self.numbers if number not in self._taken]
        start = 0
        for consumer in self.consumers:
            if start == len(left):
                break
            run = left[start : start + self.room(consumer)]
            if run:
                self.give(consumer, run, assignment)
                start += len(run)

    def fill_by_rack(self, assignment: Assignment) -> None:
        """Assign partitions to members in their racks, up to their share; a member without a rack matches all racks."""
        left: dict[str | None, Iterator[int]] = {}
        for consumer, rack in self.consumers.items():
            if rack not in left:
                left[rack] = self._left_in(rack)
            run = list(islice(left[rack], self.room(consumer)))
            if run:
                self.give(consumer, run, assignment)

    def _left_in(self, rack: str | None) -> Iterator[int]:
        for number in self.numbers:
            if number not in self._taken and (rack is None or rack in self.racks[number]):
                yield number


def _shares(group: Group) -> list[_Share]:
    subscribers: dict[str, list[Member]] = {topic: [] for topic in group.topics}
    for member in group.members.values():
        for topic in member.topics:
            if topic in subscribers:
                subscribers[topic].append(member)
    sorted_once: dict[tuple[str, ...], Consumers] = {}
    shares = []
    for topic, numbers in group.topics.items():
        key = tuple(member.member_id for member in subscribers[topic])
        if key not in sorted_once:
            sorted_once[key] = {member.member_id: member.rack or None for member in in_order(subscribers[topic])}
        consumers = sorted_once[key]
        racks = group.racks(topic) if group.has_racks and any(consumers.values()) else {}
        shares.append(_Share(topic, numbers, consumers, racks))
    return shares


def in_order(members: Iterable[Member]) -> list[Member]:
    """Sort members as Kafka does: static ones first, by instance id, then the others by member id."""
    return sorted(members, key=lambda one: _place(one.member_id, one.group_instance_id))


def _place(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    return (instance_id is None, utf16(member_id if instance_id is None else instance_id))


def _match_racks(shares: list[_Share], assignment: Assignment) -> None:
    together: dict[tuple[frozenset[tuple[str, str | None]], int], list[_Share]] = {}
    for share in shares:
        together.setdefault((frozenset(share.consumers.items()), len(share.racks)), []).append(share)
    for group in together.values():
        if len(group) > 1:
            _fill_together(group, assignment)
        elif group[0].needs_racks:
            group[0].fill_by_rack(assignment)


def _fill_together(shares: list[_Share], assignment: Assignment) -> None:
    """Assign partition n of all topics to the first member whose rack has a replica of each of these partitions."""
    waiting: dict[str | None, deque[tuple[int, str]]] = {}
    for place, (consumer, rack) in enumerate(shares[0].consumers.items()):
        waiting.setdefault(rack, deque()).append((place, consumer))
    for number in range(len(shares[0].racks)):
        in_all = frozenset.intersection(*(share.racks.get(number, frozenset()) for share in shares))
        heads = [head for rack in (None, *in_all) if (head := _head(waiting.get(rack), shares[0]))]
        if heads:
            consumer = min(heads)[1]
            for share in shares:
                share.give(consumer, [number], assignment)


def _head(waiting: deque[tuple[int, str]] | None, share: _Share) -> tuple[int, str] | None:
    """Return the first member with room. Room never grows again, so members without room are removed."""
    while waiting and not share.room(waiting[0][1]):
        waiting.popleft()
    return waiting[0] if waiting else None


def assign_round_robin(topics: Topics, members: Iterable[Member]) -> Assignment:
    """Assign partitions as Kafka's `RoundRobinAssignor` does.

    Args:
        topics, members: as for `assign_range`; racks are ignored. Partitions are numbered from 0.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader.

    Raises:
        CannotAssign: there are no members.

    >>> assign_round_robin({"a": 2, "b": 1}, [Member("c1", ["a", "b"]), Member("c2", ["a", "b"])])
    {'c1': [('a', 0), ('b', 0)], 'c2': [('a', 1)]}
    """
    group = Group(topics, members)
    if not group.members:
        raise CannotAssign("no_members", assignor="roundrobin")
    assignment = group.nothing()
    turns = [(frozenset(member.topics), assignment[member.member_id]) for member in in_order(group.members.values())]
    turn = 0
    for topic in sorted(group.topics, key=utf16):
        for number in range(len(group.topics[topic])):
            while topic not in turns[turn][0]:
                turn = (turn + 1) % len(turns)
            turns[turn][1].append((topic, number))
            turn = (turn + 1) % len(turns)
    return group.answer(assignment)


MOST_ROUNDS = 16  # rounds of balancing over all topics; Kafka has the same limit
Ids = Mapping[str, bytes]  # topic -> its id, 16 bytes


def assign_server_range(topics: Topics, members: Iterable[Member]) -> Assignment:
    """Assign partitions as the broker's `range` does: in consecutive runs, ignoring racks.

    Members are ordered by instance id, then by member id.

    Args:
        topics, members: as for `assign_range`; racks and owned partitions are ignored.

    Returns:
        Member id -> partitions.

    >>> assign_server_range({"t": 3}, [Member("a", ["t"]), Member("b", ["t"])])
    {'a': [('t', 0), ('t', 1)], 'b': [('t', 2)]}

    Source: KIP-848.
    """
    return assign_range(topics, [replace(one, rack=None) for one in members])


def assign_uniform(topics: Topics, members: Iterable[Member], *, ids: Ids | None = None) -> Assignment:
    """Assign partitions as the broker's `uniform` does: evenly; members keep as many partitions as possible.

    Args:
        topics, members: as for `assign_range`; racks are ignored. `owned` is the previous assignment by the broker; a
            partition that several members own is kept by the first one.
        ids: the ids of all topics. Without ids, topics are ordered by name, and the result may differ from Kafka's.

    Returns:
        Member id -> partitions, sorted by topic and number; empty without members.

    >>> first = assign_uniform({"t": 4}, [Member("a", ["t"]), Member("b", ["t"])])
    >>> first
    {'a': [('t', 0), ('t', 1)], 'b': [('t', 2), ('t', 3)]}
    >>> assign_uniform({"t": 4}, [Member("c", ["t"]), Member("b", ["t"], owned=first["b"])])
    {'b': [('t', 2), ('t', 3)], 'c': [('t', 0), ('t', 1)]}

    Source: KIP-848.
    """
    group = Group(topics, members)
    former = _former(group)
    if len({frozenset(one.topics) for one in group.members.values()}) == 1:
        found = _fill_shares(group, former, ids)
    else:
        found = _Levels(group, former, ids).assign()
    return group.answer({member_id: sorted(places) for member_id, places in found.items()})


def uuid_hash(topic_id: bytes) -> int:
    r"""Return the hash code of Kafka's `Uuid`.

    >>> uuid_hash(bytes(15) + b"\x07")
    7
    """
    high, low = int.from_bytes(topic_id[:8], "big"), int.from_bytes(topic_id[8:], "big")
    return int32((high ^ low) >> 32 ^ high ^ low)


def _former(group: Group) -> dict[str, list[TopicPartition]]:
    """Return the partitions that each member owns of the topics that it subscribes to."""
    taken: set[TopicPartition] = set()
    former = group.nothing()
    for member_id, member in group.members.items():
        for place in sorted(set(member.owned) - taken):
            if place[0] in member.topics and place[1] in group.topics.get(place[0], ()):
                taken.add(place)
                former[member_id].append(place)
    return former


def _hashed(topics: Iterable[str], ids: Ids | None) -> list[str]:
    """Return topics in the order of a HashSet of their ids; without ids, ordered by name."""
    names = sorted(topics)
    if ids is None:
        return names
    by_id = {ids[name]: name for name in names}
    return [by_id[one] for one in hash_order_of(by_id, uuid_hash)]


def _fill_shares(group: Group, former: Assignment, ids: Ids | None) -> dict[str, set[TopicPartition]]:
    """Assign partitions to members that all subscribe to the same topics.

    Shares with one more partition go to members that already have as many, or else to the last members.
    """
    least, more = divmod(sum(map(len, group.topics.values())), len(group.members))
    owned = {place for places in former.values() for place in places}
    every = ((topic, number) for topic in _hashed(group.topics, ids) for number in group.topics[topic])
    free = [place for place in every if place not in owned]
    found: dict[str, set[TopicPartition]] = {}
    shares: dict[str, int] = {}
    for turn, member_id in enumerate(group.members):
        has_more = more > 0 and (len(former[member_id]) > least or len(group.members) - turn <= more)
        more -= has_more
        shares[member_id] = least + has_more
        left = _beyond(former[member_id], shares[member_id], ids)
        found[member_id] = set(former[member_id]).difference(left)
        free += left
    rest = iter(free)
    for member_id, share in shares.items():
        found[member_id].update(islice(rest, share - len(found[member_id])))
    return found


def _beyond(places: list[TopicPartition], share: int, ids: Ids | None) -> list[TopicPartition]:
    """Return the partitions that a member gives up, in Kafka's order: those that come last in its maps."""
    numbers: dict[str, list[int]] = {}
    for topic, number in places:
        numbers.setdefault(topic, []).append(number)
    in_order = [
        (topic, number) for topic in _hashed(numbers, ids) for number in hash_order_of(numbers[topic], INTEGERS)
    ]
    return in_order[share:]


class _Levels:
    """The algorithm for members with different subscriptions.

    First the least loaded member gets the next partition; then the most loaded members give up partitions to the least
    loaded. Members are numbered in the order of Kafka's map.
    """

    def __init__(self, group: Group, former: Assignment, ids: Ids | None) -> None:
        self._names = list(group.members)
        self._owner = {place: at for at, name in enumerate(self._names) for place in former[name]}
        self._sizes = [len(former[name]) for name in self._names]
        self._topics = group.topics
        self._readers = {
            topic: [at for at, one in enumerate(group.members.values()) if topic in one.topics]
            for topic in group.topics
        }

        def place(topic: str) -> tuple[float, int, int, int, str]:
            readers, topic_id = len(self._readers[topic]), b"" if ids is None else ids[topic]
            high, low = (int.from_bytes(part, "big", signed=True) for part in (topic_id[:8], topic_id[8:]))
            return -len(group.topics[topic]) / readers, readers, high, low, topic

        self._order = sorted(group.topics, key=place)

    def assign(self) -> dict[str, set[TopicPartition]]:
        """Assign all partitions."""
        for topic in self._order:
            least = self._least_loaded(topic)
            for number in self._topics[topic]:
                if (topic, number) not in self._owner:
                    self._give((topic, number), _take(least)[1])
        self._balance()
        found: dict[str, set[TopicPartition]] = {name: set() for name in self._names}
        for one, at in self._owner.items():
            found[self._names[at]].add(one)
        return found

    def _give(self, place: TopicPartition, to: int) -> None:
        if place in self._owner:
            self._sizes[self._owner[place]] -= 1
        self._owner[place] = to
        self._sizes[to] += 1

    def _least_loaded(self, topic: str) -> list[tuple[int, int, int]]:
        """Return the subscribers of a topic as a heap: number of partitions, rank among subscribers, member number."""
        heap = [(self._sizes[at], turn, at) for turn, at in enumerate(self._sorted(topic))]
        heapify(heap)
        return heap

    def _sorted(self, topic: str) -> list[int]:
        return sorted(self._readers[topic], key=lambda at: (self._sizes[at], at))

    def _balance(self) -> None:
        """Move partitions, topic by topic, until a whole round changes no topic."""
        topics = [topic for topic in self._order if len(self._readers[topic]) > 1]
        last = None
        for _ in range(MOST_ROUNDS):
            for topic in topics:
                if topic == last:
                    return
                if self._balance_topic(topic) or last is None:
                    last = topic

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions of a topic from its most to its least loaded subscribers; return whether any was moved."""
        spare: dict[int, list[TopicPartition]] = {}
        for number in self._topics[topic]:
            spare.setdefault(self._owner[topic, number], []).append((topic, number))
        least, most = self._least_loaded(topic), _MostLoaded(self._sorted(topic), self._sizes)
        if self._sizes[most.members[-1]] - self._sizes[most.members[0]] <= 1:
            return False
        moved = False
        while (source := most.next_with(spare)) is not None:
            level, target = _take(least)
            if most.level - level <= 1:
                break
            self._give(spare[source].pop(), target)
            moved = True
        return moved


def _take(least: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the size and number of the least loaded member; its size increases by one."""
    size, turn, at = least[0]
    heapreplace(least, (size + 1, turn, at))
    return size, at


class _MostLoaded:
    """The members that give up partitions: members of one size take turns, from the last to the first.

    Args:
        members: the members by number of partitions.
        sizes: the numbers of partitions of all members; they change during the iteration.

    Attributes:
        level: the number of partitions that the members who take turns had at the start.
    """

    def __init__(self, members: list[int], sizes: list[int]) -> None:
        self.members = members
        self.level = sizes[members[-1]] + 1
        self._sizes = sizes
        self._first = self._end = len(members)
        self._next = self._end - 1

    def next_with(self, spare: Mapping[int, list[TopicPartition]]) -> int | None:
        """Return the next member that has partitions to give up; None if there is none."""
        while True:
            if self._next < self._first:
                self._go_down()
            if self._next < 0:
                return None
            at, self._next = self.members[self._next], self._next - 1
            if spare.get(at):
                return at
            # The member has none: move it to the end and remove it from the members who take turns.
            self._end -= 1
            self.members[self._next + 1], self.members[self._end] = self.members[self._end], at

    def _go_down(self) -> None:
        """Add the members with one partition less; if no member is left, continue with the next smaller size."""
        if self._end <= self._first and self._first:
            self.level = self._sizes[self.members[self._first - 1]]
        else:
            self.level -= 1
        while self._first and self._sizes[self.members[self._first - 1]] == self.level:
            self._first -= 1
        self._next = self._end - 1


__all__ = [
    "ASSIGNORS",
    "STICKY",
    "UNREADABLE",
    "Held",
    "Member",
    "Replica",
    "Snapshot",
    "algorithm_for",
    "asks_for_rebalance",
    "assign",
    "assign_cooperative",
    "assign_range",
    "assign_round_robin",
    "assign_server_range",
    "assign_sticky",
    "assign_uniform",
    "by_topic",
    "cooperative_past",
    "has_assignor",
    "knows_racks",
    "leader_rebalances",
    "member_of",
    "share_in_rack",
    "snapshot_of",
    "sticky_past",
    "topics_of",
]


RACKS_SINCE = (3, 5)  # KIP-881
STICKY = ("sticky", "cooperative-sticky")


class Assignor(NamedTuple):
    """An assignor: the first supported release, and the function."""

    since: tuple[int, ...]
    assign: Callable[[Topics, list[Member], str, Ids | None], Assignment]


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor((2, 4), lambda topics, members, release, ids: assign_range(topics, members)),
    "roundrobin": Assignor((2, 4), lambda topics, members, release, ids: assign_round_robin(topics, members)),
    "sticky": Assignor((2, 4), lambda topics, members, release, ids: assign_sticky(topics, members, release=release)),
    "cooperative-sticky": Assignor(
        (2, 4), lambda topics, members, release, ids: assign_cooperative(topics, members, release=release)
    ),
    "uniform": Assignor((4, 0), lambda topics, members, release, ids: assign_uniform(topics, members, ids=ids)),
    "server-range": Assignor((4, 0), lambda topics, members, release, ids: assign_server_range(topics, members)),
}


def assign(
    assignor: str,
    topics: Topics,
    members: Iterable[Member],
    *,
    release: str = NEWEST,
    racks: bool = True,
    ids: Ids | None = None,
) -> Assignment:
    """Assign partitions as an assignor of a release does.

    Args:
        assignor: a name in `ASSIGNORS`. Client assignors are named as in `partition.assignment.strategy` and JoinGroup;
            broker assignors are `uniform` and `server-range`, because `range` is the client's.
        topics, members: as for `assign_range`.
        release: the release of the leader's client or of the broker, such as "3.9.2".
        racks: False ignores all racks.
        ids: the ids of topics, for `uniform`; see `assign_uniform`.

    Returns:
        Member id -> partitions; before 3.5 the topics of a list may be in an order that differs from Kafka's.

    Raises:
        UnknownMessage: the assignor is unknown, or the release is not supported.
        CannotAssign: see `assign_sticky`.

    >>> orders, members = {0: ["b"], 1: ["a"]}, [Member("c1", ["t"], "a"), Member("c2", ["t"], "b")]
    >>> assign("range", {"t": orders}, members), assign("range", {"t": orders}, members, release="3.4.1")
    ({'c1': [('t', 1)], 'c2': [('t', 0)]}, {'c1': [('t', 0)], 'c2': [('t', 1)]})
    """
    if assignor not in ASSIGNORS:
        raise UnknownMessage("assignor", assignor, tuple(ASSIGNORS))
    since, function = ASSIGNORS[assignor]
    if not has_assignor(release, assignor):
        known = ("2.4", "2.8", "newest") if assignor in STICKY else (".".join(map(str, since)), "newest")
        raise UnknownMessage(f"release whose {assignor} assignor is known", release, known)
    members = [*members]
    if not racks or not knows_racks(release):
        members = [replace(member, rack=None) for member in members]
    return function(topics, members, release, ids)


def has_assignor(release: str, assignor: str) -> bool:
    """Whether the results of an assignor in a release are known.

    >>> has_assignor("2.6.0", "sticky"), has_assignor("2.8.0", "sticky"), has_assignor("3.9.0", "uniform")
    (False, True, False)
    """
    if assignor in STICKY:
        return knows_sticky(release)
    return release == NEWEST or numbers_in(release) >= ASSIGNORS[assignor].since


def knows_racks(release: str) -> bool:
    """Whether the assignors of a release use racks (KIP-881).

    >>> knows_racks("3.4.1"), knows_racks("3.5.0"), knows_racks("newest")
    (False, True, True)
    """
    return release == NEWEST or numbers_in(release) >= RACKS_SINCE


class Replica(NamedTuple):
    """A replica of a partition. An offline replica is on a broker that metadata does not list; its rack is unknown."""

    node_id: int
    rack: str | None = None
    online: bool = True


class Snapshot(NamedTuple):
    """Topics at one time: topic -> the replicas of each partition. `version` increases with each update."""

    version: int
    topics: Mapping[str, Sequence[Sequence[Replica]]]


def snapshot_of(state: ClusterState, version: int) -> Snapshot:
    """Return a snapshot of a cluster's state, as the leader stores it.

    >>> from kwire.cluster import Broker, Partition
    >>> state = ClusterState(brokers={1: Broker(1, rack="a")})
    >>> state.put(Partition("orders", 0, replicas=(1, 2)))
    >>> snapshot_of(state, 7).topics["orders"][0]
    [Replica(node_id=1, rack='a', online=True), Replica(node_id=2, rack=None, online=False)]
    """
    brokers = state.brokers or {}

    def replica(node: int) -> Replica:
        return Replica(node, brokers[node].rack) if node in brokers else Replica(node, online=False)

    topics = {name: state.partitions(name) for name in state.topics}
    return Snapshot(
        version,
        {name: [[replica(node) for node in one.replicas] for one in found] for name, found in topics.items()},
    )


def asks_for_rebalance(
    subscribed: Iterable[str],
    at_assignment: Snapshot,
    now: Snapshot,
    *,
    client_rack: str | None = None,
    release: str = NEWEST,
) -> bool:
    """Return whether the group's leader requests a rebalance because metadata changed (KIP-881).

    Args:
        subscribed: the topics of the group; others are ignored.
        at_assignment, now: the metadata when the group was assigned, and the current metadata.
        client_rack: `client.rack` of the leader; without one, racks are ignored.
        release: Kafka release of the leader. Before 4.4, brokers that go offline or come back change the racks.

    Returns:
        True if a topic was added or deleted, its number of partitions changed, or the racks of a partition changed.

    Raises:
        UnknownMessage: the release is unknown, or has no rack-aware assignors.

    >>> before = Snapshot(1, {"orders": [[Replica(1, "a")]]})
    >>> after = Snapshot(2, {"orders": [[Replica(2, "b")]]})
    >>> asks_for_rebalance(["orders"], before, after, client_rack="a")
    True
    >>> asks_for_rebalance(["orders"], before, after)
    False
    """
    same_racks = _covered if rules_of(release).offline_keeps_rack else _same
    if at_assignment.version == now.version:
        return False
    for topic in set(subscribed):
        former, present = at_assignment.topics.get(topic, ()), now.topics.get(topic, ())
        if len(former) != len(present):
            return True
        if client_rack and not all(map(same_racks, former, present)):
            return True
    return False


def _same(former: Sequence[Replica], present: Sequence[Replica]) -> bool:
    return {replica.rack for replica in former} == {replica.rack for replica in present}


def _covered(former: Sequence[Replica], present: Sequence[Replica]) -> bool:
    return _covers(present, former) and _covers(former, present)


def _covers(one: Sequence[Replica], other: Sequence[Replica]) -> bool:
    """Whether each rack of the other replicas is still present, or belongs to an offline broker that may return."""
    racks = {replica.rack for replica in one if replica.online}
    offline = {replica.node_id for replica in one if not replica.online}
    racked = (replica for replica in other if replica.online and replica.rack is not None)
    return all(replica.rack in racks or replica.node_id in offline for replica in racked)


def leader_rebalances(
    subscribed: Iterable[str], before: Snapshot, now: Snapshot, *, client_rack: str | None, release: str = NEWEST
) -> bool:
    """Return the result of `asks_for_rebalance` for any release: before 3.5, racks are ignored."""
    if knows_racks(release):
        return asks_for_rebalance(subscribed, before, now, client_rack=client_rack, release=release)
    return asks_for_rebalance(subscribed, before, now)


def share_in_rack(topics: Topics, members: Iterable[Member], assignment: Assignment) -> tuple[int, int]:
    """Count the assigned partitions of members with a rack: those with a replica in that rack, and all of them.

    >>> orders, members = {0: ["b"], 1: ["a"]}, [Member("c1", ["t"], "a")]
    >>> share_in_rack({"t": orders}, members, {"c1": [("t", 0), ("t", 1)]})
    (1, 2)
    """
    racks = {member.member_id: member.rack for member in members}
    near = every = 0
    for member_id, partitions in assignment.items():
        for topic, number in partitions if racks.get(member_id) else ():
            given = topics.get(topic, {})
            replicas = () if isinstance(given, int) else given.get(number, ())
            every += 1
            near += racks[member_id] in replicas
    return near, every
