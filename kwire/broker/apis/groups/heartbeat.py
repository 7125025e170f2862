"""Heartbeat of a member of a classic group."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.modern_group import GroupState
from ...request_context import RequestContext
from .classic_members import find_consumer_group, keep_classic_member
from .group_checks import membership


def heartbeat(request: RequestContext[messages.HeartbeatRequest]) -> messages.HeartbeatResponse:
    """Handle Heartbeat."""
    # Kafka: GroupMetadataManager.classicGroupHeartbeatToClassicGroup
    consumers = find_consumer_group(request)
    if consumers is not None:
        return messages.HeartbeatResponse(error_code=keep_classic_member(request, consumers))
    group_member = membership(request, request.message.generation_id)
    if isinstance(group_member, int):
        return messages.HeartbeatResponse(error_code=group_member)
    group, member = group_member
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return messages.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE)


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: static members (KIP-345)
    # 4: flexible (KIP-482)
    "Heartbeat": ServedApi(0, 4, heartbeat, finds_errors=True),
}
