"""Sets of topics and partitions, compared as the sticky assignors do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..members import GroupSubscription, TopicPartition


def same_topics(group: GroupSubscription) -> bool:
    """Whether all members subscribe to the same topics; members before the first with topics are ignored."""
    return len(same_topics_at_first(group)) == len(group.members)


def same_topics_at_first(group: GroupSubscription) -> list[str]:
    """Return the members before the first one that subscribes to other topics."""
    wanted: set[str] = set()
    equal: list[str] = []
    for member_id, member in group.members.items():
        if not wanted:
            wanted = set(member.topics)
        elif len(member.topics) != len(wanted) or not wanted.issuperset(member.topics):
            break
        equal.append(member_id)
    return equal


def numbers_of(partitions: Iterable[TopicPartition], kept: dict[str, list[int]]) -> None:
    """Append partitions to the kept numbers of each topic."""
    for topic, number in partitions:
        kept[topic].append(number)


def not_among(kept: Mapping[str, Sequence[int]], topics: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
    """Return the partitions of given topics whose numbers are not kept.

    Kafka compares two sorted lists: after a kept partition that does not exist, all following partitions count as not
    kept.

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
    """Compare sorted numbers; `awaited`, whose smallest number is last, advances only on a match."""
    left = []
    for number in numbers:
        if awaited and awaited[-1] == number:
            awaited.pop()
        else:
            left.append(number)
    return left
