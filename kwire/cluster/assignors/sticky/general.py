"""The general algorithm, for members with different subscriptions.

Ports AbstractStickyAssignor.GeneralAssignmentBuilder; `balance` moves partitions until the balance cannot improve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...java.hash_order import STRINGS, HashOrder, hash_order_of
from ..members import Assignment, GroupSubscription, MemberData, TopicPartition
from ..releases import AssignorRules
from .balance import Balance
from .claims import Claims
from .group_racks import GroupRacks
from .holdings import Holdings, Pile
from .subscription_counts import Start, Wishes
from .topic_sets import not_among, numbers_of


def assign_general(
    assignor: str, group: GroupSubscription, start: Start, racks: GroupRacks, rules: AssignorRules
) -> Assignment:
    """Assign all partitions with the general algorithm.

    Raises:
        CannotAssign: members own partitions that do not exist, for which Kafka fails as well.
    """
    holdings = Holdings(start.piles, start.holder, start.wishes.wanted_by, racks.of_members)
    starting = holdings.most == 0
    _hand_out(start.unassigned, holdings, racks)
    balance = Balance(assignor, start.wishes, holdings, racks, rules, start.before)
    balance.run(start.every, [] if start.revoked else start.unassigned, starting)
    return group.answer({member_id: list(balance.result[member_id]) for member_id in _order(group, balance)})


def start_of(
    group: GroupSubscription, claims: Claims, racks: GroupRacks, past_of: Mapping[str, MemberData], newest: int
) -> Start:
    """Return the initial state of the general algorithm.

    Args:
        past_of: member id -> the partitions that it claims to have owned.
        newest: the highest generation; partitions of earlier generations may be returned to their former owners.
    """
    piles, revoked = _keep_partitions(group, claims, racks)
    wishes = Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    kept: dict[str, list[int]] = {topic: [] for topic in wishes.rarest_first}
    for pile in piles.values():
        numbers_of(pile, kept)
    unassigned = not_among(kept, {topic: group.topics[topic] for topic in wishes.rarest_first})
    holder = {partition: member_id for member_id, owned in claims.owned.items() for partition in owned}
    return Start(wishes, piles, holder, every, unassigned, revoked, _before(past_of, newest))


def _order(group: GroupSubscription, balance: Balance) -> HashOrder[str]:
    """Return the order of Kafka's map.

    Members that do not take part are removed from the map for a while; if balancing is undone, all members are.
    """
    order = hash_order_of(group.members, STRINGS)
    by_size = hash_order_of(group.members, STRINGS, len(group.members))
    apart = [member_id for member_id in by_size if member_id in balance.fixed]
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


def _keep_partitions(group: GroupSubscription, claims: Claims, racks: GroupRacks) -> tuple[dict[str, Pile], bool]:
    """Return the partitions that members keep, and whether a member loses an existing partition."""
    piles = {}
    revoked = False
    for member_id, owned in claims.owned.items():
        wanted = set(group.members[member_id].topics)
        suitable = (partition for partition in owned if partition[0] in wanted)
        keeps = [partition for partition in suitable if not racks.mismatch(member_id, partition)]
        piles[member_id] = Pile(keeps)
        revoked |= len(keeps) < len(owned)
    return piles, revoked


def _hand_out(partitions: Iterable[TopicPartition], holdings: Holdings, racks: GroupRacks) -> None:
    """Assign each partition to the member with the fewest partitions, preferably in one of its racks."""
    if racks.of_members:
        rest = []
        for partition in partitions:
            member_id = holdings.choose_subscriber(partition[0], racks.of(partition))
            if member_id is None:
                rest.append(partition)
            else:
                holdings.give(partition, member_id)
        partitions = rest
    for partition in partitions:
        member_id = holdings.choose_subscriber(partition[0])
        if member_id is not None:
            holdings.give(partition, member_id)


def _before(past_of: Mapping[str, MemberData], newest: int) -> dict[TopicPartition, str]:
    """Return the latest owner of each partition in the generations before the newest."""
    before: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, past in past_of.items():
        if past.generation < newest:
            for partition in past.partitions:
                if partition not in before or past.generation > before[partition][0]:
                    before[partition] = (past.generation, member_id)
    return {partition: member_id for partition, (_, member_id) in before.items()}
