"""ElectLeaders (KIP-460), AlterPartitionReassignments and ListPartitionReassignments (KIP-455), AlterReplicaLogDirs and
DescribeLogDirs (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import messages
from ...errors.refused import InvalidReplicaAssignment, Refused
from ...values import ErrorCode
from .. import codes
from ..cluster import RequestContext
from ..configs import LogDir
from ..topics import Partition, Topic, check_assignment

PREFERRED = 0  # a type of election; the other one is unclean
FIRST_WITH_FACTOR = 1  # versions of AlterPartitionReassignments from here on say whether their number may change


def elect_leaders(request: RequestContext) -> Any:
    """Answer ElectLeaders: the preferred replica leads, or one that is not in sync where none in sync is there."""
    response, asked = messages.ElectLeadersResponse, request.message
    is_all = asked.topic_partitions is None
    rows: dict[str, list[Any]] = {}
    for topic, index in _asked(request):
        code = _elect(request, request.cluster.controller.partition(topic, index))
        if is_all and code == codes.ELECTION_NOT_NEEDED:
            continue
        message = ErrorCode(code).about if code else None
        rows.setdefault(topic, []).append(
            response.PartitionResult(partition_id=index, error_code=code, error_message=message)
        )
    results = (
        response.ReplicaElectionResult(topic=topic, partition_result=tuple(found)) for topic, found in rows.items()
    )
    return response(replica_election_results=tuple(results))


def _asked(request: RequestContext) -> Iterator[tuple[str, int]]:
    if request.message.topic_partitions is None:
        yield from ((one.topic, one.index) for one in request.cluster.controller.partitions())
        return
    for row in request.message.topic_partitions:
        yield from ((row.topic, index) for index in row.partitions)


def _elect(request: RequestContext, partition: Partition | None) -> int:
    if partition is None:
        return request.error() or codes.UNKNOWN_TOPIC_OR_PARTITION
    if code := request.error(partition.topic, partition.index):
        return code
    if request.message.election_type != PREFERRED:
        return _elect_unclean(request, partition)
    preferred = next(iter(partition.replicas))
    if partition.leader == preferred:
        return codes.ELECTION_NOT_NEEDED
    if preferred not in partition.isr or not partition.replicas[preferred].is_online:
        return codes.PREFERRED_LEADER_NOT_AVAILABLE
    request.cluster.lead(partition, preferred)
    return codes.NONE


def _elect_unclean(request: RequestContext, partition: Partition) -> int:
    if partition.leader >= 0:
        return codes.ELECTION_NOT_NEEDED
    online = next(iter(partition.online_logs()), None)
    if online is None:
        return codes.ELIGIBLE_LEADERS_NOT_AVAILABLE
    request.cluster.lead_unclean(partition, online)
    return codes.NONE


def alter_partition_reassignments(request: RequestContext) -> Any:
    """Answer AlterPartitionReassignments: replicas are copied at once; where a broker is down, when it is back."""
    response, asked = messages.AlterPartitionReassignmentsResponse, request.message
    rows = []
    for topic in asked.topics:
        parts = []
        for part in topic.partitions:
            code, message = _reassign(request, topic.name, part)
            row = response.ReassignablePartitionResponse
            parts.append(row(partition_index=part.partition_index, error_code=code, error_message=message))
        rows.append(response.ReassignableTopicResponse(name=topic.name, partitions=tuple(parts)))
    return response(error_message=None, responses=tuple(rows))


def _reassign(request: RequestContext, topic: str, part: Any) -> tuple[int, str | None]:
    if code := request.error(topic, part.partition_index):
        return code, request.denied(code)["error_message"]
    partition = request.cluster.controller.partition(topic, part.partition_index)
    if partition is None:
        return codes.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition"
    if part.replicas is None:
        is_cancelled = request.cluster.cancel_reassignment(partition)
        return (codes.NONE, None) if is_cancelled else (codes.NO_REASSIGNMENT_IN_PROGRESS, "there is none to cancel")
    may_change = request.version < FIRST_WITH_FACTOR or request.message.allow_replication_factor_change
    if not may_change and len(part.replicas) != len(partition.replicas):
        return codes.INVALID_REPLICATION_FACTOR, "the number of replicas may not change"
    try:
        nodes = request.cluster.controller.nodes
        check_assignment({part.partition_index: part.replicas}, nodes, part.partition_index)
    except InvalidReplicaAssignment as error:
        return error.error_code, str(error)
    request.cluster.reassign(partition, part.replicas)
    return codes.NONE, None


def list_partition_reassignments(request: RequestContext) -> Any:
    """Answer ListPartitionReassignments."""
    response, asked = messages.ListPartitionReassignmentsResponse, request.message
    wanted = (
        None if asked.topics is None else {(row.name, one) for row in asked.topics for one in row.partition_indexes}
    )
    rows: dict[str, list[Any]] = {}
    for one in request.cluster.controller.partitions():
        if one.target is None or (wanted is not None and (one.topic, one.index) not in wanted):
            continue
        removing = tuple(node_id for node_id in one.replicas if node_id not in one.target)
        rows.setdefault(one.topic, []).append(
            response.OngoingPartitionReassignment(
                partition_index=one.index,
                replicas=tuple(one.replicas),
                adding_replicas=tuple(node_id for node_id in one.target if node_id not in one.isr),
                removing_replicas=removing,
            )
        )
    topics = (response.OngoingTopicReassignment(name=name, partitions=tuple(parts)) for name, parts in rows.items())
    return response(error_message=None, topics=tuple(topics))


def alter_replica_log_dirs(request: RequestContext) -> Any:
    """Answer AlterReplicaLogDirs: a replica of the broker that was asked moves to another of its directories."""
    response = messages.AlterReplicaLogDirsResponse
    rows: dict[str, list[Any]] = {}
    for row in request.message.dirs:
        for topic in row.topics:
            for index in topic.partitions:
                code = _move(request, row.path, topic.name, index)
                found = response.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                rows.setdefault(topic.name, []).append(found)
    results = (
        response.AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(parts)) for name, parts in rows.items()
    )
    return response(results=tuple(results))


def _move(request: RequestContext, path: str, topic: str, index: int) -> int:
    if code := request.error(topic, index):
        return code
    log_dirs = request.cluster.controller.nodes[request.node_id].log_dirs
    log_dir: LogDir | None = next((one for one in log_dirs if one.path == path), None)
    if log_dir is None:
        return codes.LOG_DIR_NOT_FOUND
    partition = request.cluster.controller.partition(topic, index)
    replica = partition.replicas.get(request.node_id) if partition is not None else None
    if partition is None or replica is None:
        return codes.REPLICA_NOT_AVAILABLE
    if not log_dir.works or not replica.is_online:
        return codes.KAFKA_STORAGE_ERROR
    try:
        request.cluster.move_replica(partition, request.node_id, log_dir)
    except Refused:
        return codes.KAFKA_STORAGE_ERROR
    return codes.NONE


def describe_log_dirs(request: RequestContext) -> Any:
    """Answer DescribeLogDirs for the broker that received the request."""
    node = request.cluster.controller.nodes[request.node_id]
    return messages.DescribeLogDirsResponse(results=tuple(_log_dir(request, one) for one in node.log_dirs))


def _log_dir(request: RequestContext, log_dir: LogDir) -> Any:
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult
    try:
        total, usable = (-1, -1) if log_dir.is_offline else log_dir.disk.space()
    except OSError:
        request.cluster.fail(log_dir)
    if log_dir.is_offline:
        return result(log_dir=log_dir.path, error_code=codes.KAFKA_STORAGE_ERROR)
    return result(log_dir=log_dir.path, topics=_topics(request, log_dir), total_bytes=total, usable_bytes=usable)


def _topics(request: RequestContext, log_dir: LogDir) -> tuple[Any, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsTopic
    topics = request.cluster.controller.topics
    wanted: dict[str, set[int] | None] = dict.fromkeys(topics)
    if request.message.topics is not None:
        wanted = {one.topic: set(one.partitions) for one in request.message.topics if one.topic in topics}
    held = ((name, _partitions(request, topics[name], log_dir, indexes)) for name, indexes in wanted.items())
    return tuple(row(name=name, partitions=partitions) for name, partitions in held if partitions)


def _partitions(request: RequestContext, topic: Topic, log_dir: LogDir, wanted: set[int] | None) -> tuple[Any, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsPartition
    found = []
    for partition in topic.partitions:
        replica = partition.replicas.get(request.node_id)
        if replica is None or replica.log_dir is not log_dir or replica.log is None:
            continue
        if wanted is None or partition.index in wanted:
            found.append(row(partition_index=partition.index, partition_size=replica.log.size))
    return tuple(found)
