"""SyncGroup: the leader sends the assignments, and members receive theirs."""

from __future__ import annotations

from typing import Any

from .. import codes
from ..cluster import RequestContext
from ..groups.group import Group, GroupState
from ..groups.membership import membership
from ..groups.rebalance import assigned, not_assigned

FIRST_WITH_PROTOCOLS = 5  # from this version on requests contain the expected protocol (KIP-559)


def sync_group(request: RequestContext) -> Any:
    """Answer SyncGroup, or park it until the leader has assigned."""
    asked, rebalancing = request.message, request.cluster.groups.rebalancing
    if request.version >= FIRST_WITH_PROTOCOLS and not (asked.protocol_type and asked.protocol_name):
        return not_assigned(codes.INCONSISTENT_GROUP_PROTOCOL)
    found = membership(request, asked.generation_id)
    if isinstance(found, int):
        return not_assigned(found)
    group, member = found
    if code := _problem(asked, group):
        return not_assigned(code)
    member.has_synced = True
    rebalancing.keep(group, member, request.now)
    if group.state is GroupState.STABLE:
        return assigned(group, member)
    return (
        _complete(request, group) if member.member_id == group.leader else rebalancing.sync(group, member, request.now)
    )


def _problem(asked: Any, group: Group) -> int:
    names = asked.protocol_type or group.protocol_type, asked.protocol_name or group.protocol
    if names != (group.protocol_type, group.protocol):
        return codes.INCONSISTENT_GROUP_PROTOCOL
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return codes.REBALANCE_IN_PROGRESS if is_rebalancing else codes.NONE


def _complete(request: RequestContext, group: Group) -> Any:
    """Distribute the leader's assignments."""
    groups, asked = request.cluster.groups, request.message
    assignments = {row.member_id: bytes(row.assignment) for row in asked.assignments}
    if not groups.held.has_room(sum(map(len, assignments.values()))):
        return not_assigned(codes.GROUP_MAX_SIZE_REACHED)
    groups.rebalancing.assign(group, assignments, request.now)
    return assigned(group, group.members[asked.member_id])
