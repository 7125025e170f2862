"""The checks that requests of groups share: the group's name and coordinator, the member and its generation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, Union

from .... import messages
from ....cluster.assignors.members import TopicPartition
from ....values import ErrorCode
from ...controller.topic_names import GROUPS
from ...groups.classic_group import Group, Member
from ...groups.consumer_group import ConsumerGroup, ConsumerMember
from ...groups.group_types import CONSUMER
from ...groups.modern_group import ModernGroup, ModernMember
from ...groups.streams_group import StreamsGroup
from ...internal_topics import coordinator_of
from ...request_context import RequestContext

JOINS, LEAVES, LEAVES_FOR_A_WHILE = 0, -1, -2  # special member epochs (KIP-848)
CommittedTopic: TypeAlias = Union[
    "messages.OffsetCommitRequest.OffsetCommitRequestTopic",
    "messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic",
]


def problem_with(
    request: RequestContext[object],
    group_id: str,
    topic: str = GROUPS,
    *,
    needs_name: bool = True,
    writes: bool = False,
) -> int:
    """Return the error code if this broker cannot handle a group or transaction request; 0 if it can.

    Args:
        request: the request.
        group_id: the group or transactional id.
        topic: the internal topic whose partition leaders are the coordinators.
        needs_name: whether to refuse the empty group id, with which old consumers commit.
        writes: whether the request changes the group in any case, which must be written.
    """
    if needs_name and not group_id:
        return ErrorCode.INVALID_GROUP_ID
    if code := request.error(group=group_id) if topic == GROUPS else request.error(transactional_id=group_id):
        return code
    if coordinator_of(group_id, request.cluster.controller, topic) != request.node_id:
        return ErrorCode.NOT_COORDINATOR
    return request.cluster.groups.write_problem(group_id) if writes else ErrorCode.NONE


def membership_problem(request: RequestContext[Any]) -> int:
    """Return the error code if a heartbeat of a member that joins or leaves cannot be written; 0 if it can."""
    message = request.message
    return request.cluster.groups.write_problem(message.group_id) if message.member_epoch <= JOINS else ErrorCode.NONE


def is_settled(
    consumer: ModernGroup[Any, Any],
    member: ConsumerMember,
    message: messages.ConsumerGroupHeartbeatRequest | messages.ShareGroupHeartbeatRequest,
) -> bool:
    """Return whether a member is in the epoch of its group, and its heartbeat brings no other topics or rack.

    Kafka reverts what a heartbeat has changed if its records cannot be written (SnapshotRegistry.revertToSnapshot in
    CoordinatorRuntime); kwire changes nothing then. A heartbeat that needs no records is answered as always.
    """
    names = message.subscribed_topic_names
    is_same = names is None or tuple(sorted(names)) == member.topics
    is_same = is_same and (message.rack_id or member.rack) == member.rack
    return is_same and message.member_epoch == member.epoch == consumer.epoch and not member.revoking


def member_or_problem(group: Group, member_id: str, instance_id: str | None) -> Member | int:
    """Return a member, or an error code if it does not exist or if another client has taken over its instance id."""
    if instance_id is not None and instance_id not in group.static:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if instance_id is not None and group.static[instance_id] != member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    return group.members.get(member_id, ErrorCode.UNKNOWN_MEMBER_ID)


def membership(
    request: RequestContext[messages.HeartbeatRequest | messages.OffsetCommitRequest | messages.SyncGroupRequest],
    generation: int,
) -> tuple[Group, Member] | int:
    """Return the group and member of a request, or an error code if the member is not in the current generation."""
    message = request.message
    if code := problem_with(request, message.group_id):
        return code
    group = request.cluster.groups.find(message.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    member = member_or_problem(group, message.member_id, message.group_instance_id)
    if isinstance(member, int):
        return member
    return (group, member) if generation == group.generation else ErrorCode.ILLEGAL_GENERATION


def consumer_group_of(group: Group | None) -> ConsumerGroup | None:
    """Return the members of a consumer group (KIP-848); None if there is no group, or one of another type."""
    if group is None or group.kind != CONSUMER or not isinstance(group.consumer, ConsumerGroup):
        return None
    return group.consumer


def consumer_problem(group: Group, member_id: str, epoch: int) -> int:
    """Return the error code if a member of a group whose broker assigns may not commit or fetch offsets; 0 if it may.

    Args:
        group: the group.
        member_id, epoch: the member's id and epoch; requests without them are refused while the group has members.
    """
    assert group.consumer is not None
    member: ModernMember[Any] | None = group.consumer.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    stale = ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.NONE if member.epoch == epoch else stale


def commit_problem(
    request: RequestContext[object], group: Group, member_id: str, epoch: int, topics: Iterable[CommittedTopic]
) -> int:
    """Return the error code if a member of a group whose broker assigns may not commit offsets of topics; 0 if it may.

    Args:
        request: the request.
        group: the group.
        member_id, epoch: the member's id and epoch; a member of a streams group may still use the epoch in which it got
            the tasks.
        topics: the topics.
    """
    streams = group.consumer
    if not isinstance(streams, StreamsGroup) or member_id not in streams.members:
        return consumer_problem(group, member_id, epoch)
    partitions: list[TopicPartition] = []
    for row in topics:
        topic = request.cluster.controller.find(row.name, row.topic_id)
        name = row.name if topic is None else topic.name
        partitions += [(name, part.partition_index) for part in row.partitions]
    may = streams.may_commit(streams.members[member_id], epoch, partitions)
    return ErrorCode.NONE if may else ErrorCode.STALE_MEMBER_EPOCH
