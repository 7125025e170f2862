"""Handlers of responses about groups: joins, assignments, descriptions, offsets, fetches.

A handler takes the response and its request, which is None if it was not captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..assignors.members import TopicPartition
from .captured_groups import CapturedGroups
from .group import CapturedGroup, GroupMember

_LATEST = -1  # the timestamp for which ListOffsets returns the end offset


def _handle_join_group(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a JoinGroup response: a member joined a generation; the leader receives all members."""
    message = response.message
    if request is None or message.error_code:
        return
    group = groups.group(request.message.group_id, "classic")
    asked = request.message
    member = groups.member(group, message.member_id, request)
    group.generation, group.leader = message.generation_id, message.leader
    group.assignor = message.protocol_name or group.assignor
    member.epoch, member.instance_id = message.generation_id, asked.group_instance_id
    if asked.protocol_type == "consumer":
        chosen = [one.metadata for one in asked.protocols if one.name == message.protocol_name]
        for metadata in chosen[:1]:
            groups.subscribe(member, metadata)
    if message.members:
        _handle_leader_join(groups, group, response, is_consumer=asked.protocol_type == "consumer")


def _handle_leader_join(groups: CapturedGroups, group: CapturedGroup, response: Any, *, is_consumer: bool) -> None:
    """Process the response to a leader, which lists all members of the group."""
    message = response.message
    for gone in group.members.keys() - {one.member_id for one in message.members}:
        groups.leave(group, gone, response.frame.source.time)
    for one in message.members:
        other = groups.member(group, one.member_id)
        other.epoch, other.instance_id = message.generation_id, one.group_instance_id
        if is_consumer:
            groups.subscribe(other, one.metadata)
    if is_consumer:
        groups.rebalance(group, response)


