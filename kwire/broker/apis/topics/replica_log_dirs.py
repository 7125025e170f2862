"""AlterReplicaLogDirs and DescribeLogDirs: replicas move to other log directories of their broker (KIP-113)."""

from __future__ import annotations

from .... import messages
from ....errors.refused import Refused
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic import Topic
from ...node import LogDir
from ...request_context import RequestContext


def alter_replica_log_dirs(
    request: RequestContext[messages.AlterReplicaLogDirsRequest],
) -> messages.AlterReplicaLogDirsResponse:
    """Handle AlterReplicaLogDirs: move a replica of the broker that received the request to another of its
    directories."""
    # Kafka: ReplicaManager.alterReplicaLogDirs
    response = messages.AlterReplicaLogDirsResponse
    rows: dict[str, list[messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult]] = {}
    for row in request.message.dirs:
        for topic in row.topics:
            for index in topic.partitions:
                code = _move(request, row.path, topic.name, index)
                result = response.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                rows.setdefault(topic.name, []).append(result)
    results = (
        response.AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(parts)) for name, parts in rows.items()
    )
    return response(results=tuple(results))


def _move(request: RequestContext[messages.AlterReplicaLogDirsRequest], path: str, topic: str, index: int) -> int:
    if code := request.error(topic, index):
        return code
    log_dirs = request.cluster.controller.nodes[request.node_id].log_dirs
    log_dir: LogDir | None = next((log_dir for log_dir in log_dirs if log_dir.path == path), None)
    if log_dir is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    partition = request.cluster.controller.partition(topic, index)
    replica = partition.replicas.get(request.node_id) if partition is not None else None
    if partition is None or replica is None:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    if not log_dir.works or not replica.is_online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    try:
        request.cluster.move_replica(partition, request.node_id, log_dir)
    except Refused:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


def describe_log_dirs(request: RequestContext[messages.DescribeLogDirsRequest]) -> messages.DescribeLogDirsResponse:
    """Handle DescribeLogDirs for the broker that received the request."""
    # Kafka: ReplicaManager.describeLogDirs
    node = request.cluster.controller.nodes[request.node_id]
    return messages.DescribeLogDirsResponse(results=tuple(_log_dir(request, log_dir) for log_dir in node.log_dirs))


def _log_dir(
    request: RequestContext[messages.DescribeLogDirsRequest], log_dir: LogDir
) -> messages.DescribeLogDirsResponse.DescribeLogDirsResult:
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult
    try:
        total, usable = (-1, -1) if log_dir.is_offline else log_dir.disk.space()
    except OSError:
        request.cluster.fail(log_dir)
    if log_dir.is_offline:
        return result(log_dir=log_dir.path, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return result(log_dir=log_dir.path, topics=_topics(request, log_dir), total_bytes=total, usable_bytes=usable)


def _topics(
    request: RequestContext[messages.DescribeLogDirsRequest], log_dir: LogDir
) -> tuple[messages.DescribeLogDirsResponse.DescribeLogDirsTopic, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsTopic
    topics = request.cluster.controller.topics
    wanted: dict[str, set[int] | None] = dict.fromkeys(topics)
    if request.message.topics is not None:
        wanted = {topic.topic: set(topic.partitions) for topic in request.message.topics if topic.topic in topics}
    placed = ((name, _partitions(request, topics[name], log_dir, indexes)) for name, indexes in wanted.items())
    return tuple(row(name=name, partitions=partitions) for name, partitions in placed if partitions)


def _partitions(
    request: RequestContext[messages.DescribeLogDirsRequest], topic: Topic, log_dir: LogDir, wanted: set[int] | None
) -> tuple[messages.DescribeLogDirsResponse.DescribeLogDirsPartition, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsPartition
    rows = []
    for partition in topic.partitions:
        replica = partition.replicas.get(request.node_id)
        if replica is None or replica.log_dir is not log_dir or replica.log is None:
            continue
        if wanted is None or partition.index in wanted:
            rows.append(row(partition_index=partition.index, partition_size=replica.log.size))
    return tuple(rows)


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: an error code for the whole request
    # 4: the size and the free space of directories (KIP-827)
    # 5: cordoned directories (KIP-1066)
    "DescribeLogDirs": ServedApi(0, 5, describe_log_dirs),
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    "AlterReplicaLogDirs": ServedApi(1, 2, alter_replica_log_dirs, finds_errors=True),
}
