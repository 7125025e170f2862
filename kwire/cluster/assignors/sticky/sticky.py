"""The sticky and the cooperative assignor: which algorithm runs, and what a member owned before.

If all members subscribe to the same topics, `constrained` is used, otherwise `general`. The cooperative assignor
withholds partitions that another member must revoke first (KIP-429).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ....errors.refused import CannotAssign
from ..members import NO_GENERATION, Assignment, GroupSubscription, Member, MemberData, TopicPartition, Topics
from ..releases import NEWEST, AssignorRules, rules_of
from .before_3_0 import assign_constrained_before_3_0, start_before_3_0
from .claims import Claims
from .constrained import Past, assign_constrained
from .general import assign_general, start_of
from .group_racks import GroupRacks
from .topic_sets import same_topics, same_topics_at_first


def assign_sticky(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `StickyAssignor` does.

    Args:
        topics, members: as for `assign_range`. A member's user data contains the partitions that it owned.
        max_generation: the highest generation of earlier rebalances, used from 3.0 on if the leader keeps its assignor.
        release: Kafka release of the leader: 2.4, or from 2.8 on. The results changed in 2.8, 3.0, 3.4, 3.5, 3.5.2 and
            3.7.1. Before 3.5, members must not have racks.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader.

    Raises:
        CannotAssign: there are no members, or they claim more partitions than exist.

    >>> held = MemberData([("a", 1), ("a", 2)], generation=1)
    >>> assign_sticky({"a": 3}, [Member("c1", ["a"], user_data=held), Member("c2", ["a"])])
    {'c1': [('a', 1), ('a', 2)], 'c2': [('a', 0)]}

    Source: KIP-54, KIP-341 (generations), KIP-881 (racks).
    """
    return _assign("sticky", GroupSubscription(topics, members), sticky_past, max_generation, release)[0]


def assign_cooperative(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `CooperativeStickyAssignor` does.

    For arguments, result and errors see `assign_sticky`. But owned partitions are in `owned` and `generation`, and
    partitions that change their owner are not assigned: they are revoked now, and assigned in the next rebalance.

    >>> members = [Member("c1", ["a"], generation=1, owned=[("a", 0), ("a", 1)]), Member("c2", ["a"])]
    >>> assign_cooperative({"a": 2}, members)
    {'c1': [('a', 0)], 'c2': []}

    Source: KIP-429, KIP-792 (generation in the subscription), KIP-881 (racks).
    """
    group = GroupSubscription(topics, members)
    assignment, transferring = _assign("cooperative-sticky", group, cooperative_past, max_generation, release)
    if transferring is None:
        transferring = _changing_hands(group, assignment)
    for partition, member_id in transferring.items():
        if partition in assignment[member_id]:
            assignment[member_id].remove(partition)
    return assignment


def algorithm_for(topics: Topics, members: Iterable[Member], release: str = NEWEST) -> str:
    """Return the algorithm that the sticky assignors of a release use: "constrained" or "general".

    >>> algorithm_for({"a": 1, "b": 1}, [Member("c1", ["a"]), Member("c2", ["a", "b"])])
    'general'
    """
    differ = rules_of(release).equal_topics_differ
    return "constrained" if differ and same_topics(GroupSubscription(topics, members)) else "general"


def sticky_past(member: Member) -> MemberData:
    """Return the partitions that a member owned according to the sticky assignor, from its user data."""
    return member.user_data or MemberData()


def cooperative_past(member: Member) -> MemberData:
    """Return the partitions that a member owned according to the cooperative assignor.

    The user data of this assignor contains at most a generation.
    """
    if member.generation >= 0 or member.user_data is None:
        return MemberData(member.owned, max(member.generation, NO_GENERATION))
    return MemberData(member.owned, member.user_data.generation)


def _assign(
    assignor: str, group: GroupSubscription, past: Past, max_generation: int, release: str
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    rules = rules_of(release)
    if not group.members:
        raise CannotAssign("division_by_zero", assignor=assignor)
    if not rules.all_generations_own:  # as racks, generations in subscriptions are not read yet (KIP-792)
        group.members = {
            member_id: replace(member, generation=NO_GENERATION) for member_id, member in group.members.items()
        }
    past_of = {member_id: past(member) for member_id, member in group.members.items()}
    known = max_generation if rules.newest_generation_owns else NO_GENERATION  # 2.8 does not store the generation
    newest = max(known, NO_GENERATION, *(former.generation for former in past_of.values()))
    racks = GroupRacks(group)
    constrained = rules.equal_topics_differ and same_topics(group)
    if not constrained and not rules.newest_generation_owns:
        reread = _read_again(assignor, group, past_of, rules)
        return assign_general(assignor, group, start_before_3_0(group, reread, rules), racks, rules), None
    claims = Claims(group, past_of, rules, newest)
    if not constrained:
        return assign_general(assignor, group, start_of(group, claims, racks, past_of, newest), racks, rules), None
    if not rules.newest_generation_owns:
        return assign_constrained_before_3_0(assignor, group, claims)
    return assign_constrained(assignor, group, claims, racks, rules)


def _read_again(
    assignor: str, group: GroupSubscription, past_of: Mapping[str, MemberData], rules: AssignorRules
) -> dict[str, MemberData]:
    """Return the partitions that the general algorithm before 3.0 reads from subscriptions.

    Kafka 2.8 reads user data until it finds different subscriptions. For the general algorithm, the user data read by
    then is empty: these members own nothing with `sticky`, and have no generation with `cooperative-sticky`.
    """
    if not rules.equal_topics_differ:
        if assignor == "sticky":
            return {**past_of}
        return {member_id: MemberData(past.partitions) for member_id, past in past_of.items()}
    lost = dict.fromkeys(same_topics_at_first(group), MemberData())
    if assignor != "sticky":
        lost = {member_id: MemberData(past_of[member_id].partitions) for member_id in lost}
    return {**past_of, **lost}


def _changing_hands(group: GroupSubscription, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return the partitions that are assigned to one member and must be revoked from another one (KIP-429).

    Ports CooperativeStickyAssignor.computePartitionsTransferringOwnership.
    """
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, assigned in assignment.items():
        owned = set(group.members[member_id].owned)
        added.update((partition, member_id) for partition in assigned if partition not in owned)
        revoked |= owned.difference(assigned)
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
