"""Classic groups (JoinGroup, SyncGroup): members, committed offsets, memory use, and the state machine of rebalances.

A rebalance has the phases join and sync; sessions expire. Groups with members are converted to the protocol of KIP-848
and back: their members are then in `Group.consumer` (see `consumer_group`), and classic members continue to use
JoinGroup, SyncGroup and Heartbeat. The caller passes the time; the purgatory holds delayed responses and runs the
timers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from .. import messages
from ..errors import DecodeError
from ..internal import assignment_of, decode_assignment, decode_subscription, encode_assignment
from ..values import ErrorCode
from .consumer_group import (
    LEAST_SIZE,
    Assigned,
    ClassicProtocol,
    ConsumerGroup,
    ConsumerMember,
    GroupState,
    Protocols,
    places_of,
    size_of,
)
from .purgatory_and_fetch_sessions import Parked, Purgatory


@dataclass(slots=True)
class Held:
    """The memory that groups use, in bytes, and its limit.

    >>> held = Held(most=100)
    >>> held.take(90)
    >>> held.has_room(10), held.has_room(11)
    (True, False)
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """Count bytes as used; a negative size releases them."""
        self.size += size

    def has_room(self, size: int) -> bool:
        """Return whether `size` more bytes can be used."""
        return self.size + size <= self.most


@dataclass(slots=True, eq=False)
class Member:
    """A member of a classic group; times are in seconds.

    Attributes:
        instance_id: the id of a static member (KIP-345), which remains a member while it is disconnected.
        protocols: the supported protocols in order of preference, each with its metadata.
        deadline: when its session expires without further requests.
        joining, syncing: its parked JoinGroup or SyncGroup request.
        has_synced: whether it has sent SyncGroup in this generation.
        is_new: whether it waits for its first generation; until then it may not have received its member id.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: Protocols
    assignment: bytes = b""
    deadline: float = inf
    joining: Parked | None = None
    syncing: Parked | None = None
    has_synced: bool = False
    is_new: bool = True
    size: int = 0

    @property
    def can_expire(self) -> bool:
        """Whether the session can expire: not while a response is pending, unless the member is new and may have
        disconnected."""
        return self.is_new or (self.joining is None and self.syncing is None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for a protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def measure(self) -> int:
        """Update the member's size in bytes."""
        names = len(self.member_id) + len(self.instance_id or "") + len(self.client_id)
        return LEAST_SIZE + names + size_of(self.protocols) + len(self.assignment)


class Commit(NamedTuple):
    """A committed offset with its metadata. `topic_id` is the topic's id at the time of the commit, `time_ms` that time
    in milliseconds since 1970, and `expires_ms` the expiry time if the client set a retention time, otherwise -1."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes
    time_ms: int = -1
    expires_ms: int = -1

    @property
    def size(self) -> int:
        """The size of the commit in bytes."""
        return LEAST_SIZE + len(self.metadata)


class Commits:
    """The committed offsets of a group.

    >>> commits = Commits(Held(1 << 20))
    >>> commits.put("t", 0, Commit(5, 0, "", bytes(16)))
    >>> commits.get("t", 0, bytes(16)).offset, commits.get("t", 0, bytes(15) + b"1")
    (5, None)
    """

    def __init__(self, held: Held) -> None:
        self._held = held
        self._topics: dict[str, dict[int, Commit]] = {}

    def __bool__(self) -> bool:
        return bool(self._topics)

    def put(self, topic: str, index: int, commit: Commit) -> None:
        """Store a commit; it replaces the previous one for the partition."""
        rows = self._topics.setdefault(topic, {})
        old = rows.get(index)
        self._held.take(commit.size - (old.size if old else 0))
        rows[index] = commit

    def remove(self, topic: str, index: int) -> bool:
        """Remove a commit; returns whether there was one."""
        rows = self._topics.get(topic, {})
        commit = rows.pop(index, None)
        if not rows:
            self._topics.pop(topic, None)
        self._held.take(-commit.size if commit else 0)
        return commit is not None

    def get(self, topic: str, index: int, topic_id: bytes) -> Commit | None:
        """Return the commit for a partition; None if there is none, or if it belongs to a deleted topic of the same
        name.
        """
        found = self.last(topic, index)
        return found if found is not None and found.topic_id == topic_id else None

    def last(self, topic: str, index: int) -> Commit | None:
        """Return the commit for a partition, whatever its topic id."""
        return self._topics.get(topic, {}).get(index)

    def topics(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each topic with its partitions that have commits."""
        for topic, rows in self._topics.items():
            yield topic, list(rows)

    def clear(self) -> None:
        """Delete all commits."""
        self._held.take(-sum(commit.size for rows in self._topics.values() for commit in rows.values()))
        self._topics = {}


