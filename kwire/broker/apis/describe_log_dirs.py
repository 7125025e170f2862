"""DescribeLogDirs: contents and state of the log directories of a broker (KIP-113)."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..configs import LogDir
from ..topics import Topic


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
