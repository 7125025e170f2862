"""The state of a group: members that joined with JoinGroup, committed and pending offsets, and when these expire.

Groups with members are converted to the protocol of KIP-848 and back: their members are then in `Group.consumer` (see
`modern_group`), and classic members continue to use JoinGroup, SyncGroup and Heartbeat.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ... import messages
from ...errors import DecodeError
from ...protocol.nested import decode_subscription
from ..purgatory import Parked
from .committed_offsets import Commit, Commits
from .group_memory import LEAST_SIZE, GroupMemory, Protocols, size_of
from .group_types import CLASSIC
from .modern_group import GroupState, ModernGroup


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
    joining: Parked[messages.JoinGroupResponse] | None = None
    syncing: Parked[messages.SyncGroupResponse] | None = None
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
        consumer: the members and assignments of a group whose broker assigns; None in a classic group.
        empty_since_ms: when the last member left, in milliseconds since 1970; None if the group has members, or never
            had any.
        pending_commits: commits that wait for the end of a transaction, by producer id, topic and partition.
        written: the group's latest records in `__consumer_offsets`, except commits, by key.
        is_unwritten: whether its latest changes could not be written.
        timer, wakes: the next timer, and when it expires.

    >>> group = Group("g", GroupMemory(1 << 20))
    >>> group.add(Member("a", None, "c", "", 10.0, 10.0, (("range", b""), ("sticky", b""))))
    >>> group.add(Member("b", None, "c", "", 10.0, 10.0, (("sticky", b""),)))
    >>> group.leader, group.supports((("range", b""),)), group.choose_protocol()
    ('a', False, 'sticky')
    """

    group_id: str
    held: GroupMemory
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
    is_unwritten: bool = False
    consumer: ModernGroup[Any, Any] | None = None
    timer: Parked[None] | None = None
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
    def kind(self) -> str:
        """The type of the group, as in ListGroups."""
        return CLASSIC if self.consumer is None else self.consumer.kind

    @property
    def is_unused(self) -> bool:
        """Whether the group has no state that must be kept."""
        has_members = self.members or self.pending or (self.consumer is not None and self.consumer.is_used)
        return not (has_members or self.commits or self.pending_commits)

    def reads(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic, or a subscription cannot be decoded."""
        if self.consumer is not None:
            return self.consumer.reads(topic)
        try:
            subscribed = (decode_subscription(member.metadata(self.protocol)) for member in self.members.values())
            return any(topic in subscription.message.topics for subscription in subscribed)
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
        leads = self.leader == member.member_id
        names = list(self.members)
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
        # Kafka: ClassicGroup.addPendingMember (KIP-394)
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

    def begin_consumers(self, consumer: ModernGroup[Any, Any]) -> None:
        """Convert the group, which has no classic members, to a group whose broker assigns."""
        self.expect_nobody()
        self.consumer = consumer
        self.protocol_type = consumer.kind
        self.protocol = None
        self.leader = None
        self.generation = consumer.epoch
        self.phase_ends = inf

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
        # Kafka: ClassicGroup.supportsProtocols
        return any(self.supported[name] == len(self.members) for name, _ in protocols)

    def choose_protocol(self) -> str:
        """Return the protocol that most members prefer among those that all members support."""
        # Kafka: ClassicGroup.selectProtocol
        candidates = {name for name, count in self.supported.items() if count == len(self.members)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return max(votes, key=lambda name: votes[name])
