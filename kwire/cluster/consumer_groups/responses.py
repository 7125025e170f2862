"""Handlers of responses about groups: joins, assignments, descriptions, offsets, fetches.

A handler takes the response and its request, which is None if it was not captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..assignors.members import TopicPartition
from .captured_groups import CapturedGroups
from .group import CapturedGroup, GroupMember
from .streams_responses import HANDLERS as STREAMS_HANDLERS

_LATEST = -1  # the timestamp for which ListOffsets returns the end offset


def _handle_join_group(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a JoinGroup response: a member joined a generation; the leader receives all members.

    1. The response names the generation, its leader and the assignor that all members support.
    2. The request has the member's subscription for each assignor; the one for the chosen assignor counts.
    3. The leader's response lists all members: what ConsumerCoordinator.onLeaderElected assigns from.
    """
    message = response.message
    if request is None or message.error_code:
        return
    join = request.message
    group = groups.group(join.group_id, "classic")
    group.generation = message.generation_id
    group.leader = message.leader
    group.assignor = message.protocol_name or group.assignor
    member = groups.member(group, message.member_id, request)
    member.epoch = message.generation_id
    member.instance_id = join.group_instance_id
    if join.protocol_type == "consumer":
        chosen = [protocol.metadata for protocol in join.protocols if protocol.name == message.protocol_name]
        for metadata in chosen[:1]:
            groups.subscribe(member, metadata)
    if message.members:
        _handle_leader_join(groups, group, response, is_consumer=join.protocol_type == "consumer")


def _handle_leader_join(groups: CapturedGroups, group: CapturedGroup, response: Any, *, is_consumer: bool) -> None:
    """Process the response to a leader, which lists all members of the group."""
    message = response.message
    for gone in group.members.keys() - {listed.member_id for listed in message.members}:
        groups.leave(group, gone, response.frame.source.time)
    for listed in message.members:
        other = groups.member(group, listed.member_id)
        other.epoch = message.generation_id
        other.instance_id = listed.group_instance_id
        if is_consumer:
            groups.subscribe(other, listed.metadata)
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
        groups.record_assignment(group, assigned.member_id, assigned.assignment, at)
    if sync.assignments and group.rebalances and group.rebalances[-1].generation == sync.generation_id:
        rebalance = group.rebalances[-1]
        member_ids = [assigned.member_id for assigned in sync.assignments]
        rebalance.assigned = _find_assignments(group, member_ids) or rebalance.assigned
    groups.record_assignment(group, sync.member_id, message.assignment, at)


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
    heartbeat = request.message
    at = response.frame.source.time
    is_share = type(heartbeat).__name__.startswith("Share")
    group = groups.group(heartbeat.group_id, "share" if is_share else "consumer")
    member_id = message.member_id or heartbeat.member_id
    if heartbeat.member_epoch < 0:
        groups.leave(group, member_id, at)
        return
    member = groups.member(group, member_id, request)
    member.epoch = message.member_epoch
    group.generation = max(group.generation or 0, message.member_epoch)
    member.rack = heartbeat.rack_id or member.rack
    member.instance_id = getattr(heartbeat, "instance_id", None) or member.instance_id
    member.regex = getattr(heartbeat, "subscribed_topic_regex", None) or member.regex
    group.assignor = getattr(heartbeat, "server_assignor", None) or group.assignor
    if heartbeat.subscribed_topic_names is not None:
        member.topics = tuple(heartbeat.subscribed_topic_names)
    if message.assignment is not None:
        groups.assign(group, member, groups.flat(message.assignment.topic_partitions), at)


