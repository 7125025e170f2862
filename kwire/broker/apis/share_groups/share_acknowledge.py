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
from ...groups.share_coordinator import FINAL, FIRST
from ...groups.share_group import TopicIdPartition
from ...groups.share_partition import AcknowledgeType
from ...log.replica_log import ReplicaLog
from ...request_context import RequestContext
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
    asked, response = request.message, messages.ShareAcknowledgeResponse
    acks = [(topic.topic_id, part) for topic in asked.topics for part in topic.partitions]
    member = check_share_request(request)
    if isinstance(member, int):
        return response(error_code=member)
    if asked.share_session_epoch == FIRST:
        return response(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    shares, who = request.cluster.shares, (request.node_id, *member)
    session = shares.session(*who, asked.share_session_epoch)
    if isinstance(session, int):
        return response(error_code=session)
    found = apply_acknowledgements(request, member, acks)
    if asked.share_session_epoch == FINAL:
        shares.end_session(*who)
    rows: dict[bytes, list[messages.ShareAcknowledgeResponse.PartitionData]] = {}
    for place, code in found.items():
        row = response.PartitionData(
            partition_index=place[1],
            error_code=code,
            current_leader=response.LeaderIdAndEpoch(**current_leader(request, place, code)._asdict()),
        )
        rows.setdefault(place[0], []).append(row)
    topic_row = response.ShareAcknowledgeTopicResponse
    return response(
        acquisition_lock_timeout_ms=int(shares.limits(member.group_id).lock * 1000),
        responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(parts)) for topic_id, parts in rows.items()),
        node_endpoints=tuple(
            response.NodeEndpoint(**endpoint._asdict()) for endpoint in node_endpoints(request, set(found.values()))
        ),
    )


def check_share_request(request: ShareRequest) -> ShareMember | int:
    """Return the member that sent a request, or an error code if the request cannot be handled."""
    asked = request.message
    if is_off(request):
        return ErrorCode.UNSUPPORTED_VERSION
    if asked.group_id is None or not asked.member_id:
        return ErrorCode.INVALID_REQUEST
    return request.error(group=asked.group_id) or ShareMember(asked.group_id, asked.member_id)


def find_led_partition(request: ShareRequest, place: TopicIdPartition) -> tuple[Partition, ReplicaLog] | int:
    """Return a partition that this broker leads, with its log; otherwise an error code."""
    topic = request.cluster.controller.by_id.get(place[0])
    if topic is None:
        return request.error(None, place[1]) or ErrorCode.UNKNOWN_TOPIC_ID
    return request.led(topic.name, place[1])


def apply_acknowledgements(
    request: ShareRequest,
    member: ShareMember,
    acks: Sequence[Acknowledgement],
) -> Codes:
    """Apply the acknowledgements of a request; return the error code of each partition that has some."""
    found: Codes = {}
    for topic_id, part in acks:
        if part.acknowledgement_batches:
            place = bytes(topic_id), part.partition_index
            found[place] = _acknowledge(request, member, place, part.acknowledgement_batches)
    return found


def _acknowledge(
    request: ShareRequest,
    member: ShareMember,
    place: TopicIdPartition,
    rows: Sequence[AcknowledgementBatch],
) -> int:
    shares, group_id = request.cluster.shares, member.group_id
    batches = [(one.first_offset, one.last_offset, tuple(one.acknowledge_types)) for one in rows]
    where = find_led_partition(request, place)
    if isinstance(where, int):
        return where
    if not _are_right(batches, is_renew=request.message.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    part = shares.find(group_id, place)
    if part is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not shares.can_store(group_id, place):  # Kafka: SharePartition.fetchPersisterError
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    limits, size = shares.limits(group_id), part.size
    code = part.acknowledge(member.member_id, batches, limits, request.now + limits.lock)
    if not code:
        shares.changed(group_id, place, part, size)
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


def current_leader(request: ShareRequest, place: TopicIdPartition, code: int) -> LeaderIdAndEpoch:
    """Return the partition's leader for a client that sent its request to another broker."""
    topic = request.cluster.controller.by_id.get(place[0])
    if code != ErrorCode.NOT_LEADER_OR_FOLLOWER or topic is None or not 0 <= place[1] < len(topic.partitions):
        return LeaderIdAndEpoch()
    partition = topic.partitions[place[1]]
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
