"""The state of one share group (KIP-932): members, and the assignment of partitions, each to several members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...cluster.assignors.members import TopicPartition
from .consumer_group import Assigned, ConsumerGroup, ConsumerMember
from .group_types import SHARE
from .modern_group import GroupState
from .share_partition import SharePartition

SIMPLE = "simple"  # the only assignor of share groups
TopicIdPartition = tuple[bytes, int]  # topic id and partition index


@dataclass(slots=True, eq=False)
class ShareGroup(ConsumerGroup):
    """The members and partitions of one share group.

    Attributes:
        partitions: the partitions to which a member has subscribed, or whose offsets were altered, by topic id and
            partition index.

    >>> group = ShareGroup()
    >>> for name in ("a", "b", "c"):
    ...     group.members[name] = ConsumerMember(name, None, "c", "h", topics=("t",))
    ...     group.plan({"t": 2})
    >>> [sorted(one) for one in group.target.values()]
    [[('t', 0)], [('t', 1)], [('t', 0), ('t', 1)]]
    """

    kind = SHARE

    partitions: dict[TopicIdPartition, SharePartition] = field(default_factory=dict)

    @property
    def is_used(self) -> bool:
        """Whether the group has state to keep; this includes the offsets of partitions until the group is deleted."""
        return bool(self.members or self.partitions)

    @property
    def assignor(self) -> str:
        """The only assignor of share groups."""
        return SIMPLE

    @property
    def state(self) -> GroupState:
        """The state of the group. Partitions are never revoked, so it is never reconciling."""
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def reconcile(self, member: ConsumerMember, owned: Assigned | None, now: float) -> None:
        """Assign a member its target immediately, because several members may read the same partition."""
        if member.epoch != self.epoch:
            member.previous_epoch = member.epoch
            member.epoch = self.epoch
        member.assigned = set(self.target.get(member.member_id, set()))

    @property
    def size_of_partitions(self) -> int:
        """The size in bytes of the partitions' states."""
        return sum(part.size for part in self.partitions.values())

    def keep_unwritten(self, changed: Any) -> None:
        """Take what is not in records from the same group with changes that could not be written."""
        ConsumerGroup.keep_unwritten(self, changed)  # `super` fails in a dataclass with slots
        self.partitions = {
            topic_partition: changed.partitions.get(topic_partition, part)
            for topic_partition, part in self.partitions.items()
        }

    def _assign(self, ids: Mapping[str, bytes] | None) -> dict[str, Assigned]:
        subscribers = {name: frozenset(filter(member.reads, self.counts)) for name, member in self.members.items()}
        if len(set(subscribers.values())) <= 1:
            every = [(topic, index) for topic, count in sorted(self.counts.items()) for index in range(count)]
            return assign_shares(every, list(subscribers), self.target)
        assignment: dict[str, Assigned] = {name: set() for name in subscribers}
        for topic, count in sorted(self.counts.items()):
            members = [name for name, topics in subscribers.items() if topic in topics]
            places = [(topic, index) for index in range(count)]
            for name, more in assign_shares(places, members, self.target).items():
                assignment[name] |= more
        return assignment


def assign_shares(
    places: Sequence[TopicPartition], members: Sequence[str], before: Mapping[str, Assigned]
) -> dict[str, Assigned]:
    """Distribute partitions evenly; if there are more members than partitions, several members share each partition.

    Args:
        places: the partitions to assign.
        members: the ids of the members.
        before: the previous partitions of each member, which it keeps unless the distribution would be uneven.

    >>> [sorted(one) for one in assign_shares([("t", 0), ("t", 1)], ["a"], {}).values()]
    [[('t', 0), ('t', 1)]]
    """
    assignment: dict[str, Assigned] = {name: set() for name in members}
    if not places or not members:
        return assignment
    sharing = -(-len(members) // len(places)) if len(members) > len(places) else 1
    share, extra = divmod(len(places) * sharing, len(members))
    used: Counter[TopicPartition] = Counter()

    def give(name: str, candidates: Iterable[TopicPartition]) -> None:
        nonlocal extra
        for partition in candidates:
            is_full = len(assignment[name]) >= share + (1 if extra else 0)
            if is_full or used[partition] >= sharing or partition in assignment[name]:
                continue
            extra -= len(assignment[name]) == share
            assignment[name].add(partition)
            used[partition] += 1

    known = set(places)
    for name in members:
        give(name, sorted(before.get(name, set()) & known))
    for name in sorted(members, key=lambda member: len(assignment[member])):
        give(name, sorted(places, key=lambda partition: used[partition]))
    return assignment