@dataclass(slots=True, eq=False)
class Group:
    """A group; times are in seconds.

    Attributes:
        held: counts the memory that groups use.
        generation: the generation id; each rebalance increments it.
        protocol_type, protocol: for example `consumer` and `range`; None in a group without members.
        pending: assigned member ids whose clients have not joined yet (KIP-394), with their expiry times.
        static: the member ids by instance id.
        supported: the number of members that support each protocol.
        phase_ends: when the group stops waiting for joins or syncs.
        is_gathering: whether the group was empty before this rebalance, so that the join phase waits for more members.
        prolonging, has_new_members: how much longer the join phase may last, and whether members have joined in it.
        consumer: the members and assignments of a KIP-848 group; None in a classic group.
        empty_since_ms: when the last member left, in milliseconds since 1970; None if the group has members, or never
            had any.
        pending_commits: commits that wait for the end of a transaction, by producer id, topic and partition.
        written: the group's latest records in `__consumer_offsets`, except commits, by key.
        timer, wakes: the next timer, and when it expires.

    >>> group = Group("g", Held(1 << 20))
    >>> group.add(Member("a", None, "c", "", 10.0, 10.0, (("range", b""), ("sticky", b""))))
    >>> group.add(Member("b", None, "c", "", 10.0, 10.0, (("sticky", b""),)))
    >>> group.leader, group.supports((("range", b""),)), group.choose_protocol()
    ('a', False, 'sticky')
    """

    group_id: str
    held: Held
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    supported: Counter[str] = field(default_factory=Counter)
    phase_ends: float = inf
    is_gathering: bool = False
    prolonging: float = 0.0
    has_new_members: bool = False
    empty_since_ms: int | None = None
    pending_commits: dict[int, dict[tuple[str, int], Commit]] = field(default_factory=dict)
    written: dict[bytes, bytes] = field(default_factory=dict)
    consumer: ConsumerGroup | None = None
    timer: Parked | None = None
    wakes: float = inf
    commits: Commits = field(init=False)

    def __post_init__(self) -> None:
        self.commits = Commits(self.held)
        self.held.take(self.size)

    @property
    def size(self) -> int:
        """The size of the group in bytes, without members and commits."""
        return LEAST_SIZE + len(self.group_id)

    @property
    def is_unused(self) -> bool:
        """Whether the group has no state that must be kept."""
        has_members = self.members or self.pending or (self.consumer is not None and self.consumer.is_used)
        return not (has_members or self.commits or self.pending_commits)

    def reads(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic, or a subscription cannot be decoded."""
        if self.consumer is not None:
            return any(one.reads(topic) for one in self.consumer.members.values())
        try:
            subscribed = (decode_subscription(one.metadata(self.protocol)) for one in self.members.values())
            return any(topic in one.message.topics for one in subscribed)
        except DecodeError:
            return True

    def is_expired(self, topic: str, index: int, before_ms: int, now_ms: int) -> bool:
        """Return whether a commit has expired (KIP-211).

        In an empty group, the retention period starts when the last member left. In a group that never had members, or
        for a topic to which no member subscribes, it starts at the commit. Commits that wait for the end of a
        transaction, and commits of a rebalancing group, do not expire. OffsetCommit 2 to 4 can set a retention time per
        commit.

        Args:
            topic, index: the partition.
            before_ms: retention periods that started before this time have ended; in milliseconds since 1970.
            now_ms: the time, in milliseconds since 1970.
        """
        commit = self.commits.last(topic, index)
        if commit is None or self.is_unstable(topic, index) or self.reads(topic):
            return False
        since = commit.time_ms
        if self.consumer is None and self.protocol_type is not None:
            if self.state is GroupState.EMPTY:
                since = commit.time_ms if self.empty_since_ms is None else self.empty_since_ms
            elif self.state is not GroupState.STABLE or self.protocol_type != "consumer":
                return False
        return since <= before_ms if commit.expires_ms < 0 else commit.expires_ms <= now_ms

    @property
    def have_all_joined(self) -> bool:
        """Whether all members have joined."""
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout(self) -> float:
        """The maximum time to wait for members: the longest of their rebalance timeouts."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0.0)

    def add(self, member: Member) -> None:
        """Add a member; the first one becomes the leader."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.supported.update(dict(member.protocols).keys())
        self.leader = self.leader or member.member_id
        self.resize(member)

    def remove(self, member: Member) -> None:
        """Remove a member; if it was the leader, the next member becomes the leader."""
        del self.members[member.member_id]
        if member.instance_id is not None:
            self.static.pop(member.instance_id, None)
        self._forget_protocols(member)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)
        self.held.take(-member.size)

    def update(self, member: Member, protocols: Protocols) -> None:
        """Replace the protocols of a member."""
        self._forget_protocols(member)
        member.protocols = protocols
        self.supported.update(dict(protocols).keys())
        self.resize(member)

    def rename(self, member: Member, member_id: str) -> None:
        """Assign another id to a static member, which keeps its position and, if it is the leader, the leadership."""
        leads, names = self.leader == member.member_id, list(self.members)
        names[names.index(member.member_id)] = member_id
        member.member_id = member_id
        self.members = dict(zip(names, self.members.values(), strict=True))
        assert member.instance_id is not None
        self.static[member.instance_id] = member_id
        if leads:
            self.leader = member_id

    def add_pending(self, producer_id: int, topic: str, index: int, commit: Commit) -> None:
        """Keep a commit until its transaction ends."""
        commits = self.pending_commits.setdefault(producer_id, {})
        before = commits.get((topic, index))
        self.held.take(commit.size - (before.size if before else 0))
        commits[topic, index] = commit

    def end_pending(self, producer_id: int) -> dict[tuple[str, int], Commit]:
        """Remove and return the commits of a transaction that has ended."""
        commits = self.pending_commits.pop(producer_id, {})
        self.held.take(-sum(commit.size for commit in commits.values()))
        return commits

    def is_unstable(self, topic: str, index: int) -> bool:
        """Return whether a commit for the partition waits for the end of a transaction."""
        return any((topic, index) in commits for commits in self.pending_commits.values())

    def expect(self, member_id: str, until: float) -> None:
        """Add a pending member id, which a client must use to join before it expires."""
        self.pending[member_id] = until
        self.held.take(LEAST_SIZE + len(member_id))

    def expect_no_longer(self, member_id: str) -> None:
        """Remove a pending member id, which has been used or has expired."""
        del self.pending[member_id]
        self.held.take(-LEAST_SIZE - len(member_id))

    def expect_nobody(self) -> None:
        """Remove all pending member ids."""
        for member_id in list(self.pending):
            self.expect_no_longer(member_id)

    def begin_consumers(self, consumer: ConsumerGroup) -> None:
        """Convert the group, which has no classic members, to a KIP-848 group."""
        self.expect_nobody()
        self.consumer, self.protocol_type, self.protocol, self.leader = consumer, "consumer", None, None
        self.generation, self.phase_ends = consumer.epoch, inf

    def resize(self, member: Member) -> None:
        """Update the size of a member."""
        size = member.measure()
        self.held.take(size - member.size)
        member.size = size

    def _forget_protocols(self, member: Member) -> None:
        for name in dict(member.protocols):
            self.supported[name] -= 1
            if not self.supported[name]:
                del self.supported[name]

    def supports(self, protocols: Protocols) -> bool:
        """Return whether all members support one of these protocols."""
        return any(self.supported[name] == len(self.members) for name, _ in protocols)

    def choose_protocol(self) -> str:
        """Return the protocol that most members prefer among those that all members support."""
        candidates = {name for name, count in self.supported.items() if count == len(self.members)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return max(votes, key=lambda name: votes[name])


def joined(
    group: Group, member: Member, *, includes_members: bool, leader: str | None = None, skip: bool = False
) -> Any:
    """Return the JoinGroup response for a member of the new generation.

    Args:
        group: the group.
        member: the recipient.
        includes_members: whether to include all members, because it will compute the assignment.
        leader: the leader to report if it is not the actual one.
        skip: whether the leader can skip the assignment, because nothing has changed (KIP-814).
    """
    response = messages.JoinGroupResponse
    return response(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol or "",
        leader=leader or group.leader or "",
        skip_assignment=skip,
        member_id=member.member_id,
        members=tuple(_row(group, one) for one in group.members.values()) if includes_members else (),
    )


def _row(group: Group, member: Member) -> Any:
    return messages.JoinGroupResponse.JoinGroupResponseMember(
        member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata(group.protocol)
    )


def not_joined(error_code: int, member_id: str = "") -> Any:
    """Return the JoinGroup response with an error."""
    return messages.JoinGroupResponse(error_code=error_code, member_id=member_id)


def assigned(group: Group, member: Member) -> Any:
    """Return the SyncGroup response with a member's assignment."""
    return messages.SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def not_assigned(error_code: int) -> Any:
    """Return the SyncGroup response with an error."""
    return messages.SyncGroupResponse(error_code=error_code)


def described(group: Group) -> Any:
    """Return the description of a group and its members; metadata is included only if the group is stable."""
    is_stable = group.state is GroupState.STABLE
    return messages.DescribeGroupsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=tuple(_described(group, member, is_stable) for member in group.members.values()),
    )


