"""The answers that members wait for, as messages."""

from __future__ import annotations

from typing import Any

from ... import messages
from .group import Group, GroupState
from .members import Member


def joined(group: Group, member: Member, *, tells_members: bool, leader: str | None = None, skip: bool = False) -> Any:
    """Tell a member that it is in.

    Args:
        group: what it is in.
        member: who is told.
        tells_members: whether it is told of all members, because it assigns.
        leader: who it is told leads, if not who does.
        skip: the leader assigns nothing, for nothing has changed (KIP-814).
    """
    response = messages.JoinGroupResponse
    return response(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol or "",
        leader=leader or group.leader or "",
        skip_assignment=skip,
        member_id=member.member_id,
        members=tuple(_row(group, one) for one in group.members.values()) if tells_members else (),
    )


def _row(group: Group, member: Member) -> Any:
    return messages.JoinGroupResponse.JoinGroupResponseMember(
        member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata(group.protocol)
    )


def not_joined(error_code: int, member_id: str = "") -> Any:
    """Tell somebody that it is not in."""
    return messages.JoinGroupResponse(error_code=error_code, member_id=member_id)


def assigned(group: Group, member: Member) -> Any:
    """Tell a member what is assigned to it."""
    return messages.SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def not_assigned(error_code: int) -> Any:
    """Tell somebody that nothing is."""
    return messages.SyncGroupResponse(error_code=error_code)


def described(group: Group) -> Any:
    """Tell of a group and its members, what they say of themselves only when it is stable."""
    is_stable = group.state is GroupState.STABLE
    return messages.DescribeGroupsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=tuple(_described(group, member, is_stable) for member in group.members.values()),
    )


def _described(group: Group, member: Member, is_stable: bool) -> Any:
    return messages.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if is_stable else b"",
        member_assignment=member.assignment if is_stable else b"",
    )
