"""OffsetCommit: stores offsets of a group, sent by members of its generation or, for an empty group, by any client."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..groups.group import Commit, Group, GroupState
from ..groups.membership import consumer_problem, membership, problem_with
from ..topics import Topic


def offset_commit(request: RequestContext) -> Any:
    """Answer OffsetCommit."""
    groups, response = request.cluster.groups, messages.OffsetCommitResponse
    group = _committing(request)
    commits: dict[tuple[str, int], Commit] = {}
    errors: list[list[int]] = []
    for sent in request.message.topics:
        errors.append([checked_commit(request, group, sent, part, commits) for part in sent.partitions])
    failed = groups.commit(group, commits) if isinstance(group, Group) else codes.NONE
    rows = []
    for sent, found in zip(request.message.topics, errors, strict=True):
        parts = tuple(
            response.OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code or failed)
            for part, code in zip(sent.partitions, found, strict=True)
        )
        rows.append(response.OffsetCommitResponseTopic(name=sent.name, topic_id=sent.topic_id, partitions=parts))
    if isinstance(group, Group) and group.is_unused and not group.generation:
        groups.delete(group)
    return response(topics=tuple(rows))


def checked_commit(
    request: RequestContext, group: Group | int, sent: Any, part: Any, commits: dict[tuple[str, int], Commit]
) -> int:
    """Add a row of a request to the commits, or return why it cannot be kept."""
    topic = request.cluster.controller.find(sent.name, sent.topic_id)
    found = group if isinstance(group, int) else _kept_commit(request, topic, part, sent.name)
    if isinstance(found, int) or topic is None:
        return found if isinstance(found, int) else codes.UNKNOWN_TOPIC_OR_PARTITION
    if not isinstance(found, Commit) or not request.cluster.groups.held.has_room(found.size * (len(commits) + 1)):
        return codes.GROUP_MAX_SIZE_REACHED
    commits[topic.name, part.partition_index] = found
    return codes.NONE


def _committing(request: RequestContext) -> Group | int:
    """Return the group, or the error code if this client may not commit now."""
    asked, groups = request.message, request.cluster.groups
    if code := problem_with(request, asked.group_id, needs_name=False):
        return code
    group, generation = groups.find(asked.group_id), asked.generation_id_or_member_epoch
    if generation < 0 and (group is None or group.state is GroupState.EMPTY):
        # clients with manual assignment use the group only to store offsets
        made = groups.found_or_made(asked.group_id)
        return codes.GROUP_MAX_SIZE_REACHED if made is None else made
    if group is not None and group.consumer is not None and group.consumer.members:
        return consumer_problem(group, asked.member_id, generation) or group
    return codes.ILLEGAL_GENERATION if group is None else _member_committing(request, generation)


def _member_committing(request: RequestContext, generation: int) -> Group | int:
    found = membership(request, generation)
    if isinstance(found, int):
        return found
    group, member = found
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    return codes.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else group


def _kept_commit(request: RequestContext, topic: Topic | None, part: Any, name: str) -> Commit | int:
    """Return the commit that a row of a request is about, or the error code if it cannot be kept."""
    if code := request.error(topic.name if topic else name or None, part.partition_index):
        return code
    if topic is None or not 0 <= part.partition_index < len(topic.partitions):
        return codes.UNKNOWN_TOPIC_OR_PARTITION if name or topic else codes.UNKNOWN_TOPIC_ID
    metadata = part.committed_metadata or ""
    if len(metadata) > request.cluster.settings.offset_metadata_max_bytes:
        return codes.OFFSET_METADATA_TOO_LARGE
    commit = Commit(part.committed_offset, part.committed_leader_epoch, metadata, topic.topic_id)
    return commit if request.cluster.groups.held.has_room(commit.size) else codes.GROUP_MAX_SIZE_REACHED
