"""Share groups (KIP-932) at their coordinator: ShareGroupHeartbeat and ShareGroupDescribe; the offsets of their
partitions: DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets.
"""

from __future__ import annotations

from typing import Any

from ... import messages
from ...values import ErrorCode, ResourceType
from ..access_control import operations
from ..cluster_state import RequestContext
from ..group import ConsumerMember, Group, GroupState
from ..partitions import Topic
from ..share_group import SHARE, ShareGroup
from .consumer_groups import JOINS, LEAVES, by_topic
from .groups import problem_with

NO_OFFSET = -1


def is_off(request: RequestContext) -> bool:
    """Whether the cluster has no share groups: the level of the feature is 0."""
    return not request.cluster.feature_levels.get("share.version")


def share_problem(request: RequestContext, group_id: str) -> int:
    """Return the error code of a request for a share group that this broker cannot handle; 0 if it can."""
    return ErrorCode.UNSUPPORTED_VERSION if is_off(request) else problem_with(request, group_id)


def share_group_heartbeat(request: RequestContext) -> Any:
    """Answer ShareGroupHeartbeat."""
    asked = request.message
    is_right = asked.member_id and asked.member_epoch >= LEAVES and asked.rack_id != "" and asked.group_id
    if asked.member_epoch == JOINS and not asked.subscribed_topic_names:
        is_right = False
    code = share_problem(request, asked.group_id)
    if code in (ErrorCode.NONE, ErrorCode.INVALID_GROUP_ID) and not is_right:
        code = ErrorCode.INVALID_REQUEST
    code = code or _hidden(request)
    if code:
        return messages.ShareGroupHeartbeatResponse(error_code=code)
    group = _group_for(request)
    if isinstance(group, int):
        return messages.ShareGroupHeartbeatResponse(error_code=group)
    share = request.cluster.shares.share(group)
    assert share is not None
    member = _member(request, group, share)
    if isinstance(member, int):
        return messages.ShareGroupHeartbeatResponse(error_code=member)
    if asked.member_epoch == LEAVES:
        request.cluster.groups.remove_consumers(group, [member], request.now)
        return messages.ShareGroupHeartbeatResponse(member_id=asked.member_id, member_epoch=LEAVES)
    return _heartbeat(request, group, share, member)


def _hidden(request: RequestContext) -> int:
    """Return the error code of a topic that the principal may not describe."""
    names = request.message.subscribed_topic_names or ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _group_for(request: RequestContext) -> Group | int:
    """Return the share group, created if a member joins and there is no group of this name."""
    asked, groups = request.message, request.cluster.groups
    group = groups.find(asked.group_id)
    if group is not None and (isinstance(group.consumer, ShareGroup) or not group.is_unused):
        return group if isinstance(group.consumer, ShareGroup) else ErrorCode.GROUP_ID_NOT_FOUND
    if asked.member_epoch != JOINS:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return _made(request, asked.group_id)


