"""ElectLeaders: elects preferred leaders, or unclean ones (KIP-183, KIP-460)."""

from __future__ import annotations

from collections.abc import Iterator

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.partition import Partition
from ...request_context import RequestContext

ELECTION_TYPES = (0, 1)
PREFERRED = 0  # the type of a preferred leader election; the other type is unclean


def elect_leaders(request: RequestContext[messages.ElectLeadersRequest]) -> messages.ElectLeadersResponse:
    """Handle ElectLeaders: elect the preferred replica, or in an unclean election an out-of-sync replica if no
    in-sync replica is online."""
    # Kafka: ReplicationControlManager.electLeaders
    response = messages.ElectLeadersResponse
    body = request.message
    if code := request.error():
        return request.failed(code)  # names no topic that the request does not name
    if body.election_type not in ELECTION_TYPES:  # Kafka: ElectionType.valueOf throws
        return _refuse_all(request)
    is_all = body.topic_partitions is None
    topics = request.cluster.controller.topics if is_all else (row.topic for row in body.topic_partitions or ())
    rows: dict[str, list[messages.ElectLeadersResponse.PartitionResult]] = {name: [] for name in topics}
    for topic, index in _list_requested(request):
        code = _elect(request, request.cluster.controller.partition(topic, index))
        if is_all and code == ErrorCode.ELECTION_NOT_NEEDED:
            continue
        message = ErrorCode(code).about if code else None
        rows.setdefault(topic, []).append(
            response.PartitionResult(partition_id=index, error_code=code, error_message=message)
        )
    results = (
        response.ReplicaElectionResult(topic=topic, partition_result=tuple(partition_results))
        for topic, partition_results in rows.items()
    )
    return response(replica_election_results=tuple(results))


def _refuse_all(request: RequestContext[messages.ElectLeadersRequest]) -> messages.ElectLeadersResponse:
    response, code = messages.ElectLeadersResponse, ErrorCode.INVALID_REQUEST
    rows = []
    for row in request.message.topic_partitions or ():
        parts = (
            response.PartitionResult(
                partition_id=index, error_code=code, error_message="there is no such election type"
            )
            for index in row.partitions
        )
        rows.append(response.ReplicaElectionResult(topic=row.topic, partition_result=tuple(parts)))
    return response(error_code=code, replica_election_results=tuple(rows))


def _list_requested(request: RequestContext[messages.ElectLeadersRequest]) -> Iterator[tuple[str, int]]:
    if request.message.topic_partitions is None:
        yield from ((partition.topic, partition.index) for partition in request.cluster.controller.partitions())
        return
    for row in request.message.topic_partitions:
        yield from ((row.topic, index) for index in row.partitions)


def _elect(request: RequestContext[messages.ElectLeadersRequest], partition: Partition | None) -> int:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if code := request.error(partition.topic, partition.index):
        return code
    if request.message.election_type != PREFERRED:
        return _elect_unclean(request, partition)
    preferred = next(iter(partition.replicas))
    if partition.leader == preferred:
        return ErrorCode.ELECTION_NOT_NEEDED
    if preferred not in partition.isr or not partition.replicas[preferred].is_online:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    request.cluster.move_leader(partition, preferred)
    return ErrorCode.NONE


def _elect_unclean(request: RequestContext[messages.ElectLeadersRequest], partition: Partition) -> int:
    if partition.leader >= 0:
        return ErrorCode.ELECTION_NOT_NEEDED
    online = next(iter(partition.online_logs()), None)
    if online is None:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    request.cluster.elect_unclean_leader(partition, online)
    return ErrorCode.NONE


APIS = {  # what each version has changed
    # 1: unclean elections, and an error code for the whole request (KIP-460)
    # 2: flexible (KIP-482)
    "ElectLeaders": ServedApi(0, 2, elect_leaders, finds_errors=True),
}
