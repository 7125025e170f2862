"""The responses to JoinGroup, SyncGroup and DescribeGroups that a classic group gives."""

from __future__ import annotations

from ... import messages
from .classic_group import Group, Member
from .modern_group import GroupState


def join_response(
    group: Group, member: Member, *, includes_members: bool, leader: str | None = None, skip: bool = False
) -> messages.JoinGroupResponse:
    """Return the JoinGroup response for a member of the new generation.

    Args:
        group: the group.
        member: the recipient.
        includes_members: whether to include all members, because it will compute the assignment.
        leader: the leader to report if it is not the actual one.
        skip: whether the leader can skip the assignment, because nothing has changed (KIP-814).
    """
    response = messages.JoinGroupResponse
    return response(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol or "",
        leader=leader or group.leader or "",
        skip_assignment=skip,
        member_id=member.member_id,
        members=tuple(_join_row(group, member) for member in group.members.values()) if includes_members else (),
    )


def _join_row(group: Group, member: Member) -> messages.JoinGroupResponse.JoinGroupResponseMember:
    return messages.JoinGroupResponse.JoinGroupResponseMember(
        member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata(group.protocol)
    )


def join_error(error_code: int, member_id: str = "") -> messages.JoinGroupResponse:
    """Return the JoinGroup response with an error."""
    return messages.JoinGroupResponse(error_code=error_code, member_id=member_id)


def sync_response(group: Group, member: Member) -> messages.SyncGroupResponse:
    """Return the SyncGroup response with a member's assignment."""
    return messages.SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def sync_error(error_code: int) -> messages.SyncGroupResponse:
    """Return the SyncGroup response with an error."""
    return messages.SyncGroupResponse(error_code=error_code)


def describe_classic_group(group: Group) -> messages.DescribeGroupsResponse.DescribedGroup:
    """Return the description of a group and its members; metadata is included only if the group is stable."""
    is_stable = group.state is GroupState.STABLE
    return messages.DescribeGroupsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=tuple(_describe_member(group, member, is_stable) for member in group.members.values()),
    )


def _describe_member(
    group: Group, member: Member, is_stable: bool
) -> messages.DescribeGroupsResponse.DescribedGroupMember:
    return messages.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if is_stable else b"",
        member_assignment=member.assignment if is_stable else b"",
    )