def _handle_sync_group(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a SyncGroup response: the leader's request has all assignments, each response that of its member.

    1. The leader's assignments are recorded, and complete its rebalance if it is still the last one.
    2. The assignment in the response is recorded; a member whose leader was not captured is known only from it.
    """
    message = response.message
    if request is None or message.error_code:
        return
    sync = request.message
    if (sync.protocol_type or "consumer") != "consumer":
        return
    group = groups.group(sync.group_id)
    at = response.frame.source.time
    for assigned in sync.assignments:
        groups.assigned_to(group, assigned.member_id, assigned.assignment, at)
    if sync.assignments and group.rebalances and group.rebalances[-1].generation == sync.generation_id:
        rebalance = group.rebalances[-1]
        member_ids = [assigned.member_id for assigned in sync.assignments]
        rebalance.assigned = _find_assignments(group, member_ids) or rebalance.assigned
    groups.assigned_to(group, sync.member_id, message.assignment, at)


def _find_assignments(group: CapturedGroup, member_ids: Iterable[str]) -> dict[str, tuple[TopicPartition, ...]] | None:
    """Return the partitions of members; None if an assignment did not decode."""
    assignments = {}
    for member_id in member_ids:
        member = group.members.get(member_id)
        if member is None:
            return None
        assignments[member_id] = member.partitions or ()
    return assignments


def _handle_leave_group(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a LeaveGroup response: a member left, or several, by member id or instance id (KIP-345)."""
    if request is None or response.message.error_code:
        return
    leave = request.message
    group = groups.group(leave.group_id)
    at = response.frame.source.time
    if not leave.members:
        groups.leave(group, leave.member_id, at)
    refused = {result.member_id for result in response.message.members if result.error_code}
    for leaving in leave.members:
        member_id = leaving.member_id or _static_member_id(group, leaving.group_instance_id)
        if member_id not in refused:
            groups.leave(group, member_id, at)


def _static_member_id(group: CapturedGroup, instance_id: str | None) -> str:
    """Return the member id of a static member; empty if it is unknown."""
    for member in group.members.values():
        if instance_id and member.instance_id == instance_id:
            return member.member_id
    return ""


def _handle_heartbeat(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Update a member of KIP-848 or KIP-932: the request contains changes, the response the target assignment."""
    message = response.message
    if request is None or message.error_code:
        return
    asked, at = request.message, response.frame.source.time
    is_share = type(asked).__name__.startswith("Share")
    group = groups.group(asked.group_id, "share" if is_share else "consumer")
    member_id = message.member_id or asked.member_id
    if asked.member_epoch < 0:
        groups.leave(group, member_id, at)
        return
    member = groups.member(group, member_id, request)
    member.epoch = message.member_epoch
    group.generation = max(group.generation or 0, message.member_epoch)
    member.rack = asked.rack_id or member.rack
    member.instance_id = getattr(asked, "instance_id", None) or member.instance_id
    member.regex = getattr(asked, "subscribed_topic_regex", None) or member.regex
    group.assignor = getattr(asked, "server_assignor", None) or group.assignor
    if asked.subscribed_topic_names is not None:
        member.topics = tuple(asked.subscribed_topic_names)
    if message.assignment is not None:
        groups.assign(group, member, groups.flat(message.assignment.topic_partitions), at)


def _handle_describe(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a response that lists all members of KIP-848 or KIP-932 groups."""
    protocol = "share" if type(response.message).__name__.startswith("Share") else "consumer"
    at = response.frame.source.time
    for one in response.message.groups:
        if one.error_code:
            continue
        group = groups.group(one.group_id, protocol)
        group.state, group.generation, group.assignor = one.group_state, one.group_epoch, one.assignor_name
        for gone in group.members.keys() - {member.member_id for member in one.members}:
            groups.leave(group, gone, at)
        for described in one.members:
            member = groups.member(group, described.member_id)
            _update_description(member, described)
            member.rack, member.epoch = described.rack_id or None, described.member_epoch
            member.topics = tuple(described.subscribed_topic_names)
            groups.assign(group, member, groups.flat(described.assignment.topic_partitions), at)


def _update_description(member: GroupMember, described: Any) -> None:
    member.client_id, member.host = described.client_id, described.client_host.removeprefix("/")
    instance = getattr(described, "group_instance_id", None) or getattr(described, "instance_id", None)
    member.instance_id = instance or member.instance_id


def _handle_describe_classic(groups: CapturedGroups, response: Any, request: Any) -> None:
    at = response.frame.source.time
    for one in response.message.groups:
        if one.error_code or one.protocol_type not in ("consumer", ""):
            continue
        group = groups.group(one.group_id)
        group.state, group.assignor = one.group_state, one.protocol_data or group.assignor
        for gone in group.members.keys() - {member.member_id for member in one.members}:
            groups.leave(group, gone, at)
        for described in one.members:
            member = groups.member(group, described.member_id)
            _update_description(member, described)
            if described.member_metadata:
                groups.subscribe(member, described.member_metadata)
                groups.assigned_to(group, described.member_id, described.member_assignment, at)


def _handle_offset_commit(groups: CapturedGroups, response: Any, request: Any) -> None:
    if request is None:
        return
    group = groups.group(request.message.group_id)
    refused = {
        (groups.topic(topic), one.partition_index)
        for topic in response.message.topics
        for one in topic.partitions
        if one.error_code
    }
    for topic in request.message.topics:
        for one in topic.partitions:
            partition = groups.topic(topic), one.partition_index
            if partition not in refused:
                group.committed[partition] = one.committed_offset


def _handle_offset_fetch(groups: CapturedGroups, response: Any, request: Any) -> None:
    message = response.message
    for one in message.groups:
        if not one.error_code:
            _record_offsets(groups, groups.group(one.group_id), one.topics)
    if request is not None and not message.groups and not message.error_code:
        _record_offsets(groups, groups.group(request.message.group_id), message.topics)


def _record_offsets(groups: CapturedGroups, group: CapturedGroup, topics: Iterable[Any]) -> None:
    for topic in topics:
        for one in topic.partitions:
            if not one.error_code and one.committed_offset >= 0:
                group.committed[groups.topic(topic), one.partition_index] = one.committed_offset


def _handle_list_offsets(groups: CapturedGroups, response: Any, request: Any) -> None:
    if request is None:
        return
    latest = {
        (topic.name, one.partition_index)
        for topic in request.message.topics
        for one in topic.partitions
        if one.timestamp == _LATEST
    }
    for topic in response.message.topics:
        for one in topic.partitions:
            if (topic.name, one.partition_index) in latest and not one.error_code:
                offset = one.offset if one.offset >= 0 else max(one.old_style_offsets, default=-1)
                if offset >= 0:
                    groups.ends[topic.name, one.partition_index] = offset


def _handle_fetch(groups: CapturedGroups, response: Any, request: Any) -> None:
    message = response.message
    is_consumer = request is not None and _follower_id(request.message) < 0
    for topic in message.responses:
        for one in topic.partitions:
            if one.error_code:
                continue
            partition = groups.topic(topic), one.partition_index
            if one.high_watermark >= 0:
                groups.ends[partition] = max(one.high_watermark, groups.ends.get(partition, -1))
            if is_consumer and one.records:
                groups.read(request, response, partition, len(one.records))


def _follower_id(request: Any) -> int:
    """Return the node id of a follower that fetches; -1 for consumers. From version 15 on the id is in a struct."""
    state = getattr(request, "replica_state", None)
    of_state: int = getattr(state, "replica_id", -1)
    return of_state if of_state >= 0 else int(request.replica_id)


def _handle_offset_delete(groups: CapturedGroups, response: Any, request: Any) -> None:
    if request is None or response.message.error_code:
        return
    group = groups.group(request.message.group_id)
    for topic in response.message.topics:
        for one in topic.partitions:
            if not one.error_code:
                group.committed.pop((topic.name, one.partition_index), None)


def _handle_delete_groups(groups: CapturedGroups, response: Any, request: Any) -> None:
    for one in response.message.results:
        if not one.error_code:
            groups.groups.pop(one.group_id, None)


HANDLERS: Mapping[str, Callable[[CapturedGroups, Any, Any], None]] = {
    "JoinGroupResponse": _handle_join_group,
    "SyncGroupResponse": _handle_sync_group,
    "LeaveGroupResponse": _handle_leave_group,
    "ConsumerGroupHeartbeatResponse": _handle_heartbeat,
    "ShareGroupHeartbeatResponse": _handle_heartbeat,
    "ConsumerGroupDescribeResponse": _handle_describe,
    "ShareGroupDescribeResponse": _handle_describe,
    "DescribeGroupsResponse": _handle_describe_classic,
    "OffsetCommitResponse": _handle_offset_commit,
    "OffsetFetchResponse": _handle_offset_fetch,
    "DeleteGroupsResponse": _handle_delete_groups,
    "OffsetDeleteResponse": _handle_offset_delete,
    "ListOffsetsResponse": _handle_list_offsets,
    "FetchResponse": _handle_fetch,
}
