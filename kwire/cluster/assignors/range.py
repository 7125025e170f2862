"""The range assignor: each topic is split into consecutive ranges, with racks since KIP-881.

Ports RangeAssignor. The broker's `range` (KIP-848) is the same without racks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from ..java.hash_order import utf16
from .members import Assignment, GroupSubscription, Member, Racks, Topics, racks_matter

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

    Source: KIP-881 (racks), KIP-345 (static members keep their position). The steps of RangeAssignor.assignPartitions:

    1. Topics with racks that matter are matched first (assignWithRackMatching).
    2. Ranges of what remains follow, regardless of racks (assignRanges).
    3. Matching by rack breaks the order of topics and partitions, so each member's list is sorted.
    """
    group = GroupSubscription(topics, members)
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
        self.topic = topic
        self.numbers = numbers
        self.consumers = consumers
        self.racks = racks
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
        remaining = [number for number in self.numbers if number not in self._taken]
        start = 0
        for consumer in self.consumers:
            if start == len(remaining):
                break
            run = remaining[start : start + self.room(consumer)]
            if run:
                self.give(consumer, run, assignment)
                start += len(run)

    def fill_by_rack(self, assignment: Assignment) -> None:
        """Assign partitions to members in their racks, up to their share; a member without a rack matches all racks."""
        remaining: dict[str | None, Iterator[int]] = {}
        for consumer, rack in self.consumers.items():
            if rack not in remaining:
                remaining[rack] = self._yield_remaining(rack)
            run = list(islice(remaining[rack], self.room(consumer)))
            if run:
                self.give(consumer, run, assignment)

    def _yield_remaining(self, rack: str | None) -> Iterator[int]:
        for number in self.numbers:
            if number not in self._taken and (rack is None or rack in self.racks[number]):
                yield number


def _shares(group: GroupSubscription) -> list[_Share]:
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
        uses_racks = group.has_racks and any(consumers.values())
        racks = group.racks(topic) if uses_racks else {}
        shares.append(_Share(topic, numbers, consumers, racks))
    return shares


def in_order(members: Iterable[Member]) -> list[Member]:
    """Sort members as Kafka does: static ones first, by instance id, then the others by member id.

    Ports AbstractPartitionAssignor.MemberInfo.compareTo (KIP-345).
    """
    return sorted(members, key=lambda member: _sort_key(member.member_id, member.group_instance_id))


def _sort_key(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    return (instance_id is None, utf16(member_id if instance_id is None else instance_id))


def _match_racks(shares: list[_Share], assignment: Assignment) -> None:
    """Assign partitions to members in their racks, as RangeAssignor.assignWithRackMatching does (KIP-881).

    Topics with equal subscribers and numbers of partitions stay co-partitioned: their partitions n go to one member.
    """
    together: dict[tuple[frozenset[tuple[str, str | None]], int], list[_Share]] = {}
    for share in shares:
        together.setdefault((frozenset(share.consumers.items()), len(share.racks)), []).append(share)
    for group in together.values():
        if len(group) > 1:
            _fill_together(group, assignment)
        elif group[0].needs_racks:
            group[0].fill_by_rack(assignment)


def _fill_together(shares: list[_Share], assignment: Assignment) -> None:
    """Assign partition n of all topics to the first member whose rack has a replica of each of these partitions.

    Ports RangeAssignor.assignCoPartitionedWithRackMatching.
    """
    waiting: dict[str | None, deque[tuple[int, str]]] = {}
    for position, (consumer, rack) in enumerate(shares[0].consumers.items()):
        waiting.setdefault(rack, deque()).append((position, consumer))
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
    return assign_range(topics, [replace(member, rack=None) for member in members])
