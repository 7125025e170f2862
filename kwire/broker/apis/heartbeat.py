"""Heartbeat: keeps a member in its group, or makes it rejoin."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..groups.group import GroupState
from ..groups.membership import membership


def heartbeat(request: RequestContext) -> Any:
    """Answer Heartbeat."""
    found = membership(request, request.message.generation_id)
    if isinstance(found, int):
        return messages.HeartbeatResponse(error_code=found)
    group, member = found
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
    return messages.HeartbeatResponse(error_code=codes.REBALANCE_IN_PROGRESS if is_rebalancing else codes.NONE)
