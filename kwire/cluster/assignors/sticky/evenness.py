"""When a group is as even as it can be."""

from __future__ import annotations

from collections import Counter

from ....errors.refused import CannotAssign
from ..members import TopicPartition
from ..releases import AssignorRules
from .holdings import Holdings
from .subscription_counts import Wishes


class Evenness:
    """The balance test for one group.

    Args:
        assignor: the name of the assignor, for errors.

    Attributes:
        odd: topics with a partition that has no owner or several, or with a subscriber that cannot take part.
    """

    def __init__(self, wishes: Wishes, holdings: Holdings, rules: AssignorRules, assignor: str) -> None:
        self._wishes = wishes
        self._holdings = holdings
        self._assignor = assignor
        self._slack = 1 if rules.one_more_is_balanced else 0
        self._reached: bool | None = None
        self._witness: tuple[str, str, str] | None = None
        self._holders: dict[str, Counter[str]] = {topic: Counter() for topic in wishes.counts}
        self._count()
        self.odd: set[str] = {topic for topic in wishes.counts if self._is_odd(topic)}

    def is_reached(self) -> bool:
        """Whether no move can improve the balance, as GeneralAssignmentBuilder.isBalanced."""
        if not self._holdings.piles:
            raise CannotAssign("nobody_can_take_part", assignor=self._assignor)
        if self._reached is None:
            self._reached = self._holdings.least >= self._holdings.most - 1 or not (
                self._witness_holds() or self._find_difference()
            )
        return self._reached

    def record_move(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record a move."""
        holders = self._holders[partition[0]]
        holders[source] -= 1
        holders[target] += 1
        self._reached = None

    def _count(self) -> None:
        self._twice: set[str] = set()
        for member_id, pile in self._holdings.piles.items():
            for partition in pile:
                topic, number = partition
                if 0 <= number < self._wishes.counts[topic]:
                    self._holders[topic][member_id] += 1
                    if self._holdings.holder[partition] != member_id or pile.count(partition) > 1:
                        self._twice.add(topic)

    def _is_odd(self, topic: str) -> bool:
        piles = self._holdings.piles
        wanted_by = self._wishes.wanted_by[topic]
        taking_part = sum(member_id in piles for member_id in wanted_by)
        return taking_part > 0 and (
            topic in self._twice
            or taking_part < len(wanted_by)
            or self._holders[topic].total() < self._wishes.counts[topic]
        )

    def _witness_holds(self) -> bool:
        if self._witness is None:
            return False
        poor, topic, rich = self._witness
        piles = self._holdings.piles
        count = len(piles[poor])
        return (
            count + self._slack < len(piles[rich])
            and self._holders[topic][rich] > 0
            and count != self._wishes.most(poor)
        )

    def _find_difference(self) -> bool:
        most_loaded: dict[str, str | None] = {}
        piles = self._holdings.piles
        for poor in self._holdings:
            count = len(piles[poor])
            if count == self._wishes.most(poor):
                continue
            for topic in self._wishes.wants[poor]:
                if topic in self.odd:
                    if self._differs(poor, topic):
                        return True
                    continue
                if topic not in most_loaded:
                    most_loaded[topic] = self._find_largest_holder(topic)
                rich = most_loaded[topic]
                if rich is not None and count + self._slack < len(piles[rich]):
                    self._witness = None if self.odd else (poor, topic, rich)
                    return True
        return False

    def _find_largest_holder(self, topic: str) -> str | None:
        piles = self._holdings.piles
        return max(
            (member_id for member_id, count in self._holders[topic].items() if count > 0),
            key=lambda member_id: len(piles[member_id]),
            default=None,
        )

    def _differs(self, poor: str, topic: str) -> bool:
        """Check each partition of a topic; if several members hold it, the last one counts."""
        piles = self._holdings.piles
        own = piles[poor]
        for number in range(self._wishes.counts[topic]):
            partition = (topic, number)
            if partition in own:
                continue
            rich = None
            for pile in piles.values():
                if partition in pile:
                    rich = pile
            if rich is None:
                raise CannotAssign("holder_cannot_take_part", assignor=self._assignor)
            if len(own) + self._slack < len(rich):
                return True
        return False
