"""The checks that requests of groups share: the group's name and coordinator, the member and its generation."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...controller.topic_names import GROUPS
from ...groups.classic_group import Group, Member
from ...internal_topics import coordinator_of
from ...request_context import RequestContext


def problem_with(
    request: RequestContext[object], group_id: str, topic: str = GROUPS, *, needs_name: bool = True
) -> int:
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


def membership(
    request: RequestContext[messages.HeartbeatRequest | messages.OffsetCommitRequest | messages.SyncGroupRequest],
    generation: int,
) -> tuple[Group, Member] | int:
    """Return the group and member of a request, or an error code if the member is not in the current generation."""
    message = request.message
    if code := problem_with(request, message.group_id):
        return code
    group = request.cluster.groups.find(message.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    member = member_or_problem(group, message.member_id, message.group_instance_id)
    if isinstance(member, int):
        return member
    return (group, member) if generation == group.generation else ErrorCode.ILLEGAL_GENERATION


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
