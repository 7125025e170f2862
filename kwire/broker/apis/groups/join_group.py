"""JoinGroup: a member joins a classic group, and waits for the next generation."""

from __future__ import annotations

from typing import TypeAlias
from uuid import UUID

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group, Member
from ...groups.classic_responses import join_error, join_response
from ...groups.group_memory import Protocols
from ...groups.group_types import SHARE, STREAMS
from ...groups.modern_group import GroupState
from ...purgatory import Parked
from ...request_context import RequestContext
from .classic_member_join import FIRST_WITH_KNOWN_IDS, join_consumer_group
from .group_checks import consumer_group_of, member_or_problem, problem_with

JoinAnswer: TypeAlias = "messages.JoinGroupResponse | Parked[messages.JoinGroupResponse]"

FIRST_WITH_SKIPPING = 9  # the first version of JoinGroup whose leader may have to skip the assignment (KIP-814)


def join_group(request: RequestContext[messages.JoinGroupRequest]) -> JoinAnswer:
    """Handle JoinGroup, or park the request until the rebalance completes."""
    # Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup
    message = request.message
    groups = request.cluster.groups
    code = problem_with(request, message.group_id) or _session_problem(request) or _unwritten_problem(request)
    if code:
        return join_error(code, message.member_id)
    group = groups.find(message.group_id) if message.member_id else groups.find_or_create(message.group_id)
    if group is None:
        code = ErrorCode.UNKNOWN_MEMBER_ID if message.member_id else ErrorCode.GROUP_MAX_SIZE_REACHED
        return join_error(code, message.member_id)
    consumer = consumer_group_of(group)
    if group.kind == SHARE or (group.kind == STREAMS and group.consumer and group.consumer.members):
        return join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
    if consumer is not None and consumer.members:
        return join_consumer_group(request, group, consumer)
    if group.consumer is not None:
        groups.end_consumers(group)
    answer = _Join(request, group).answer()
    groups.rebalancing.settle(group, request.now)
    if group.is_unused and not group.generation:
        groups.delete(group)
    return answer


def _unwritten_problem(request: RequestContext[messages.JoinGroupRequest]) -> int:
    """Return the error code if this request is written, and cannot be: it creates a group, or joins one whose broker
    assigns."""
    message = request.message
    group = request.cluster.groups.find(message.group_id)
    is_written = consumer_group_of(group) is not None if group is not None else not message.member_id
    return request.cluster.groups.write_problem(message.group_id) if is_written else ErrorCode.NONE


def _session_problem(request: RequestContext[messages.JoinGroupRequest]) -> int:
    settings = request.cluster.settings
    timeout = request.message.session_timeout_ms / 1000
    is_good = settings.min_session_timeout <= timeout <= settings.max_session_timeout
    return ErrorCode.NONE if is_good else ErrorCode.INVALID_SESSION_TIMEOUT


