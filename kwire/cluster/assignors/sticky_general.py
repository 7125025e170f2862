"""The sticky algorithm where members subscribe to different topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..java_compat import STRINGS, HashOrder, hash_order_of
from .members import Assignment, Group, GroupRacks, Held, Rules, TopicPartition
from .ownership import Claims, not_among, numbers_of
from .sticky_balance import Balance
from .sticky_state import Holdings, Pile, Wishes


def assign_general(
    assignor: str,
    group: Group,
    claims: Claims,
    racks: GroupRacks,
    rules: Rules,
    held: Mapping[str, Held],
    newest: int,
) -> Assignment:
    """Assign all partitions.

    Args:
        held: member id -> what it says it held.
        newest: the highest generation there was; what was held in earlier ones may be given back.

    Raises:
        CannotAssign: members hold partitions that do not exist, and Kafka loses its way.
    """
    piles, revoked = _kept(group, claims, racks)
    wishes = Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    kept: dict[str, list[int]] = {topic: [] for topic in wishes.rarest_first}
    for pile in piles.values():
        numbers_of(pile, kept)
    left = not_among(kept, {topic: group.topics[topic] for topic in wishes.rarest_first})
    holder = {partition: one for one, owned in claims.owned.items() for partition in owned}
    holdings = Holdings(piles, holder, wishes.wanted_by, racks.of_members)
    starting = holdings.most == 0
    _hand_out(left, holdings, racks)
    balance = Balance(assignor, wishes, holdings, racks, rules, _before(held, newest))
    balance.run(every, [] if revoked else left, starting)
    return group.answer({member_id: list(balance.result[member_id]) for member_id in _order(group, balance)})


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
    """Return what members keep, and whether a member loses something that exists."""
    piles = {}
    revoked = False
    for member_id, owned in claims.owned.items():
        wanted = set(group.members[member_id].topics)
        keeps = [one for one in owned if one[0] in wanted and not racks.mismatch(member_id, one)]
        piles[member_id] = Pile(keeps)
        revoked |= len(keeps) < len(owned)
    return piles, revoked


def _hand_out(partitions: Iterable[TopicPartition], holdings: Holdings, racks: GroupRacks) -> None:
    """Give each partition to the member with least: of those in its racks first."""
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
    """Return who held partitions in an earlier generation than the newest: the latest of them."""
    before: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, past in held.items():
        if past.generation < newest:
            for partition in past.partitions:
                if partition not in before or past.generation > before[partition][0]:
                    before[partition] = (past.generation, member_id)
    return {partition: member_id for partition, (_, member_id) in before.items()}
