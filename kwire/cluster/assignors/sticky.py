"""The sticky assignors: members keep what they have as far as balance and racks allow.

Where all members want the same topics, `sticky_constrained`; else `sticky_general`. The cooperative assignor
takes back what another member must let go of first (KIP-429). Knows what goes where, not how it is worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...errors.refused import CannotAssign
from .members import (
    NEWEST,
    NO_GENERATION,
    Assignment,
    Group,
    GroupRacks,
    Held,
    Member,
    TopicPartition,
    Topics,
    rules_of,
)
from .ownership import Claims, same_topics
from .sticky_constrained import assign_constrained
from .sticky_general import assign_general

Past = Callable[[Member], Held]


def assign_sticky(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `StickyAssignor` does.

    Args:
        topics, members: as `assign_range` takes them. What a member held stands in its user data.
        max_generation: the highest generation of earlier rebalances, for a leader that keeps its assignor.
        release: of the leader's Kafka, from 3.5 on: before 3.5.2 and 3.7.1 answers differ.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader.

    Raises:
        CannotAssign: there are no members, or what they say they hold is more than there is.

    >>> held = Held([("a", 1), ("a", 2)], generation=1)
    >>> assign_sticky({"a": 3}, [Member("c1", ["a"], user_data=held), Member("c2", ["a"])])
    {'c1': [('a', 1), ('a', 2)], 'c2': [('a', 0)]}

    Source: KIP-54, KIP-341 (generations), KIP-881 (racks).
    """
    return _assign("sticky", Group(topics, members), sticky_past, max_generation, release)[0]


def assign_cooperative(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `CooperativeStickyAssignor` does.

    Arguments, returns and errors as `assign_sticky`; but what a member held stands in `owned` and `generation`, and
    partitions that have to change hands are assigned to nobody: they are revoked now, and the next rebalance gives
    them away.

    >>> members = [Member("c1", ["a"], generation=1, owned=[("a", 0), ("a", 1)]), Member("c2", ["a"])]
    >>> assign_cooperative({"a": 2}, members)
    {'c1': [('a', 0)], 'c2': []}

    Source: KIP-429, KIP-792 (generation in the subscription), KIP-881 (racks).
    """
    group = Group(topics, members)
    assignment, transferring = _assign("cooperative-sticky", group, cooperative_past, max_generation, release)
    if transferring is None:
        transferring = _changing_hands(group, assignment)
    for partition, member_id in transferring.items():
        if partition in assignment[member_id]:
            assignment[member_id].remove(partition)
    return assignment


def algorithm_for(topics: Topics, members: Iterable[Member]) -> str:
    """Say which algorithm the sticky assignors take: "constrained" or "general".

    >>> algorithm_for({"a": 1, "b": 1}, [Member("c1", ["a"]), Member("c2", ["a", "b"])])
    'general'
    """
    return "constrained" if same_topics(Group(topics, members)) else "general"


def sticky_past(member: Member) -> Held:
    """Return what the sticky assignor takes a member to have held: what its user data says."""
    return member.user_data or Held()


def cooperative_past(member: Member) -> Held:
    """Return what the cooperative assignor takes a member to have held; its user data has a generation at most."""
    if member.generation >= 0 or member.user_data is None:
        return Held(member.owned, max(member.generation, NO_GENERATION))
    return Held(member.owned, member.user_data.generation)


def _assign(
    assignor: str, group: Group, past: Past, max_generation: int, release: str
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    rules = rules_of(release)
    if not group.members:
        raise CannotAssign("division_by_zero", assignor=assignor)
    held = {member_id: past(member) for member_id, member in group.members.items()}
    claims = Claims(group, held, rules)
    racks = GroupRacks(group)
    if same_topics(group):
        return assign_constrained(assignor, group, claims, racks, rules)
    newest = max(max_generation, NO_GENERATION, *(one.generation for one in held.values()))
    return assign_general(assignor, group, claims, racks, rules, held, newest), None


def _changing_hands(group: Group, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return what is assigned to one member and has to be revoked from another."""
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, assigned in assignment.items():
        owned, now = set(group.members[member_id].owned), set(assigned)
        added.update((partition, member_id) for partition in assigned if partition not in owned)
        revoked |= owned - now
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
