"""OffsetDelete: deletes committed offsets of a group (KIP-496)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.share_group import ShareGroup
from ...request_context import RequestContext
from .group_checks import problem_with


def offset_delete(request: RequestContext[messages.OffsetDeleteRequest]) -> messages.OffsetDeleteResponse:
    """Handle OffsetDelete: delete offsets of topics to which no member subscribes."""
    # Kafka: OffsetMetadataManager.deleteOffsets
    response = messages.OffsetDeleteResponse
    message = request.message
    group = request.cluster.groups.find(message.group_id)
    code = problem_with(request, message.group_id, writes=True)
    if code or group is None or isinstance(group.consumer, ShareGroup):
        return response(error_code=code or ErrorCode.GROUP_ID_NOT_FOUND)
    if group.members and group.protocol_type != "consumer":
        return response(error_code=ErrorCode.NON_EMPTY_GROUP)
    rows = []
    deleted = []
    for row in (row for row in message.topics if row.partitions):
        topic = request.cluster.controller.find(row.name)
        parts = []
        for part in row.partitions:
            index = part.partition_index
            code = request.error(row.name, index)
            if not code and (topic is None or not 0 <= index < len(topic.partitions)):
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif not code and group.reads(row.name):
                code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif not code:
                deleted.append((row.name, index))
            parts.append(response.OffsetDeleteResponsePartition(partition_index=index, error_code=code))
        rows.append(response.OffsetDeleteResponseTopic(name=row.name, partitions=tuple(parts)))
    request.cluster.groups.delete_commits(group, deleted)
    return response(topics=tuple(rows))


APIS = {
    "OffsetDelete": ServedApi(0, 0, offset_delete, finds_errors=True),
}
