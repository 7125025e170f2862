"""Client assignors by their configured names, for each Kafka release.

Before 3.5 (KIP-881), assignors ignore racks. The results of `range` and `roundrobin` without racks are the same from
2.4 to 4.4; the sticky assignors are supported from 3.4 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ...errors import UnknownMessage
from .members import NEWEST, Assignment, Member, Topics, numbers_in
from .range_and_round_robin import assign_range, assign_round_robin
from .rebalance_trigger import Snapshot, asks_for_rebalance
from .sticky import assign_cooperative, assign_sticky

RACKS_SINCE = (3, 5)  # KIP-881


class Assignor(NamedTuple):
    """An assignor: the first supported release, and its function."""

    since: tuple[int, ...]
    assign: Callable[[Topics, list[Member], str], Assignment]


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor((2, 4), lambda topics, members, release: assign_range(topics, members)),
    "roundrobin": Assignor((2, 4), lambda topics, members, release: assign_round_robin(topics, members)),
    "sticky": Assignor((3, 4), lambda topics, members, release: assign_sticky(topics, members, release=release)),
    "cooperative-sticky": Assignor(
        (3, 4), lambda topics, members, release: assign_cooperative(topics, members, release=release)
    ),
}


def assign(
    assignor: str, topics: Topics, members: Iterable[Member], *, release: str = NEWEST, racks: bool = True
) -> Assignment:
    """Assign partitions as an assignor of a release does.

    Args:
        assignor: a name in `ASSIGNORS`, as in `partition.assignment.strategy` and JoinGroup.
        topics, members: as for `assign_range`.
        release: of the leader's client, such as "3.9.2".
        racks: False ignores all racks.

    Returns:
        Member id -> partitions; before 3.5 the topics of a list may be in another order than Kafka's.

    Raises:
        UnknownMessage: there is no such assignor, or this release is not supported.
        CannotAssign: as `assign_sticky`.

    >>> orders, members = {0: ["b"], 1: ["a"]}, [Member("c1", ["t"], "a"), Member("c2", ["t"], "b")]
    >>> assign("range", {"t": orders}, members), assign("range", {"t": orders}, members, release="3.4.1")
    ({'c1': [('t', 1)], 'c2': [('t', 0)]}, {'c1': [('t', 0)], 'c2': [('t', 1)]})
    """
    if assignor not in ASSIGNORS:
        raise UnknownMessage("assignor", assignor, tuple(ASSIGNORS))
    since, function = ASSIGNORS[assignor]
    if release != NEWEST and numbers_in(release) < since:
        first = ".".join(map(str, since))
        raise UnknownMessage(f"release whose {assignor} assignor is known", release, (f"{first}.0", "newest"))
    members = [*members]
    if not racks or not knows_racks(release):
        members = [replace(member, rack=None) for member in members]
    return function(topics, members, release)


def knows_racks(release: str) -> bool:
    """Whether the assignors of a release use racks (KIP-881).

    >>> knows_racks("3.4.1"), knows_racks("3.5.0"), knows_racks("newest")
    (False, True, True)
    """
    return release == NEWEST or numbers_in(release) >= RACKS_SINCE


def leader_rebalances(
    subscribed: Iterable[str], before: Snapshot, now: Snapshot, *, client_rack: str | None, release: str = NEWEST
) -> bool:
    """As `asks_for_rebalance`, for any release: before 3.5 racks are ignored."""
    if knows_racks(release):
        return asks_for_rebalance(subscribed, before, now, client_rack=client_rack, release=release)
    return asks_for_rebalance(subscribed, before, now)


def share_in_rack(topics: Topics, members: Iterable[Member], assignment: Assignment) -> tuple[int, int]:
    """Count the assigned partitions whose member has a rack: those with a replica in it, and all of them.

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
