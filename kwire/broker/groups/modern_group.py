"""What groups share whose broker assigns: consumer groups (KIP-848), share groups (KIP-932), streams groups (KIP-1071).

A member must give up what it has before another member gets it. What is assigned, partitions or tasks, is left to the
kinds of groups. This module handles no messages. The caller passes the time.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any, ClassVar, Generic, TypeVar

from ..purgatory import Parked
from .group_memory import LEAST_SIZE

Item = TypeVar("Item", bound=Hashable)  # a partition or a task
MemberT = TypeVar("MemberT", bound="ModernMember[Any]")


class GroupState(StrEnum):
    """The state of a group, named as in Kafka. Dead means that the group does not exist."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    NOT_READY = "NotReady"  # only in streams groups: topics are missing (KIP-1071)
    ASSIGNING = "Assigning"  # this state and the next one exist only in groups whose broker assigns (KIP-848)
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True, eq=False)
class ModernMember(Generic[Item]):
    """A member of a group whose broker assigns; times are in seconds.

    Attributes:
        epoch, previous_epoch: the epoch of its assignment, and of the assignment before.
        assigned: what it has.
        revoking: what it must give up and has not given up yet.
        deadline: when the member is removed if it sends nothing.
        revokes_until: when the member is removed if it has not given up `revoking`.
        sent: the last assignment sent to it; None if the assignment must be sent again.
        has_left: whether it is a static member that left temporarily.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None = None
    rebalance_timeout: float = 300.0
    epoch: int = 0
    previous_epoch: int = -1
    assigned: set[Item] = field(default_factory=set)
    revoking: set[Item] = field(default_factory=set)
    deadline: float = inf
    revokes_until: float = inf
    sent: tuple[int, frozenset[Item]] | None = None
    has_left: bool = False

    @property
    def size(self) -> int:
        """The size of the member in bytes."""
        return LEAST_SIZE + len(self.member_id)

    @property
    def is_classic(self) -> bool:
        """Whether the member uses JoinGroup and SyncGroup."""
        return False

    def prolong(self, seconds: float) -> None:
        """Extend the member's deadlines by some seconds."""
        self.deadline += seconds
        self.revokes_until += seconds

    @property
    def time_is_over(self) -> float:
        """The time at which the broker removes the member if it receives no further request from it."""
        return min(self.deadline, self.revokes_until)

    def reads(self, topic: str) -> bool:
        """Return whether the member subscribes to a topic."""
        return False

    def take_over(self, before: Any) -> None:
        """Become the static member that another member was until now."""

    def move_to(self, epoch: int) -> None:
        """Go on to an epoch (Kafka: updateMemberEpoch of the members' builders)."""
        self.previous_epoch = self.epoch
        self.epoch = epoch


@dataclass(slots=True, eq=False)
class ModernGroup(Generic[MemberT, Item]):
    """The members of one group whose broker assigns.

    Attributes:
        kind: the type of the group, as in ListGroups.
        epoch: the group epoch; it increases when members, subscriptions or topics change.
        members: the members by member id.
        target: the target assignment: what each member shall have.
        target_epoch: the group epoch for which the target was computed.
        timer, wakes: the next timer, and when it expires.
    """

    kind: ClassVar[str]

    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, MemberT] = field(default_factory=dict)
    target: dict[str, set[Item]] = field(default_factory=dict)
    timer: Parked[None] | None = None
    wakes: float = inf

    @property
    def state(self) -> GroupState:
        """The group's state."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        is_stable = all(map(self.is_reconciled, self.members.values()))
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

    def is_reconciled(self, member: MemberT) -> bool:
        """Return whether a member has exactly what it shall have."""
        is_there = member.epoch == self.target_epoch and not member.revoking
        return is_there and member.assigned == self.target.get(member.member_id, set())

    @property
    def is_used(self) -> bool:
        """Whether the group has state that must be kept."""
        return bool(self.members)

    def reads(self, topic: str) -> bool:
        """Return whether the group subscribes to a topic."""
        return any(member.reads(topic) for member in self.members.values())

    def recount(self, counts: Mapping[str, int]) -> None:
        """Store the partition counts of the topics to which members subscribe."""

    @property
    def size_of_partitions(self) -> int:
        """The size in bytes of what the group stores of partitions."""
        return 0

    def keep_unwritten(self, changed: Any) -> None:
        """Take what is not in records from the same group with changes that could not be written."""
        for member_id, member in self.members.items():
            if (before := changed.members.get(member_id)) is not None:
                member.deadline = before.deadline
                member.revokes_until = before.revokes_until

    def static(self, instance_id: str | None) -> MemberT | None:
        """Return the member with an instance id; None if it does not exist."""
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    def reconcile(self, member: MemberT, owned: set[Item] | None, now: float) -> None:
        """Move a member's assignment one step towards its target.

        Args:
            member: the member that sent a heartbeat.
            owned: what it has; None if the heartbeat does not list it.
            now: the time.
        """
        # Kafka: CurrentAssignmentBuilder.build, which exists for consumer groups and for streams groups
        epoch = member.epoch
        if member.revoking:
            if owned is None or owned & member.revoking:
                return
            epoch += 1
        elif self.is_reconciled(member):
            return
        # 1. What is kept, what must be given up, and what can be had now (computeNextAssignment).
        target = self.target.get(member.member_id, set())
        kept = member.assigned & target
        revoking = member.assigned - target
        free = self.free_items(member, target - kept)
        self.change_roles(member, kept, revoking, free, owned)
        # 2. The member stays in its epoch until it has given up what others shall have (buildNewMember).
        must_revoke = bool(revoking) and (owned is None or bool(owned & revoking))
        member.revoking = revoking if must_revoke else set()
        member.assigned = kept if must_revoke else kept | free
        member.move_to(epoch if must_revoke else self.target_epoch)
        # 3. The rebalance timeout (maybeReconcile); classic members have only one for rejoining.
        has_timeout = must_revoke and not member.is_classic
        member.revokes_until = now + member.rebalance_timeout if has_timeout else inf

    def free_items(self, member: MemberT, wanted: set[Item]) -> set[Item]:
        """Return those items that no other member still holds."""
        return wanted - self._find_held_by_others(member)

    def change_roles(
        self, member: MemberT, kept: set[Item], revoking: set[Item], free: set[Item], owned: set[Item] | None
    ) -> None:
        """Change what is kept, given up and had now, where a member keeps an item in another role."""

    def _find_held_by_others(self, member: MemberT) -> set[Item]:
        others = (other for other in self.members.values() if other is not member)
        return set().union(*(other.assigned | other.revoking for other in others))

    def waits_for_others(self, member: MemberT) -> bool:
        """Return whether other members still hold something that a member shall have."""
        missing = self.target.get(member.member_id, set()) - member.assigned
        return bool(missing & self._find_held_by_others(member))

    def remove(self, members: Collection[MemberT]) -> None:
        """Remove members."""
        for member in members:
            self.members.pop(member.member_id, None)
            self.target.pop(member.member_id, None)

    def bump(self) -> None:
        """Begin a new epoch."""
        self.epoch += 1

    def expired(self, now: float) -> list[MemberT]:
        """Return the members whose deadline has passed."""
        return [member for member in self.members.values() if member.time_is_over <= now]

    def next_deadline(self) -> float:
        """Return the earliest deadline of all members."""
        return min((member.time_is_over for member in self.members.values()), default=inf)
