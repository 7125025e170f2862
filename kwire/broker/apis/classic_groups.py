"""The group apis FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup, ListGroups, DescribeGroups and
DeleteGroups, and the checks that all group requests share. This module also handles classic members of KIP-848 groups;
`consumer_groups` handles everything else about these groups.
"""

from __future__ import annotations

from math import inf
from typing import Any
from uuid import UUID

import msgspec

from ... import messages
from ...errors import DecodeError
from ...values import AclOperation, ErrorCode, ResourceType
from ..authentication_and_acls import CLUSTER_NAME, operations
from ..classic_group import (
    Group,
    Member,
    assigned,
    classic_assignment,
    described,
    joined,
    not_assigned,
    not_joined,
    owned_by,
    subscribe,
)
from ..cluster_state import RequestContext
from ..consumer_group import ClassicProtocol, ConsumerGroup, ConsumerMember, GroupState, Protocols, size_of
from ..internal_topics import GROUPS, SHARES, TRANSACTIONS, coordinator_of
from ..share_group import SHARE, ShareGroup

FIRST_WITH_KEYS = 4  # the first version of FindCoordinator with several keys (KIP-699)
GROUP, TRANSACTION, SHARE_STATE = 0, 1, 2  # key types of FindCoordinator; SHARE_STATE since version 6 (KIP-932)
FIRST_WITH_SHARES = 6  # FindCoordinator 6 finds coordinators of share-partition state (KIP-932)
FIRST_WITH_KNOWN_IDS = 4  # the first version of JoinGroup in which members join with an id from the broker (KIP-394)
FIRST_WITH_SKIPPING = 9  # the first version of JoinGroup whose leader may have to skip the assignment (KIP-814)
FIRST_WITH_PROTOCOLS = 5  # the first version of SyncGroup that contains the expected protocol (KIP-559)
FIRST_WITH_MEMBERS = 3  # the first version of LeaveGroup for several members
CLASSIC, CONSUMER = "classic", "consumer"  # group types in ListGroups
FIRST_WITH_NOT_FOUND = 6  # DescribeGroups: older versions return unknown groups as Dead (KIP-1043)


def problem_with(request: RequestContext, group_id: str, topic: str = GROUPS, *, needs_name: bool = True) -> int:
    """Return the error code if this broker cannot handle a group or transaction request; 0 if it can.

    Args:
        request: the request.
        group_id: the group or transactional id.
        topic: the internal topic whose partition leaders are the coordinators.
        needs_name: whether to refuse the empty group id, with which old consumers commit.
    """
    if needs_name and not group_id:
        return ErrorCode.INVALID_GROUP_ID
    if code := request.error(group=group_id) if topic == GROUPS else request.error(transactional_id=group_id):
        return code
    is_mine = coordinator_of(group_id, request.cluster.controller, topic) == request.node_id
    return ErrorCode.NONE if is_mine else ErrorCode.NOT_COORDINATOR


def member_or_problem(group: Group, member_id: str, instance_id: str | None) -> Member | int:
    """Return a member, or an error code if it does not exist or if another client has taken over its instance id."""
    if instance_id is not None and instance_id not in group.static:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if instance_id is not None and group.static[instance_id] != member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    return group.members.get(member_id, ErrorCode.UNKNOWN_MEMBER_ID)


