"""Checks a request about a group: is this broker its coordinator, is the member known, is the generation current?"""

from __future__ import annotations

from .. import codes
from ..cluster import RequestContext
from ..internal_topics import GROUPS, coordinator_of
from .group import Group, Member


def problem_with(request: RequestContext, group_id: str, topic: str = GROUPS, *, needs_name: bool = True) -> int:
    """Return the error code of a group or transaction request that this broker cannot handle; 0 if it can.

    Args:
        request: the request.
        group_id: its group or transactional id.
        topic: the internal topic that decides who coordinates it.
        needs_name: whether the empty group id, which old consumers use for commits, is refused.
    """
    if needs_name and not group_id:
        return codes.INVALID_GROUP_ID
    if code := request.error(group=group_id) if topic == GROUPS else request.error(transactional_id=group_id):
        return code
    is_mine = coordinator_of(group_id, request.cluster.controller, topic) == request.node_id
    return codes.NONE if is_mine else codes.NOT_COORDINATOR


def member_or_problem(group: Group, member_id: str, instance_id: str | None) -> Member | int:
    """Return a member, or the error code if it does not exist or another client has its instance id."""
    if instance_id is not None and instance_id not in group.static:
        return codes.UNKNOWN_MEMBER_ID
    if instance_id is not None and group.static[instance_id] != member_id:
        return codes.FENCED_INSTANCE_ID
    return group.members.get(member_id, codes.UNKNOWN_MEMBER_ID)


def membership(request: RequestContext, generation: int) -> tuple[Group, Member] | int:
    """Return the group and member of a request, or the error code if the member is not in the current generation."""
    asked = request.message
    if code := problem_with(request, asked.group_id):
        return code
    group = request.cluster.groups.find(asked.group_id)
    if group is None:
        return codes.UNKNOWN_MEMBER_ID
    found = member_or_problem(group, asked.member_id, asked.group_instance_id)
    if isinstance(found, int):
        return found
    return (group, found) if generation == group.generation else codes.ILLEGAL_GENERATION


def consumer_problem(group: Group, member_id: str, epoch: int) -> int:
    """Return the error code for offsets of a member of a group whose broker assigns; 0 if it may commit and fetch.

    Args:
        group: the group.
        member_id, epoch: of the member; commits without them are refused while there are members.
    """
    assert group.consumer is not None
    member = group.consumer.members.get(member_id)
    if member is None:
        return codes.UNKNOWN_MEMBER_ID
    return codes.NONE if member.epoch == epoch else codes.STALE_MEMBER_EPOCH
