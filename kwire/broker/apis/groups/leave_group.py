"""LeaveGroup: members leave, or an administrator removes them."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group
from ...groups.group_types import CONSUMER
from ...request_context import RequestContext
from .classic_members import FIRST_WITH_MEMBERS, leave_consumer_group
from .group_checks import member_or_problem, problem_with


def leave_group(request: RequestContext[messages.LeaveGroupRequest]) -> messages.LeaveGroupResponse:
    """Handle LeaveGroup."""
    # Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup
    response = messages.LeaveGroupResponse
    message = request.message
    groups = request.cluster.groups
    if code := problem_with(request, message.group_id):
        return response(error_code=code)
    group = groups.find(message.group_id)
    if group is not None and group.kind == CONSUMER:
        if code := groups.write_problem(message.group_id):
            return response(error_code=code)
        return leave_consumer_group(request, group)
    if request.version < FIRST_WITH_MEMBERS:
        code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, message.member_id, None)
        members = []
    else:
        members = [_leave_row(request, group, member) for member in message.members]
    if group is not None:
        groups.rebalancing.settle(group, request.now)
    return response(error_code=code, members=tuple(members))


def _leave_row(
    request: RequestContext[messages.LeaveGroupRequest],
    group: Group | None,
    member: messages.LeaveGroupRequest.MemberIdentity,
) -> messages.LeaveGroupResponse.MemberResponse:
    member_id = member.member_id
    instance_id = member.group_instance_id
    code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, member_id, instance_id)
    row = messages.LeaveGroupResponse.MemberResponse
    return row(member_id=member_id, group_instance_id=instance_id, error_code=code)


def _leave(
    request: RequestContext[messages.LeaveGroupRequest], group: Group, member_id: str, instance_id: str | None
) -> int:
    if member_id in group.pending:
        group.expect_no_longer(member_id)
        return ErrorCode.NONE
    if not member_id and instance_id is not None:
        member_id = group.static.get(instance_id, "")  # an administrator removes static members by their instance ids
    member = member_or_problem(group, member_id, instance_id)
    if isinstance(member, int):
        return member
    request.cluster.groups.rebalancing.remove(group, member, request.now)
    return ErrorCode.NONE


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: several members (KIP-345)
    # 4: flexible (KIP-482)
    # 5: the reason for leaving (KIP-800)
    "LeaveGroup": ServedApi(0, 5, leave_group, finds_errors=True),
}
