"""DeleteGroups: deletes groups without members, and their committed offsets; OffsetDelete: some of these (KIP-496)."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...errors import DecodeError
from ...internal import decode_subscription
from .. import codes
from ..cluster import RequestContext
from ..groups.group import Group, GroupState
from ..groups.membership import problem_with


def delete_groups(request: RequestContext) -> Any:
    """Answer DeleteGroups."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    names = dict.fromkeys(request.message.groups_names)
    return messages.DeleteGroupsResponse(
        results=tuple(row(group_id=name, error_code=_delete(request, name)) for name in names)
    )


def _delete(request: RequestContext, group_id: str) -> int:
    groups = request.cluster.groups
    if code := problem_with(request, group_id, needs_name=False):
        return code
    group = groups.find(group_id)
    if group is None:
        return codes.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return codes.NON_EMPTY_GROUP
    groups.delete(group)
    return codes.NONE


def offset_delete(request: RequestContext) -> Any:
    """Answer OffsetDelete: offsets of topics that no member reads."""
    response, asked = messages.OffsetDeleteResponse, request.message
    group = request.cluster.groups.find(asked.group_id)
    code = problem_with(request, asked.group_id, needs_name=False)
    if code or group is None:
        return response(error_code=code or codes.GROUP_ID_NOT_FOUND)
    if group.members and group.protocol_type != "consumer":
        return response(error_code=codes.NON_EMPTY_GROUP)
    subscribed = _subscribed(group)
    rows, deleted = [], []
    for row in asked.topics:
        topic = request.cluster.controller.find(row.name)
        parts = []
        for part in row.partitions:
            index = part.partition_index
            code = request.error(row.name, index)
            if not code and (topic is None or not 0 <= index < len(topic.partitions)):
                code = codes.UNKNOWN_TOPIC_OR_PARTITION
            elif not code and row.name in subscribed:
                code = codes.GROUP_SUBSCRIBED_TO_TOPIC
            elif not code:
                deleted.append((row.name, index))
            parts.append(response.OffsetDeleteResponsePartition(partition_index=index, error_code=code))
        rows.append(response.OffsetDeleteResponseTopic(name=row.name, partitions=tuple(parts)))
    request.cluster.groups.delete_commits(group, deleted)
    return response(topics=tuple(rows))


def _subscribed(group: Group) -> set[str]:
    found: set[str] = set()
    for member in group.members.values():
        try:
            found.update(decode_subscription(member.metadata(group.protocol)).message.topics)
        except DecodeError:
            continue  # what it does not say, it does not read
    return found
