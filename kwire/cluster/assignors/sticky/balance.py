"""The general sticky algorithm: moves partitions to members with fewer partitions until the balance cannot improve."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import accumulate
from typing import NamedTuple

from ....errors.refused import CannotAssign
from ...java.hash_order import TOPIC_PARTITIONS, HashOrder, int32, utf16
from ..members import Group, GroupRacks, Rules, TopicPartition

Pair = tuple[str, str]  # from a member, to a member
MOST_ROUNDS = 1000  # Kafka continues until nothing changes, which contradictory claims may prevent


class Pile:
    """The partitions of a member in order, possibly with duplicates.

    >>> pile = Pile([("a", 1), ("a", 0), ("a", 1)])
    >>> pile.remove(("a", 1))
    >>> list(pile), ("a", 1) in pile
    ([('a', 0), ('a', 1)], True)
    """

    __slots__ = ("_items", "_next", "_serials")

    def __init__(self, partitions: Iterable[TopicPartition] = ()) -> None:
        self._items: dict[int, TopicPartition] = {}
        self._serials: dict[TopicPartition, list[int]] = {}
        self._next = 0
        for partition in partitions:
            self.append(partition)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._items.values())

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self._serials

    def count(self, partition: TopicPartition) -> int:
        """Return how many times the pile contains a partition."""
        return len(self._serials.get(partition, ()))

    def append(self, partition: TopicPartition) -> None:
        """Append a partition."""
        self._items[self._next] = partition
        self._serials.setdefault(partition, []).append(self._next)
        self._next += 1

    def remove(self, partition: TopicPartition) -> None:
        """Remove the first occurrence of a partition, if there is one."""
        serials = self._serials.get(partition)
        if serials is not None:
            del self._items[serials.pop(0)]
            if not serials:
                del self._serials[partition]


class Holdings:
    """The partitions of all members; members are ordered by their number of partitions.

    Args:
        piles: member id -> its partitions; modified in place.
        holder: partition -> its owner, if any; modified in place.
        wanted_by: topic -> its subscribers.
        racks: member id -> rack.

    Attributes:
        holder: partition -> its current owner.
    """

    def __init__(
        self,
        piles: dict[str, Pile],
        holder: dict[TopicPartition, str],
        wanted_by: Mapping[str, Iterable[str]],
        racks: Mapping[str, str],
    ) -> None:
        self.piles = piles
        self.holder = holder
        self._names = sorted(piles, key=utf16)
        self._racks = [racks.get(member_id) for member_id in self._names]
        self._ranks = {member_id: rank for rank, member_id in enumerate(self._names)}
        self._order = sorted((len(pile), self._ranks[member_id]) for member_id, pile in piles.items())
        self._wanting = {topic: {self._ranks[one] for one in members} for topic, members in wanted_by.items()}
        self._suiting: dict[tuple[str, frozenset[str]], set[int]] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over members by number of partitions, then by id."""
        return (self._names[rank] for _, rank in self._order)

    @property
    def least(self) -> int:
        """The smallest number of partitions that a member has."""
        return self._order[0][0]

    @property
    def most(self) -> int:
        """The largest number of partitions that a member has."""
        return self._order[-1][0]

    def least_loaded(self, topic: str, racks: frozenset[str] | None = None) -> str | None:
        """Return the subscriber of a topic with the fewest partitions.

        Args:
            topic: the topic.
            racks: if given, only members in one of these racks or without a rack are considered.
        """
        ranks = self._wanting[topic] if racks is None else self._suits(topic, racks)
        if ranks:
            for _, rank in self._order:
                if rank in ranks:
                    return self._names[rank]
        return None

    def _suits(self, topic: str, racks: frozenset[str]) -> set[int]:
        found = self._suiting.get((topic, racks))
        if found is None:
            own = self._racks
            found = {rank for rank in self._wanting[topic] if own[rank] is None or own[rank] in racks}
            self._suiting[topic, racks] = found
        return found

    def give(self, partition: TopicPartition, member_id: str) -> None:
        """Assign a partition that has no owner."""
        pile = self.piles[member_id]
        self._leave(member_id)
        pile.append(partition)
        self.holder[partition] = member_id
        self._enter(member_id)

    def move(self, partition: TopicPartition, source: str, target: str) -> None:
        """Move a partition from one member to another."""
        self.drop(partition, source)
        self.give(partition, target)

    @property
    def most_loaded(self) -> str:
        """The member with the most partitions; of several, the last by id."""
        return self._names[self._order[-1][1]]

    def drop(self, partition: TopicPartition, member_id: str) -> None:
        """Remove a partition from a member."""
        self._leave(member_id)
        self.piles[member_id].remove(partition)
        self._enter(member_id)

    def set_aside(self, member_id: str) -> Pile:
        """Remove a member and return its partitions."""
        self._leave(member_id)
        return self.piles.pop(member_id)

    def _leave(self, member_id: str) -> None:
        del self._order[bisect_left(self._order, (len(self.piles[member_id]), self._ranks[member_id]))]

    def _enter(self, member_id: str) -> None:
        insort(self._order, (len(self.piles[member_id]), self._ranks[member_id]))


