"""Balancing of the general sticky algorithm: moves partitions to members with fewer until no move improves the
balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from itertools import accumulate

from ...errors.refused import CannotAssign
from ..java_compat import int32
from .members import GroupRacks, Rules, TopicPartition
from .sticky_state import Holdings, Movements, Pile, Wishes


class Evenness:
    """The balance test for one group.

    Args:
        assignor: its name, for errors.

    Attributes:
        odd: topics of which a partition has no holder or several, or that a member wants who cannot take part.
    """

    def __init__(self, wishes: Wishes, holdings: Holdings, rules: Rules, assignor: str) -> None:
        self._wishes, self._holdings, self._assignor = wishes, holdings, assignor
        self._slack = 1 if rules.one_more_is_balanced else 0
        self._reached: bool | None = None
        self._witness: tuple[str, str, str] | None = None
        self._holders: dict[str, Counter[str]] = {topic: Counter() for topic in wishes.counts}
        self._count()
        self.odd: set[str] = {topic for topic in wishes.counts if self._is_odd(topic)}

    def reached(self) -> bool:
        """Whether no move can improve the balance."""
        if not self._holdings.piles:
            raise CannotAssign("nobody_can_take_part", assignor=self._assignor)
        if self._reached is None:
            self._reached = self._holdings.least >= self._holdings.most - 1 or not (
                self._witness_holds() or self._find_difference()
            )
        return self._reached

    def moved(self, partition: TopicPartition, source: str, target: str) -> None:
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
        piles, wanted_by = self._holdings.piles, self._wishes.wanted_by[topic]
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
        richest: dict[str, str | None] = {}
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
                if topic not in richest:
                    richest[topic] = self._richest(topic)
                rich = richest[topic]
                if rich is not None and count + self._slack < len(piles[rich]):
                    self._witness = None if self.odd else (poor, topic, rich)
                    return True
        return False

    def _richest(self, topic: str) -> str | None:
        piles = self._holdings.piles
        return max(
            (one for one, count in self._holders[topic].items() if count > 0),
            key=lambda one: len(piles[one]),
            default=None,
        )

    def _differs(self, poor: str, topic: str) -> bool:
        """Look at each partition of a topic; where several hold it, the last one counts."""
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


MOST_ROUNDS = 1000  # Kafka continues until nothing changes, which contradictory claims may prevent


class Balance:
    """One group whose partitions are all assigned.

    Args:
        before: partition -> its owner in an earlier generation, which gets it back if that improves the balance.

    Attributes:
        result: member id -> partitions, once it has run.
        fixed: the members whose partitions cannot change.
        went_back: whether moves did not help, so that all were undone.
    """

    def __init__(
        self,
        assignor: str,
        wishes: Wishes,
        holdings: Holdings,
        racks: GroupRacks,
        rules: Rules,
        before: Mapping[TopicPartition, str],
    ) -> None:
        self.result: dict[str, Pile] = {}
        self.fixed: dict[str, Pile] = {}
        self.went_back: bool = False
        self._assignor, self._wishes, self._holdings, self._racks = assignor, wishes, holdings, racks
        self._rules, self._before, self._movements = rules, before, Movements()

    def run(self, every: Iterable[TopicPartition], added: Iterable[TopicPartition], starting: bool) -> None:
        """Balance the group.

        Args:
            every: all partitions, starting with topics that have few subscribers.
            added: partitions without previous owner, which are moved first; empty if any must be revoked.
            starting: whether there was no previous assignment.
        """
        holdings = self._holdings
        self.fixed = {one: holdings.set_aside(one) for one in list(holdings.piles) if not self._may_move(one)}
        former = {member_id: list(pile) for member_id, pile in holdings.piles.items()}
        self._even = Evenness(self._wishes, holdings, self._rules, self._assignor)
        self._improve(added)
        moved = self._improve(every)
        spread = _spread(holdings.piles.values())
        self.went_back = moved and not starting and spread >= _spread(former.values())
        if self.went_back:
            self.result = {member_id: Pile(partitions) for member_id, partitions in former.items()} | self.fixed
        else:
            self.result = holdings.piles | self.fixed

    def _may_move(self, member_id: str) -> bool:
        """Whether a member's partitions can change."""
        pile = self._holdings.piles[member_id]
        if len(pile) < self._wishes.most(member_id):
            return True
        return any(self._wishes.may_move(partition[0]) for partition in pile)

    def _improve(self, partitions: Iterable[TopicPartition]) -> bool:
        """Try to move each partition until none is moved; return whether one was."""
        wishes = self._wishes
        movable = [one for one in partitions if wishes.may_move(one[0]) or not 0 <= one[1] < wishes.counts[one[0]]]
        for done in range(MOST_ROUNDS):
            if not self._round(movable):
                return done > 0
        raise CannotAssign("no_rest", assignor=self._assignor, count=MOST_ROUNDS)

    def _round(self, partitions: list[TopicPartition]) -> bool:
        moved = False
        for partition in partitions:
            if self._even.reached():
                break
            target = self._target(partition)
            if target is not None:
                self._move(partition, target)
                moved = True
        return moved

    def _target(self, partition: TopicPartition) -> str | None:
        """Return who should have a partition instead of its holder."""
        holdings = self._holdings
        count = self._size(holdings.holder[partition])
        before = self._before.get(partition)
        if before is not None and count > self._size(before) + 1:
            return before
        if partition[0] in self._even.odd and not self._another_member_has_fewer(partition, count):
            return None
        poorest = holdings.poorest(partition[0])
        return poorest if poorest is not None and count > self._size(poorest) + 1 else None

    def _another_member_has_fewer(self, partition: TopicPartition, count: int) -> bool:
        """Ask one after the other, in Kafka's order: it fails at a member that cannot take part."""
        wanted_by, racks = self._wishes.wanted_by[partition[0]], self._racks.of(partition)
        of_members = self._racks.of_members
        if of_members.get(self._holdings.holder[partition]) in racks:
            wanted_by = [one for one in wanted_by if of_members.get(one) in racks] + wanted_by
        return any(count > self._size(one) + 1 for one in wanted_by)

    def _move(self, partition: TopicPartition, target: str) -> None:
        holder = self._holdings.holder
        actual = self._movements.instead_of(partition, holder[partition], target)
        source = holder[actual]
        self._size(source)
        self._movements.note(actual, source, target)
        self._holdings.move(actual, source, target)
        self._even.moved(actual, source, target)

    def _size(self, member_id: str) -> int:
        pile = self._holdings.piles.get(member_id)
        if pile is None:
            raise CannotAssign("holder_cannot_take_part", assignor=self._assignor)
        return len(pile)


def _spread(piles: Iterable[Sized]) -> int:
    """Return Kafka's score: the differences in size of all pairs of members, added up in Java's int."""
    sizes = sorted(len(pile) for pile in piles)
    below = accumulate(sizes, initial=0)
    return int32(
        sum(place * size - sum_below for place, (size, sum_below) in enumerate(zip(sizes, below, strict=False)))
    )
