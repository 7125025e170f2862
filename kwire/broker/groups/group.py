"""The state of one consumer group: its members, committed offsets and memory. `rebalance` changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import NamedTuple

from ..purgatory import Parked

LEAST_SIZE = 512  # bytes that a group, a member or a commit takes besides what clients put into it


@dataclass(slots=True)
class Held:
    """Bytes that groups keep.

    >>> held = Held(most=100)
    >>> held.take(90)
    >>> held.has_room(10), held.has_room(11)
    (True, False)
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """Count bytes that are kept from now on; or, below 0, no longer."""
        self.size += size

    def has_room(self, size: int) -> bool:
        """Say whether so many more may be kept."""
        return self.size + size <= self.most


PROTOCOL_SIZE = 128  # bytes that a protocol of a member takes besides its name and metadata

Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True, eq=False)
class Member:
    """A member; times are in seconds.

    Attributes:
        instance_id: of a static member (KIP-345), whose place is kept while it is away.
        protocols: the names it can go by, the one it likes best first, each with its metadata.
        deadline: when it is taken for dead if it says nothing.
        joining, syncing: its request that waits.
        has_synced: whether it asked for its assignment in this generation.
        is_new: whether it waits for its first generation, and may not know its own id yet.
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
        """Whether silence counts: not of those who wait for an answer, but for the new, who might never hear it."""
        return self.is_new or (self.joining is None and self.syncing is None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return what it says under a protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def measure(self) -> int:
        """Count the bytes that it takes."""
        names = len(self.member_id) + len(self.instance_id or "") + len(self.client_id)
        protocols = sum(PROTOCOL_SIZE + len(name) + len(data) for name, data in self.protocols)
        return LEAST_SIZE + names + protocols + len(self.assignment)


class Commit(NamedTuple):
    """An offset that was committed, and what was noted with it; `topic_id` is of the topic as it was then."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes

    @property
    def size(self) -> int:
        """How many bytes it takes."""
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
        """Keep a commit instead of the one before."""
        rows = self._topics.setdefault(topic, {})
        old = rows.get(index)
        self._held.take(commit.size - (old.size if old else 0))
        rows[index] = commit

    def get(self, topic: str, index: int, topic_id: bytes) -> Commit | None:
        """Return a commit, if it is of this very topic, and not of one before of the same name."""
        found = self.last(topic, index)
        return found if found is not None and found.topic_id == topic_id else None

    def last(self, topic: str, index: int) -> Commit | None:
        """Return a commit, whatever the id of the topic now."""
        return self._topics.get(topic, {}).get(index)

    def topics(self) -> Iterator[tuple[str, list[int]]]:
        """Give the topics with the partitions that have commits."""
        for topic, rows in self._topics.items():
            yield topic, list(rows)

    def clear(self) -> None:
        """Forget all of them."""
        self._held.take(-sum(commit.size for rows in self._topics.values() for commit in rows.values()))
        self._topics = {}


class GroupState(StrEnum):
    """What a group is doing, in Kafka's words. Dead is a group that is not there."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True, eq=False)
class Group:
    """A group; times are in seconds.

    Attributes:
        held: is told of all bytes that it keeps.
        generation: of its assignment, one more after each rebalance.
        protocol_type, protocol: `consumer` and `range`, for example; None without members.
        pending: member ids that were given and not used yet (KIP-394), and until when they hold.
        static: member ids by instance id.
        supported: how many members can go by each protocol.
        phase_ends: when joins, or syncs, are waited for no longer.
        is_gathering: whether nobody was in before, and more members are waited for than are known.
        prolonging, has_newcomers: how much longer that may take, and whether there is a reason.
        pending_commits: what waits for the end of a transaction, by producer id, topic and partition.
        timer, wakes: what looks after it next, and when.

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
    has_newcomers: bool = False
    pending_commits: dict[int, dict[tuple[str, int], Commit]] = field(default_factory=dict)
    timer: Parked | None = None
    wakes: float = inf
    commits: Commits = field(init=False)

    def __post_init__(self) -> None:
        self.commits = Commits(self.held)
        self.held.take(self.size)

    @property
    def size(self) -> int:
        """How many bytes it takes without its members and commits."""
        return LEAST_SIZE + len(self.group_id)

    @property
    def is_unused(self) -> bool:
        """Whether nobody would miss it."""
        return not (self.members or self.pending or self.commits or self.pending_commits)

    @property
    def have_all_joined(self) -> bool:
        """Whether nobody is waited for."""
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout(self) -> float:
        """How long members are waited for: as long as the slowest one asked."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0.0)

    def add(self, member: Member) -> None:
        """Take a member in; the first one leads."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.supported.update(dict(member.protocols).keys())
        self.leader = self.leader or member.member_id
        self.resize(member)

    def remove(self, member: Member) -> None:
        """Let a member go; the next one leads if it did."""
        del self.members[member.member_id]
        if member.instance_id is not None:
            self.static.pop(member.instance_id, None)
        self._forget_protocols(member)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)
        self.held.take(-member.size)

    def update(self, member: Member, protocols: Protocols) -> None:
        """Let a member go by other protocols."""
        self._forget_protocols(member)
        member.protocols = protocols
        self.supported.update(dict(protocols).keys())
        self.resize(member)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member another id; it keeps its place, and leads if it did."""
        leads, names = self.leader == member.member_id, list(self.members)
        names[names.index(member.member_id)] = member_id
        member.member_id = member_id
        self.members = dict(zip(names, self.members.values(), strict=True))
        assert member.instance_id is not None
        self.static[member.instance_id] = member_id
        if leads:
            self.leader = member_id

    def is_unstable(self, topic: str, index: int) -> bool:
        """Whether a commit for a partition waits for the end of a transaction."""
        return any((topic, index) in commits for commits in self.pending_commits.values())

    def expect(self, member_id: str, until: float) -> None:
        """Give a member id to somebody who is to join with it."""
        self.pending[member_id] = until
        self.held.take(LEAST_SIZE + len(member_id))

    def expect_no_longer(self, member_id: str) -> None:
        """Take a member id back, or note that it is used."""
        del self.pending[member_id]
        self.held.take(-LEAST_SIZE - len(member_id))

    def resize(self, member: Member) -> None:
        """Count again what a member takes."""
        size = member.measure()
        self.held.take(size - member.size)
        member.size = size

    def _forget_protocols(self, member: Member) -> None:
        for name in dict(member.protocols):
            self.supported[name] -= 1
            if not self.supported[name]:
                del self.supported[name]

    def supports(self, protocols: Protocols) -> bool:
        """Say whether all members can go by one of these."""
        return any(self.supported[name] == len(self.members) for name, _ in protocols)

    def choose_protocol(self) -> str:
        """Let members vote, each for the one it likes best of those that all can go by."""
        candidates = {name for name, count in self.supported.items() if count == len(self.members)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return max(votes, key=lambda name: votes[name])
