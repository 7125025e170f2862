"""Kafka's consumer assignors of clients and of brokers (KIP-848), which distribute partitions among the members of a
group, with and without racks (KIP-881).

They are pure functions on values; the results equal Kafka's, including the order of each list.
Before 3.5 (KIP-881), assignors ignore racks. The results of `range` and `roundrobin` without racks are the same from
2.4 to 4.4; the sticky assignors are supported in 2.4 and from 2.8 on, those of brokers (`uniform`, `server-range`) from
4.0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...errors import UnknownMessage
from ..state import ClusterState
from .members import (
    NEWEST,
    UNREADABLE,
    Assignment,
    Held,
    Member,
    Topics,
    by_topic,
    knows_sticky,
    member_of,
    numbers_in,
    rules_of,
    topics_of,
)
from .range_round_robin_uniform import Ids, assign_range, assign_round_robin, assign_server_range, assign_uniform
from .sticky import algorithm_for, assign_cooperative, assign_sticky, cooperative_past, sticky_past

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
    """An assignor: the first supported release, and its function."""

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
        assignor: a name in `ASSIGNORS`: of a client's as in `partition.assignment.strategy` and JoinGroup, of a
            broker's `uniform` or, as `range` is the client's, `server-range`.
        topics, members: as for `assign_range`.
        release: of the leader's client or of the broker, such as "3.9.2".
        racks: False ignores all racks.
        ids: of topics, for `uniform`, as for `assign_uniform`.

    Returns:
        Member id -> partitions; before 3.5 the topics of a list may be in another order than Kafka's.

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
        release: Kafka release of the leader. Before 4.4, a broker that goes offline or comes back changes the racks.

    Returns:
        True if a topic was added, deleted or has another number of partitions, or the racks of a partition changed.

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
    """Whether each rack of the other side is still present, or its broker is offline and may return."""
    racks = {replica.rack for replica in one if replica.online}
    offline = {replica.node_id for replica in one if not replica.online}
    racked = (replica for replica in other if replica.online and replica.rack is not None)
    return all(replica.rack in racks or replica.node_id in offline for replica in racked)


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