def _made(request: RequestContext, group_id: str) -> Group | int:
    """Return a new share group, or the error code if the limit is reached."""
    group = request.cluster.groups.found_or_made(group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    group.consumer = ShareGroup(epoch=max(1, group.generation))
    group.protocol_type = SHARE
    return group


def _member(request: RequestContext, group: Group, share: ShareGroup) -> ConsumerMember | int:
    """Return the member of a request, a new one where it joins, or the error code if it is none."""
    asked, groups = request.message, request.cluster.groups
    member = share.members.get(asked.member_id)
    if member is None and asked.member_epoch == JOINS:
        made = ConsumerMember(asked.member_id, None, request.client_id, request.client_host)
        return groups.add_consumer(share, made, None)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if asked.member_epoch == JOINS:
        member.sent = None
    elif asked.member_epoch not in (LEAVES, member.epoch, member.previous_epoch):
        return ErrorCode.FENCED_MEMBER_EPOCH
    return member


def _heartbeat(request: RequestContext, group: Group, share: ShareGroup, member: ConsumerMember) -> Any:
    asked, cluster, before = request.message, request.cluster, member.size
    changed = member.member_id not in share.target
    if asked.subscribed_topic_names is not None:
        topics = tuple(sorted(asked.subscribed_topic_names))
        changed = changed or topics != member.topics
        member.topics = topics
    member.rack = asked.rack_id or member.rack
    cluster.groups.held.take(member.size - before)
    place = share.epoch, member.epoch, set(member.assigned)
    cluster.groups.plan(group, share, changed=changed)
    is_new = cluster.shares.prepare(asked.group_id, share)
    share.reconcile(member, None, request.now)
    if is_new or changed or place != (share.epoch, member.epoch, member.assigned):
        cluster.groups.remember(group)
    cluster.groups.keep_consumer(group, member, request.now)
    return _answer(request, member)


def _answer(request: RequestContext, member: ConsumerMember) -> Any:
    response = messages.ShareGroupHeartbeatResponse
    state = member.epoch, frozenset(member.assigned)
    is_new = member.sent is None or member.sent[1] != state[1]
    member.sent = state
    rows = by_topic(request, member.assigned)
    parts = tuple(response.TopicPartitions(topic_id=topic_id, partitions=found) for topic_id, _, found in rows)
    configs = request.cluster.controller.group_configs_of(request.message.group_id)
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(configs["share.heartbeat.interval.ms"]),
        assignment=response.Assignment(topic_partitions=parts) if is_new else None,
    )


