"""The assignors of consumers by the names that clients configure, and what they do in which release of Kafka.

Before 3.5 (KIP-881) no assignor knows racks. Who gets which partition from `range` and `roundrobin` without racks is
the same from 2.4 to 4.4; the sticky ones are known from 3.4 on.
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
    """An assignor: the first release whose answers are known here, and what computes them."""

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
        assignor: a name in `ASSIGNORS`, as `partition.assignment.strategy` and JoinGroup have it.
        topics, members: as `assign_range` takes them.
        release: of the leader's client, such as "3.9.2".
        racks: False ignores all racks, as if no member had one.

    Returns:
        Member id -> partitions; before 3.5 the topics of one list may stand in another order than Kafka's.

    Raises:
        UnknownMessage: there is no such assignor, or its answers in this release are not known.
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
    """Whether the assignors of a release know racks (KIP-881).

    >>> knows_racks("3.4.1"), knows_racks("3.5.0"), knows_racks("newest")
    (False, True, True)
    """
    return release == NEWEST or numbers_in(release) >= RACKS_SINCE


def leader_rebalances(
    subscribed: Iterable[str], before: Snapshot, now: Snapshot, *, client_rack: str | None, release: str = NEWEST
) -> bool:
    """As `asks_for_rebalance`, of any release: before 3.5 racks make no difference."""
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