def _handle_describe(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a response that lists all members of KIP-848 or KIP-932 groups."""
    protocol = "share" if type(response.message).__name__.startswith("Share") else "consumer"
    at = response.frame.source.time
    for description in response.message.groups:
        if description.error_code:
            continue
        group = groups.group(description.group_id, protocol)
        group.state = description.group_state
        group.generation = description.group_epoch
        group.assignor = description.assignor_name
        for gone in group.members.keys() - {member.member_id for member in description.members}:
            groups.leave(group, gone, at)
        for described in description.members:
            member = groups.member(group, described.member_id)
            _update_description(member, described)
            member.rack = described.rack_id or None
            member.epoch = described.member_epoch
            member.topics = tuple(described.subscribed_topic_names)
            groups.assign(group, member, groups.flat(described.assignment.topic_partitions), at)


def _update_description(member: GroupMember, described: Any) -> None:
    member.client_id = described.client_id
    member.host = described.client_host.removeprefix("/")
    instance = getattr(described, "group_instance_id", None) or getattr(described, "instance_id", None)
    member.instance_id = instance or member.instance_id


def _handle_describe_classic(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a DescribeGroups response; a group that only commits offsets has no protocol type."""
    at = response.frame.source.time
    for description in response.message.groups:
        if description.error_code or description.protocol_type not in ("consumer", ""):
            continue
        group = groups.group(description.group_id)
        group.state = description.group_state
        group.assignor = description.protocol_data or group.assignor
        for gone in group.members.keys() - {member.member_id for member in description.members}:
            groups.leave(group, gone, at)
        for described in description.members:
            member = groups.member(group, described.member_id)
            _update_description(member, described)
            if described.member_metadata:
                groups.subscribe(member, described.member_metadata)
                groups.record_assignment(group, described.member_id, described.member_assignment, at)


def _handle_offset_commit(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process an OffsetCommit response: the offsets are in the request, the refused partitions in the response."""
    if request is None:
        return
    group = groups.group(request.message.group_id)
    refused = {
        (groups.topic(topic), partition.partition_index)
        for topic in response.message.topics
        for partition in topic.partitions
        if partition.error_code
    }
    for topic in request.message.topics:
        for partition in topic.partitions:
            topic_partition = groups.topic(topic), partition.partition_index
            if topic_partition not in refused:
                group.committed[topic_partition] = partition.committed_offset


def _handle_offset_fetch(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process an OffsetFetch response: several groups from version 8 on (KIP-709), one group before."""
    message = response.message
    for group in message.groups:
        if not group.error_code:
            _record_offsets(groups, groups.group(group.group_id), group.topics)
    if request is not None and not message.groups and not message.error_code:
        _record_offsets(groups, groups.group(request.message.group_id), message.topics)


def _record_offsets(groups: CapturedGroups, group: CapturedGroup, topics: Iterable[Any]) -> None:
    for topic in topics:
        for partition in topic.partitions:
            if not partition.error_code and partition.committed_offset >= 0:
                group.committed[groups.topic(topic), partition.partition_index] = partition.committed_offset


def _handle_share_offsets(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a DescribeShareGroupOffsets response (KIP-932); the lag is there from version 1 on (KIP-1226)."""
    for row in response.message.groups:
        if row.error_code:
            continue
        group = groups.group(row.group_id, "share")
        for topic in row.topics:
            for partition in topic.partitions:
                topic_partition = groups.topic(topic), partition.partition_index
                if partition.error_code or partition.start_offset < 0:
                    continue
                group.committed[topic_partition] = partition.start_offset
                group.lags.pop(topic_partition, None)
                if partition.lag >= 0:
                    group.lags[topic_partition] = partition.lag


def _handle_list_offsets(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a ListOffsets response; version 0 answers with an array of offsets, the newest first."""
    if request is None:
        return
    latest = {
        (topic.name, partition.partition_index)
        for topic in request.message.topics
        for partition in topic.partitions
        if partition.timestamp == _LATEST
    }
    for topic in response.message.topics:
        for partition in topic.partitions:
            if (topic.name, partition.partition_index) in latest and not partition.error_code:
                offset = partition.offset if partition.offset >= 0 else max(partition.old_style_offsets, default=-1)
                if offset >= 0:
                    groups.ends[topic.name, partition.partition_index] = offset


def _handle_fetch(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a Fetch response: its high watermarks are end offsets, its records were read by a member (KIP-392)."""
    message = response.message
    is_consumer = request is not None and _follower_id(request.message) < 0
    for topic in message.responses:
        for partition in topic.partitions:
            if partition.error_code:
                continue
            topic_partition = groups.topic(topic), partition.partition_index
            if partition.high_watermark >= 0:
                groups.ends[topic_partition] = max(partition.high_watermark, groups.ends.get(topic_partition, -1))
            if is_consumer and partition.records:
                groups.read(request, response, topic_partition, len(partition.records))


def _follower_id(request: Any) -> int:
    """Return the node id of a follower that fetches; -1 for consumers. Since KIP-903 it is in a struct."""
    state = getattr(request, "replica_state", None)
    of_state: int = getattr(state, "replica_id", -1)
    return of_state if of_state >= 0 else int(request.replica_id)


def _handle_offset_delete(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process an OffsetDelete response (KIP-496)."""
    if request is None or response.message.error_code:
        return
    group = groups.group(request.message.group_id)
    for topic in response.message.topics:
        for partition in topic.partitions:
            if not partition.error_code:
                group.committed.pop((topic.name, partition.partition_index), None)


def _handle_delete_groups(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a DeleteGroups response (KIP-229)."""
    for result in response.message.results:
        if not result.error_code:
            groups.groups.pop(result.group_id, None)


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
    "DescribeShareGroupOffsetsResponse": _handle_share_offsets,
    "DeleteGroupsResponse": _handle_delete_groups,
    "OffsetDeleteResponse": _handle_offset_delete,
    "ListOffsetsResponse": _handle_list_offsets,
    "FetchResponse": _handle_fetch,
    **STREAMS_HANDLERS,
}
