"""The state of a consumer group (KIP-848), whose broker assigns the partitions: members, epochs, target assignment.

A member must give up a partition before another member gets it. Members that still use JoinGroup are included, with
their `ClassicProtocol`. This module uses the partition counts of topics, and handles no messages. The caller passes the
time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from ...cluster.assignors import Member as Subscriber
from ...cluster.assignors import assign_server_range, assign_uniform
from ...cluster.assignors.members import TopicPartition
from ...runtime.regular_expressions import BadPattern, compile_pattern
from ..purgatory import Parked
from .group_memory import LEAST_SIZE, Protocols, size_of

UNIFORM, RANGE = "uniform", "range"
ASSIGNORS = (UNIFORM, RANGE)
Assigned = set[TopicPartition]


class GroupState(StrEnum):
    """The state of a group, named as in Kafka. Dead means that the group does not exist."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"  # this state and the next one exist only in groups whose broker assigns (KIP-848)
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


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
class ConsumerMember:
    """A member of a KIP-848 group; times are in seconds.

    Attributes:
        epoch, previous_epoch: the epoch of its assignment, and of the assignment before.
        assigned: the partitions that it may read.
        revoking: the partitions that it must give up and has not given up yet.
        deadline: when the member is removed if it sends nothing.
        revokes_until: when the member is removed if it has not given up `revoking`.
        sent: the last assignment sent to it; None if the assignment must be sent again.
        resolved: the pattern whose topics it reads: Kafka looks for the topics of a new `pattern` after its response.
        classic: its state in the classic protocol; None if it uses the protocol of KIP-848.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str = ""
    resolved: str = ""
    assignor: str | None = None
    rebalance_timeout: float = 300.0
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Assigned = field(default_factory=set)
    revoking: Assigned = field(default_factory=set)
    deadline: float = inf
    revokes_until: float = inf
    sent: tuple[int, frozenset[TopicPartition]] | None = None
    has_left: bool = False  # a static member that left temporarily
    classic: ClassicProtocol | None = None

    @property
    def size(self) -> int:
        """The size of the member in bytes."""
        classic = size_of(self.classic.protocols) if self.classic is not None else 0
        return LEAST_SIZE + len(self.member_id) + sum(map(len, self.topics)) + len(self.pattern) + classic

    def prolong(self, seconds: float) -> None:
        """Extend the member's deadlines by some seconds."""
        self.deadline += seconds
        self.revokes_until += seconds
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


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """The members of one KIP-848 group.

    Attributes:
        epoch: the group epoch; it increases when members, subscriptions or topics change.
        members: the members by member id.
        target: the target assignment: the partitions of each member.
        target_epoch: the group epoch for which the target was computed.
        counts: the partition counts for which the target was computed.
        timer, wakes: the next timer, and when it expires.

    >>> group = ConsumerGroup()
    >>> for name in ("a", "b"):
    ...     group.members[name] = ConsumerMember(name, None, "c", "h", topics=("t",))
    >>> group.plan({"t": 4})
    >>> [sorted(one) for one in group.target.values()]
    [[('t', 0), ('t', 1)], [('t', 2), ('t', 3)]]
    """

    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    target: dict[str, Assigned] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    timer: Parked[None] | None = None
    wakes: float = inf

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer."""
        wanted = [member.assignor for member in self.members.values() if member.assignor]
        return max(ASSIGNORS, key=wanted.count)

    @property
    def state(self) -> GroupState:
        """The group's state."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        is_stable = all(
            member.epoch == self.epoch
            and not member.revoking
            and member.assigned == self.target.get(member.member_id, set())
            for member in self.members.values()
        )
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

    @property
    def is_used(self) -> bool:
        """Whether the group has state that must be kept."""
        return bool(self.members)

    def static(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member with an instance id; None if it does not exist."""
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

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
        self.epoch += changed or self.counts != before
        if self.epoch == self.target_epoch:
            return
        self.target_epoch = self.epoch
        self.target = self._assign(ids)

    def _assign(self, ids: Mapping[str, bytes] | None) -> dict[str, Assigned]:
        members = [
            Subscriber(
                name, [*filter(one.reads, self.counts)], None, one.instance_id, owned=[*self.target.get(name, ())]
            )
            for name, one in self.members.items()
        ]
        is_range = self.assignor == RANGE
        read = self.counts
        found = assign_server_range(read, members) if is_range else assign_uniform(read, members, ids=ids)
        return {name: set(places) for name, places in found.items()}

    def recount(self, counts: Mapping[str, int]) -> None:
        """Store the partition counts of the topics to which members subscribe."""
        members = self.members.values()
        self.counts = {name: count for name, count in counts.items() if any(member.reads(name) for member in members)}

    def reconcile(self, member: ConsumerMember, owned: Assigned | None, now: float) -> None:
        """Move a member's assignment one step towards its target.

        Args:
            member: the member that sent a heartbeat.
            owned: the partitions that it owns; None if the heartbeat does not list them.
            now: the time.
        """
        # Kafka: CurrentAssignmentBuilder.build
        target = self.target.get(member.member_id, set())
        if member.revoking and owned is not None and not owned & member.revoking:
            member.revoking, member.revokes_until = set(), inf
        if not member.revoking and member.assigned - target:
            revoking = member.assigned - target
            member.assigned &= target
            if owned is None or owned & revoking:
                member.revoking = revoking
                # classic members have no deadline for revoking, only one for rejoining
                member.revokes_until = now + member.rebalance_timeout if member.classic is None else inf
        if not member.revoking:
            if member.epoch != self.epoch:
                member.previous_epoch = member.epoch
                member.epoch = self.epoch
            member.assigned |= {node_id for node_id in target if not self._is_held(node_id, member)}

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Return whether other members still hold partitions of a member's target."""
        missing = self.target.get(member.member_id, set()) - member.assigned
        return any(self._is_held(one, member) for one in missing)

    def must_join(self, member: ConsumerMember) -> bool:
        """Return whether a classic member must rejoin: for a newer epoch, to give up partitions, or to get some."""
        is_complete = member.assigned == self.target.get(member.member_id, set())
        is_free = not is_complete and not self.waits_for_others(member)
        return member.epoch < self.epoch or bool(member.revoking) or is_free

    def supports(self, protocols: Protocols) -> bool:
        """Return whether all classic members support one of these protocols."""
        classic = [dict(member.classic.protocols) for member in self.members.values() if member.classic is not None]
        return any(all(name in one for one in classic) for name, _ in protocols)

    def is_classic_without(self, members: Collection[ConsumerMember]) -> bool:
        """Return whether at least one of these members uses KIP-848, and all others (at least one) use the classic
        protocol.
        """
        others = [member for member in self.members.values() if member not in members]
        is_new = any(member.classic is None for member in members)
        return is_new and bool(others) and all(one.classic is not None for one in others)

    def _is_held(self, topic_partition: TopicPartition, by_others_than: ConsumerMember) -> bool:
        others = (member for member in self.members.values() if member is not by_others_than)
        return any(topic_partition in one.assigned or topic_partition in one.revoking for one in others)

    def expired(self, now: float) -> list[ConsumerMember]:
        """Return the members whose deadline has passed."""
        return [member for member in self.members.values() if member.time_is_over <= now]

    def next_deadline(self) -> float:
        """Return the earliest deadline of all members."""
        return min((member.time_is_over for member in self.members.values()), default=inf)


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
