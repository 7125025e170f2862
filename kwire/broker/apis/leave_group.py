"""LeaveGroup: removes members, also static ones (KIP-345)."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..groups.group import Group
from ..groups.membership import member_or_problem, problem_with

FIRST_WITH_MANY = 3  # from this version on several members can leave at once


def leave_group(request: RequestContext) -> Any:
    """Answer LeaveGroup."""
    response, asked, groups = messages.LeaveGroupResponse, request.message, request.cluster.groups
    if code := problem_with(request, asked.group_id):
        return response(error_code=code)
    group = groups.find(asked.group_id)
    if request.version < FIRST_WITH_MANY:
        code = codes.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, asked.member_id, None)
        members = []
    else:
        members = [_row(request, group, member) for member in asked.members]
    if group is not None:
        groups.rebalancing.settle(group, request.now)
    return response(error_code=code, members=tuple(members))


def _row(request: RequestContext, group: Group | None, member: Any) -> Any:
    member_id, instance_id = member.member_id, member.group_instance_id
    code = codes.UNKNOWN_MEMBER_ID if group is None else _leave(request, group, member_id, instance_id)
    row = messages.LeaveGroupResponse.MemberResponse
    return row(member_id=member_id, group_instance_id=instance_id, error_code=code)


def _leave(request: RequestContext, group: Group, member_id: str, instance_id: str | None) -> int:
    if member_id in group.pending:
        group.expect_no_longer(member_id)
        return codes.NONE
    if not member_id and instance_id is not None:
        member_id = group.static.get(instance_id, "")  # an operator removes static members by instance id
    found = member_or_problem(group, member_id, instance_id)
    if isinstance(found, int):
        return found
    request.cluster.groups.rebalancing.remove(group, found, request.now)
    return codes.NONE
