"""Consumer groups whose broker assigns (KIP-848): members, target assignments, and the way to them.

A member gives up what it is not to have before anybody else gets it. Knows the topics by their numbers of partitions;
knows no messages. The caller passes the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from ..cluster.assignors import Member, assign_server_range, assign_uniform
from .group import LEAST_SIZE, GroupState
from .purgatory import Parked

UNIFORM, RANGE = "uniform", "range"
ASSIGNORS = (UNIFORM, RANGE)
TopicPartition = tuple[str, int]
Assigned = set[TopicPartition]


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

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return LEAST_SIZE + len(self.member_id) + sum(map(len, self.topics)) + len(self.pattern)

    def reads(self, topic: str) -> bool:
        """Whether it subscribes to a topic."""
        return topic in self.topics or bool(self.pattern and re.fullmatch(self.pattern, topic))


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """The members of one group.

    Attributes:
        epoch: of the group: higher with each change of members, subscriptions or topics.
        members: by member id.
        target: what each member is to read, at `epoch`.
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
        is_stable = all(
            one.epoch == self.epoch and not one.revoking and one.assigned == self.target.get(one.member_id, set())
            for one in self.members.values()
        )
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

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
        if not changed and self.counts == before:
            return
        self.epoch += 1
        members = [
            Member(name, [*filter(one.reads, self.counts)], None, one.instance_id, owned=[*self.target.get(name, ())])
            for name, one in self.members.items()
        ]
        is_range = self.assignor == RANGE
        read = self.counts
        found = assign_server_range(read, members) if is_range else assign_uniform(read, members, ids=ids)
        self.target = {name: set(places) for name, places in found.items()}

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
            member.revoking = member.assigned - target
            member.assigned &= target
            member.revokes_until = now + member.rebalance_timeout
        if not member.revoking:
            if member.epoch != self.epoch:
                member.previous_epoch, member.epoch = member.epoch, self.epoch
            member.assigned |= {one for one in target if not self._is_held(one, member)}

    def _is_held(self, place: TopicPartition, by_others_than: ConsumerMember) -> bool:
        others = (one for one in self.members.values() if one is not by_others_than)
        return any(place in one.assigned or place in one.revoking for one in others)

    def expired(self, now: float) -> list[ConsumerMember]:
        """Return the members whose time is over."""
        return [one for one in self.members.values() if min(one.deadline, one.revokes_until) <= now]

    def next_deadline(self) -> float:
        """Return when the next member's time is over."""
        return min((min(one.deadline, one.revokes_until) for one in self.members.values()), default=inf)


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
