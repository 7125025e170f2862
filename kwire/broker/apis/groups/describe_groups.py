"""DescribeGroups: state and members of classic groups."""

from __future__ import annotations

import msgspec

from .... import messages
from ....values import ErrorCode, ResourceType
from ...api import ServedApi
from ...groups.classic_responses import describe_classic_group
from ...groups.modern_group import GroupState
from ...request_context import RequestContext
from ...security.api_permissions import operations
from .group_checks import problem_with

FIRST_WITH_NOT_FOUND = 6  # DescribeGroups: older versions return unknown groups as Dead (KIP-1043)


def describe_groups(request: RequestContext[messages.DescribeGroupsRequest]) -> messages.DescribeGroupsResponse:
    """Handle DescribeGroups."""
    names = dict.fromkeys(request.message.groups)
    return messages.DescribeGroupsResponse(groups=tuple(_describe_group(request, name) for name in names))


def _describe_group(
    request: RequestContext[messages.DescribeGroupsRequest], group_id: str
) -> messages.DescribeGroupsResponse.DescribedGroup:
    row = messages.DescribeGroupsResponse.DescribedGroup
    if code := problem_with(request, group_id, needs_name=False):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    if group is not None and group.consumer is None:
        description = describe_classic_group(group)
        if request.message.include_authorized_operations:
            bits = operations(request.allows, ResourceType.GROUP, group_id)
            return msgspec.structs.replace(description, authorized_operations=bits)
        return description
    if request.version < FIRST_WITH_NOT_FOUND:
        return row(group_id=group_id, group_state=GroupState.DEAD.value)
    missing = f"there is no {'' if group is None else 'classic '}group {group_id!r}"
    return row(
        group_id=group_id,
        group_state=GroupState.DEAD.value,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=missing,
    )


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: authorized operations (KIP-430)
    # 4: static members (KIP-345)
    # 5: flexible (KIP-482)
    # 6: error messages, and GROUP_ID_NOT_FOUND (KIP-1043)
    "DescribeGroups": ServedApi(0, 6, describe_groups, finds_errors=True),
}