def membership(request: RequestContext, generation: int) -> tuple[Group, Member] | int:
    """Return the group and member of a request, or an error code if the member is not in the current generation."""
    asked = request.message
    if code := problem_with(request, asked.group_id):
        return code
    group = request.cluster.groups.find(asked.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    found = member_or_problem(group, asked.member_id, asked.group_instance_id)
    if isinstance(found, int):
        return found
    return (group, found) if generation == group.generation else ErrorCode.ILLEGAL_GENERATION


def consumer_problem(group: Group, member_id: str, epoch: int) -> int:
    """Return the error code if a member of a KIP-848 group may not commit or fetch offsets; 0 if it may.

    Args:
        group: the group.
        member_id, epoch: the member's id and epoch; requests without them are refused while the group has members.
    """
    assert group.consumer is not None
    member = group.consumer.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    stale = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE if member.epoch == epoch else stale


def find_coordinator(request: RequestContext) -> Any:
    """Handle FindCoordinator."""
    response, asked = messages.FindCoordinatorResponse, request.message
    if request.version < FIRST_WITH_KEYS:
        return response(**_coordinator(request, asked.key))
    keys = dict.fromkeys(asked.coordinator_keys)
    return response(coordinators=tuple(response.Coordinator(key=key, **_coordinator(request, key)) for key in keys))


def _coordinator(request: RequestContext, key: str) -> dict[str, Any]:
    controller = request.cluster.controller
    is_transactional = request.message.key_type == TRANSACTION
    if code := request.error(transactional_id=key) if is_transactional else request.error(group=key):
        return _no_coordinator(code, ErrorCode(code).about)
    topics = {GROUP: GROUPS, TRANSACTION: TRANSACTIONS, SHARE_STATE: SHARES}
    is_share = request.message.key_type == SHARE_STATE
    is_right = request.version >= FIRST_WITH_SHARES and key.count(":") >= 2 if is_share else True
    if request.message.key_type not in topics or not is_right:
        return _no_coordinator(
            ErrorCode.INVALID_REQUEST,
            "the key must be a group id, a transactional id, or GROUP:TOPIC-ID:PARTITION of a share group",
        )
    node_id = coordinator_of(key, controller, topics[request.message.key_type])
    if node_id is None:
        return _no_coordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator's partition has no leader")
    node = controller.nodes[node_id]
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "node_id": node_id,
        "host": node.address[0],
        "port": node.address[1],
    }


def _no_coordinator(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}


def join_group(request: RequestContext) -> Any:
    """Handle JoinGroup, or park the request until the rebalance completes."""
    asked, groups = request.message, request.cluster.groups
    code = problem_with(request, asked.group_id) or _session_problem(request)
    if code:
        return not_joined(code, asked.member_id)
    group = groups.find(asked.group_id) if asked.member_id else groups.found_or_made(asked.group_id)
    if group is None:
        code = ErrorCode.UNKNOWN_MEMBER_ID if asked.member_id else ErrorCode.GROUP_MAX_SIZE_REACHED
        return not_joined(code, asked.member_id)
    if isinstance(group.consumer, ShareGroup):
        return not_joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, asked.member_id)
    if group.consumer is not None and group.consumer.members:
        return _join_consumers(request, group, group.consumer)
    if group.consumer is not None:
        groups.end_consumers(group)
    answer = _Join(request, group).answer()
    groups.rebalancing.settle(group, request.now)
    if group.is_unused and not group.generation:
        groups.delete(group)
    return answer


def _join_consumers(request: RequestContext, group: Group, consumer: ConsumerGroup) -> Any:
    """Handle JoinGroup of a classic member in a KIP-848 group: respond immediately, as to a heartbeat."""
    asked = request.message
    protocols: Protocols = tuple((row.name, bytes(row.metadata)) for row in asked.protocols)
    if asked.protocol_type != CONSUMER or not consumer.supports(protocols):
        return not_joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, asked.member_id)
    if request.version >= FIRST_WITH_KNOWN_IDS and not asked.member_id and asked.group_instance_id is None:
        return not_joined(ErrorCode.MEMBER_ID_REQUIRED, new_member_id(request))
    if not request.cluster.groups.held.has_room(size_of(protocols)):
        return not_joined(ErrorCode.GROUP_MAX_SIZE_REACHED, asked.member_id)
    try:
        subscription, owned = owned_by(protocols)
    except DecodeError:
        return not_joined(ErrorCode.UNKNOWN_SERVER_ERROR, asked.member_id)
    before = consumer.static(asked.group_instance_id)
    member = _classic_member(request, consumer, before)
    if isinstance(member, int):
        return not_joined(member, asked.member_id)
    is_new = member.member_id not in consumer.target
    _plan_classic(request, group, member, protocols, changed=subscribe(member, subscription) or is_new)
    consumer.reconcile(member, owned, request.now)
    if before is not None and before is not member and request.cluster.groups.ends_migration(consumer, [before]):
        request.cluster.groups.downgrade(group, request.now)
    if group.consumer is not None:
        request.cluster.groups.remember(group)
        request.cluster.groups.keep_consumer(group, member, request.now)
    response, name = messages.JoinGroupResponse, protocols[0][0]
    return response(member_id=member.member_id, generation_id=member.epoch, protocol_type=CONSUMER, protocol_name=name)


