"""DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets: where share groups read (KIP-932)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic import Topic
from ...groups.modern_group import GroupState
from ...groups.share_group import ShareGroup
from ...request_context import RequestContext
from .share_group_checks import share_problem
from .share_group_heartbeat import make_share_group

NO_OFFSET = -1


def describe_share_group_offsets(
    request: RequestContext[messages.DescribeShareGroupOffsetsRequest],
) -> messages.DescribeShareGroupOffsetsResponse:
    """Handle DescribeShareGroupOffsets: return the stored start offset of each partition; -1 if none is stored."""
    response = messages.DescribeShareGroupOffsetsResponse
    return response(groups=tuple(_offsets(request, group) for group in request.message.groups))


def _offsets(
    request: RequestContext[messages.DescribeShareGroupOffsetsRequest],
    group_request: messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup,
) -> messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup:
    response = messages.DescribeShareGroupOffsetsResponse
    row = response.DescribeShareGroupOffsetsResponseGroup
    if code := share_problem(request, group_request.group_id):
        return row(group_id=group_request.group_id, error_code=code, error_message=ErrorCode(code).about)
    group = request.cluster.groups.find(group_request.group_id)
    share = request.cluster.shares.share(group)
    if group is not None and share is None:
        about = f"Group {group_request.group_id} is not a share group."
        return row(group_id=group_request.group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=about)
    wanted = {topic.topic_name: list(topic.partitions) for topic in group_request.topics or ()}
    if group_request.topics is None:
        wanted = dict(request.cluster.shares.state_topics(share)) if share is not None else {}
    topics = tuple(
        response.DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=topic.topic_id if topic is not None else bytes(16),
            partitions=tuple(_offset(request, share, topic, index) for index in indexes),
        )
        for name, indexes in wanted.items()
        if not (request.error(name) and group_request.topics is None)
        for topic in (request.cluster.controller.topics.get(name),)
    )
    return row(group_id=group_request.group_id, topics=topics)


def _offset(
    request: RequestContext[messages.DescribeShareGroupOffsetsRequest],
    share: ShareGroup | None,
    topic: Topic | None,
    index: int,
) -> messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition:
    row = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
    if topic is not None and (code := request.error(topic.name, index)):
        return row(partition_index=index, start_offset=NO_OFFSET, error_code=code)
    part = share.partitions.get((topic.topic_id, index)) if share is not None and topic is not None else None
    if part is None or topic is None or part.stored.start == NO_OFFSET or index >= len(topic.partitions):
        return row(partition_index=index, start_offset=NO_OFFSET)
    stored = part.stored
    partition = topic.partitions[index]
    log = partition.log_at(partition.leader)
    lag = NO_OFFSET
    if not isinstance(log, int):
        first = max(stored.start, log.start)  # AlterShareGroupOffsets may have set an offset below the log
        lag = max(0, log.end - first - stored.ended)
    return row(partition_index=index, start_offset=stored.start, leader_epoch=partition.leader_epoch, lag=lag)


def _empty_share(
    request: RequestContext[messages.AlterShareGroupOffsetsRequest | messages.DeleteShareGroupOffsetsRequest],
    *,
    makes: bool,
) -> ShareGroup | int:
    """Return the share group of a request if it has no members; otherwise an error code."""
    group_id = request.message.group_id
    if code := share_problem(request, group_id) or request.cluster.groups.write_problem(group_id):
        return code
    group = request.cluster.groups.find(group_id)
    if group is None and makes:
        made = make_share_group(request, group_id)
        if isinstance(made, int):
            return made
        group = made
    share = request.cluster.shares.share(group)
    if group is None or share is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return share if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def alter_share_group_offsets(
    request: RequestContext[messages.AlterShareGroupOffsetsRequest],
) -> messages.AlterShareGroupOffsetsResponse:
    """Handle AlterShareGroupOffsets: set the start offsets of partitions in a group without members."""
    response = messages.AlterShareGroupOffsetsResponse
    message = request.message
    share = _empty_share(request, makes=True)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = []
    for topic in message.topics:
        known_topic = request.cluster.controller.topics.get(topic.topic_name)
        parts = tuple(
            _alter_offset(request, share, known_topic, topic.topic_name, partition) for partition in topic.partitions
        )
        row = response.AlterShareGroupOffsetsResponseTopic
        topic_id = known_topic.topic_id if known_topic is not None else bytes(16)
        rows.append(row(topic_name=topic.topic_name, topic_id=topic_id, partitions=parts))
    group = request.cluster.groups.find(message.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=tuple(rows))


def _alter_offset(
    request: RequestContext[messages.AlterShareGroupOffsetsRequest],
    share: ShareGroup,
    topic: Topic | None,
    name: str,
    part: messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition,
) -> messages.AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition:
    row = messages.AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
    index = part.partition_index
    code = request.error(name, index)
    if not code and (topic is None or not 0 <= index < len(topic.partitions)):
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not code and topic is not None:
        topic_partition = topic.topic_id, index
        code = request.cluster.shares.alter(request.message.group_id, share, topic_partition, part.start_offset)
    return row(partition_index=index, error_code=code, error_message=ErrorCode(code).about if code else None)


def delete_share_group_offsets(
    request: RequestContext[messages.DeleteShareGroupOffsetsRequest],
) -> messages.DeleteShareGroupOffsetsResponse:
    """Handle DeleteShareGroupOffsets: delete the state of whole topics in a group without members."""
    response = messages.DeleteShareGroupOffsetsResponse
    message = request.message
    share = _empty_share(request, makes=False)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = tuple(_delete_offsets(request, share, topic.topic_name) for topic in message.topics)
    group = request.cluster.groups.find(message.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=rows)


def _delete_offsets(
    request: RequestContext[messages.DeleteShareGroupOffsetsRequest], share: ShareGroup, name: str
) -> messages.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic:
    topic = request.cluster.controller.topics.get(name)
    places = [
        topic_partition
        for topic_partition in share.partitions
        if topic is not None and topic_partition[0] == topic.topic_id
    ]
    code = request.error(name) or (ErrorCode.NONE if places else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not code:
        request.cluster.shares.forget(request.message.group_id, share, places)
    return messages.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=topic.topic_id if topic is not None else bytes(16),
        error_code=code,
        error_message=ErrorCode(code).about if code else None,
    )


APIS = {  # what each version has changed
    # 1: the lag of partitions (KIP-1226)
    "DescribeShareGroupOffsets": ServedApi(0, 1, describe_share_group_offsets, finds_errors=True),
    "AlterShareGroupOffsets": ServedApi(0, 0, alter_share_group_offsets, finds_errors=True),
    "DeleteShareGroupOffsets": ServedApi(0, 0, delete_share_group_offsets, finds_errors=True),
}
