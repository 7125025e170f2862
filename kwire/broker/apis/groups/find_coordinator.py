"""FindCoordinator: the broker that coordinates a group, a transactional id or a share partition."""

from __future__ import annotations

from typing import Any

from .... import messages
from ....values import ErrorCode
from ...controller.topic_names import GROUPS, SHARES, TRANSACTIONS
from ...internal_topics import coordinator_of
from ...request_context import RequestContext

FIRST_WITH_KEYS = 4  # the first version of FindCoordinator with several keys (KIP-699)
GROUP, TRANSACTION, SHARE_STATE = 0, 1, 2  # key types of FindCoordinator; SHARE_STATE since version 6 (KIP-932)
FIRST_WITH_SHARES = 6  # FindCoordinator 6 finds coordinators of share-partition state (KIP-932)


def find_coordinator(request: RequestContext) -> Any:
    """Handle FindCoordinator."""
    response, asked = messages.FindCoordinatorResponse, request.message
    if request.version < FIRST_WITH_KEYS:
        return response(**_coordinator(request, asked.key))
    keys = dict.fromkeys(asked.coordinator_keys)
    return response(coordinators=tuple(response.Coordinator(key=key, **_coordinator(request, key)) for key in keys))


def _coordinator(request: RequestContext, key: str) -> dict[str, Any]:
    controller = request.cluster.controller
    is_transactional = request.message.key_type == TRANSACTION
    if code := request.error(transactional_id=key) if is_transactional else request.error(group=key):
        return _no_coordinator(code, ErrorCode(code).about)
    topics = {GROUP: GROUPS, TRANSACTION: TRANSACTIONS, SHARE_STATE: SHARES}
    is_share = request.message.key_type == SHARE_STATE
    is_right = request.version >= FIRST_WITH_SHARES and key.count(":") >= 2 if is_share else True
    if request.message.key_type not in topics or not is_right:
        return _no_coordinator(
            ErrorCode.INVALID_REQUEST,
            "the key must be a group id, a transactional id, or GROUP:TOPIC-ID:PARTITION of a share group",
        )
    node_id = coordinator_of(key, controller, topics[request.message.key_type])
    if node_id is None:
        return _no_coordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator's partition has no leader")
    node = controller.nodes[node_id]
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "node_id": node_id,
        "host": node.address[0],
        "port": node.address[1],
    }


def _no_coordinator(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}
