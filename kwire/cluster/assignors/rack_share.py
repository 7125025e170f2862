"""The share of partitions that members read inside their rack."""

from __future__ import annotations

from collections.abc import Iterable

from .members import Assignment, Member, Topics


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