def _described(group: Group, member: Member, is_stable: bool) -> Any:
    return messages.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if is_stable else b"",
        member_assignment=member.assignment if is_stable else b"",
    )


FIRST_JOIN = 300.0  # seconds to wait for a new member, which cannot send heartbeats yet
LEAST_WAIT = 0.1  # seconds, the minimum for timers that restart themselves


class Rebalancing:
    """The state transitions of classic groups.

    Args:
        purgatory: holds delayed responses.
        initial_delay: the time in seconds to wait for more members after the first one.
        remember: called with each group that becomes stable or empty.
    """

    def __init__(self, purgatory: Purgatory, initial_delay: float, remember: Callable[[Group], None]) -> None:
        self.purgatory: Purgatory = purgatory
        self.initial_delay: float = initial_delay
        self._remember = remember

    def add(self, group: Group, member: Member, now: float) -> Parked:
        """Add a new member to the group; it joins the next generation."""
        if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
            group.has_new_members = True
        group.add(member)
        member.deadline = now + FIRST_JOIN
        self.wake(group, member.deadline)
        return self.join(group, member, now)

    def join(self, group: Group, member: Member, now: float) -> Parked:
        """Park a member's JoinGroup request until the next generation; it replaces the member's previous request."""
        self._respond(member, not_joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        parked = member.joining = Parked()
        self.prepare(group, now)
        return parked

    def interrupt(self, group: Group, member: Member, now: float) -> None:
        """Respond to a parked request of a member with the error that makes it rejoin."""
        self._respond(member, not_joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        self._answer_sync(group, member, not_assigned(ErrorCode.REBALANCE_IN_PROGRESS), now)

    def prepare(self, group: Group, now: float) -> None:
        """Start a rebalance unless one is in progress: all members have to rejoin."""
        if group.state is GroupState.PREPARING_REBALANCE:
            return
        if group.state is GroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                self._assign(group, member, b"")
                self._answer_sync(group, member, not_assigned(ErrorCode.REBALANCE_IN_PROGRESS), now)
        group.is_gathering = group.state is GroupState.EMPTY
        delay = self.initial_delay if group.is_gathering else group.rebalance_timeout
        group.prolonging = max(group.rebalance_timeout - delay, 0.0)
        group.has_new_members = False
        group.state = GroupState.PREPARING_REBALANCE
        self._end_phase_at(group, now + delay)

    def settle(self, group: Group, now: float) -> None:
        """End the join phase if all members have joined or its time has passed."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        if group.phase_ends <= now or (group.have_all_joined and not group.is_gathering):
            self._end_joins(group, now)

    def _end_joins(self, group: Group, now: float) -> None:
        if group.is_gathering and group.has_new_members and group.prolonging > 0:
            delay = max(min(self.initial_delay, group.prolonging), LEAST_WAIT)
            group.prolonging, group.has_new_members = group.prolonging - delay, False
            self._end_phase_at(group, now + delay)
            return
        group.is_gathering = False
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                group.remove(member)
        if not group.members:
            group.generation += 1
            group.state, group.protocol, group.phase_ends = GroupState.EMPTY, None, inf
            self._remember(group)
        elif self._has_a_leader(group):
            self._begin_generation(group, now)
        else:
            self._end_phase_at(group, now + max(group.rebalance_timeout, LEAST_WAIT))

    def _has_a_leader(self, group: Group) -> bool:
        """Choose a connected member as leader, and return whether there is one. Disconnected static members cannot
        lead."""
        there = [member.member_id for member in group.members.values() if member.joining]
        if there and group.leader not in there:
            group.leader = there[0]
        return bool(there)

    def _begin_generation(self, group: Group, now: float) -> None:
        group.generation += 1
        group.protocol = group.choose_protocol()
        group.state = GroupState.COMPLETING_REBALANCE
        self._end_phase_at(group, now + group.rebalance_timeout)
        for member in group.members.values():
            self._respond(member, joined(group, member, includes_members=member.member_id == group.leader))
            member.is_new = member.has_synced = False
            self.keep(group, member, now)

    def _respond(self, member: Member, response: Any) -> None:
        """Respond to a member's JoinGroup request."""
        if member.joining:
            parked, member.joining = member.joining, None
            self.purgatory.answer(parked, response)

    def sync(self, group: Group, member: Member, now: float) -> Parked:
        """Park a member's SyncGroup request until the leader's assignment; it replaces the member's previous one."""
        self._answer_sync(group, member, not_assigned(ErrorCode.REBALANCE_IN_PROGRESS), now)
        parked = member.syncing = Parked()
        return parked

    def assign(self, group: Group, assignments: dict[str, bytes], now: float) -> None:
        """Send the leader's assignments, empty ones to members that have none; the group becomes stable."""
        group.state = GroupState.STABLE
        for member in group.members.values():
            self._assign(group, member, assignments.get(member.member_id, b""))
        self._remember(group)
        for member in group.members.values():
            self._answer_sync(group, member, assigned(group, member), now)

    def _assign(self, group: Group, member: Member, assignment: bytes) -> None:
        member.assignment = assignment
        group.resize(member)

    def _answer_sync(self, group: Group, member: Member, response: Any, now: float) -> None:
        if member.syncing:
            parked, member.syncing = member.syncing, None
            self.purgatory.answer(parked, response)
            self.keep(group, member, now)

    def remove(self, group: Group, member: Member, now: float) -> None:
        """Remove a member; the others take over its partitions."""
        self._respond(member, not_joined(ErrorCode.UNKNOWN_MEMBER_ID))
        self._answer_sync(group, member, not_assigned(ErrorCode.UNKNOWN_MEMBER_ID), now)
        group.remove(member)
        self.prepare(group, now)

    def replace(self, group: Group, member: Member, member_id: str, now: float) -> None:
        """Let a static member rejoin with a new id; clients with the old id are fenced."""
        self._respond(member, not_joined(ErrorCode.FENCED_INSTANCE_ID, member.member_id))
        self._answer_sync(group, member, not_assigned(ErrorCode.FENCED_INSTANCE_ID), now)
        group.rename(member, member_id)
        if group.state is GroupState.STABLE:
            self._remember(group)
        self.keep(group, member, now)

    def keep(self, group: Group, member: Member, now: float) -> None:
        """Extend the session of a member."""
        member.deadline = now + member.session_timeout
        self.wake(group, member.deadline)

    def wake(self, group: Group, when: float) -> None:
        """Set the timer of a group to a time, unless it is set to an earlier time."""
        if when < group.wakes:
            self.rest(group)
            group.wakes, group.timer = when, Parked(lambda over: self._woken(group))
            self.purgatory.park(group.timer, when)

    def rest(self, group: Group) -> None:
        """Cancel the timer of a group."""
        if group.timer:
            self.purgatory.forget(group.timer)
        group.wakes, group.timer = inf, None

    def _woken(self, group: Group) -> None:
        group.wakes, group.timer = inf, None
        self.expire(group, self.purgatory.now)
        deadlines = [member.deadline for member in group.members.values() if member.can_expire]
        self.wake(group, min([group.phase_ends, *group.pending.values(), *deadlines]))

    def expire(self, group: Group, now: float) -> None:
        """Remove expired members and pending ids, and end phases whose time has passed."""
        for member_id in [member_id for member_id, until in group.pending.items() if until <= now]:
            group.expect_no_longer(member_id)
        for member in self._silent(group, now):
            self.remove(group, member, now)
        self.settle(group, now)

    def _silent(self, group: Group, now: float) -> list[Member]:
        """Return the members whose session has expired, or that did not sync in time."""
        is_late = group.phase_ends <= now and group.state is not GroupState.PREPARING_REBALANCE
        if is_late:
            group.phase_ends = inf
        return [
            member
            for member in group.members.values()
            if (member.can_expire and member.deadline <= now) or (is_late and not member.has_synced)
        ]

    def _end_phase_at(self, group: Group, when: float) -> None:
        group.phase_ends = when
        self.wake(group, when)


CONSUMER_TYPE = "consumer"  # the protocol type of groups that can be converted
BOTH, UPGRADE, DOWNGRADE, DISABLED = "bidirectional", "upgrade", "downgrade", "disabled"
POLICIES = (BOTH, UPGRADE, DOWNGRADE, DISABLED)  # values of group.consumer.migration.policy


def upgraded(group: Group, topics: Collection[str]) -> ConsumerGroup:
    """Return the KIP-848 state of a classic group with members; its epoch is the group's generation.

    Each member keeps its last assignment, which is also its target, and rejoins because the next epoch is higher.

    Args:
        group: the classic group.
        topics: the existing topics; assignments of other topics are left out.

    Raises:
        DecodeError: a subscription or an assignment cannot be decoded.
    """
    consumer = ConsumerGroup(epoch=group.generation, target_epoch=group.generation)
    protocol = group.protocol or group.choose_protocol()
    for old in group.members.values():
        member = ConsumerMember(old.member_id, old.instance_id, old.client_id, old.client_host)
        subscribe(member, decode_subscription(old.metadata(protocol)).message)
        rows = decode_assignment(old.assignment).message.assigned_partitions if old.assignment else ()
        member.assigned = places_of((row.topic, row.partitions) for row in rows if row.topic in topics)
        member.epoch = member.previous_epoch = group.generation
        member.rebalance_timeout = old.rebalance_timeout
        member.classic = ClassicProtocol(old.session_timeout, old.protocols)
        consumer.members[old.member_id] = member
        consumer.target[old.member_id] = set(member.assigned)
    return consumer


def subscribe(member: ConsumerMember, subscription: Any) -> bool:
    """Set a member's topics and rack from its subscription; returns whether the topics have changed."""
    before = member.topics
    member.topics, member.rack = tuple(sorted(subscription.topics)), subscription.rack_id or member.rack
    return before != member.topics


def owned_by(protocols: Protocols) -> tuple[Any, Assigned]:
    """Return the subscription of a classic member's preferred protocol, and the partitions that it reports as owned.

    Raises:
        DecodeError: the metadata is not a valid subscription.
    """
    found = decode_subscription(protocols[0][1]).message
    return found, places_of((row.topic, row.partitions) for row in found.owned_partitions)


def classic_assignment(protocols: Protocols, places: Assigned) -> bytes:
    """Encode assigned partitions for a classic member, in the version of its subscription."""
    version = decode_subscription(protocols[0][1]).version
    return encode_assignment(assignment_of(sorted(places)), version)


def downgrade(group: Group, consumer: ConsumerGroup) -> None:
    """Make a group classic whose members all use the classic protocol; they keep their target assignments."""
    group.generation, group.protocol_type = consumer.epoch, CONSUMER_TYPE
    group.consumer, group.state = None, GroupState.STABLE
    for old in consumer.members.values():
        assert old.classic is not None
        timeouts = old.classic.session_timeout, old.rebalance_timeout
        who = old.member_id, old.instance_id, old.client_id, old.client_host
        target = consumer.target.get(old.member_id, set())
        assignment = classic_assignment(old.classic.protocols, target)
        group.add(Member(*who, *timeouts, old.classic.protocols, assignment, has_synced=True, is_new=False))
    group.protocol = group.choose_protocol()
