"""ShareAcknowledge, and the acknowledgements in ShareFetch: records are accepted, released, rejected or renewed
(KIP-932, KIP-1222).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.partition import Partition
from ...groups.record_states import AcknowledgeType
from ...groups.share_group import TopicIdPartition
from ...log.replica_log import ReplicaLog
from ...request_context import RequestContext
from ...share_groups.share_coordinator import FINAL, FIRST
from .share_group_checks import is_off

ShareRequest: TypeAlias = (
    "RequestContext[messages.ShareAcknowledgeRequest] | RequestContext[messages.ShareFetchRequest]"
)
AcknowledgedPartition: TypeAlias = (
    "messages.ShareAcknowledgeRequest.AcknowledgePartition | messages.ShareFetchRequest.FetchPartition"
)
Acknowledgement: TypeAlias = "tuple[bytes, AcknowledgedPartition]"  # with the topic id
AcknowledgementBatch: TypeAlias = (
    "messages.ShareAcknowledgeRequest.AcknowledgementBatch | messages.ShareFetchRequest.AcknowledgementBatch"
)
Codes = dict[TopicIdPartition, int]  # error codes of acknowledgements, by partition


class ShareMember(NamedTuple):
    """The member of a share group that sent a request."""

    group_id: str
    member_id: str


class LeaderIdAndEpoch(NamedTuple):
    """The leader of a partition; the defaults of the fields if the client need not know it."""

    leader_id: int = 0
    leader_epoch: int = 0


class NodeEndpoint(NamedTuple):
    """The address of a broker that leads a partition."""

    node_id: int
    host: str
    port: int
    rack: str | None


def share_acknowledge(request: RequestContext[messages.ShareAcknowledgeRequest]) -> messages.ShareAcknowledgeResponse:
    """Handle ShareAcknowledge."""
    # Kafka: KafkaApis.handleShareAcknowledgeRequest, SharePartitionManager.acknowledge
    message = request.message
    response = messages.ShareAcknowledgeResponse
    acks = [(topic.topic_id, part) for topic in message.topics for part in topic.partitions]
    member = check_share_request(request)
    if isinstance(member, int):
        return response(error_code=member)
    if message.share_session_epoch == FIRST:
        return response(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    shares = request.cluster.shares
    who = (request.node_id, *member)
    session = shares.session(*who, message.share_session_epoch)
    if isinstance(session, int):
        return response(error_code=session)
    codes = apply_acknowledgements(request, member, acks)
    if message.share_session_epoch == FINAL:
        shares.end_session(*who)
    rows: dict[bytes, list[messages.ShareAcknowledgeResponse.PartitionData]] = {}
    for partition, code in codes.items():
        row = response.PartitionData(
            partition_index=partition[1],
            error_code=code,
            current_leader=response.LeaderIdAndEpoch(**current_leader(request, partition, code)._asdict()),
        )
        rows.setdefault(partition[0], []).append(row)
    topic_row = response.ShareAcknowledgeTopicResponse
    return response(
        acquisition_lock_timeout_ms=int(shares.limits(member.group_id).lock * 1000),
        responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(parts)) for topic_id, parts in rows.items()),
        node_endpoints=tuple(
            response.NodeEndpoint(**endpoint._asdict()) for endpoint in node_endpoints(request, set(codes.values()))
        ),
    )


def check_share_request(request: ShareRequest) -> ShareMember | int:
    """Return the member that sent a request, or an error code if the request cannot be handled."""
    message = request.message
    if is_off(request):
        return ErrorCode.UNSUPPORTED_VERSION
    if message.group_id is None or not message.member_id:
        return ErrorCode.INVALID_REQUEST
    return request.error(group=message.group_id) or ShareMember(message.group_id, message.member_id)


def find_led_partition(request: ShareRequest, topic_partition: TopicIdPartition) -> tuple[Partition, ReplicaLog] | int:
    """Return a partition that this broker leads, with its log; otherwise an error code."""
    topic = request.cluster.controller.by_id.get(topic_partition[0])
    if topic is None:
        return request.error(None, topic_partition[1]) or ErrorCode.UNKNOWN_TOPIC_ID
    return request.find_led(topic.name, topic_partition[1])


def apply_acknowledgements(
    request: ShareRequest,
    member: ShareMember,
    acks: Sequence[Acknowledgement],
) -> Codes:
    """Apply the acknowledgements of a request; return the error code of each partition that has some."""
    codes: Codes = {}
    for topic_id, part in acks:
        if part.acknowledgement_batches:
            topic_partition = bytes(topic_id), part.partition_index
            codes[topic_partition] = _acknowledge(request, member, topic_partition, part.acknowledgement_batches)
    return codes


def _acknowledge(
    request: ShareRequest,
    member: ShareMember,
    topic_partition: TopicIdPartition,
    rows: Sequence[AcknowledgementBatch],
) -> int:
    shares = request.cluster.shares
    group_id = member.group_id
    batches = [(row.first_offset, row.last_offset, tuple(row.acknowledge_types)) for row in rows]
    where = find_led_partition(request, topic_partition)
    if isinstance(where, int):
        return where
    if not _are_right(batches, is_renew=request.message.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    part = shares.find(group_id, topic_partition)
    if part is None or part.start < 0:  # the first fetch brings a partition into Kafka's SharePartitionCache
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not shares.can_store(group_id, topic_partition):  # Kafka: SharePartition.fetchPersisterError
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    limits = shares.limits(group_id)
    size = part.size
    code = part.acknowledge(member.member_id, batches, limits, request.now + limits.lock)
    if not code:
        shares.changed(group_id, topic_partition, part, size)
    return code


def _are_right(batches: Sequence[tuple[int, int, Sequence[int]]], *, is_renew: bool) -> bool:
    """Return whether acknowledged batches are ascending, with one type for all offsets or one for each.

    A batch may begin with the last offset of the one before; whether this offset can be acknowledged again is up to
    its state.
    """
    # Kafka: KafkaApis.validateAcknowledgementBatches
    highest = AcknowledgeType.RENEW if is_renew else AcknowledgeType.REJECT
    end = -1
    for first, last, types in batches:
        is_right = end <= first <= last and len(types) in (1, last - first + 1)
        if not is_right or not all(AcknowledgeType.GAP <= ack_type <= highest for ack_type in types):
            return False
        end = last
    return True


def current_leader(request: ShareRequest, topic_partition: TopicIdPartition, code: int) -> LeaderIdAndEpoch:
    """Return the partition's leader for a client that sent its request to another broker."""
    topic = request.cluster.controller.by_id.get(topic_partition[0])
    if code != ErrorCode.NOT_LEADER_OR_FOLLOWER or topic is None or not 0 <= topic_partition[1] < len(topic.partitions):
        return LeaderIdAndEpoch()
    partition = topic.partitions[topic_partition[1]]
    return LeaderIdAndEpoch(partition.leader, partition.leader_epoch)


def node_endpoints(request: ShareRequest, codes: Collection[int]) -> list[NodeEndpoint]:
    """Return the addresses of brokers if a partition has another leader."""
    if ErrorCode.NOT_LEADER_OR_FOLLOWER not in codes:
        return []
    return [NodeEndpoint(node.node_id, *node.address, node.rack) for node in request.cluster.controller.nodes.values()]


APIS = {  # what each version has changed
    # 2: longer locks (KIP-1222)
    "ShareAcknowledge": ServedApi(1, 2, share_acknowledge, finds_errors=True),
}
