"""SyncGroup, Heartbeat and LeaveGroup of classic members in a consumer group (KIP-848).

As Kafka's GroupMetadataManager: classicGroupSyncToConsumerGroup, classicGroupHeartbeatToConsumerGroup,
consumerGroupLeave.
"""

from __future__ import annotations

from math import inf

from .... import messages
from ....values import ErrorCode
from ...groups.classic_group import Group
from ...groups.classic_responses import sync_error
from ...groups.consumer_group import ClassicProtocol, ConsumerMember
from ...groups.group_migration import classic_assignment
from ...groups.group_types import CONSUMER
from ...request_context import RequestContext
from .group_checks import consumer_group_of, problem_with

FIRST_WITH_MEMBERS = 3  # the first version of LeaveGroup for several members


def _find_member(
    group: Group, member_id: str, instance_id: str | None, generation: int | None = None
) -> ConsumerMember | int:
    """Return a member of a KIP-848 group, or an error code.

    Args:
        group: the group.
        member_id, instance_id: the member's ids.
        generation: the generation in requests that only classic members send; None in requests that all members send.
    """
    consumer = consumer_group_of(group)
    assert consumer is not None
    if instance_id is None:
        member = consumer.members.get(member_id)
    else:
        member = consumer.static(instance_id)
        if member is not None and member_id and member.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member is None or (generation is not None and member.classic is None):
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if generation in (None, member.epoch) else ErrorCode.ILLEGAL_GENERATION


def find_consumer_group(request: RequestContext[messages.HeartbeatRequest | messages.SyncGroupRequest]) -> Group | None:
    """Return the KIP-848 group of a request; None if it is not one, or if another broker coordinates it."""
    group = request.cluster.groups.find(request.message.group_id)
    consumer = consumer_group_of(group)
    is_one = consumer is not None and consumer.members
    return group if is_one and not problem_with(request, request.message.group_id) else None


def sync_consumer_group(request: RequestContext[messages.SyncGroupRequest], group: Group) -> messages.SyncGroupResponse:
    """Handle SyncGroup of a classic member in a KIP-848 group."""
    message = request.message
    consumer = consumer_group_of(group)
    member = _find_member(group, message.member_id, message.group_instance_id, message.generation_id)
    if isinstance(member, int):
        return sync_error(member)
    assert consumer is not None and member.classic is not None
    names = CONSUMER, member.classic.protocols[0][0]
    if (message.protocol_type or names[0], message.protocol_name or names[1]) != names:
        return sync_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if consumer.epoch > member.epoch and not member.revoking:
        return sync_error(_must_join(request, member.classic, member.rebalance_timeout))
    member.classic.syncs_until = inf
    request.cluster.groups.keep_consumer(group, member, request.now)
    assignment = classic_assignment(member.classic.protocols, member.assigned)
    return messages.SyncGroupResponse(
        protocol_type=message.protocol_type, protocol_name=message.protocol_name, assignment=assignment
    )


def _must_join(request: RequestContext[object], classic: ClassicProtocol, timeout: float) -> int:
    """Return the error code that makes a classic member rejoin, and set its deadline for that."""
    classic.joins_until = min(classic.joins_until, request.now + timeout)
    return ErrorCode.REBALANCE_IN_PROGRESS


def keep_classic_member(request: RequestContext[messages.HeartbeatRequest], group: Group) -> int:
    """Return the error code of a Heartbeat response to a classic member in a KIP-848 group."""
    message = request.message
    consumer = consumer_group_of(group)
    member = _find_member(group, message.member_id, message.group_instance_id, message.generation_id)
    if isinstance(member, int):
        return member
    assert consumer is not None and member.classic is not None
    must_join = consumer.must_join(member)
    code = _must_join(request, member.classic, member.rebalance_timeout) if must_join else ErrorCode.NONE
    request.cluster.groups.keep_consumer(group, member, request.now)
    return code


def leave_consumer_group(
    request: RequestContext[messages.LeaveGroupRequest], group: Group
) -> messages.LeaveGroupResponse:
    """Handle LeaveGroup in a KIP-848 group: remove all members in the request, whichever protocol they use."""
    response = messages.LeaveGroupResponse
    message = request.message
    rows = message.members
    if request.version < FIRST_WITH_MEMBERS:
        rows = (messages.LeaveGroupRequest.MemberIdentity(member_id=message.member_id),)
    results = [_find_member(group, row.member_id, row.group_instance_id) for row in rows]
    gone = {result.member_id: result for result in results if not isinstance(result, int)}
    if gone:
        request.cluster.groups.remove_consumers(group, list(gone.values()), request.now)
    codes = [result if isinstance(result, int) else ErrorCode.NONE for result in results]
    if request.version < FIRST_WITH_MEMBERS:
        return response(error_code=codes[0])
    left = (
        response.MemberResponse(member_id=row.member_id, group_instance_id=row.group_instance_id, error_code=code)
        for row, code in zip(rows, codes, strict=True)
    )
    return response(members=tuple(left))
