"""FindCoordinator: the broker that coordinates a group, a transactional id or a share partition."""

from __future__ import annotations

import re
from typing import NamedTuple

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic_names import GROUPS, SHARES, TRANSACTIONS
from ...internal_topics import coordinator_of
from ...request_context import RequestContext

FIRST_WITH_KEYS = 4  # the first version of FindCoordinator with several keys (KIP-699)
GROUP, TRANSACTION, SHARE_STATE = 0, 1, 2  # key types of FindCoordinator; SHARE_STATE since version 6 (KIP-932)
SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:\d+", re.DOTALL)  # group, topic id and partition (SharePartitionKey)
FIRST_WITH_SHARES = 6  # FindCoordinator 6 finds coordinators of share-partition state (KIP-932)


class FoundCoordinator(NamedTuple):
    """The broker that coordinates a key, or an error."""

    error_code: int
    error_message: str | None
    node_id: int = -1
    host: str = ""
    port: int = -1


def find_coordinator(request: RequestContext[messages.FindCoordinatorRequest]) -> messages.FindCoordinatorResponse:
    """Handle FindCoordinator."""
    response = messages.FindCoordinatorResponse
    message = request.message
    if request.version < FIRST_WITH_KEYS:
        return response(**_coordinator(request, message.key)._asdict())
    keys = message.coordinator_keys
    return response(
        coordinators=tuple(response.Coordinator(key=key, **_coordinator(request, key)._asdict()) for key in keys)
    )


def _coordinator(request: RequestContext[messages.FindCoordinatorRequest], key: str) -> FoundCoordinator:
    controller = request.cluster.controller
    is_transactional = request.message.key_type == TRANSACTION
    if code := request.error(transactional_id=key) if is_transactional else request.error(group=key):
        return FoundCoordinator(code, ErrorCode(code).about)
    topics = {GROUP: GROUPS, TRANSACTION: TRANSACTIONS, SHARE_STATE: SHARES}
    is_share = request.message.key_type == SHARE_STATE
    is_right = request.version >= FIRST_WITH_SHARES and SHARE_KEY.fullmatch(key) if is_share else True
    if request.message.key_type not in topics or not is_right:
        return FoundCoordinator(
            ErrorCode.INVALID_REQUEST,
            "the key must be a group id, a transactional id, or GROUP:TOPIC-ID:PARTITION of a share group",
        )
    is_cold = topics[request.message.key_type] not in controller.topics
    node_id = coordinator_of(key, controller, topics[request.message.key_type])
    if is_cold and request.cluster.settings.realistic:
        # Kafka: KafkaApis.getCoordinator lets the controller create the topic, and answers before it is there
        return FoundCoordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator's topic is being created")
    if node_id is None:
        return FoundCoordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator's partition has no leader")
    node = controller.nodes[node_id]
    return FoundCoordinator(ErrorCode.NONE, None, node_id, *node.address)


APIS = {  # what each version has changed
    # 1: types of keys: groups and transactional ids (KIP-98); an error message
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: flexible (KIP-482)
    # 4: several keys (KIP-699)
    # 5: TRANSACTION_ABORTABLE (KIP-890)
    # 6: share partitions (KIP-932)
    "FindCoordinator": ServedApi(0, 6, find_coordinator, finds_errors=True),
}