def share_group_describe(request: RequestContext) -> Any:
    """Answer ShareGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.ShareGroupDescribeResponse(groups=tuple(_described(request, name) for name in names))


def _described(request: RequestContext, group_id: str) -> Any:
    row = messages.ShareGroupDescribeResponse.DescribedGroup
    if code := share_problem(request, group_id):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    share = request.cluster.shares.share(group)
    if share is None:
        missing = f"Group {group_id} {'not found' if group is None else 'is not a share group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    bits = row().authorized_operations
    if request.message.include_authorized_operations:
        bits = operations(request.allows, ResourceType.GROUP, group_id)
    return row(
        group_id=group_id,
        group_state=share.state.value,
        group_epoch=share.epoch,
        assignment_epoch=share.target_epoch,
        assignor_name=share.assignor,
        members=tuple(_described_member(request, one) for one in share.members.values()),
        authorized_operations=bits,
    )


def _described_member(request: RequestContext, member: ConsumerMember) -> Any:
    response = messages.ShareGroupDescribeResponse
    rows = tuple(
        response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=found)
        for topic_id, name, found in by_topic(request, member.assigned)
    )
    return response.Member(
        member_id=member.member_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        assignment=response.Assignment(topic_partitions=rows),
    )


def describe_share_group_offsets(request: RequestContext) -> Any:
    """Answer DescribeShareGroupOffsets: where each partition starts, as it is stored; -1 if nothing is."""
    response = messages.DescribeShareGroupOffsetsResponse
    return response(groups=tuple(_offsets(request, asked) for asked in request.message.groups))


def _offsets(request: RequestContext, asked: Any) -> Any:
    response = messages.DescribeShareGroupOffsetsResponse
    row = response.DescribeShareGroupOffsetsResponseGroup
    if code := share_problem(request, asked.group_id):
        return row(group_id=asked.group_id, error_code=code, error_message=ErrorCode(code).about)
    group = request.cluster.groups.find(asked.group_id)
    share = request.cluster.shares.share(group)
    if group is not None and share is None:
        about = f"Group {asked.group_id} is not a share group."
        return row(group_id=asked.group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=about)
    wanted = {one.topic_name: list(one.partitions) for one in asked.topics or ()}
    if asked.topics is None:
        wanted = dict(request.cluster.shares.state_topics(share)) if share is not None else {}
    topics = tuple(
        response.DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=topic.topic_id if topic is not None else bytes(16),
            partitions=tuple(_offset(request, share, topic, index) for index in indexes),
        )
        for name, indexes in wanted.items()
        if not (request.error(name) and asked.topics is None)
        for topic in (request.cluster.controller.topics.get(name),)
    )
    return row(group_id=asked.group_id, topics=topics)


def _offset(request: RequestContext, share: ShareGroup | None, topic: Topic | None, index: int) -> Any:
    row = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
    if topic is not None and (code := request.error(topic.name, index)):
        return row(partition_index=index, start_offset=NO_OFFSET, error_code=code)
    part = share.partitions.get((topic.topic_id, index)) if share is not None and topic is not None else None
    if part is None or topic is None or part.stored.start == NO_OFFSET or index >= len(topic.partitions):
        return row(partition_index=index, start_offset=NO_OFFSET)
    found, partition = part.stored, topic.partitions[index]
    log = partition.log_at(partition.leader)
    lag = NO_OFFSET if isinstance(log, int) else max(0, log.end - found.start - found.ended)
    return row(partition_index=index, start_offset=found.start, leader_epoch=partition.leader_epoch, lag=lag)


def _empty_share(request: RequestContext, *, makes: bool) -> ShareGroup | int:
    """Return the share group without members that a request is about, or its error code."""
    group_id = request.message.group_id
    if code := share_problem(request, group_id):
        return code
    group = request.cluster.groups.find(group_id)
    if group is None and makes:
        made = _made(request, group_id)
        if isinstance(made, int):
            return made
        group = made
    share = request.cluster.shares.share(group)
    if group is None or share is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return share if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def alter_share_group_offsets(request: RequestContext) -> Any:
    """Answer AlterShareGroupOffsets: partitions of a group without members start at these offsets."""
    response, asked = messages.AlterShareGroupOffsetsResponse, request.message
    share = _empty_share(request, makes=True)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = []
    for topic in asked.topics:
        found = request.cluster.controller.topics.get(topic.topic_name)
        parts = tuple(_altered(request, share, found, topic.topic_name, one) for one in topic.partitions)
        row = response.AlterShareGroupOffsetsResponseTopic
        topic_id = found.topic_id if found is not None else bytes(16)
        rows.append(row(topic_name=topic.topic_name, topic_id=topic_id, partitions=parts))
    group = request.cluster.groups.find(asked.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=tuple(rows))


def _altered(request: RequestContext, share: ShareGroup, topic: Topic | None, name: str, part: Any) -> Any:
    row = messages.AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
    index = part.partition_index
    code = request.error(name, index)
    if not code and (topic is None or not 0 <= index < len(topic.partitions)):
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not code and topic is not None:
        request.cluster.shares.alter(request.message.group_id, share, (topic.topic_id, index), part.start_offset)
    return row(partition_index=index, error_code=code, error_message=ErrorCode(code).about if code else None)


def delete_share_group_offsets(request: RequestContext) -> Any:
    """Answer DeleteShareGroupOffsets: the state of whole topics of a group without members."""
    response, asked = messages.DeleteShareGroupOffsetsResponse, request.message
    share = _empty_share(request, makes=False)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = tuple(_deleted(request, share, one.topic_name) for one in asked.topics)
    group = request.cluster.groups.find(asked.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=rows)


def _deleted(request: RequestContext, share: ShareGroup, name: str) -> Any:
    topic = request.cluster.controller.topics.get(name)
    places = [place for place in share.partitions if topic is not None and place[0] == topic.topic_id]
    code = request.error(name) or (ErrorCode.NONE if places else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not code:
        request.cluster.shares.forget(request.message.group_id, share, places)
    return messages.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=topic.topic_id if topic is not None else bytes(16),
        error_code=code,
        error_message=ErrorCode(code).about if code else None,
    )
