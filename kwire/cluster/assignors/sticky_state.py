"""State of the general sticky algorithm: owners of partitions, moves, and subscriptions."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..java_compat import TOPIC_PARTITIONS, HashOrder, utf16
from .members import Group, TopicPartition


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
        """Return how often a partition is contained."""
        return len(self._serials.get(partition, ()))

    def append(self, partition: TopicPartition) -> None:
        """Add a partition at the end."""
        self._items[self._next] = partition
        self._serials.setdefault(partition, []).append(self._next)
        self._next += 1

    def remove(self, partition: TopicPartition) -> None:
        """Remove the first occurrence; no error if there is none."""
        serials = self._serials.get(partition)
        if serials is not None:
            del self._items[serials.pop(0)]
            if not serials:
                del self._serials[partition]


class Holdings:
    """The partitions of members, ordered by their number.

    Args:
        piles: member id -> its partitions; modified in place.
        holder: partition -> its last owner, if any; modified in place.
        wanted_by: topic -> its subscribers.
        racks: member id -> rack.

    Attributes:
        holder: partition -> its latest owner.
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
        """The smallest number of partitions of a member."""
        return self._order[0][0]

    @property
    def most(self) -> int:
        """The largest number of partitions of a member."""
        return self._order[-1][0]

    def poorest(self, topic: str, racks: frozenset[str] | None = None) -> str | None:
        """Return the subscriber of a topic with the fewest partitions; with `racks`, of those in one of them or without
        rack."""
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
        """Assign a partition without owner."""
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
    def richest(self) -> str:
        """The member with the most partitions, of several the last by id."""
        return self._names[self._order[-1][1]]

    def drop(self, partition: TopicPartition, member_id: str) -> None:
        """Take a partition from a member."""
        self._leave(member_id)
        self.piles[member_id].remove(partition)
        self._enter(member_id)

    def set_aside(self, member_id: str) -> Pile:
        """Remove a member with its partitions."""
        self._leave(member_id)
        return self.piles.pop(member_id)

    def _leave(self, member_id: str) -> None:
        del self._order[bisect_left(self._order, (len(self.piles[member_id]), self._ranks[member_id]))]

    def _enter(self, member_id: str) -> None:
        insort(self._order, (len(self.piles[member_id]), self._ranks[member_id]))


Pair = tuple[str, str]  # from a member, to a member


class Movements:
    """The moves of one rebalance, for each partition from its first to its last owner."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[tuple[str, Pair], HashOrder[TopicPartition]] = {}

    def note(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record a move; a partition that returns to its first owner has not moved."""
        former = self._pairs.pop(partition, None)
        if former is not None:
            self._forget(partition, former)
            source = former[0]
            if source == target:
                return
        self._pairs[partition] = (source, target)
        self._moved.setdefault((partition[0], (source, target)), HashOrder(TOPIC_PARTITIONS)).put(partition)

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move instead: one of the same topic that moved the other way, if there is one."""
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
        wants: member id -> its existing topics, in its order.
        wanted_by: topic -> subscribers, in the order of the group.
        rarest_first: topics by number of subscribers, then by name.
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

    def all_equal(self) -> bool:
        """Whether all members subscribe to the same existing topics."""
        return len({frozenset(wants) for wants in self.wants.values()}) <= 1

    def may_move(self, topic: str) -> bool:
        """Whether a topic has several subscribers."""
        return len(self.wanted_by[topic]) >= 2


class Start(NamedTuple):
    """What the general sticky algorithm begins with.

    `piles` is what members keep, `holder` the owner of each partition, `every` all partitions in the order in which
    moves are tried, `left` those without owner, `revoked` whether a member loses an existing partition, and `before`
    the former owners.
    """

    wishes: Wishes
    piles: dict[str, Pile]
    holder: dict[TopicPartition, str]
    every: list[TopicPartition]
    left: list[TopicPartition]
    revoked: bool
    before: dict[TopicPartition, str]
