"""The state of a consumer group (KIP-848), whose broker assigns the partitions: members, epochs, target assignment.

A member gives up what it is not to have before anybody else gets it. Members that still use JoinGroup are in it with
their `ClassicProtocol`. Knows the topics by their numbers of partitions; knows no messages. The caller passes the time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from ..cluster.assignors import Member as Subscriber
from ..cluster.assignors import assign_server_range, assign_uniform
from ..cluster.assignors.members import TopicPartition
from .purgatory import Parked

LEAST_SIZE = 512  # estimated bytes of a group, member or commit, without its variable contents
PROTOCOL_SIZE = 128  # estimated bytes of a member's protocol, without name and metadata
Protocols = tuple[tuple[str, bytes], ...]
UNIFORM, RANGE = "uniform", "range"
ASSIGNORS = (UNIFORM, RANGE)
Assigned = set[TopicPartition]


def size_of(protocols: Protocols) -> int:
    """Return the size of a member's protocols in bytes."""
    return sum(PROTOCOL_SIZE + len(name) + len(data) for name, data in protocols)


class GroupState(StrEnum):
    """The state of a group, in Kafka's terms. Dead means that it does not exist."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"  # this and the next one: only of groups whose broker assigns (KIP-848)
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True)
class ClassicProtocol:
    """What a member of a group whose broker assigns is if it uses JoinGroup and SyncGroup; times are in seconds.

    Attributes:
        session_timeout: after which it is removed if it sends nothing.
        protocols: the supported protocols by preference, each with its metadata.
        joins_until, syncs_until: when it is removed if it does not join again, or sync.
    """

    session_timeout: float
    protocols: Protocols
    joins_until: float = inf
    syncs_until: float = inf


@dataclass(slots=True, eq=False)
class ConsumerMember:
    """A member; times are in seconds.

    Attributes:
        epoch, previous_epoch: of the assignment that it has, and of the one before.
        assigned: what it may read.
        revoking: what it had, and has not given up yet.
        deadline: when it is removed if it sends nothing.
        revokes_until: when it is removed if it does not give up `revoking`.
        sent: the assignment that it was sent last; None if it is to be sent again.
        classic: what it is by the classic protocol; None if it uses KIP-848's.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str = ""
    assignor: str | None = None
    rebalance_timeout: float = 300.0
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Assigned = field(default_factory=set)
    revoking: Assigned = field(default_factory=set)
    deadline: float = inf
    revokes_until: float = inf
    sent: tuple[int, frozenset[TopicPartition]] | None = None
    has_left: bool = False  # a static member that will be back
    classic: ClassicProtocol | None = None

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        classic = size_of(self.classic.protocols) if self.classic is not None else 0
        return LEAST_SIZE + len(self.member_id) + sum(map(len, self.topics)) + len(self.pattern) + classic

    def prolong(self, seconds: float) -> None:
        """Extend its deadlines."""
        self.deadline += seconds
        self.revokes_until += seconds
        if self.classic is not None:
            self.classic.joins_until += seconds
            self.classic.syncs_until += seconds

    @property
    def time_is_over(self) -> float:
        """When it is removed if it goes on doing nothing."""
        classic = self.classic
        waits = (classic.joins_until, classic.syncs_until) if classic is not None else ()
        return min(self.deadline, self.revokes_until, *waits)

    def reads(self, topic: str) -> bool:
        """Whether it subscribes to a topic."""
        return topic in self.topics or bool(self.pattern and re.fullmatch(self.pattern, topic))


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """The members of one group.

    Attributes:
        epoch: of the group: higher with each change of members, subscriptions or topics.
        members: by member id.
        target: what each member is to read.
        target_epoch: the group's epoch that the target was made for.
        counts: the numbers of partitions that the target was made for.
        timer, wakes: what looks after it next, and when.

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
    timer: Parked | None = None
    wakes: float = inf

    @property
    def assignor(self) -> str:
        """The assignor that most members ask for."""
        wanted = [one.assignor for one in self.members.values() if one.assignor]
        return max(ASSIGNORS, key=wanted.count)

    @property
    def state(self) -> GroupState:
        """What the group is doing."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        is_stable = all(
            one.epoch == self.epoch and not one.revoking and one.assigned == self.target.get(one.member_id, set())
            for one in self.members.values()
        )
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

    @property
    def is_used(self) -> bool:
        """Whether it has state worth keeping."""
        return bool(self.members)

    def static(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member with an instance id; None if there is none."""
        if instance_id is None:
            return None
        return next((one for one in self.members.values() if one.instance_id == instance_id), None)

    def plan(self, counts: Mapping[str, int], *, ids: Mapping[str, bytes] | None = None, changed: bool = True) -> None:
        """Make a new target if members have changed, or the topics that they read.

        Args:
            counts: the numbers of partitions of all topics.
            ids: of all topics, by which Kafka orders them.
            changed: whether members have.
        """
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
        """Note the numbers of partitions of the topics that members read."""
        members = self.members.values()
        self.counts = {name: count for name, count in counts.items() if any(one.reads(name) for one in members)}

    def reconcile(self, member: ConsumerMember, owned: Assigned | None, now: float) -> None:
        """Bring a member nearer to its target.

        Args:
            member: which sends a heartbeat.
            owned: what it reads, where it says that.
            now: the time.
        """
        target = self.target.get(member.member_id, set())
        if member.revoking and owned is not None and not owned & member.revoking:
            member.revoking, member.revokes_until = set(), inf
        if not member.revoking and member.assigned - target:
            revoking = member.assigned - target
            member.assigned &= target
            if owned is None or owned & revoking:
                member.revoking = revoking
                # classic members have no time for this, but for joining again
                member.revokes_until = now + member.rebalance_timeout if member.classic is None else inf
        if not member.revoking:
            if member.epoch != self.epoch:
                member.previous_epoch, member.epoch = member.epoch, self.epoch
            member.assigned |= {one for one in target if not self._is_held(one, member)}

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether others still have partitions that a member is to read."""
        missing = self.target.get(member.member_id, set()) - member.assigned
        return any(self._is_held(one, member) for one in missing)

    def must_join(self, member: ConsumerMember) -> bool:
        """Whether a classic member must join again: for a newer epoch, to give up partitions, or to get some."""
        is_complete = member.assigned == self.target.get(member.member_id, set())
        is_free = not is_complete and not self.waits_for_others(member)
        return member.epoch < self.epoch or bool(member.revoking) or is_free

    def supports(self, protocols: Protocols) -> bool:
        """Whether all classic members support one of these protocols."""
        classic = [dict(one.classic.protocols) for one in self.members.values() if one.classic is not None]
        return any(all(name in one for one in classic) for name, _ in protocols)

    def is_classic_without(self, members: Collection[ConsumerMember]) -> bool:
        """Whether some of these members do not use the classic protocol, and all others, if there are any, do."""
        others = [one for one in self.members.values() if one not in members]
        is_new = any(one.classic is None for one in members)
        return is_new and bool(others) and all(one.classic is not None for one in others)

    def _is_held(self, place: TopicPartition, by_others_than: ConsumerMember) -> bool:
        others = (one for one in self.members.values() if one is not by_others_than)
        return any(place in one.assigned or place in one.revoking for one in others)

    def expired(self, now: float) -> list[ConsumerMember]:
        """Return the members whose time is over."""
        return [one for one in self.members.values() if one.time_is_over <= now]

    def next_deadline(self) -> float:
        """Return when the next member's time is over."""
        return min((one.time_is_over for one in self.members.values()), default=inf)


def check_pattern(pattern: str | None) -> bool:
    """Return whether a pattern for names of topics is one."""
    try:
        re.compile(pattern or "")
    except re.error:
        return False
    return True


def places_of(rows: Iterable[tuple[str | None, Iterable[int]]]) -> Assigned:
    """Return the partitions of topics, but for those without a name, which are no more."""
    return {(topic, index) for topic, indexes in rows if topic is not None for index in indexes}
