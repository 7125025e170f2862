"""Which member owns a partition that several claim: the one of the newest generation."""

from __future__ import annotations

from collections.abc import Mapping

from ..members import NO_GENERATION, GroupSubscription, MemberData, TopicPartition
from ..releases import AssignorRules


class Claims:
    """The partitions that each member may keep, as AbstractStickyAssignor.allSubscriptionsEqual finds them.

    Attributes:
        owned: member id -> its existing partitions, in the order of its claim.
        contested: partitions that two members of one generation claim; neither of them keeps these.
    """

    def __init__(
        self,
        group: GroupSubscription,
        past_of: Mapping[str, MemberData],
        rules: AssignorRules,
        newest: int = NO_GENERATION,
    ) -> None:
        self._group = group
        self._rules = rules
        self.owned: dict[str, dict[TopicPartition, None]] = {member_id: {} for member_id in group.nothing()}
        self.contested: set[TopicPartition] = set()
        self._owners: dict[TopicPartition, str] = {}
        if not rules.all_generations_own:
            newest = max(newest, *(past.generation for past in past_of.values()))
            past_of = {member_id: past for member_id, past in past_of.items() if past.generation == newest}
        for member_id, past in past_of.items():
            self._claim(member_id, past)

    def _claim(self, member_id: str, past: MemberData) -> None:
        topics = self._group.topics
        owners = self._owners
        mine = self.owned[member_id]
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
        """Decide between two claims: the newer generation owns the partition; of equal ones, it is contested."""
        other_generation = generation  # where only the newest generation claims
        if (
            self._rules.all_generations_own
        ):  # for the other member, that of its subscription counts, not its user data's
            other_generation = max(self._group.members[other].generation, NO_GENERATION)
        if generation >= other_generation or not self._rules.loser_is_no_owner:
            self._owners[partition] = member_id
        if generation < other_generation:
            return
        owned_it = partition in self.owned[other]
        self.owned[other].pop(partition, None)
        if generation == other_generation:
            self.contested.add(partition)
        elif other != member_id or owned_it:  # a partition that is claimed twice is owned once, at its last position
            self.owned[member_id][partition] = None
