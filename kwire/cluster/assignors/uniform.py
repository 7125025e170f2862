"""The broker's uniform assignor (KIP-848). Ports UniformHomogeneousAssignmentBuilder and
UniformHeterogeneousAssignmentBuilder.

Kafka orders topics by their ids, so the results equal those of 4.0 to 4.4 if ids are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heapreplace
from itertools import islice

from ..java.hash_order import INTEGERS, hash_order_of, int32
from .members import Assignment, GroupSubscription, Member, TopicPartition, Topics

MOST_ROUNDS = 16  # rounds of balancing over all topics; Kafka has the same limit
Ids = Mapping[str, bytes]  # topic -> its id, 16 bytes


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
    group = GroupSubscription(topics, members)
    former = _keep_valid(group)
    if len({frozenset(member.topics) for member in group.members.values()}) == 1:
        assignment = _fill_shares(group, former, ids)
    else:
        assignment = _Levels(group, former, ids).assign()
    return group.answer({member_id: sorted(partitions) for member_id, partitions in assignment.items()})


def uuid_hash(topic_id: bytes) -> int:
    r"""Return the hash code of Kafka's `Uuid`.

    >>> uuid_hash(bytes(15) + b"\x07")
    7
    """
    high = int.from_bytes(topic_id[:8], "big")
    low = int.from_bytes(topic_id[8:], "big")
    return int32((high ^ low) >> 32 ^ high ^ low)


def _keep_valid(group: GroupSubscription) -> dict[str, list[TopicPartition]]:
    """Return the partitions that each member owns of the topics that it subscribes to."""
    taken: set[TopicPartition] = set()
    former = group.nothing()
    for member_id, member in group.members.items():
        for partition in sorted(set(member.owned) - taken):
            if partition[0] in member.topics and partition[1] in group.topics.get(partition[0], ()):
                taken.add(partition)
                former[member_id].append(partition)
    return former


def _order_topics(topics: Iterable[str], ids: Ids | None) -> list[str]:
    """Return topics in the order of a HashSet of their ids; without ids, ordered by name."""
    names = sorted(topics)
    if ids is None:
        return names
    by_id = {ids[name]: name for name in names}
    return [by_id[topic_id] for topic_id in hash_order_of(by_id, uuid_hash)]


def _fill_shares(group: GroupSubscription, former: Assignment, ids: Ids | None) -> dict[str, set[TopicPartition]]:
    """Assign partitions to members that all subscribe to the same topics.

    Shares with one more partition go to members that already have as many, or else to the last members.

    1. Each member keeps its partitions up to its share (UniformHomogeneousAssignmentBuilder.maybeRevokePartitions).
    2. The others fill the shares of the members in turn (assignRemainingPartitions).
    """
    quota, more = divmod(sum(map(len, group.topics.values())), len(group.members))
    owned = {partition for partitions in former.values() for partition in partitions}
    every = ((topic, number) for topic in _order_topics(group.topics, ids) for number in group.topics[topic])
    free = [partition for partition in every if partition not in owned]
    assignment: dict[str, set[TopicPartition]] = {}
    shares: dict[str, int] = {}
    for turn, member_id in enumerate(group.members):
        has_more = more > 0 and (len(former[member_id]) > quota or len(group.members) - turn <= more)
        more -= has_more
        shares[member_id] = quota + has_more
        revoked = _list_surplus(former[member_id], shares[member_id], ids)
        assignment[member_id] = set(former[member_id]).difference(revoked)
        free += revoked
    rest = iter(free)
    for member_id, share in shares.items():
        assignment[member_id].update(islice(rest, share - len(assignment[member_id])))
    return assignment


def _list_surplus(partitions: list[TopicPartition], share: int, ids: Ids | None) -> list[TopicPartition]:
    """Return the partitions that a member gives up, in Kafka's order: those that come last in its maps."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    in_order = [
        (topic, number) for topic in _order_topics(numbers, ids) for number in hash_order_of(numbers[topic], INTEGERS)
    ]
    return in_order[share:]


class _Levels:
    """The algorithm for members with different subscriptions.

    First the least loaded member gets the next partition; then the most loaded members give up partitions to the least
    loaded. Members are numbered in the order of Kafka's map.
    """

    def __init__(self, group: GroupSubscription, former: Assignment, ids: Ids | None) -> None:
        self._names = list(group.members)
        self._owner = {partition: index for index, name in enumerate(self._names) for partition in former[name]}
        self._sizes = [len(former[name]) for name in self._names]
        self._topics = group.topics
        self._readers = {
            topic: [index for index, member in enumerate(group.members.values()) if topic in member.topics]
            for topic in group.topics
        }

        def sort_key(topic: str) -> tuple[float, int, int, int, str]:
            readers = len(self._readers[topic])
            topic_id = b"" if ids is None else ids[topic]
            high, low = (int.from_bytes(part, "big", signed=True) for part in (topic_id[:8], topic_id[8:]))
            return -len(group.topics[topic]) / readers, readers, high, low, topic

        self._order = sorted(group.topics, key=sort_key)

    def assign(self) -> dict[str, set[TopicPartition]]:
        """Assign all partitions."""
        for topic in self._order:
            heap = self._heap_of_subscribers(topic)
            for number in self._topics[topic]:
                if (topic, number) not in self._owner:
                    self._give((topic, number), _take(heap)[1])
        self._balance()
        assignment: dict[str, set[TopicPartition]] = {name: set() for name in self._names}
        for partition, index in self._owner.items():
            assignment[self._names[index]].add(partition)
        return assignment

    def _give(self, partition: TopicPartition, to: int) -> None:
        if partition in self._owner:
            self._sizes[self._owner[partition]] -= 1
        self._owner[partition] = to
        self._sizes[to] += 1

    def _heap_of_subscribers(self, topic: str) -> list[tuple[int, int, int]]:
        """Return the subscribers of a topic as a heap: number of partitions, rank among subscribers, member number."""
        heap = [(self._sizes[at], turn, at) for turn, at in enumerate(self._sort_subscribers(topic))]
        heapify(heap)
        return heap

    def _sort_subscribers(self, topic: str) -> list[int]:
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
        takers = self._heap_of_subscribers(topic)
        givers = _MostLoaded(self._sort_subscribers(topic), self._sizes)
        if self._sizes[givers.members[-1]] - self._sizes[givers.members[0]] <= 1:
            return False
        moved = False
        while (source := givers.next_with(spare)) is not None:
            level, target = _take(takers)
            if givers.level - level <= 1:
                break
            self._give(spare[source].pop(), target)
            moved = True
        return moved


def _take(heap: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the size and number of the least loaded member; its size increases by one."""
    size, turn, index = heap[0]
    heapreplace(heap, (size + 1, turn, index))
    return size, index


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
            index = self.members[self._next]
            self._next -= 1
            if spare.get(index):
                return index
            # The member has none: move it to the end and remove it from the members who take turns.
            self._end -= 1
            self.members[self._next + 1] = self.members[self._end]
            self.members[self._end] = index

    def _go_down(self) -> None:
        """Add the members with one partition less; if no member is left, continue with the next smaller size."""
        if self._end <= self._first and self._first:
            self.level = self._sizes[self.members[self._first - 1]]
        else:
            self.level -= 1
        while self._first and self._sizes[self.members[self._first - 1]] == self.level:
            self._first -= 1
        self._next = self._end - 1
