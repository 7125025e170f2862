"""The state of one group: its members by the classic protocol (JoinGroup, SyncGroup), its committed offsets and memory.

`classic_rebalance` changes it. In a group of KIP-848, the members are in `Group.consumer`, which `consumer_group`
defines. Knows no messages; the caller passes the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ..errors import DecodeError
from ..internal import decode_subscription
from .consumer_group import LEAST_SIZE, ConsumerGroup, GroupState, Protocols, size_of
from .purgatory import Parked


@dataclass(slots=True)
class Held:
    """The memory that groups use, in bytes.

    >>> held = Held(most=100)
    >>> held.take(90)
    >>> held.has_room(10), held.has_room(11)
    (True, False)
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """Add bytes; negative to release them."""
        self.size += size

    def has_room(self, size: int) -> bool:
        """Return whether so many more bytes may be used."""
        return self.size + size <= self.most


@dataclass(slots=True, eq=False)
class Member:
    """A member; times are in seconds.

    Attributes:
        instance_id: of a static member (KIP-345), which keeps its membership while it is disconnected.
        protocols: the supported protocols by preference, each with its metadata.
        deadline: the end of its session without further requests.
        joining, syncing: its parked request.
        has_synced: whether it has sent SyncGroup in this generation.
        is_new: whether it waits for its first generation, and may not know its member id yet.
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
        """Whether its session can expire: not while a response is pending, except for a new member, which might be
        gone."""
        return self.is_new or (self.joining is None and self.syncing is None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return its metadata for a protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def measure(self) -> int:
        """Update its size in bytes."""
        names = len(self.member_id) + len(self.instance_id or "") + len(self.client_id)
        return LEAST_SIZE + names + size_of(self.protocols) + len(self.assignment)


class Commit(NamedTuple):
    """A committed offset with its metadata; `topic_id` is the id of the topic at that time, `time_ms` the time of the
    commit, in milliseconds since 1970, and `expires_ms` when it expires if the client gave a time; -1 if not."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes
    time_ms: int = -1
    expires_ms: int = -1

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return LEAST_SIZE + len(self.metadata)


class Commits:
    """The commits of a group.

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
        """Store a commit, replacing the previous one."""
        rows = self._topics.setdefault(topic, {})
        old = rows.get(index)
        self._held.take(commit.size - (old.size if old else 0))
        rows[index] = commit

    def remove(self, topic: str, index: int) -> bool:
        """Forget a commit; returns whether there was one."""
        rows = self._topics.get(topic, {})
        commit = rows.pop(index, None)
        if not rows:
            self._topics.pop(topic, None)
        self._held.take(-commit.size if commit else 0)
        return commit is not None

    def get(self, topic: str, index: int, topic_id: bytes) -> Commit | None:
        """Return a commit, unless it belongs to an earlier topic of the same name."""
        found = self.last(topic, index)
        return found if found is not None and found.topic_id == topic_id else None

    def last(self, topic: str, index: int) -> Commit | None:
        """Return a commit, for any id of the topic."""
        return self._topics.get(topic, {}).get(index)

    def topics(self) -> Iterator[tuple[str, list[int]]]:
        """Yield the topics and their partitions with commits."""
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
        held: counts its memory.
        generation: of its assignment; each rebalance adds one.
        protocol_type, protocol: for example `consumer` and `range`; None without members.
        pending: assigned member ids that have not joined yet (KIP-394), with their expiry times.
        static: member ids by instance id.
        supported: how many members support each protocol.
        phase_ends: when waiting for joins, or syncs, ends.
        is_gathering: whether the group was empty, so that the join phase waits for more members.
        prolonging, has_newcomers: by how much that phase may be extended, and whether there is a reason.
        consumer: its members and their assignments where the broker assigns (KIP-848); None for a classic group.
        empty_since_ms: when its last member left, in milliseconds since 1970; None if it has members, or never had.
        pending_commits: what waits for the end of a transaction, by producer id, topic and partition.
        written: its last records in `__consumer_offsets`, but for commits, by key.
        timer, wakes: its next timer, and the time.

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
        """Its size in bytes, without members and commits."""
        return LEAST_SIZE + len(self.group_id)

    @property
    def is_unused(self) -> bool:
        """Whether it has no state worth keeping."""
        has_members = self.members or self.pending or (self.consumer is not None and self.consumer.is_used)
        return not (has_members or self.commits or self.pending_commits)

    def reads(self, topic: str) -> bool:
        """Whether a member subscribes to a topic, or a subscription cannot be read."""
        if self.consumer is not None:
            return any(one.reads(topic) for one in self.consumer.members.values())
        try:
            subscribed = (decode_subscription(one.metadata(self.protocol)) for one in self.members.values())
            return any(topic in one.message.topics for one in subscribed)
        except DecodeError:
            return True

    def is_expired(self, topic: str, index: int, before_ms: int, now_ms: int) -> bool:
        """Whether a commit's time is over (KIP-211).

        That of an empty group begins when its last member left; that of a group without any, or of a topic that no
        member reads, when it was committed. Commits that wait for the end of a transaction, and those of groups that
        rebalance, do not expire. A commit has its own time if OffsetCommit 2 to 4 gave one.

        Args:
            topic, index: the partition.
            before_ms: what began before this time has expired, in milliseconds since 1970.
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
        """How long to wait for members: the longest of their rebalance timeouts."""
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
        """Remove a member; if it led, the next one becomes the leader."""
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
        """Assign another id to a static member; it keeps its position, and the leadership if it had it."""
        leads, names = self.leader == member.member_id, list(self.members)
        names[names.index(member.member_id)] = member_id
        member.member_id = member_id
        self.members = dict(zip(names, self.members.values(), strict=True))
        assert member.instance_id is not None
        self.static[member.instance_id] = member_id
        if leads:
            self.leader = member_id

    def add_pending(self, producer_id: int, topic: str, index: int, commit: Commit) -> None:
        """Keep a commit until the end of a transaction."""
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
        """Whether a commit for a partition waits for the end of a transaction."""
        return any((topic, index) in commits for commits in self.pending_commits.values())

    def expect(self, member_id: str, until: float) -> None:
        """Assign a member id to a client that has to join with it."""
        self.pending[member_id] = until
        self.held.take(LEAST_SIZE + len(member_id))

    def expect_no_longer(self, member_id: str) -> None:
        """Remove a pending member id, because it is used or has expired."""
        del self.pending[member_id]
        self.held.take(-LEAST_SIZE - len(member_id))

    def expect_nobody(self) -> None:
        """Remove all pending member ids."""
        for member_id in list(self.pending):
            self.expect_no_longer(member_id)

    def begin_consumers(self, consumer: ConsumerGroup) -> None:
        """Let the broker assign from now on; there are no classic members."""
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
        """Return the protocol that most members prefer, among those that all support."""
        candidates = {name for name, count in self.supported.items() if count == len(self.members)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return max(votes, key=lambda name: votes[name])
