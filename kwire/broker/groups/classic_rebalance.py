"""The state machine of a classic group's rebalances: the phases join and sync, sessions and their timers.

The caller passes the time; the purgatory holds delayed responses and runs the timers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ... import messages
from ...values import ErrorCode
from ..purgatory import Parked, Purgatory
from .classic_group import Group, Member
from .classic_responses import join_error, join_response, sync_error, sync_response
from .modern_group import GroupState

FIRST_JOIN = 300.0  # seconds to wait for a new member, which cannot send heartbeats yet
LEAST_WAIT = 0.1  # seconds, the minimum for timers that restart themselves


class ClassicRebalance:
    """The state transitions of classic groups.

    Args:
        purgatory: holds delayed responses.
        initial_delay: the time in seconds to wait for more members after the first one.
        remember: writes a group that becomes stable or empty; returns an error code.
    """

    def __init__(self, purgatory: Purgatory, initial_delay: float, remember: Callable[[Group], int]) -> None:
        self.purgatory: Purgatory = purgatory
        self.initial_delay: float = initial_delay
        self._remember = remember

    def add(self, group: Group, member: Member, now: float) -> Parked[messages.JoinGroupResponse]:
        """Add a new member to the group; it joins the next generation."""
        # Kafka: GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin
        if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
            group.has_new_members = True
        group.add(member)
        member.deadline = now + FIRST_JOIN
        self.wake(group, member.deadline)
        return self.join(group, member, now)

    def join(self, group: Group, member: Member, now: float) -> Parked[messages.JoinGroupResponse]:
        """Park a member's JoinGroup request until the next generation; it replaces the member's previous request."""
        # Kafka: GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin
        self._respond(member, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        parked = member.joining = Parked()
        self.prepare(group, now)
        return parked

    def interrupt(self, group: Group, member: Member, now: float) -> None:
        """Respond to a parked request of a member with the error that makes it rejoin."""
        self._respond(member, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        self._answer_sync(group, member, sync_error(ErrorCode.REBALANCE_IN_PROGRESS), now)

    def prepare(self, group: Group, now: float) -> None:
        """Start a rebalance unless one is in progress: all members have to rejoin."""
        # 1. All members have to rejoin (GroupMetadataManager.prepareRebalance)
        if group.state is GroupState.PREPARING_REBALANCE:
            return
        if group.state is GroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                self._assign(group, member, b"")
                self._answer_sync(group, member, sync_error(ErrorCode.REBALANCE_IN_PROGRESS), now)
        group.is_gathering = group.state is GroupState.EMPTY
        delay = self.initial_delay if group.is_gathering else group.rebalance_timeout
        group.prolonging = max(group.rebalance_timeout - delay, 0.0)
        group.has_new_members = False
        group.state = GroupState.PREPARING_REBALANCE
        self._end_phase_at(group, now + delay)

    def settle(self, group: Group, now: float) -> None:
        """End the join phase if all members have joined or its time has passed."""
        # 2. The join phase ends (GroupMetadataManager.maybeCompleteJoinPhase)
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        if group.phase_ends <= now or (group.have_all_joined and not group.is_gathering):
            self._end_joins(group, now)

    def _end_joins(self, group: Group, now: float) -> None:
        # Kafka: GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule (KIP-134), then completeClassicGroupJoin
        if group.is_gathering and group.has_new_members and group.prolonging > 0:
            delay = max(min(self.initial_delay, group.prolonging), LEAST_WAIT)
            group.prolonging = group.prolonging - delay
            group.has_new_members = False
            self._end_phase_at(group, now + delay)
            return
        group.is_gathering = False
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                group.remove(member)
        if not group.members:
            group.generation += 1
            group.state = GroupState.EMPTY
            group.protocol = None
            group.phase_ends = inf
            self._remember(group)
        elif self._has_a_leader(group):
            self._begin_generation(group, now)
        else:
            self._end_phase_at(group, now + max(group.rebalance_timeout, LEAST_WAIT))

    def _has_a_leader(self, group: Group) -> bool:
        """Choose a connected member as leader, and return whether there is one. Disconnected static members cannot
        lead."""
        # Kafka: ClassicGroup.maybeElectNewJoinedLeader
        there = [member.member_id for member in group.members.values() if member.joining]
        if there and group.leader not in there:
            group.leader = there[0]
        return bool(there)

    def _begin_generation(self, group: Group, now: float) -> None:
        # 3. A generation begins (GroupMetadataManager.completeClassicGroupJoin, ClassicGroup.initNextGeneration)
        group.generation += 1
        group.protocol = group.choose_protocol()
        group.state = GroupState.COMPLETING_REBALANCE
        self._end_phase_at(group, now + group.rebalance_timeout)
        for member in group.members.values():
            self._respond(member, join_response(group, member, includes_members=member.member_id == group.leader))
            member.is_new = member.has_synced = False
            self.keep(group, member, now)

    def _respond(self, member: Member, response: messages.JoinGroupResponse) -> None:
        """Respond to a member's JoinGroup request."""
        if member.joining:
            parked = member.joining
            member.joining = None
            self.purgatory.answer(parked, response)

    def sync(self, group: Group, member: Member, now: float) -> Parked[messages.SyncGroupResponse]:
        """Park a member's SyncGroup request until the leader's assignment; it replaces the member's previous one."""
        self._answer_sync(group, member, sync_error(ErrorCode.REBALANCE_IN_PROGRESS), now)
        parked = member.syncing = Parked()
        return parked

    def assign(self, group: Group, assignments: dict[str, bytes], now: float) -> int:
        """Send the leader's assignments, empty ones to members that have none; the group becomes stable. If that cannot
        be written, the members get the error, and the group rebalances.
        """
        # 4. The assignment of the leader makes the group stable (GroupMetadataManager.setAndPropagateAssignment)
        group.state = GroupState.STABLE
        for member in group.members.values():
            self._assign(group, member, assignments.get(member.member_id, b""))
        code = self._remember(group)
        if code:  # GroupMetadataManager.resetAndPropagateAssignmentWithError
            for member in group.members.values():
                self._assign(group, member, b"")
                self._answer_sync(group, member, sync_error(code), now)
            self.prepare(group, now)
            return code
        for member in group.members.values():
            self._answer_sync(group, member, sync_response(group, member), now)
        return ErrorCode.NONE

    def _assign(self, group: Group, member: Member, assignment: bytes) -> None:
        member.assignment = assignment
        group.resize(member)

    def _answer_sync(self, group: Group, member: Member, response: messages.SyncGroupResponse, now: float) -> None:
        if member.syncing:
            parked = member.syncing
            member.syncing = None
            self.purgatory.answer(parked, response)
            self.keep(group, member, now)

    def remove(self, group: Group, member: Member, now: float) -> None:
        """Remove a member; the others take over its partitions."""
        # Kafka: GroupMetadataManager.removeMemberAndUpdateClassicGroup
        self._respond(member, join_error(ErrorCode.UNKNOWN_MEMBER_ID))
        self._answer_sync(group, member, sync_error(ErrorCode.UNKNOWN_MEMBER_ID), now)
        group.remove(member)
        self.prepare(group, now)

    def replace(self, group: Group, member: Member, member_id: str, now: float) -> None:
        """Let a static member rejoin with a new id; clients with the old id are fenced."""
        # Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin (KIP-345)
        self._respond(member, join_error(ErrorCode.FENCED_INSTANCE_ID, member.member_id))
        self._answer_sync(group, member, sync_error(ErrorCode.FENCED_INSTANCE_ID), now)
        group.rename(member, member_id)
        if group.state is GroupState.STABLE:
            self._remember(group)
        self.keep(group, member, now)

    def keep(self, group: Group, member: Member, now: float) -> None:
        """Extend the session of a member."""
        # Kafka: GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat
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
        group.wakes = inf
        group.timer = None

    def _woken(self, group: Group) -> None:
        group.wakes = inf
        group.timer = None
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
