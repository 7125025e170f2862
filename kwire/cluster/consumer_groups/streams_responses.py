"""Handlers of responses about streams groups (KIP-1071): heartbeats and descriptions.

A handler takes the response and its request, which is None if it was not captured. What a member reads follows from its
active tasks and the topology, which only members that join, and descriptions, contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..assignors.members import TopicPartition
from .captured_groups import CapturedGroups
from .group import CapturedGroup, CapturedSubtopology, CapturedTask, GroupMember

STREAMS = "streams"
_ROLES = ("active", "standby", "warmup")
# Kafka: StreamsGroupHeartbeatResponse.Status
STATUSES = {
    0: "stale topology",
    1: "missing source topics",
    2: "incorrectly partitioned topics",
    3: "missing internal topics",
    4: "shutdown of the application requested",
    5: "assignment delayed",
    6: "missing client tags",
}


def _handle_streams_heartbeat(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Update a member of a streams group: the request contains changes, the response its tasks if they are new."""
    message = response.message
    if request is None or message.error_code:
        return
    heartbeat = request.message
    at = response.frame.source.time
    group = groups.group(heartbeat.group_id, STREAMS)
    member_id = message.member_id or heartbeat.member_id
    if heartbeat.member_epoch < 0:
        groups.leave(group, member_id, at)
        return
    member = groups.member(group, member_id, request)
    member.epoch = message.member_epoch
    group.generation = max(group.generation or 0, message.member_epoch)
    member.rack = heartbeat.rack_id or member.rack
    member.instance_id = heartbeat.instance_id or member.instance_id
    member.process_id = heartbeat.process_id or member.process_id
    if heartbeat.topology is not None:
        member.topology_epoch = heartbeat.topology.epoch
        _store_topology(group, heartbeat.topology)
    group.problems = tuple(STATUSES.get(status.status_code, str(status.status_code)) for status in message.status or ())
    if message.active_tasks is not None:
        member.tasks = tuple(_list_tasks(message))
        groups.assign(group, member, _find_partitions(groups, group, member), at)


def _handle_streams_describe(groups: CapturedGroups, response: Any, request: Any) -> None:
    """Process a response that describes streams groups with all their members."""
    at = response.frame.source.time
    for description in response.message.groups:
        if description.error_code:
            continue
        group = groups.group(description.group_id, STREAMS)
        group.state = description.group_state
        group.generation = description.group_epoch
        group.assignor = description.assignor_name or group.assignor
        if description.topology is not None:
            _store_topology(group, description.topology)
        for gone in group.members.keys() - {member.member_id for member in description.members}:
            groups.leave(group, gone, at)
        for described in description.members:
            member = groups.member(group, described.member_id)
            _update_member(member, described)
            groups.assign(group, member, _find_partitions(groups, group, member), at)


def _update_member(member: GroupMember, described: Any) -> None:
    member.client_id = described.client_id
    member.host = described.client_host.removeprefix("/")
    member.instance_id = described.instance_id or member.instance_id
    member.rack = described.rack_id or None
    member.epoch = described.member_epoch
    member.process_id = described.process_id or None
    member.topology_epoch = described.topology_epoch
    member.tasks = tuple(_list_tasks(described.assignment))


def _store_topology(group: CapturedGroup, topology: Any) -> None:
    """Store a topology, unless the group has a newer one (members with an older one may still join)."""
    if topology.epoch < (group.topology_epoch or 0):
        return
    group.topology_epoch = topology.epoch
    group.topology = tuple(
        CapturedSubtopology(
            part.subtopology_id,
            (*part.source_topics, *(topic.name for topic in part.repartition_source_topics)),
            tuple(part.repartition_sink_topics),
            tuple(topic.name for topic in part.state_changelog_topics),
        )
        for part in topology.subtopologies or ()
    )


def _list_tasks(message: Any) -> Iterator[CapturedTask]:
    for role in _ROLES:
        for row in getattr(message, f"{role}_tasks") or ():
            for index in row.partitions:
                yield CapturedTask(role, row.subtopology_id, index)


def _find_partitions(groups: CapturedGroups, group: CapturedGroup, member: GroupMember) -> Iterable[TopicPartition]:
    """Return the partitions that a member reads; without those that a topic is known not to have."""
    topics = {part.name: part.reads for part in group.topology}
    for task in member.tasks or ():
        for topic in topics.get(task.subtopology, ()) if task.role == "active" else ():
            known = groups.cluster.topics.get(topic)
            if not known or task.partition in known:
                yield topic, task.partition


HANDLERS: Mapping[str, Callable[[CapturedGroups, Any, Any], None]] = {
    "StreamsGroupHeartbeatResponse": _handle_streams_heartbeat,
    "StreamsGroupDescribeResponse": _handle_streams_describe,
}