class _Join:
    """A JoinGroup request for an existing group."""

    def __init__(self, request: RequestContext[messages.JoinGroupRequest], group: Group) -> None:
        self.request = request
        self.group = group
        self.message = request.message
        self.groups = request.cluster.groups
        self.rebalancing = request.cluster.groups.rebalancing
        self.protocols: Protocols = tuple((row.name, bytes(row.metadata)) for row in self.message.protocols)

    def answer(self) -> JoinAnswer:
        group = self.group
        message = self.message
        if not self._is_consistent():
            return join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
        if message.member_id in group.pending and message.group_instance_id is None:
            group.expect_no_longer(message.member_id)
            return self._add(message.member_id)
        if message.member_id:
            member = member_or_problem(group, message.member_id, message.group_instance_id)
            return join_error(member, message.member_id) if isinstance(member, int) else self._join_again(member)
        if message.group_instance_id in group.static:
            return self._come_back(group.members[group.static[message.group_instance_id]])
        return self._join_first()

    def _is_consistent(self) -> bool:
        group = self.group
        message = self.message
        if not group.members:
            return bool(message.protocol_type and self.protocols)
        return bool(message.protocol_type == group.protocol_type and group.supports(self.protocols))

    def _join_first(self) -> JoinAnswer:
        # Kafka: GroupMetadataManager.classicGroupJoinNewDynamicMember, classicGroupJoinNewStaticMember
        member_id = self._new_id()
        if self.request.version < FIRST_WITH_KNOWN_IDS or self.message.group_instance_id is not None:
            return self._add(member_id)
        if not self.groups.has_room_for_member(self.group, self._make_member(member_id).measure()):
            return join_error(ErrorCode.GROUP_MAX_SIZE_REACHED)
        until = self.request.now + self.message.session_timeout_ms / 1000
        self.group.expect(member_id, until)
        self.rebalancing.wake(self.group, until)
        return join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _new_id(self) -> str:
        name = self.message.group_instance_id if self.message.group_instance_id is not None else self.request.client_id
        return f"{name}-{UUID(bytes=self.request.cluster.rng.randbytes(16), version=4)}"

    def _make_member(self, member_id: str) -> Member:
        message = self.message
        session_timeout = message.session_timeout_ms / 1000
        is_given = message.rebalance_timeout_ms >= 0  # version 0 has one timeout for both
        return Member(
            member_id,
            message.group_instance_id,
            self.request.client_id,
            self.request.client_host,
            session_timeout,
            message.rebalance_timeout_ms / 1000 if is_given else session_timeout,
            self.protocols,
        )

    def _add(self, member_id: str) -> JoinAnswer:
        member = self._make_member(member_id)
        if not self.groups.has_room_for_member(self.group, member.measure()):
            return join_error(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not self.group.members:
            self.group.protocol_type = self.message.protocol_type
        return self.rebalancing.add(self.group, member, self.request.now)

    def _join_again(self, member: Member) -> JoinAnswer:
        """Start a rebalance if the member's metadata has changed, or if it is the leader, which may have detected new
        partitions."""
        # Kafka: GroupMetadataManager.classicGroupJoinExistingMember
        group = self.group
        is_leader = member.member_id == self.group.leader
        is_same = member.protocols == self.protocols
        if group.state is GroupState.COMPLETING_REBALANCE and is_same:
            return join_response(group, member, includes_members=is_leader)
        if group.state is GroupState.STABLE and is_same and not is_leader:
            return join_response(group, member, includes_members=False)
        return self._update(member) or self.rebalancing.join(group, member, self.request.now)

    def _update(self, member: Member) -> messages.JoinGroupResponse | None:
        """Update a member's protocols; return a response only if the memory limit is exceeded."""
        made = self._make_member(member.member_id)
        if not self.groups.held.has_room(made.measure() - member.size):
            return join_error(ErrorCode.GROUP_MAX_SIZE_REACHED)
        member.session_timeout = made.session_timeout
        member.rebalance_timeout = made.rebalance_timeout
        self.group.update(member, self.protocols)
        return None

    def _come_back(self, member: Member) -> JoinAnswer:
        """Assign a new id to a static member that returns. A stable group with the same protocol does not rebalance."""
        # Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin (KIP-345)
        group = self.group
        leader = self.group.leader
        full = self._update(member)
        if full is not None:
            return full
        self.rebalancing.replace(group, member, self._new_id(), self.request.now)
        if group.state is not GroupState.STABLE or group.choose_protocol() != group.protocol:
            return self.rebalancing.join(group, member, self.request.now)
        is_leader = group.leader == member.member_id
        if self.request.version >= FIRST_WITH_SKIPPING:
            return join_response(group, member, includes_members=is_leader, skip=is_leader)
        # without its new id, the client cannot lead
        return join_response(group, member, includes_members=False, leader=leader)


APIS = {  # what each version has changed
    # 1: a timeout for rebalances (KIP-62)
    # 2: the throttle time (KIP-124)
    # 3: the response is sent before the client is throttled (KIP-219)
    # 4: a new member gets its id before it joins (KIP-394)
    # 5: static members (KIP-345)
    # 6: flexible (KIP-482)
    # 7: the protocol type in responses (KIP-559)
    # 8: the reason for joining (KIP-800)
    # 9: the leader may skip the assignment (KIP-814)
    "JoinGroup": ServedApi(0, 9, join_group, finds_errors=True),
}
