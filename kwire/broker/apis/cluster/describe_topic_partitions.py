"""DescribeTopicPartitions: partitions with their eligible leader replicas, page by page (KIP-966)."""

from __future__ import annotations

from collections.abc import Sequence

from .... import messages
from ....values import ErrorCode, ResourceType
from ...api import ServedApi
from ...controller.partition import Partition
from ...controller.topic import Topic
from ...controller.topic_names import INTERNAL, is_valid_name
from ...request_context import RequestContext
from ...security.api_permissions import UNASKED, operations
from .metadata import list_visible_topics


def describe_topic_partitions(
    request: RequestContext[messages.DescribeTopicPartitionsRequest],
) -> messages.DescribeTopicPartitionsResponse:
    """Handle DescribeTopicPartitions (KIP-966): return a limited number of partitions, with topics in the order of
    their names."""
    response = messages.DescribeTopicPartitionsResponse
    message = request.message
    topics = request.cluster.controller.topics
    names = sorted({row.name for row in message.topics} or {topic.name for topic in list_visible_topics(request)})
    cursor = message.cursor
    is_listed = not message.topics or any(cursor and row.name == cursor.topic_name for row in message.topics)
    if cursor is not None and (cursor.partition_index < 0 or not is_listed):  # DescribeTopicPartitionsRequestHandler
        return request.failed(ErrorCode.INVALID_REQUEST)
    first = cursor.partition_index if cursor is not None else 0
    names = [name for name in names if cursor is None or name >= cursor.topic_name]
    left = min(max(1, message.response_partition_limit), request.cluster.settings.max_described_partitions)
    rows = []
    for name in names:
        topic = topics.get(name)
        code = request.error(name)
        if topic is None or code:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
            rows.append(
                response.DescribeTopicPartitionsResponseTopic(
                    name=name,
                    error_code=code or unknown,
                    topic_authorized_operations=UNASKED
                    if code
                    else operations(request.allows, ResourceType.TOPIC, name),
                )
            )
            continue
        begin = first if cursor is not None and name == cursor.topic_name else 0
        if not left:
            return response(topics=tuple(rows), next_cursor=response.Cursor(topic_name=name, partition_index=begin))
        chosen = topic.partitions[begin : begin + left]
        rows.append(_describe_partition(request, topic, chosen))
        left -= len(chosen)
        if begin + len(chosen) < len(topic.partitions):
            behind = response.Cursor(topic_name=name, partition_index=begin + len(chosen))
            return response(topics=tuple(rows), next_cursor=behind)
    return response(topics=tuple(rows), next_cursor=None)


def _describe_partition(
    request: RequestContext[messages.DescribeTopicPartitionsRequest], topic: Topic, partitions: Sequence[Partition]
) -> messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic:
    response = messages.DescribeTopicPartitionsResponse
    rows = []
    for partition in partitions:
        code = request.error(partition.topic, partition.index)
        rows.append(
            response.DescribeTopicPartitionsResponsePartition(
                error_code=code or (ErrorCode.NONE if partition.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE),
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=tuple(partition.replicas),
                isr_nodes=tuple(partition.isr),
                eligible_leader_replicas=(),
                last_known_elr=(),
                offline_replicas=partition.offline,
            )
        )
    return response.DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL,
        partitions=tuple(rows),
        topic_authorized_operations=operations(request.allows, ResourceType.TOPIC, topic.name),
    )


APIS = {
    "DescribeTopicPartitions": ServedApi(0, 0, describe_topic_partitions, finds_errors=True),
}
