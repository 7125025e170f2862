"""OffsetCommit: stores the offsets that a group has consumed."""

from __future__ import annotations

from typing import TypeAlias, Union

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic import Topic
from ...groups.classic_group import Group
from ...groups.committed_offsets import Commit
from ...groups.modern_group import GroupState
from ...groups.share_group import ShareGroup
from ...request_context import RequestContext
from .group_checks import CommittedTopic, commit_problem, membership, problem_with

CommittedPartition: TypeAlias = Union[
    "messages.OffsetCommitRequest.OffsetCommitRequestPartition",
    "messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition",
]
FIRST_OF_CONSUMERS = 9  # OffsetCommit: the first version for members of groups whose broker assigns


def offset_commit(request: RequestContext[messages.OffsetCommitRequest]) -> messages.OffsetCommitResponse:
    """Handle OffsetCommit."""
    # Kafka: OffsetMetadataManager.commitOffset
    groups = request.cluster.groups
    response = messages.OffsetCommitResponse
    group = _committing(request)
    commits: dict[tuple[str, int], Commit] = {}
    errors: list[list[int]] = []
    for sent in request.message.topics:
        errors.append([check_commit(request, group, sent, part, commits) for part in sent.partitions])
    retention_ms = request.message.retention_time_ms
    failed = groups.commit(group, commits, retention_ms) if isinstance(group, Group) else ErrorCode.NONE
    rows = []
    for sent, codes in zip(request.message.topics, errors, strict=True):
        parts = tuple(
            response.OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code or failed)
            for part, code in zip(sent.partitions, codes, strict=True)
        )
        rows.append(response.OffsetCommitResponseTopic(name=sent.name, topic_id=sent.topic_id, partitions=parts))
    if isinstance(group, Group) and group.is_unused and not group.generation:
        groups.delete(group)
    return response(topics=tuple(rows))


def check_commit(
    request: RequestContext[object],
    group: Group | int,
    sent: CommittedTopic,
    part: CommittedPartition,
    commits: dict[tuple[str, int], Commit],
) -> int:
    """Add a row of a request to the commits; return an error code if it cannot be stored, otherwise 0."""
    topic = request.cluster.controller.find(sent.name, sent.topic_id)
    commit = group if isinstance(group, int) else _make_commit(request, topic, part, sent.name)
    if isinstance(commit, int) or topic is None:
        return commit if isinstance(commit, int) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not isinstance(commit, Commit) or not request.cluster.groups.held.has_room(commit.size * (len(commits) + 1)):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    commits[topic.name, part.partition_index] = commit
    return ErrorCode.NONE


def _committing(request: RequestContext[messages.OffsetCommitRequest]) -> Group | int:
    """Return the group, or an error code if this client may not commit now."""
    # Kafka: OffsetMetadataManager.validateOffsetCommit
    message = request.message
    groups = request.cluster.groups
    if code := problem_with(request, message.group_id, needs_name=False):
        return code
    group = groups.find(message.group_id)
    generation = message.generation_id_or_member_epoch
    if group is not None and isinstance(group.consumer, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if generation < 0 and (group is None or group.state is GroupState.EMPTY):
        # clients with manual assignment use a group only to store offsets
        created = groups.find_or_create(message.group_id)
        return ErrorCode.GROUP_MAX_SIZE_REACHED if created is None else created
    if group is not None and group.consumer is not None and group.consumer.members:
        member = group.consumer.members.get(message.member_id)
        if member is not None and not member.is_classic and request.version < FIRST_OF_CONSUMERS:
            return ErrorCode.UNSUPPORTED_VERSION
        return commit_problem(request, group, message.member_id, generation, message.topics) or group
    return ErrorCode.ILLEGAL_GENERATION if group is None else _group_of_member(request, generation)


def _group_of_member(request: RequestContext[messages.OffsetCommitRequest], generation: int) -> Group | int:
    """Return the group if its member may commit now, and extend the member's session; otherwise an error code."""
    group_member = membership(request, generation)
    if isinstance(group_member, int):
        return group_member
    group, member = group_member
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else group


def _make_commit(
    request: RequestContext[object],
    topic: Topic | None,
    part: CommittedPartition,
    name: str,
) -> Commit | int:
    """Return the commit in a row of a request, or an error code if it cannot be stored."""
    if code := request.error(topic.name if topic else name or None, part.partition_index):
        return code
    if topic is None or not 0 <= part.partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name or topic else ErrorCode.UNKNOWN_TOPIC_ID
    metadata = part.committed_metadata or ""
    if len(metadata) > request.cluster.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    commit = Commit(part.committed_offset, part.committed_leader_epoch, metadata, topic.topic_id)
    return commit if request.cluster.groups.held.has_room(commit.size) else ErrorCode.GROUP_MAX_SIZE_REACHED


APIS = {  # what each version has changed
    # 1: generations and member ids; a time per partition
    # 2: a retention time instead
    # 3: the throttle time (KIP-124)
    # 4: the response is sent before the client is throttled (KIP-219)
    # 5: no retention time (KIP-211)
    # 6: leader epochs (KIP-320)
    # 7: static members (KIP-345)
    # 8: flexible (KIP-482)
    # 9: members of consumer groups (KIP-848)
    # 10: topic ids instead of names (KIP-848)
    "OffsetCommit": ServedApi(0, 10, offset_commit, finds_errors=True),
}
