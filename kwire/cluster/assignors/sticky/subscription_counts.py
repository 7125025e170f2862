"""Subscriptions as the general algorithm counts them, and its initial state."""

from __future__ import annotations

from typing import NamedTuple

from ...java.hash_order import utf16
from ..members import GroupSubscription, TopicPartition
from .holdings import Pile


class Wishes:
    """The subscriptions of a group, counted as in Kafka's general algorithm: a duplicate topic counts twice.

    Attributes:
        wants: member id -> the existing topics that it subscribes to, in its order.
        wanted_by: topic -> subscribers, in the order of the group.
        rarest_first: topics ordered by number of subscribers, then by name.
    """

    def __init__(self, group: GroupSubscription) -> None:
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
    order in which moves are tried, `unassigned` the partitions without an owner, `revoked` whether a member loses an
    existing partition, and `before` the former owners.
    """

    wishes: Wishes
    piles: dict[str, Pile]
    holder: dict[TopicPartition, str]
    every: list[TopicPartition]
    unassigned: list[TopicPartition]
    revoked: bool
    before: dict[TopicPartition, str]