def _classic_member(
    request: RequestContext, consumer: ConsumerGroup, before: ConsumerMember | None
) -> ConsumerMember | int:
    """Return the member that sent JoinGroup, a new one, or an error code.

    Args:
        request: the request.
        consumer: the members of the group.
        before: the member with the same instance id; a request without a member id replaces it.
    """
    asked, groups = request.message, request.cluster.groups
    if asked.group_instance_id is not None and asked.member_id:
        return ErrorCode.UNKNOWN_MEMBER_ID if before is None else _named(before, asked.member_id)
    if asked.member_id in consumer.members:
        return consumer.members[asked.member_id]
    member_id = asked.member_id or new_member_id(request)
    made = ConsumerMember(member_id, asked.group_instance_id, request.client_id, request.client_host)
    return groups.add_consumer(consumer, made, before)


def _named(member: ConsumerMember, member_id: str) -> ConsumerMember | int:
    return member if member.member_id == member_id else ErrorCode.FENCED_INSTANCE_ID


def _plan_classic(
    request: RequestContext, group: Group, member: ConsumerMember, protocols: Protocols, *, changed: bool
) -> None:
    """Update a classic member from JoinGroup, set its deadline for SyncGroup, and compute the target assignment."""
    asked, groups, size = request.message, request.cluster.groups, member.size
    assert group.consumer is not None
    session_timeout = asked.session_timeout_ms / 1000
    is_given = asked.rebalance_timeout_ms >= 0  # version 0 has one timeout for both
    member.rebalance_timeout = asked.rebalance_timeout_ms / 1000 if is_given else session_timeout
    member.classic = ClassicProtocol(session_timeout, protocols, syncs_until=request.now + member.rebalance_timeout)
    member.client_id, member.client_host = request.client_id, request.client_host
    groups.held.take(member.size - size)
    groups.plan(group, group.consumer, changed=changed)


def new_member_id(request: RequestContext) -> str:
    """Return a new id for a member of a KIP-848 group."""
    return str(UUID(bytes=request.cluster.rng.randbytes(16), version=4))


def _consumer_of(
    group: Group, member_id: str, instance_id: str | None, generation: int | None = None
) -> ConsumerMember | int:
    """Return a member of a KIP-848 group, or an error code.

    Args:
        group: the group.
        member_id, instance_id: the member's ids.
        generation: the generation in requests that only classic members send; None in requests that all members send.
    """
    assert group.consumer is not None
    if instance_id is None:
        member = group.consumer.members.get(member_id)
    else:
        member = group.consumer.static(instance_id)
        if member is not None and member_id and member.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member is None or (generation is not None and member.classic is None):
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if generation in (None, member.epoch) else ErrorCode.ILLEGAL_GENERATION


def _consumer_group(request: RequestContext) -> Group | None:
    """Return the KIP-848 group of a request; None if it is not one, or if another broker coordinates it."""
    group = request.cluster.groups.find(request.message.group_id)
    is_one = group is not None and group.consumer is not None and group.consumer.members
    return group if is_one and not problem_with(request, request.message.group_id) else None


