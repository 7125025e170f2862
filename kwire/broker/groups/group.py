"""The state of one group: values, and what keeps them in step. `rebalancing` moves it on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from ..waiting import Parked
from .commits import Commits
from .held import LEAST_SIZE, Held
from .members import Member, Protocols


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
        return not (self.members or self.pending or self.commits)

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