class Movements:
    """The moves of one rebalance: for each partition from its first to its last owner."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[tuple[str, Pair], HashOrder[TopicPartition]] = {}

    def note(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record a move; a partition that returns to its first owner counts as not moved."""
        former = self._pairs.pop(partition, None)
        if former is not None:
            self._forget(partition, former)
            source = former[0]
            if source == target:
                return
        self._pairs[partition] = (source, target)
        self._moved.setdefault((partition[0], (source, target)), HashOrder(TOPIC_PARTITIONS)).put(partition)

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move: if possible another one of this topic that moved in the opposite direction."""
        if partition in self._pairs:
            source = self._pairs[partition][0]
        back = self._moved.get((partition[0], (target, source)))
        return partition if back is None else next(iter(back))

    def _forget(self, partition: TopicPartition, pair: Pair) -> None:
        key = (partition[0], pair)
        self._moved[key].remove(partition)
        if not self._moved[key]:
            del self._moved[key]


class Wishes:
    """The subscriptions of a group, counted as in Kafka's general algorithm: a duplicate topic counts twice.

    Attributes:
        wants: member id -> the existing topics that it subscribes to, in its order.
        wanted_by: topic -> subscribers, in the order of the group.
        rarest_first: topics ordered by number of subscribers, then by name.
    """

    def __init__(self, group: Group) -> None:
        self.counts: dict[str, int] = {topic: len(numbers) for topic, numbers in group.topics.items()}
        self.wanted_by: dict[str, list[str]] = {topic: [] for topic in group.topics}
        self.wants: dict[str, list[str]] = {}
        for member_id, member in group.members.items():
            self.wants[member_id] = wants = [topic for topic in member.topics if topic in self.counts]
            for topic in wants:
                self.wanted_by[topic].append(member_id)
        self.rarest_first: list[str] = sorted(self.counts, key=lambda topic: (len(self.wanted_by[topic]), utf16(topic)))
        total = sum(self.counts.values())
        self._most = {
            member_id: total if len(wants) == len(self.counts) else sum(self.counts[topic] for topic in wants)
            for member_id, wants in self.wants.items()
        }

    def most(self, member_id: str) -> int:
        """Return the largest number of partitions that a member could get."""
        return self._most[member_id]

    def all_equal(self) -> bool:
        """Whether all members subscribe to the same existing topics."""
        return len({frozenset(wants) for wants in self.wants.values()}) <= 1

    def may_move(self, topic: str) -> bool:
        """Whether a topic has several subscribers."""
        return len(self.wanted_by[topic]) >= 2


class Start(NamedTuple):
    """The initial state of the general sticky algorithm.

    `piles` are the partitions that members keep, `holder` the owner of each partition, `every` all partitions in the
    order in which moves are tried, `left` the partitions without an owner, `revoked` whether a member loses an existing
    partition, and `before` the former owners.
    """

    wishes: Wishes
    piles: dict[str, Pile]
    holder: dict[TopicPartition, str]
    every: list[TopicPartition]
    left: list[TopicPartition]
    revoked: bool
    before: dict[TopicPartition, str]


class Evenness:
    """The balance test for one group.

    Args:
        assignor: the name of the assignor, for errors.

    Attributes:
        odd: topics with a partition that has no owner or several, or with a subscriber that cannot take part.
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
                    most_loaded[topic] = self._most_loaded(topic)
                rich = most_loaded[topic]
                if rich is not None and count + self._slack < len(piles[rich]):
                    self._witness = None if self.odd else (poor, topic, rich)
                    return True
        return False

    def _most_loaded(self, topic: str) -> str | None:
        piles = self._holdings.piles
        return max(
            (one for one, count in self._holders[topic].items() if count > 0),
            key=lambda one: len(piles[one]),
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
            every: all partitions; topics with few subscribers come first.
            added: partitions without a previous owner, which are moved first; empty if any partition must be revoked.
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
        """Whether the partitions of a member can change."""
        pile = self._holdings.piles[member_id]
        if len(pile) < self._wishes.most(member_id):
            return True
        return any(self._wishes.may_move(partition[0]) for partition in pile)

    def _improve(self, partitions: Iterable[TopicPartition]) -> bool:
        """Try to move each partition until none moves; return whether any was moved."""
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
        """Return the member that should get a partition from its holder; None if it should stay."""
        holdings = self._holdings
        count = self._size(holdings.holder[partition])
        before = self._before.get(partition)
        if before is not None and count > self._size(before) + 1:
            return before
        if partition[0] in self._even.odd and not self._another_member_has_fewer(partition, count):
            return None
        least_loaded = holdings.least_loaded(partition[0])
        return least_loaded if least_loaded is not None and count > self._size(least_loaded) + 1 else None

    def _another_member_has_fewer(self, partition: TopicPartition, count: int) -> bool:
        """Whether another subscriber has fewer partitions.

        Members are tested in Kafka's order; a member that cannot take part raises the error that Kafka raises.
        """
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
    """Return Kafka's score: the sum of the size differences of all pairs of members, in Java's int arithmetic."""
    sizes = sorted(len(pile) for pile in piles)
    below = accumulate(sizes, initial=0)
    return int32(
        sum(place * size - sum_below for place, (size, sum_below) in enumerate(zip(sizes, below, strict=False)))
    )
