"""Settles contradictory ownership claims of members: the higher generation wins, a tie loses for both.

Knows what members say; knows nothing of shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .members import Group, Held, Rules, TopicPartition


class Claims:
    """What each member may keep.

    Attributes:
        owned: member id -> its partitions of topics that exist, in the order it named them.
        contested: partitions that two members of one generation claim; nobody keeps these.
    """

    def __init__(self, group: Group, held: Mapping[str, Held], rules: Rules) -> None:
        self._group, self._rules = group, rules
        self.owned: dict[str, dict[TopicPartition, None]] = {member_id: {} for member_id in group.nothing()}
        self.contested: set[TopicPartition] = set()
        self._owners: dict[TopicPartition, str] = {}
        for member_id, past in held.items():
            self._claim(member_id, past)

    def _claim(self, member_id: str, past: Held) -> None:
        topics, owners, mine = self._group.topics, self._owners, self.owned[member_id]
        if {topic for topic, _ in past.partitions} <= topics.keys():
            all_at_once = dict.fromkeys(past.partitions)
            if len(all_at_once) == len(past.partitions) and owners.keys().isdisjoint(all_at_once):
                owners.update(dict.fromkeys(all_at_once, member_id))
                mine.update(all_at_once)
                return
        for partition in past.partitions:
            if partition[0] not in topics:
                continue
            other = owners.get(partition)
            if other is None:
                owners[partition] = member_id
                mine[partition] = None
            else:
                self._settle(partition, member_id, past.generation, other)

    def _settle(self, partition: TopicPartition, member_id: str, generation: int, other: str) -> None:
        # The other's generation is that of its subscription, whatever its user data says.
        others = max(self._group.members[other].generation, -1)
        if generation >= others or not self._rules.loser_is_no_owner:
            self._owners[partition] = member_id
        if generation < others:
            return
        owned_it = partition in self.owned[other]
        self.owned[other].pop(partition, None)
        if generation == others:
            self.contested.add(partition)
        elif other != member_id or owned_it:  # who names one twice gets it once, at its last place
            self.owned[member_id][partition] = None


def same_topics(group: Group) -> bool:
    """Whether all members subscribe to the same topics; those that come before the first with any do not count."""
    wanted: set[str] = set()
    for member in group.members.values():
        if not wanted:
            wanted = set(member.topics)
        elif len(member.topics) != len(wanted) or not wanted.issuperset(member.topics):
            return False
    return True


def numbers_of(partitions: Iterable[TopicPartition], kept: dict[str, list[int]]) -> None:
    """Add partitions to the numbers that are kept of each topic."""
    for topic, number in partitions:
        kept[topic].append(number)


def not_among(kept: Mapping[str, Sequence[int]], topics: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
    """Return the partitions of some topics whose numbers are not kept.

    Kafka walks along both lists: behind a kept partition that does not exist, all others count as not kept.

    >>> not_among({"a": [1]}, {"a": range(3)}), not_among({"a": [7], "b": [0]}, {"a": range(1), "b": range(1)})
    ([('a', 0), ('a', 2)], [('a', 0), ('b', 0)])
    """
    rest: list[TopicPartition] = []
    lost = False
    for topic, numbers in topics.items():
        gone = set() if lost else set(kept[topic])
        left = [number for number in numbers if number not in gone]
        if not lost and len(numbers) - len(left) != len(kept[topic]):  # some do not exist, or are kept twice
            left = _behind(sorted(kept[topic], reverse=True), numbers)
            lost = True
        rest += [(topic, number) for number in left]
    return rest


def _behind(awaited: list[int], numbers: Iterable[int]) -> list[int]:
    """Walk along: `awaited`, its smallest at the end, goes on only when its number comes."""
    left = []
    for number in numbers:
        if awaited and awaited[-1] == number:
            awaited.pop()
        else:
            left.append(number)
    return left
