"""The round-robin assignor: partitions of all topics are dealt to the members in turn. Ports RoundRobinAssignor."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors.refused import CannotAssign
from ..java.hash_order import utf16
from .members import Assignment, GroupSubscription, Member, Topics
from .range import in_order


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
    group = GroupSubscription(topics, members)
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
