"""The state of a consumer group (KIP-848), whose broker assigns the partitions: members, epochs, target assignment.

Members that still use JoinGroup are included, with their `ClassicProtocol`. This module uses the partition counts of
topics, and handles no messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ...cluster.assignors import Member as Subscriber
from ...cluster.assignors import assign_server_range, assign_uniform
from ...cluster.assignors.members import TopicPartition
from ...runtime.regular_expressions import BadPattern, compile_pattern
from .group_memory import LEAST_SIZE, Protocols, size_of
from .group_types import CONSUMER
from .modern_group import ModernGroup, ModernMember

UNIFORM, RANGE = "uniform", "range"
ASSIGNORS = (UNIFORM, RANGE)
Assigned = set[TopicPartition]


@dataclass(slots=True)
class ClassicProtocol:
    """The state of a KIP-848 group's member that uses JoinGroup and SyncGroup; times are in seconds.

    Attributes:
        session_timeout: the member is removed if it sends nothing for this time.
        protocols: the supported protocols in order of preference, each with its metadata.
        joins_until, syncs_until: when the member is removed unless it rejoins, or sends SyncGroup.
    """

    session_timeout: float
    protocols: Protocols
    joins_until: float = inf
    syncs_until: float = inf


@dataclass(slots=True, eq=False)
class ConsumerMember(ModernMember[TopicPartition]):
    """A member of a consumer group, or of a share group; it is assigned partitions.

    Attributes:
        topics, pattern: to what it subscribes.
        resolved: the pattern whose topics it reads: Kafka looks for the topics of a new `pattern` after its response.
        assignor: the assignor that it prefers.
        classic: its state in the classic protocol; None if it uses the protocol of KIP-848.
    """

    topics: tuple[str, ...] = ()
    pattern: str = ""
    resolved: str = ""
    assignor: str | None = None
    classic: ClassicProtocol | None = None

    @property
    def size(self) -> int:
        """The size of the member in bytes."""
        classic = size_of(self.classic.protocols) if self.classic is not None else 0
        return LEAST_SIZE + len(self.member_id) + sum(map(len, self.topics)) + len(self.pattern) + classic

    @property
    def is_classic(self) -> bool:
        """Whether the member uses JoinGroup and SyncGroup."""
        return self.classic is not None

    def prolong(self, seconds: float) -> None:
        """Extend the member's deadlines by some seconds."""
        ModernMember.prolong(self, seconds)  # super() does not know the class that slots=True makes
        if self.classic is not None:
            self.classic.joins_until += seconds
            self.classic.syncs_until += seconds

    @property
    def time_is_over(self) -> float:
        """The time at which the broker removes the member if it receives no further request from it."""
        classic = self.classic
        waits = (classic.joins_until, classic.syncs_until) if classic is not None else ()
        return min(self.deadline, self.revokes_until, *waits)

    def reads(self, topic: str) -> bool:
        """Return whether the member subscribes to a topic."""
        return topic in self.topics or bool(self.resolved and compile_pattern(self.resolved).fullmatch(topic))

    def take_over(self, before: ConsumerMember) -> None:
        """Become the static member that another member was until now."""
        self.topics = before.topics
        self.assignor = before.assignor
        self.pattern = before.pattern
        self.resolved = before.resolved


@dataclass(slots=True, eq=False)
class ConsumerGroup(ModernGroup[ConsumerMember, TopicPartition]):
    """The members of one consumer group.

    Attributes:
        counts: the partition counts for which the target was computed.

    >>> group = ConsumerGroup()
    >>> for name in ("a", "b"):
    ...     group.members[name] = ConsumerMember(name, None, "c", "h", topics=("t",))
    >>> group.plan({"t": 4})
    >>> [sorted(one) for one in group.target.values()]
    [[('t', 0), ('t', 1)], [('t', 2), ('t', 3)]]
    """

    kind = CONSUMER

    counts: dict[str, int] = field(default_factory=dict)

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer."""
        wanted = [member.assignor for member in self.members.values() if member.assignor]
        return max(ASSIGNORS, key=wanted.count)

    def is_resolved(self, pattern: str) -> bool:
        """Return whether a pattern needs no look for its topics: it is empty, or another member reads them."""
        return not pattern or any(member.resolved == pattern for member in self.members.values())

    def resolve(self, member: ConsumerMember, counts: Mapping[str, int]) -> bool:
        """Let a member read the topics of its pattern; return whether this changes what it reads.

        Args:
            member: the member.
            counts: the partition count of each topic.
        """
        before = [*filter(member.reads, counts)]
        member.resolved = member.pattern
        return before != [*filter(member.reads, counts)]

    def plan(self, counts: Mapping[str, int], *, ids: Mapping[str, bytes] | None = None, changed: bool = True) -> None:
        """Compute a new target assignment if members, or the topics to which they subscribe, have changed.

        Args:
            counts: the partition count of each topic.
            ids: the id of each topic; Kafka orders topics by id.
            changed: whether members have changed.
        """
        # Kafka: GroupMetadataManager.updateTargetAssignment, TargetAssignmentBuilder.build
        before = self.counts
        self.recount(counts)
        self.epoch: int = self.epoch + (changed or self.counts != before)
        if self.epoch == self.target_epoch:
            return
        self.target_epoch: int = self.epoch
        self.target: dict[str, set[TopicPartition]] = self._assign(ids)

    def _assign(self, ids: Mapping[str, bytes] | None) -> dict[str, Assigned]:
        members = [
            Subscriber(
                name, [*filter(member.reads, self.counts)], None, member.instance_id, owned=[*self.target.get(name, ())]
            )
            for name, member in self.members.items()
        ]
        is_range = self.assignor == RANGE
        read = self.counts
        assignment = assign_server_range(read, members) if is_range else assign_uniform(read, members, ids=ids)
        return {name: set(places) for name, places in assignment.items()}

    def recount(self, counts: Mapping[str, int]) -> None:
        """Store the partition counts of the topics to which members subscribe."""
        members = self.members.values()
        self.counts = {name: count for name, count in counts.items() if any(member.reads(name) for member in members)}

    def must_join(self, member: ConsumerMember) -> bool:
        """Return whether a classic member must rejoin: for a newer epoch, to give up partitions, or to get some."""
        is_complete = member.assigned == self.target.get(member.member_id, set())
        is_free = not is_complete and not self.waits_for_others(member)
        return member.epoch < self.epoch or bool(member.revoking) or is_free

    def supports(self, protocols: Protocols) -> bool:
        """Return whether all classic members support one of these protocols."""
        classic = [dict(member.classic.protocols) for member in self.members.values() if member.classic is not None]
        return any(all(name in protocols_of_member for protocols_of_member in classic) for name, _ in protocols)

    def is_classic_without(self, members: Collection[ModernMember[Any]]) -> bool:
        """Return whether at least one of these members uses KIP-848, and all others (at least one) use the classic
        protocol.
        """
        others = [member for member in self.members.values() if member not in members]
        is_new = not all(member.is_classic for member in members)
        return is_new and bool(others) and all(other.classic is not None for other in others)


def pattern_problem(pattern: str | None) -> str:
    """Return why a pattern for topic names is no regular expression, as Kafka's error message; empty if it is one."""
    try:
        compile_pattern(pattern or "")  # Kafka uses RE2/J (KIP-848)
    except BadPattern as error:
        return f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
    return ""


def places_of(rows: Iterable[tuple[str | None, Iterable[int]]]) -> Assigned:
    """Return the partitions of topics, except rows without a topic name, whose topics were deleted."""
    return {(topic, index) for topic, indexes in rows if topic is not None for index in indexes}
