"""ShareAcknowledge, and the acknowledgements in ShareFetch: records are accepted, released, rejected or renewed
(KIP-932, KIP-1222).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import messages
from ....values import ErrorCode
from ...controller.partition import Partition
from ...groups.share_coordinator import FINAL, FIRST
from ...groups.share_group import TopicIdPartition
from ...groups.share_partition import AcknowledgeType
from ...log.replica_log import ReplicaLog
from ...request_context import RequestContext
from .share_group_checks import is_off

Codes = dict[TopicIdPartition, int]  # error codes of acknowledgements, by partition


def share_acknowledge(request: RequestContext) -> Any:
    """Handle ShareAcknowledge."""
    asked, response = request.message, messages.ShareAcknowledgeResponse
    acks = [(topic.topic_id, part) for topic in asked.topics for part in topic.partitions]
    code = check_share_request(request)
    if not code and asked.share_session_epoch == FIRST:
        code = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    if code:
        return response(error_code=code)
    shares, who = request.cluster.shares, (request.node_id, asked.group_id, asked.member_id)
    session = shares.session(*who, asked.share_session_epoch)
    if isinstance(session, int):
        return response(error_code=session)
    found = apply_acknowledgements(request, acks)
    if asked.share_session_epoch == FINAL:
        shares.end_session(*who)
    rows: dict[bytes, list[Any]] = {}
    for place, code in found.items():
        row = response.PartitionData(
            partition_index=place[1], error_code=code, current_leader=current_leader(request, place, code, response)
        )
        rows.setdefault(place[0], []).append(row)
    topic_row = response.ShareAcknowledgeTopicResponse
    return response(
        acquisition_lock_timeout_ms=int(shares.limits(asked.group_id).lock * 1000),
        responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(parts)) for topic_id, parts in rows.items()),
        node_endpoints=node_endpoints(request, found.values(), response),
    )


def check_share_request(request: RequestContext) -> int:
    """Return the error code of a request that cannot be handled; 0 if it can."""
    asked = request.message
    if is_off(request):
        return ErrorCode.UNSUPPORTED_VERSION
    if asked.group_id is None or not asked.member_id:
        return ErrorCode.INVALID_REQUEST
    return request.error(group=asked.group_id)


def find_led_partition(request: RequestContext, place: TopicIdPartition) -> tuple[Partition, ReplicaLog] | int:
    """Return a partition that this broker leads, with its log; otherwise an error code."""
    topic = request.cluster.controller.by_id.get(place[0])
    if topic is None:
        return request.error(None, place[1]) or ErrorCode.UNKNOWN_TOPIC_ID
    return request.led(topic.name, place[1])


def apply_acknowledgements(request: RequestContext, acks: Sequence[tuple[bytes, Any]]) -> Codes:
    """Apply the acknowledgements of a request; return the error code of each partition that has some."""
    found: Codes = {}
    for topic_id, part in acks:
        if part.acknowledgement_batches:
            place = bytes(topic_id), part.partition_index
            found[place] = _acknowledge(request, place, part.acknowledgement_batches)
    return found


def _acknowledge(request: RequestContext, place: TopicIdPartition, rows: Sequence[Any]) -> int:
    asked, shares = request.message, request.cluster.shares
    batches = [(one.first_offset, one.last_offset, tuple(one.acknowledge_types)) for one in rows]
    where = find_led_partition(request, place)
    if isinstance(where, int):
        return where
    if not _are_right(batches, is_renew=asked.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    part = shares.find(asked.group_id, place)
    if part is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not shares.can_store(asked.group_id, place):  # Kafka: SharePartition.fetchPersisterError
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    limits, size = shares.limits(asked.group_id), part.size
    code = part.acknowledge(asked.member_id, batches, limits, request.now + limits.lock)
    if not code:
        shares.changed(asked.group_id, place, part, size)
    return code


def _are_right(batches: Sequence[tuple[int, int, Sequence[int]]], *, is_renew: bool) -> bool:
    """Return whether acknowledged batches are ascending, with one type for all offsets or one for each."""
    highest = AcknowledgeType.RENEW if is_renew else AcknowledgeType.REJECT
    end = -1
    for first, last, types in batches:
        is_right = end < first <= last and len(types) in (1, last - first + 1)
        if not is_right or not all(AcknowledgeType.GAP <= one <= highest for one in types):
            return False
        end = last
    return True


def current_leader(request: RequestContext, place: TopicIdPartition, code: int, response: Any) -> Any:
    """Return the partition's leader for a client that sent its request to another broker."""
    topic = request.cluster.controller.by_id.get(place[0])
    if code != ErrorCode.NOT_LEADER_OR_FOLLOWER or topic is None or not 0 <= place[1] < len(topic.partitions):
        return response.LeaderIdAndEpoch()
    partition = topic.partitions[place[1]]
    return response.LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)


def node_endpoints(request: RequestContext, codes: Any, response: Any) -> tuple[Any, ...]:
    """Return the addresses of brokers if a partition has another leader."""
    if ErrorCode.NOT_LEADER_OR_FOLLOWER not in codes:
        return ()
    nodes = request.cluster.controller.nodes.values()
    brokers = (node.broker() for node in nodes)
    return tuple(
        response.NodeEndpoint(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack) for one in brokers
    )
