"""ShareGroupHeartbeat: a member of a share group joins, gets partitions, or leaves (KIP-932)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group
from ...groups.consumer_group import ConsumerMember
from ...groups.group_types import SHARE, STREAMS
from ...groups.share_group import ShareGroup
from ...request_context import RequestContext
from ..groups.consumer_group_heartbeat import group_by_topic
from ..groups.group_checks import JOINS, LEAVES, is_settled, membership_problem
from .share_group_checks import share_problem


def share_group_heartbeat(
    request: RequestContext[messages.ShareGroupHeartbeatRequest],
) -> messages.ShareGroupHeartbeatResponse:
    """Handle ShareGroupHeartbeat."""
    # Kafka: GroupMetadataManager.shareGroupHeartbeat (KIP-932)
    message = request.message
    is_right = message.member_id and message.member_epoch >= LEAVES and message.rack_id != "" and message.group_id
    if message.member_epoch == JOINS and not message.subscribed_topic_names:
        is_right = False
    code = share_problem(request, message.group_id)
    if code in (ErrorCode.NONE, ErrorCode.INVALID_GROUP_ID) and not is_right:
        code = ErrorCode.INVALID_REQUEST
    code = code or _hidden(request) or membership_problem(request)
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
    if message.member_epoch == LEAVES:
        request.cluster.groups.remove_consumers(group, [member], request.now)
        return messages.ShareGroupHeartbeatResponse(member_id=message.member_id, member_epoch=LEAVES)
    return _heartbeat(request, group, share, member)


def _hidden(request: RequestContext[messages.ShareGroupHeartbeatRequest]) -> int:
    """Return the error code for topics that the principal may not describe; 0 if there are none."""
    names = request.message.subscribed_topic_names or ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _group_for(request: RequestContext[messages.ShareGroupHeartbeatRequest]) -> Group | int:
    """Return the share group; a joining member creates it if there is no group of this name."""
    message = request.message
    groups = request.cluster.groups
    group = groups.find(message.group_id)
    if group is not None and (group.kind in (SHARE, STREAMS) or not group.is_unused):
        return group if isinstance(group.consumer, ShareGroup) else ErrorCode.GROUP_ID_NOT_FOUND
    if message.member_epoch != JOINS:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return make_share_group(request, message.group_id)


def make_share_group(request: RequestContext[object], group_id: str) -> Group | int:
    """Return a new share group, or an error code if the limit is reached."""
    group = request.cluster.groups.find_or_create(group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    group.consumer = ShareGroup(epoch=max(1, group.generation))
    group.protocol_type = SHARE
    return group


def _member(
    request: RequestContext[messages.ShareGroupHeartbeatRequest], group: Group, share: ShareGroup
) -> ConsumerMember | int:
    """Return the member that sent a request, or a new one if it joins; otherwise an error code."""
    message = request.message
    groups = request.cluster.groups
    member = share.members.get(message.member_id)
    topics = message.subscribed_topic_names
    if topics is not None and not groups.has_room_for((message.member_id, *topics), member):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if member is None and message.member_epoch == JOINS:
        made = ConsumerMember(message.member_id, None, request.client_id, request.client_host)
        return groups.add_consumer(share, made, None)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if message.member_epoch == JOINS:
        member.sent = None
    elif message.member_epoch not in (LEAVES, member.epoch, member.previous_epoch):
        return ErrorCode.FENCED_MEMBER_EPOCH
    return member


def _heartbeat(
    request: RequestContext[messages.ShareGroupHeartbeatRequest],
    group: Group,
    share: ShareGroup,
    member: ConsumerMember,
) -> messages.ShareGroupHeartbeatResponse:
    message = request.message
    cluster = request.cluster
    if code := cluster.groups.write_problem(message.group_id):
        if not is_settled(share, member, message):
            return messages.ShareGroupHeartbeatResponse(error_code=code)
        cluster.groups.keep_consumer(group, member, request.now)
        return _answer(request, member)
    before = member.size
    changed = member.member_id not in share.target
    if message.subscribed_topic_names is not None:
        topics = tuple(sorted(message.subscribed_topic_names))
        changed = changed or topics != member.topics
        member.topics = topics
    member.rack = message.rack_id or member.rack
    cluster.groups.held.take(member.size - before)
    member_state = share.epoch, member.epoch, set(member.assigned)
    cluster.groups.plan(group, share, changed=changed)
    is_new = cluster.shares.prepare(message.group_id, share)
    share.reconcile(member, None, request.now)
    has_changed = is_new or changed or member_state != (share.epoch, member.epoch, member.assigned)
    if (has_changed or group.is_unwritten) and (code := cluster.groups.remember_or_revert(group)):
        return messages.ShareGroupHeartbeatResponse(error_code=code)
    cluster.groups.keep_consumer(group, member, request.now)
    return _answer(request, member)


def _answer(
    request: RequestContext[messages.ShareGroupHeartbeatRequest], member: ConsumerMember
) -> messages.ShareGroupHeartbeatResponse:
    response = messages.ShareGroupHeartbeatResponse
    state = member.epoch, frozenset(member.assigned)
    # A heartbeat with topics is complete, as after an error: the member may not know its assignment (Kafka:
    # `isFullRequest` in GroupMetadataManager.shareGroupHeartbeat).
    is_full = request.message.subscribed_topic_names is not None
    is_new = member.sent is None or member.sent[1] != state[1] or is_full
    member.sent = state
    rows = group_by_topic(request, member.assigned)
    parts = tuple(
        response.TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, _, partitions in rows
    )
    configs = request.cluster.controller.group_configs_of(request.message.group_id)
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(configs["share.heartbeat.interval.ms"]),
        assignment=response.Assignment(topic_partitions=parts) if is_new else None,
    )


APIS = {
    "ShareGroupHeartbeat": ServedApi(1, 1, share_group_heartbeat, finds_errors=True),
}
