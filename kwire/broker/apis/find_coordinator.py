"""FindCoordinator: the broker that coordinates a group or a transactional id. There are no share groups."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...values import ErrorCode
from .. import codes
from ..cluster import RequestContext
from ..internal_topics import GROUPS, TRANSACTIONS, coordinator_of

FIRST_WITH_MANY = 4  # from this version on a request has several keys (KIP-699)
GROUP, TRANSACTION = 0, 1


def find_coordinator(request: RequestContext) -> Any:
    """Answer FindCoordinator."""
    response, asked = messages.FindCoordinatorResponse, request.message
    if request.version < FIRST_WITH_MANY:
        return response(**_found(request, asked.key))
    keys = dict.fromkeys(asked.coordinator_keys)
    return response(coordinators=tuple(response.Coordinator(key=key, **_found(request, key)) for key in keys))


def _found(request: RequestContext, key: str) -> dict[str, Any]:
    controller = request.cluster.controller
    is_transactional = request.message.key_type == TRANSACTION
    if code := request.error(transactional_id=key) if is_transactional else request.error(group=key):
        return _no_coordinator(code, ErrorCode(code).about)
    if request.message.key_type not in (GROUP, TRANSACTION):
        return _no_coordinator(codes.INVALID_REQUEST, "only groups and transactions are coordinated here")
    topic = TRANSACTIONS if request.message.key_type == TRANSACTION else GROUPS
    node_id = coordinator_of(key, controller, topic)
    if node_id is None:
        return _no_coordinator(codes.COORDINATOR_NOT_AVAILABLE, "no broker is alive")
    node = controller.nodes[node_id]
    return {"error_code": codes.NONE, "error_message": None, "node_id": node_id, "host": node.host, "port": node.port}


def _no_coordinator(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}
