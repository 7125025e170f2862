"""Who wants which topics, where members differ. Knows no racks and no partitions but their number."""

from __future__ import annotations

from ..java import utf16
from .members import Group


class Wishes:
    """The subscriptions of a group, as Kafka's general algorithm counts them: a topic named twice counts twice.

    Attributes:
        wants: member id -> topics that exist, as the member names them.
        wanted_by: topic -> members, in the order of the group.
        rarest_first: topics by how many want them, then by name.
    """

    def __init__(self, group: Group) -> None:
        self.counts = {topic: len(numbers) for topic, numbers in group.topics.items()}
        self.wanted_by: dict[str, list[str]] = {topic: [] for topic in group.topics}
        self.wants: dict[str, list[str]] = {}
        for member_id, member in group.members.items():
            self.wants[member_id] = wants = [topic for topic in member.topics if topic in self.counts]
            for topic in wants:
                self.wanted_by[topic].append(member_id)
        self.rarest_first = sorted(self.counts, key=lambda topic: (len(self.wanted_by[topic]), utf16(topic)))
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
