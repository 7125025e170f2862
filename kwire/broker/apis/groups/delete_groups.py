"""DeleteGroups: deletes groups without members."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.modern_group import GroupState
from ...groups.share_group import ShareGroup
from ...request_context import RequestContext
from .group_checks import problem_with


def delete_groups(request: RequestContext[messages.DeleteGroupsRequest]) -> messages.DeleteGroupsResponse:
    """Handle DeleteGroups."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    names = dict.fromkeys(request.message.groups_names)
    return messages.DeleteGroupsResponse(
        results=tuple(row(group_id=name, error_code=_delete(request, name)) for name in names)
    )


def _delete(request: RequestContext[messages.DeleteGroupsRequest], group_id: str) -> int:
    groups = request.cluster.groups
    if code := problem_with(request, group_id, needs_name=False, writes=True):
        return code
    group = groups.find(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    if isinstance(group.consumer, ShareGroup):
        request.cluster.shares.forget(group_id, group.consumer, group.consumer.partitions)
    groups.delete(group)
    return ErrorCode.NONE


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: error messages
    "DeleteGroups": ServedApi(0, 3, delete_groups, finds_errors=True),
}
