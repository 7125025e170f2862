"""DescribeGroups: members, assignments and states of groups."""

from __future__ import annotations

from typing import Any

import msgspec

from ... import messages
from ...values import ResourceType
from .. import codes
from ..authorizer import operations
from ..cluster import RequestContext
from ..groups.group import GroupState
from ..groups.membership import problem_with
from ..groups.rebalance import described

FIRST_WITH_NOT_FOUND = 6  # older versions of DescribeGroups return an unknown group as Dead (KIP-1043)


def describe_groups(request: RequestContext) -> Any:
    """Answer DescribeGroups."""
    names = dict.fromkeys(request.message.groups)
    return messages.DescribeGroupsResponse(groups=tuple(_described(request, name) for name in names))


def _described(request: RequestContext, group_id: str) -> Any:
    row = messages.DescribeGroupsResponse.DescribedGroup
    if code := problem_with(request, group_id, needs_name=False):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    if group is not None:
        found = described(group)
        if request.message.include_authorized_operations:
            bits = operations(request, ResourceType.GROUP, group_id)
            return msgspec.structs.replace(found, authorized_operations=bits)
        return found
    if request.version < FIRST_WITH_NOT_FOUND:
        return row(group_id=group_id, group_state=GroupState.DEAD.value)
    missing = f"there is no group {group_id!r}"
    return row(
        group_id=group_id, group_state=GroupState.DEAD.value, error_code=codes.GROUP_ID_NOT_FOUND, error_message=missing
    )
