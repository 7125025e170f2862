"""The members of streams groups (KIP-1071): found by a heartbeat, added, updated from it, and removed."""

from __future__ import annotations

from copy import copy

from .... import messages
from ....values import ErrorCode
from ...groups.classic_group import Group
from ...groups.streams_group import StreamsGroup, StreamsMember
from .streams_group_checks import JOINS, LEAVES_FOR_A_WHILE, Heartbeat, read_owned


def find_member(request: Heartbeat, streams: StreamsGroup) -> StreamsMember | int | None:
    """Return the member that sent a heartbeat, None if it is a new one, or an error code."""
    # Kafka: getOrMaybeCreateDynamicStreamsGroupMember, getOrMaybeCreateStaticStreamsGroupMember
    message = request.message
    before = streams.static(message.instance_id)
    if message.member_epoch == JOINS and before is not None:
        return None if before.has_left else ErrorCode.UNRELEASED_INSTANCE_ID
    if message.member_epoch == JOINS:
        return streams.members.get(message.member_id)
    member = identify_member(message, streams)
    return member if isinstance(member, int) else _check_epoch(message, member)


def identify_member(message: messages.StreamsGroupHeartbeatRequest, streams: StreamsGroup) -> StreamsMember | ErrorCode:
    """Return the member of a request, by its instance id if it has one; otherwise an error code."""
    if message.instance_id is None:
        return streams.members.get(message.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
    before = streams.static(message.instance_id)
    if before is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return before if before.member_id == message.member_id else ErrorCode.FENCED_INSTANCE_ID


def _check_epoch(message: messages.StreamsGroupHeartbeatRequest, member: StreamsMember) -> StreamsMember | int:
    """Return the member, or an error code if its epoch is wrong; it may have missed the last response."""
    # Kafka: GroupMetadataManager.throwIfStreamsGroupMemberEpochIsInvalid
    if message.member_epoch == member.epoch:
        return member
    owned = read_owned(message)
    is_behind = message.member_epoch == member.previous_epoch and message.member_epoch < member.epoch
    return member if is_behind and owned is not None and owned <= member.assigned else ErrorCode.FENCED_MEMBER_EPOCH


def add_member(request: Heartbeat, streams: StreamsGroup) -> StreamsMember | int:
    """Add the member that joins, in the place of the static member that has left for a while if there is one; return
    it, or an error code."""
    # Kafka: GroupMetadataManager.replaceStreamsMember
    message = request.message
    made = StreamsMember(message.member_id, message.instance_id, request.client_id, request.client_host)
    return request.cluster.groups.add_consumer(streams, made, streams.static(message.instance_id))


def update_member(request: Heartbeat, streams: StreamsGroup, member: StreamsMember) -> bool:
    """Update a member from its heartbeat; return whether this begins a new epoch of the group: any change of a dynamic
    member does, but only some of a static one."""
    # Kafka: GroupMetadataManager.hasStreamsMemberMetadataChanged
    message = request.message
    is_new = member.member_id not in streams.target
    size = member.size
    before = member.about
    details = member.details
    _read_fields(request, member)
    _store_offsets(member.offsets, message.task_offsets)
    _store_offsets(member.end_offsets, message.task_end_offsets)
    request.cluster.groups.held.take(member.size - size)
    streams.target.setdefault(member.member_id, set())
    is_static = member.instance_id is not None
    return is_new or before != member.about or (details != member.details and not is_static)


def tells_something_new(request: Heartbeat, member: StreamsMember) -> bool:
    """Return whether a heartbeat would change what is stored of a member."""
    updated = copy(member)
    _read_fields(request, updated)
    return updated.stored != member.stored


def _read_fields(request: Heartbeat, member: StreamsMember) -> None:
    """Store what a member says of itself, without the offsets of its tasks."""
    message = request.message
    if message.rebalance_timeout_ms >= 0:
        member.rebalance_timeout = message.rebalance_timeout_ms / 1000
    if message.topology is not None:
        member.topology_epoch = message.topology.epoch
    if message.client_tags is not None:
        member.client_tags = {tag.key: tag.value for tag in message.client_tags}
    endpoint = message.user_endpoint
    if endpoint is not None or message.member_epoch == JOINS:
        member.endpoint = None if endpoint is None else (endpoint.host, endpoint.port)
    member.rack = message.rack_id or member.rack
    member.process_id = member.process_id if message.process_id is None else message.process_id
    member.client_id = request.client_id
    member.client_host = request.client_host


def _store_offsets(
    offsets: dict[tuple[str, int], int], rows: tuple[messages.StreamsGroupHeartbeatRequest.TaskOffset, ...] | None
) -> None:
    """Replace the offsets of tasks by those of a heartbeat, if it has any."""
    if rows is not None:
        offsets.clear()
        offsets |= {(row.subtopology_id, row.partition): row.offset for row in rows}


def leave_streams_group(
    request: Heartbeat, group: Group, streams: StreamsGroup
) -> messages.StreamsGroupHeartbeatResponse:
    """Handle the heartbeat of a member that leaves."""
    # Kafka: GroupMetadataManager.streamsGroupLeave
    message = request.message
    response = messages.StreamsGroupHeartbeatResponse
    member = identify_member(message, streams)
    if isinstance(member, int):
        return response(error_code=member, status=())
    if message.shutdown_application:
        streams.shutdown = message.member_id
    if message.member_epoch == LEAVES_FOR_A_WHILE:
        member.leave_for_a_while()
        group.state = streams.state
        request.cluster.groups.remember(group)
    else:
        request.cluster.groups.remove_consumers(group, [member], request.now)
    return response(member_id=message.member_id, member_epoch=message.member_epoch, status=())
