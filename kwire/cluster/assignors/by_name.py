"""Runs an assignor by its name and release."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ...errors import UnknownMessage
from .members import Assignment, Member, Topics
from .range import assign_range, assign_server_range
from .releases import NEWEST, knows_sticky, numbers_in
from .round_robin import assign_round_robin
from .sticky.sticky import assign_cooperative, assign_sticky
from .uniform import Ids, assign_uniform

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
