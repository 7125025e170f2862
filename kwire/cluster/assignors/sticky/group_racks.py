"""The racks of members and replicas, as the sticky assignors compare them (KIP-881)."""

from __future__ import annotations

from collections import Counter

from ..members import GroupSubscription, Racks, TopicPartition, racks_matter

NOWHERE: frozenset[str] = frozenset()


class GroupRacks:
    """The racks of members and partitions.

    `of_members` and `of_topics` are empty if racks do not affect the assignment.
    """

    def __init__(self, group: GroupSubscription) -> None:
        members = {member_id: member.rack for member_id, member in group.members.items() if member.rack}
        topics = {topic: group.racks(topic) for topic in group.topics} if members else {}
        all_sets = {racks for topic in topics.values() for racks in topic.values()}
        matter = racks_matter(members.values(), all_sets)
        self.of_members: dict[str, str] = members if matter else {}
        self.of_topics: dict[str, Racks] = topics if matter else {}
        in_rack = Counter(members.values())
        self._members_in = {racks: sum(in_rack[rack] for rack in racks) for racks in all_sets}
        self._topics = topics

    def of(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks of a partition's replicas.

        The set is empty if the partition does not exist or racks do not affect the assignment.
        """
        topic, number = partition
        return self.of_topics[topic].get(number, NOWHERE) if topic in self.of_topics else NOWHERE

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Return whether a member has a rack in which the partition has no replica."""
        rack = self.of_members.get(member_id)
        return rack is not None and rack not in self.of(partition)

    def hardest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return partitions sorted by the number of members in the racks of their replicas, the fewest first.

        Unknown partitions count as 0. If no member has a rack, the list itself is returned.
        """
        if not self._topics:
            return partitions
        topics = self._topics
        members_in = self._members_in
        counts = [members_in.get(topics[topic].get(number, NOWHERE), 0) for topic, number in partitions]
        order = sorted(range(len(partitions)), key=counts.__getitem__)
        return [partitions[position] for position in order]
