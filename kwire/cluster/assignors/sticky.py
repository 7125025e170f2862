"""The sticky assignors: members keep their partitions as far as balance and racks allow.

If all members subscribe to the same topics, `sticky_constrained` is used; otherwise the general algorithm. The
cooperative assignor withholds partitions that another member must revoke first (KIP-429).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ...errors.refused import CannotAssign
from ..java_compat import STRINGS, HashOrder, hash_order_of
from .members import (
    NEWEST,
    NO_GENERATION,
    Assignment,
    Claims,
    Group,
    GroupRacks,
    Held,
    Member,
    Rules,
    TopicPartition,
    Topics,
    not_among,
    numbers_of,
    rules_of,
    same_topics,
    same_topics_at_first,
)
from .sticky_balance import Balance
from .sticky_before_3_0 import assign_constrained_before_3_0, start_before_3_0
from .sticky_constrained import assign_constrained
from .sticky_state import Holdings, Pile, Start, Wishes


def assign_general(assignor: str, group: Group, start: Start, racks: GroupRacks, rules: Rules) -> Assignment:
    """Assign all partitions.

    Raises:
        CannotAssign: members own partitions that do not exist, for which Kafka fails as well.
    """
    holdings = Holdings(start.piles, start.holder, start.wishes.wanted_by, racks.of_members)
    starting = holdings.most == 0
    _hand_out(start.left, holdings, racks)
    balance = Balance(assignor, start.wishes, holdings, racks, rules, start.before)
    balance.run(start.every, [] if start.revoked else start.left, starting)
    return group.answer({member_id: list(balance.result[member_id]) for member_id in _order(group, balance)})


def start_of(group: Group, claims: Claims, racks: GroupRacks, held: Mapping[str, Held], newest: int) -> Start:
    """Return what the general algorithm begins with.

    Args:
        held: member id -> the partitions that it claims to have owned.
        newest: the highest generation; partitions of earlier generations may be returned to their former owners.
    """
    piles, revoked = _kept(group, claims, racks)
    wishes = Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    kept: dict[str, list[int]] = {topic: [] for topic in wishes.rarest_first}
    for pile in piles.values():
        numbers_of(pile, kept)
    left = not_among(kept, {topic: group.topics[topic] for topic in wishes.rarest_first})
    holder = {partition: one for one, owned in claims.owned.items() for partition in owned}
    return Start(wishes, piles, holder, every, left, revoked, _before(held, newest))


def _order(group: Group, balance: Balance) -> HashOrder[str]:
    """Return the order of Kafka's map: members that took no part left it for a while, all left it to go back."""
    order = hash_order_of(group.members, STRINGS)
    apart = [one for one in hash_order_of(group.members, STRINGS, len(group.members)) if one in balance.fixed]
    for member_id in apart:
        order.remove(member_id)
    if balance.went_back:
        copy = hash_order_of(order, STRINGS)
        for member_id in copy:
            order.remove(member_id)
        for member_id in copy:
            order.put(member_id)
    for member_id in hash_order_of(apart, STRINGS):
        order.put(member_id)
    return order


def _kept(group: Group, claims: Claims, racks: GroupRacks) -> tuple[dict[str, Pile], bool]:
    """Return what members keep, and whether a member loses an existing partition."""
    piles = {}
    revoked = False
    for member_id, owned in claims.owned.items():
        wanted = set(group.members[member_id].topics)
        keeps = [one for one in owned if one[0] in wanted and not racks.mismatch(member_id, one)]
        piles[member_id] = Pile(keeps)
        revoked |= len(keeps) < len(owned)
    return piles, revoked


def _hand_out(partitions: Iterable[TopicPartition], holdings: Holdings, racks: GroupRacks) -> None:
    """Assign each partition to the member with the fewest partitions, preferably in one of its racks."""
    if racks.of_members:
        rest = []
        for partition in partitions:
            member_id = holdings.poorest(partition[0], racks.of(partition))
            if member_id is None:
                rest.append(partition)
            else:
                holdings.give(partition, member_id)
        partitions = rest
    for partition in partitions:
        member_id = holdings.poorest(partition[0])
        if member_id is not None:
            holdings.give(partition, member_id)


