"""LeaveGroup: members that go, and static ones that somebody takes out (KIP-345)."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..asks import Ask
from .coordinator import member_or_problem, problem_with
from .group import Group

FIRST_WITH_MANY = 3  # versions from here on let several members go at once


def leave_group(ask: Ask) -> Any:
    """Answer LeaveGroup."""
    response, asked, groups = messages.LeaveGroupResponse, ask.message, ask.cluster.groups
    if code := problem_with(ask, asked.group_id):
        return response(error_code=code)
    group = groups.find(asked.group_id)
    if ask.version < FIRST_WITH_MANY:
        code = codes.UNKNOWN_MEMBER_ID if group is None else _leave(ask, group, asked.member_id, None)
        members = []
    else:
        members = [_row(ask, group, member) for member in asked.members]
    if group is not None:
        groups.rebalancing.settle(group, ask.now)
    return response(error_code=code, members=tuple(members))


def _row(ask: Ask, group: Group | None, member: Any) -> Any:
    member_id, instance_id = member.member_id, member.group_instance_id
    code = codes.UNKNOWN_MEMBER_ID if group is None else _leave(ask, group, member_id, instance_id)
    row = messages.LeaveGroupResponse.MemberResponse
    return row(member_id=member_id, group_instance_id=instance_id, error_code=code)


def _leave(ask: Ask, group: Group, member_id: str, instance_id: str | None) -> int:
    if member_id in group.pending:
        group.expect_no_longer(member_id)
        return codes.NONE
    if not member_id and instance_id is not None:
        member_id = group.static.get(instance_id, "")  # an operator knows static members by their instance alone
    found = member_or_problem(group, member_id, instance_id)
    if isinstance(found, int):
        return found
    ask.cluster.groups.rebalancing.remove(group, found, ask.now)
    return codes.NONE
