"""ListGroups: the groups that this broker coordinates."""

from __future__ import annotations

from typing import Any

from ... import messages
from ..cluster import RequestContext
from ..groups.coordinator import coordinator_of

CLASSIC = "classic"


def list_groups(request: RequestContext) -> Any:
    """Answer ListGroups: the groups that this broker coordinates."""
    states = {state.lower() for state in request.message.states_filter}
    types = {kind.lower() for kind in request.message.types_filter} or {CLASSIC}
    rows = (
        messages.ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC,
        )
        for group in request.cluster.groups.all()
        if CLASSIC in types
        and (not states or group.state.lower() in states)
        and coordinator_of(group.group_id, request.cluster.controller) == request.node_id
    )
    return messages.ListGroupsResponse(groups=tuple(rows))
