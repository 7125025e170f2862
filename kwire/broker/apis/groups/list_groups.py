"""ListGroups: the groups that a broker coordinates."""

from __future__ import annotations

from .... import messages
from ....values import AclOperation, ResourceType
from ...api import ServedApi
from ...groups.group_types import CLASSIC, CONSUMER, SHARE, STREAMS
from ...internal_topics import coordinator_of
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME


def list_groups(request: RequestContext[messages.ListGroupsRequest]) -> messages.ListGroupsResponse:
    """Handle ListGroups: return the groups that this broker coordinates."""
    states = {state.lower() for state in request.message.states_filter}
    types = {kind.lower() for kind in request.message.types_filter} or {CLASSIC, CONSUMER, SHARE, STREAMS}
    sees_all = request.allows(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    rows = (
        messages.ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=group.kind,
        )
        for group in request.cluster.groups.all()
        if group.kind in types
        and (sees_all or request.allows(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id))
        and (not states or group.state.lower() in states)
        and coordinator_of(group.group_id, request.cluster.controller) == request.node_id
    )
    return messages.ListGroupsResponse(groups=tuple(rows))


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: flexible (KIP-482)
    # 4: states (KIP-518)
    # 5: types (KIP-848)
    "ListGroups": ServedApi(0, 5, list_groups),
}
