"""SyncGroup: the leader of a classic group sends the assignments, the other members get them."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group
from ...groups.classic_responses import sync_error, sync_response
from ...groups.modern_group import GroupState
from ...purgatory import Parked
from ...request_context import RequestContext
from .classic_members import find_consumer_group, sync_consumer_group
from .group_checks import membership

FIRST_WITH_PROTOCOLS = 5  # the first version of SyncGroup that contains the expected protocol (KIP-559)


def sync_group(
    request: RequestContext[messages.SyncGroupRequest],
) -> messages.SyncGroupResponse | Parked[messages.SyncGroupResponse]:
    """Handle SyncGroup, or park the request until the leader sends the assignments."""
    # Kafka: GroupMetadataManager.classicGroupSyncToClassicGroup
    message = request.message
    rebalancing = request.cluster.groups.rebalancing
    if request.version >= FIRST_WITH_PROTOCOLS and not (message.protocol_type and message.protocol_name):
        return sync_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    consumers = find_consumer_group(request)
    if consumers is not None:
        return sync_consumer_group(request, consumers)
    group_member = membership(request, message.generation_id)
    if isinstance(group_member, int):
        return sync_error(group_member)
    group, member = group_member
    if code := _protocol_problem(message, group):
        return sync_error(code)
    member.has_synced = True
    rebalancing.keep(group, member, request.now)
    if group.state is GroupState.STABLE:
        return sync_response(group, member)
    return (
        _complete(request, group) if member.member_id == group.leader else rebalancing.sync(group, member, request.now)
    )


def _protocol_problem(message: messages.SyncGroupRequest, group: Group) -> int:
    # GroupMetadataManager.isProtocolInconsistent: a group has no protocol before its first generation
    named = message.protocol_type, message.protocol_name
    pairs = zip(named, (group.protocol_type, group.protocol), strict=True)
    if any(name and known and name != known for name, known in pairs):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE


def _complete(request: RequestContext[messages.SyncGroupRequest], group: Group) -> messages.SyncGroupResponse:
    """Send the leader's assignments to the members."""
    groups = request.cluster.groups
    message = request.message
    assignments = {row.member_id: bytes(row.assignment) for row in message.assignments}
    if not groups.held.has_room(sum(map(len, assignments.values()))):
        return sync_error(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if code := groups.rebalancing.assign(group, assignments, request.now):
        return sync_error(code)
    return sync_response(group, group.members[message.member_id])


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: static members (KIP-345)
    # 4: flexible (KIP-482)
    # 5: the protocol that the member expects (KIP-559)
    "SyncGroup": ServedApi(0, 5, sync_group, finds_errors=True),
}