def _before(held: Mapping[str, Held], newest: int) -> dict[TopicPartition, str]:
    """Return the latest owners of partitions in generations before the newest."""
    before: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, past in held.items():
        if past.generation < newest:
            for partition in past.partitions:
                if partition not in before or past.generation > before[partition][0]:
                    before[partition] = (past.generation, member_id)
    return {partition: member_id for partition, (_, member_id) in before.items()}


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
        topics, members: as for `assign_range`. The user data contains what a member owned.
        max_generation: the highest generation of earlier rebalances, if the leader keeps its assignor; from 3.0 on.
        release: Kafka release of the leader: 2.4, or from 2.8 on. 2.8, 3.0, 3.4, 3.5, 3.5.2 and 3.7.1 changed the
            results. Before 3.5, members must have no rack.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader.

    Raises:
        CannotAssign: there are no members, or they claim more partitions than exist.

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

    Arguments, returns and errors as for `assign_sticky`; but the owned partitions are in `owned` and `generation`, and
    partitions that change owners are not assigned: they are revoked now, and assigned in the next rebalance.

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


def algorithm_for(topics: Topics, members: Iterable[Member], release: str = NEWEST) -> str:
    """Return which algorithm the sticky assignors of a release use: "constrained" or "general".

    >>> algorithm_for({"a": 1, "b": 1}, [Member("c1", ["a"]), Member("c2", ["a", "b"])])
    'general'
    """
    differ = rules_of(release).equal_topics_differ
    return "constrained" if differ and same_topics(Group(topics, members)) else "general"


def sticky_past(member: Member) -> Held:
    """Return what a member owned according to the sticky assignor: the contents of its user data."""
    return member.user_data or Held()


def cooperative_past(member: Member) -> Held:
    """Return what a member owned according to the cooperative assignor; its user data has at most a generation."""
    if member.generation >= 0 or member.user_data is None:
        return Held(member.owned, max(member.generation, NO_GENERATION))
    return Held(member.owned, member.user_data.generation)


def _assign(
    assignor: str, group: Group, past: Past, max_generation: int, release: str
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    rules = rules_of(release)
    if not group.members:
        raise CannotAssign("division_by_zero", assignor=assignor)
    if not rules.all_generations_own:  # generations in subscriptions, as racks, are not read yet (KIP-792)
        group.members = {one: replace(member, generation=NO_GENERATION) for one, member in group.members.items()}
    held = {member_id: past(member) for member_id, member in group.members.items()}
    known = max_generation if rules.newest_generation_owns else NO_GENERATION  # 2.8 does not store it
    newest = max(known, NO_GENERATION, *(one.generation for one in held.values()))
    racks = GroupRacks(group)
    constrained = rules.equal_topics_differ and same_topics(group)
    if not constrained and not rules.newest_generation_owns:
        read = _read_again(assignor, group, held, rules)
        return assign_general(assignor, group, start_before_3_0(group, read, rules), racks, rules), None
    claims = Claims(group, held, rules, newest)
    if not constrained:
        return assign_general(assignor, group, start_of(group, claims, racks, held, newest), racks, rules), None
    if not rules.newest_generation_owns:
        return assign_constrained_before_3_0(assignor, group, claims)
    return assign_constrained(assignor, group, claims, racks, rules)


def _read_again(assignor: str, group: Group, held: Mapping[str, Held], rules: Rules) -> dict[str, Held]:
    """Return what the general algorithm before 3.0 reads.

    Kafka 2.8 reads user data until it finds different subscriptions. What it has read by then is empty for the general
    algorithm: such members of `sticky` own nothing, and those of `cooperative-sticky` have no generation.
    """
    if not rules.equal_topics_differ:
        return {one: Held(past.partitions) for one, past in held.items()} if assignor != "sticky" else {**held}
    lost = dict.fromkeys(same_topics_at_first(group), Held())
    if assignor != "sticky":
        lost = {one: Held(held[one].partitions) for one in lost}
    return {**held, **lost}


def _changing_hands(group: Group, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return the partitions that are assigned to one member and must be revoked from another."""
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, assigned in assignment.items():
        owned, now = set(group.members[member_id].owned), set(assigned)
        added.update((partition, member_id) for partition in assigned if partition not in owned)
        revoked |= owned - now
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
