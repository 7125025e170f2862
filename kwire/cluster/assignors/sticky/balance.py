"""Moves partitions to members with fewer partitions until the balance cannot improve.

Ports AbstractStickyAssignor.GeneralAssignmentBuilder.balance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from itertools import accumulate

from ....errors.refused import CannotAssign
from ...java.hash_order import int32
from ..members import TopicPartition
from ..releases import AssignorRules
from .evenness import Evenness
from .group_racks import GroupRacks
from .holdings import Holdings, Pile
from .movements import Movements
from .subscription_counts import Wishes

MOST_ROUNDS = 1000  # Kafka continues until nothing changes, which contradictory claims may prevent


class Balance:
    """Balances one group whose partitions are all assigned.

    Args:
        before: partition -> its owner in an earlier generation, which gets it back if this improves the balance.

    Attributes:
        result: member id -> partitions, after `run`.
        fixed: the members whose partitions cannot change.
        went_back: whether moves did not help and all were undone.
    """

    def __init__(
        self,
        assignor: str,
        wishes: Wishes,
        holdings: Holdings,
        racks: GroupRacks,
        rules: AssignorRules,
        before: Mapping[TopicPartition, str],
    ) -> None:
        self.result: dict[str, Pile] = {}
        self.fixed: dict[str, Pile] = {}
        self.went_back: bool = False
        self._assignor = assignor
        self._wishes = wishes
        self._holdings = holdings
        self._racks = racks
        self._rules = rules
        self._before = before
        self._movements = Movements()

    def run(self, every: Iterable[TopicPartition], added: Iterable[TopicPartition], starting: bool) -> None:
        """Balance the group.

        Args:
            every: all partitions; topics with few subscribers come first.
            added: partitions without a previous owner, which are moved first; empty if any partition must be revoked.
            starting: whether there was no previous assignment.
        """
        holdings = self._holdings
        # 1. Members and partitions without a choice take no part (canConsumerParticipateInReassignment).
        fixed = [member_id for member_id in holdings.piles if not self._may_move(member_id)]
        self.fixed = {member_id: holdings.set_aside(member_id) for member_id in fixed}
        former = {member_id: list(pile) for member_id, pile in holdings.piles.items()}
        self._even = Evenness(self._wishes, holdings, self._rules, self._assignor)
        # 2. Partitions without a previous owner are moved first, then all (performReassignments).
        self._improve(added)
        moved = self._improve(every)
        # 3. Moves that have not improved the score are undone (getBalanceScore).
        spread = _spread(holdings.piles.values())
        self.went_back = moved and not starting and spread >= _spread(former.values())
        if self.went_back:
            self.result = {member_id: Pile(partitions) for member_id, partitions in former.items()} | self.fixed
        else:
            self.result = holdings.piles | self.fixed

    def _may_move(self, member_id: str) -> bool:
        """Whether the partitions of a member can change."""
        pile = self._holdings.piles[member_id]
        if len(pile) < self._wishes.most(member_id):
            return True
        return any(self._wishes.may_move(partition[0]) for partition in pile)

    def _improve(self, partitions: Iterable[TopicPartition]) -> bool:
        """Try to move each partition until none moves; return whether any was moved."""
        wishes = self._wishes
        movable = [
            (topic, number)
            for topic, number in partitions
            if wishes.may_move(topic) or not 0 <= number < wishes.counts[topic]
        ]
        for done in range(MOST_ROUNDS):
            if not self._round(movable):
                return done > 0
        raise CannotAssign("no_rest", assignor=self._assignor, count=MOST_ROUNDS)

    def _round(self, partitions: list[TopicPartition]) -> bool:
        moved = False
        for partition in partitions:
            if self._even.is_reached():
                break
            target = self._target(partition)
            if target is not None:
                self._move(partition, target)
                moved = True
        return moved

    def _target(self, partition: TopicPartition) -> str | None:
        """Return the member that should get a partition from its holder; None if it should stay."""
        holdings = self._holdings
        count = self._size(holdings.holder[partition])
        before = self._before.get(partition)
        if before is not None and count > self._size(before) + 1:
            return before
        if partition[0] in self._even.odd and not self._another_member_has_fewer(partition, count):
            return None
        subscriber = holdings.choose_subscriber(partition[0])
        if subscriber is None or count <= self._size(subscriber) + 1:
            return None
        return subscriber

    def _another_member_has_fewer(self, partition: TopicPartition, count: int) -> bool:
        """Whether another subscriber has fewer partitions.

        Members are tested in Kafka's order; a member that cannot take part raises the error that Kafka raises.
        """
        wanted_by = self._wishes.wanted_by[partition[0]]
        racks = self._racks.of(partition)
        of_members = self._racks.of_members
        if of_members.get(self._holdings.holder[partition]) in racks:
            wanted_by = [member_id for member_id in wanted_by if of_members.get(member_id) in racks] + wanted_by
        return any(count > self._size(member_id) + 1 for member_id in wanted_by)

    def _move(self, partition: TopicPartition, target: str) -> None:
        holder = self._holdings.holder
        actual = self._movements.instead_of(partition, holder[partition], target)
        source = holder[actual]
        self._size(source)
        self._movements.note(actual, source, target)
        self._holdings.move(actual, source, target)
        self._even.record_move(actual, source, target)

    def _size(self, member_id: str) -> int:
        pile = self._holdings.piles.get(member_id)
        if pile is None:
            raise CannotAssign("holder_cannot_take_part", assignor=self._assignor)
        return len(pile)


def _spread(piles: Iterable[Sized]) -> int:
    """Return the sum of the size differences of all pairs of members, in Java's int arithmetic.

    Ports GeneralAssignmentBuilder.getBalanceScore.
    """
    sizes = sorted(len(pile) for pile in piles)
    below = accumulate(sizes, initial=0)
    return int32(sum(rank * size - sum_below for rank, (size, sum_below) in enumerate(zip(sizes, below, strict=False))))
