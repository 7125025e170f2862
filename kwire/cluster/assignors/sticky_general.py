"""The sticky algorithm where members subscribe to different topics: partitions move until no move makes it more
even.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import accumulate

from ...refusals import CannotAssign
from ..java_compat import STRINGS, TOPIC_PARTITIONS, HashOrder, hash_order_of, int32, utf16
from .members import Assignment, Group, GroupRacks, Held, Rules, TopicPartition
from .ownership import Claims, not_among, numbers_of


class Pile:
    """A member's partitions in order; any may be in it more than once.

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
        """Return how many times a partition is in it."""
        return len(self._serials.get(partition, ()))

    def append(self, partition: TopicPartition) -> None:
        """Add a partition at the end."""
        self._items[self._next] = partition
        self._serials.setdefault(partition, []).append(self._next)
        self._next += 1

    def remove(self, partition: TopicPartition) -> None:
        """Remove the first of its kind; one that is not there is no error."""
        serials = self._serials.get(partition)
        if serials is not None:
            del self._items[serials.pop(0)]
            if not serials:
                del self._serials[partition]


class Holdings:
    """What members hold, and who has least.

    Args:
        piles: member id -> its partitions; taken over.
        holder: partition -> the last member that owned it, as far as somebody did; taken over.
        wanted_by: topic -> the members that want it.
        racks: member id -> rack.

    Attributes:
        holder: partition -> the member that got it last.
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
        """Members by how much they hold, then by id."""
        return (self._names[rank] for _, rank in self._order)

    @property
    def least(self) -> int:
        """How many partitions the member with fewest holds."""
        return self._order[0][0]

    @property
    def most(self) -> int:
        """How many partitions the member with most holds."""
        return self._order[-1][0]

    def poorest(self, topic: str, racks: frozenset[str] | None = None) -> str | None:
        """Return who has least of those that want a topic; with `racks`, of those in one of them or without rack."""
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
        """Give a partition that nobody holds."""
        pile = self.piles[member_id]
        self._leave(member_id)
        pile.append(partition)
        self.holder[partition] = member_id
        self._enter(member_id)

    def move(self, partition: TopicPartition, source: str, target: str) -> None:
        """Take a partition from one member and give it to another."""
        self._leave(source)
        self.piles[source].remove(partition)
        self._enter(source)
        self.give(partition, target)

    def set_aside(self, member_id: str) -> Pile:
        """Take a member out, with what it holds."""
        self._leave(member_id)
        return self.piles.pop(member_id)

    def _leave(self, member_id: str) -> None:
        del self._order[bisect_left(self._order, (len(self.piles[member_id]), self._ranks[member_id]))]

    def _enter(self, member_id: str) -> None:
        insort(self._order, (len(self.piles[member_id]), self._ranks[member_id]))


Pair = tuple[str, str]  # from a member, to a member


class Movements:
    """The moves of one rebalance, each partition's from its first holder to its last."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[tuple[str, Pair], HashOrder[TopicPartition]] = {}

    def note(self, partition: TopicPartition, source: str, target: str) -> None:
        """Note a move; one that came back did not move."""
        former = self._pairs.pop(partition, None)
        if former is not None:
            self._forget(partition, former)
            source = former[0]
            if source == target:
                return
        self._pairs[partition] = (source, target)
        self._moved.setdefault((partition[0], (source, target)), HashOrder(TOPIC_PARTITIONS)).put(partition)

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return what to move rather than this partition: one of its topic that went the other way, if there is one."""
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
    """The subscriptions of a group, as Kafka's general algorithm counts them: a topic named twice counts twice.

    Attributes:
        wants: member id -> topics that exist, as the member names them.
        wanted_by: topic -> members, in the order of the group.
        rarest_first: topics by how many want them, then by name.
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
        """Return how many partitions a member could get."""
        return self._most[member_id]

    def may_move(self, topic: str) -> bool:
        """Whether more than one wants a topic."""
        return len(self.wanted_by[topic]) >= 2


class Evenness:
    """The test, for one group.

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
        """Whether nothing can become more even."""
        if not self._holdings.piles:
            raise CannotAssign("nobody_can_take_part", assignor=self._assignor)
        if self._reached is None:
            self._reached = self._holdings.least >= self._holdings.most - 1 or not (
                self._witness_holds() or self._find_difference()
            )
        return self._reached

    def moved(self, partition: TopicPartition, source: str, target: str) -> None:
        """Note a move."""
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
        self.went_back: bool = False
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
