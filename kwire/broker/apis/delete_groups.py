"""DeleteGroups: deletes groups without members, and their committed offsets."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..groups.group import GroupState
from ..groups.membership import problem_with


def delete_groups(request: RequestContext) -> Any:
    """Answer DeleteGroups."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    names = dict.fromkeys(request.message.groups_names)
    return messages.DeleteGroupsResponse(
        results=tuple(row(group_id=name, error_code=_delete(request, name)) for name in names)
    )


def _delete(request: RequestContext, group_id: str) -> int:
    groups = request.cluster.groups
    if code := problem_with(request, group_id, needs_name=False):
        return code
    group = groups.find(group_id)
    if group is None:
        return codes.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return codes.NON_EMPTY_GROUP
    groups.delete(group)
    return codes.NONE
