"""Moves partitions from members that hold more to members that hold less, until no move makes it more even.

Knows what Kafka checks and in which order, for groups that contradict themselves too; `evenness` says when to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from itertools import accumulate

from ...refusals import CannotAssign
from ..java import int32
from .evenness import Evenness
from .holdings import Holdings, Pile
from .members import TopicPartition
from .movements import Movements
from .racks import GroupRacks
from .rules import Rules
from .wishes import Wishes

MOST_ROUNDS = 1000  # Kafka goes on until it comes to rest, which contradictory claims may prevent


class Balance:
    """One group whose partitions are all handed out.

    Args:
        before: partition -> who held it in an earlier generation, and gets it back where that makes it more even.

    Attributes:
        result: member id -> partitions, once it has run.
        fixed: the members that could neither get nor lose anything.
        went_back: whether moves did not help, so that all was left as it was.
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
        self.went_back = False
        self._assignor, self._wishes, self._holdings, self._racks = assignor, wishes, holdings, racks
        self._rules, self._before, self._movements = rules, before, Movements()

    def run(self, every: Iterable[TopicPartition], added: Iterable[TopicPartition], starting: bool) -> None:
        """Balance.

        Args:
            every: all partitions, those of topics that few want first.
            added: those that nobody kept, which are moved first; none where something had to be revoked.
            starting: nobody held anything, so there is nothing to preserve.
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
        """Whether a member can get or lose something."""
        pile = self._holdings.piles[member_id]
        if len(pile) < self._wishes.most(member_id):
            return True
        return any(self._wishes.may_move(partition[0]) for partition in pile)

    def _improve(self, partitions: Iterable[TopicPartition]) -> bool:
        """Go through partitions until none is moved; return whether one was."""
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
        if partition[0] in self._even.odd and not self._somebody_has_less(partition, count):
            return None
        poorest = holdings.poorest(partition[0])
        return poorest if poorest is not None and count > self._size(poorest) + 1 else None

    def _somebody_has_less(self, partition: TopicPartition, count: int) -> bool:
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