def _sync_consumer(request: RequestContext, group: Group) -> Any:
    """Handle SyncGroup of a classic member in a KIP-848 group."""
    asked, consumer = request.message, group.consumer
    member = _consumer_of(group, asked.member_id, asked.group_instance_id, asked.generation_id)
    if isinstance(member, int):
        return not_assigned(member)
    assert consumer is not None and member.classic is not None
    names = CONSUMER, member.classic.protocols[0][0]
    if (asked.protocol_type or names[0], asked.protocol_name or names[1]) != names:
        return not_assigned(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if consumer.epoch > member.epoch and not member.revoking:
        return not_assigned(_must_join(request, member.classic, member.rebalance_timeout))
    member.classic.syncs_until = inf
    request.cluster.groups.keep_consumer(group, member, request.now)
    assignment = classic_assignment(member.classic.protocols, member.assigned)
    return messages.SyncGroupResponse(
        protocol_type=asked.protocol_type, protocol_name=asked.protocol_name, assignment=assignment
    )


def _must_join(request: RequestContext, classic: ClassicProtocol, timeout: float) -> int:
    """Return the error code that makes a classic member rejoin, and set its deadline for that."""
    classic.joins_until = min(classic.joins_until, request.now + timeout)
    return ErrorCode.REBALANCE_IN_PROGRESS


def _beat_consumer(request: RequestContext, group: Group) -> int:
    """Return the error code of a Heartbeat response to a classic member in a KIP-848 group."""
    asked, consumer = request.message, group.consumer
    member = _consumer_of(group, asked.member_id, asked.group_instance_id, asked.generation_id)
    if isinstance(member, int):
        return member
    assert consumer is not None and member.classic is not None
    must_join = consumer.must_join(member)
    code = _must_join(request, member.classic, member.rebalance_timeout) if must_join else ErrorCode.NONE
    request.cluster.groups.keep_consumer(group, member, request.now)
    return code


def _session_problem(request: RequestContext) -> int:
    settings, timeout = request.cluster.settings, request.message.session_timeout_ms / 1000
    is_good = settings.min_session_timeout <= timeout <= settings.max_session_timeout
    return ErrorCode.NONE if is_good else ErrorCode.INVALID_SESSION_TIMEOUT


class _Join:
    """A JoinGroup request for an existing group."""

    def __init__(self, request: RequestContext, group: Group) -> None:
        self.request, self.group, self.asked = request, group, request.message
        self.groups, self.rebalancing = request.cluster.groups, request.cluster.groups.rebalancing
        self.protocols: Protocols = tuple((row.name, bytes(row.metadata)) for row in self.asked.protocols)

    def answer(self) -> Any:
        group, asked = self.group, self.asked
        if not self._is_consistent():
            return not_joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, asked.member_id)
        if asked.member_id in group.pending and asked.group_instance_id is None:
            group.expect_no_longer(asked.member_id)
            return self._add(asked.member_id)
        if asked.member_id:
            found = member_or_problem(group, asked.member_id, asked.group_instance_id)
            return not_joined(found, asked.member_id) if isinstance(found, int) else self._join_again(found)
        if asked.group_instance_id in group.static:
            return self._come_back(group.members[group.static[asked.group_instance_id]])
        return self._join_first()

    def _is_consistent(self) -> bool:
        group, asked = self.group, self.asked
        if not group.members:
            return bool(asked.protocol_type and self.protocols)
        return bool(asked.protocol_type == group.protocol_type and group.supports(self.protocols))

    def _join_first(self) -> Any:
        member_id = self._new_id()
        if self.request.version < FIRST_WITH_KNOWN_IDS or self.asked.group_instance_id is not None:
            return self._add(member_id)
        if not self.groups.has_room_for_member(self.group, self._made(member_id).measure()):
            return not_joined(ErrorCode.GROUP_MAX_SIZE_REACHED)
        until = self.request.now + self.asked.session_timeout_ms / 1000
        self.group.expect(member_id, until)
        self.rebalancing.wake(self.group, until)
        return not_joined(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _new_id(self) -> str:
        name = self.asked.group_instance_id if self.asked.group_instance_id is not None else self.request.client_id
        return f"{name}-{UUID(bytes=self.request.cluster.rng.randbytes(16), version=4)}"

    def _made(self, member_id: str) -> Member:
        asked = self.asked
        session_timeout = asked.session_timeout_ms / 1000
        is_given = asked.rebalance_timeout_ms >= 0  # version 0 has one timeout for both
        return Member(
            member_id,
            asked.group_instance_id,
            self.request.client_id,
            self.request.client_host,
            session_timeout,
            asked.rebalance_timeout_ms / 1000 if is_given else session_timeout,
            self.protocols,
        )

    def _add(self, member_id: str) -> Any:
        member = self._made(member_id)
        if not self.groups.has_room_for_member(self.group, member.measure()):
            return not_joined(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not self.group.members:
            self.group.protocol_type = self.asked.protocol_type
        return self.rebalancing.add(self.group, member, self.request.now)

    def _join_again(self, member: Member) -> Any:
        """Start a rebalance if the member's metadata has changed, or if it is the leader, which may have detected new
        partitions."""
        group, is_leader = self.group, member.member_id == self.group.leader
        is_same = member.protocols == self.protocols
        if group.state is GroupState.COMPLETING_REBALANCE and is_same:
            return joined(group, member, includes_members=is_leader)
        if group.state is GroupState.STABLE and is_same and not is_leader:
            return joined(group, member, includes_members=False)
        return self._update(member) or self.rebalancing.join(group, member, self.request.now)

    def _update(self, member: Member) -> Any:
        """Update a member's protocols; return a response only if the memory limit is exceeded."""
        made = self._made(member.member_id)
        if not self.groups.held.has_room(made.measure() - member.size):
            return not_joined(ErrorCode.GROUP_MAX_SIZE_REACHED)
        member.session_timeout, member.rebalance_timeout = made.session_timeout, made.rebalance_timeout
        self.group.update(member, self.protocols)
        return None

    def _come_back(self, member: Member) -> Any:
        """Assign a new id to a static member that returns. A stable group with the same protocol does not rebalance."""
        group, leader = self.group, self.group.leader
        full = self._update(member)
        if full is not None:
            return full
        self.rebalancing.replace(group, member, self._new_id(), self.request.now)
        if group.state is not GroupState.STABLE or group.choose_protocol() != group.protocol:
            return self.rebalancing.join(group, member, self.request.now)
        is_leader = group.leader == member.member_id
        if self.request.version >= FIRST_WITH_SKIPPING:
            return joined(group, member, includes_members=is_leader, skip=is_leader)
        # without its new id, the client cannot lead
        return joined(group, member, includes_members=False, leader=leader)


def sync_group(request: RequestContext) -> Any:
    """Handle SyncGroup, or park the request until the leader sends the assignments."""
    asked, rebalancing = request.message, request.cluster.groups.rebalancing
    if request.version >= FIRST_WITH_PROTOCOLS and not (asked.protocol_type and asked.protocol_name):
        return not_assigned(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    consumers = _consumer_group(request)
    if consumers is not None:
        return _sync_consumer(request, consumers)
    found = membership(request, asked.generation_id)
    if isinstance(found, int):
        return not_assigned(found)
    group, member = found
    if code := _protocol_problem(asked, group):
        return not_assigned(code)
    member.has_synced = True
    rebalancing.keep(group, member, request.now)
    if group.state is GroupState.STABLE:
        return assigned(group, member)
    return (
        _complete(request, group) if member.member_id == group.leader else rebalancing.sync(group, member, request.now)
    )


def _protocol_problem(asked: Any, group: Group) -> int:
    names = asked.protocol_type or group.protocol_type, asked.protocol_name or group.protocol
    if names != (group.protocol_type, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE


def _complete(request: RequestContext, group: Group) -> Any:
    """Send the leader's assignments to the members."""
    groups, asked = request.cluster.groups, request.message
    assignments = {row.member_id: bytes(row.assignment) for row in asked.assignments}
    if not groups.held.has_room(sum(map(len, assignments.values()))):
        return not_assigned(ErrorCode.GROUP_MAX_SIZE_REACHED)
    groups.rebalancing.assign(group, assignments, request.now)
    return assigned(group, group.members[asked.member_id])


def heartbeat(request: RequestContext) -> Any:
    """Handle Heartbeat."""
    consumers = _consumer_group(request)
    if consumers is not None:
        return messages.HeartbeatResponse(error_code=_beat_consumer(request, consumers))
    found = membership(request, request.message.generation_id)
    if isinstance(found, int):
        return messages.HeartbeatResponse(error_code=found)
    group, member = found
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return messages.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE)


def leave_group(request: RequestContext) -> Any:
    """Handle LeaveGroup."""
    response, asked, groups = messages.LeaveGroupResponse, request.message, request.cluster.groups
    if code := problem_with(request, asked.group_id):
        return response(error_code=code)
    group = groups.find(asked.group_id)
    if group is not None and group.consumer is not None and not isinstance(group.consumer, ShareGroup):
        return _leave_consumers(request, group)
    if request.version < FIRST_WITH_MEMBERS:
        code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, asked.member_id, None)
        members = []
    else:
        members = [_left(request, group, member) for member in asked.members]
    if group is not None:
        groups.rebalancing.settle(group, request.now)
    return response(error_code=code, members=tuple(members))


def _leave_consumers(request: RequestContext, group: Group) -> Any:
    """Handle LeaveGroup in a KIP-848 group: remove all members in the request, whichever protocol they use."""
    response, asked = messages.LeaveGroupResponse, request.message
    rows = asked.members
    if request.version < FIRST_WITH_MEMBERS:
        rows = (messages.LeaveGroupRequest.MemberIdentity(member_id=asked.member_id),)
    found = [_consumer_of(group, row.member_id, row.group_instance_id) for row in rows]
    gone = {one.member_id: one for one in found if not isinstance(one, int)}
    if gone:
        request.cluster.groups.remove_consumers(group, list(gone.values()), request.now)
    codes = [one if isinstance(one, int) else ErrorCode.NONE for one in found]
    if request.version < FIRST_WITH_MEMBERS:
        return response(error_code=codes[0])
    left = (
        response.MemberResponse(member_id=row.member_id, group_instance_id=row.group_instance_id, error_code=code)
        for row, code in zip(rows, codes, strict=True)
    )
    return response(members=tuple(left))


def _left(request: RequestContext, group: Group | None, member: Any) -> Any:
    member_id, instance_id = member.member_id, member.group_instance_id
    code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, member_id, instance_id)
    row = messages.LeaveGroupResponse.MemberResponse
    return row(member_id=member_id, group_instance_id=instance_id, error_code=code)


def _leave(request: RequestContext, group: Group, member_id: str, instance_id: str | None) -> int:
    if member_id in group.pending:
        group.expect_no_longer(member_id)
        return ErrorCode.NONE
    if not member_id and instance_id is not None:
        member_id = group.static.get(instance_id, "")  # an administrator removes static members by their instance ids
    found = member_or_problem(group, member_id, instance_id)
    if isinstance(found, int):
        return found
    request.cluster.groups.rebalancing.remove(group, found, request.now)
    return ErrorCode.NONE


def list_groups(request: RequestContext) -> Any:
    """Handle ListGroups: return the groups that this broker coordinates."""
    states = {state.lower() for state in request.message.states_filter}
    types = {kind.lower() for kind in request.message.types_filter} or {CLASSIC, CONSUMER, SHARE}
    sees_all = request.allows(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    rows = (
        messages.ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=_type_of(group),
        )
        for group in request.cluster.groups.all()
        if _type_of(group) in types
        and (sees_all or request.allows(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id))
        and (not states or group.state.lower() in states)
        and coordinator_of(group.group_id, request.cluster.controller) == request.node_id
    )
    return messages.ListGroupsResponse(groups=tuple(rows))


def _type_of(group: Group) -> str:
    if isinstance(group.consumer, ShareGroup):
        return SHARE
    return CLASSIC if group.consumer is None else CONSUMER


def describe_groups(request: RequestContext) -> Any:
    """Handle DescribeGroups."""
    names = dict.fromkeys(request.message.groups)
    return messages.DescribeGroupsResponse(groups=tuple(_described(request, name) for name in names))


def _described(request: RequestContext, group_id: str) -> Any:
    row = messages.DescribeGroupsResponse.DescribedGroup
    if code := problem_with(request, group_id, needs_name=False):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    if group is not None and group.consumer is None:
        found = described(group)
        if request.message.include_authorized_operations:
            bits = operations(request.allows, ResourceType.GROUP, group_id)
            return msgspec.structs.replace(found, authorized_operations=bits)
        return found
    if request.version < FIRST_WITH_NOT_FOUND:
        return row(group_id=group_id, group_state=GroupState.DEAD.value)
    missing = f"there is no {'' if group is None else 'classic '}group {group_id!r}"
    return row(
        group_id=group_id,
        group_state=GroupState.DEAD.value,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=missing,
    )


def delete_groups(request: RequestContext) -> Any:
    """Handle DeleteGroups."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    names = dict.fromkeys(request.message.groups_names)
    return messages.DeleteGroupsResponse(
        results=tuple(row(group_id=name, error_code=_delete(request, name)) for name in names)
    )


def _delete(request: RequestContext, group_id: str) -> int:
    groups = request.cluster.groups
    if code := problem_with(request, group_id, needs_name=False):
        return code
    group = groups.find(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    if isinstance(group.consumer, ShareGroup):
        request.cluster.shares.forget(group_id, group.consumer, group.consumer.partitions)
    groups.delete(group)
    return ErrorCode.NONE
