"""The partitions of members, and which members have most and fewest."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping

from ...java.hash_order import utf16
from ..members import TopicPartition


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
        self._wanting = {
            topic: {self._ranks[member_id] for member_id in members} for topic, members in wanted_by.items()
        }
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

    def choose_subscriber(self, topic: str, racks: frozenset[str] | None = None) -> str | None:
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
        ranks = self._suiting.get((topic, racks))
        if ranks is None:
            own = self._racks
            ranks = {rank for rank in self._wanting[topic] if own[rank] is None or own[rank] in racks}
            self._suiting[topic, racks] = ranks
        return ranks

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
