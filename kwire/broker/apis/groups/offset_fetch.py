"""OffsetFetch: the committed offsets of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, Union

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic import NO_TOPIC_ID, Topic
from ...groups.classic_group import Group
from ...request_context import RequestContext
from .group_checks import consumer_problem, problem_with

FIRST_WITH_ERROR = 2  # OffsetFetch: older versions have error codes only per partition
FIRST_WITH_GROUPS = 8  # the first version of OffsetFetch for several groups (KIP-709)
# before version 8, and since
RequestedTopics: TypeAlias = Union[
    "Sequence[messages.OffsetFetchRequest.OffsetFetchRequestTopic]",
    "Sequence[messages.OffsetFetchRequest.OffsetFetchRequestTopics]",
]
WantedOffsets = Iterator[tuple[str, bytes, list[int]]]


class FetchedOffset(NamedTuple):
    """The committed offset of a partition, or an error code."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int


def offset_fetch(request: RequestContext[messages.OffsetFetchRequest]) -> messages.OffsetFetchResponse:
    """Handle OffsetFetch."""
    # Kafka: OffsetMetadataManager.fetchOffsets, fetchAllOffsets
    response = messages.OffsetFetchResponse
    message = request.message
    if request.version >= FIRST_WITH_GROUPS:
        groups = {group.group_id: group for group in message.groups}
        return response(groups=tuple(_group(request, group) for group in groups.values()))
    code = problem_with(request, message.group_id, needs_name=False)
    if code and request.version >= FIRST_WITH_ERROR:
        return response(error_code=code)
    row = response.OffsetFetchResponseTopic
    part = response.OffsetFetchResponsePartition
    topics = _rows(request, message.group_id, message.topics, code)
    rows = (row(name=name, partitions=tuple(part(**offset._asdict()) for offset in parts)) for name, _, parts in topics)
    return response(topics=tuple(rows), error_code=code)


def _group(
    request: RequestContext[messages.OffsetFetchRequest], wanted: messages.OffsetFetchRequest.OffsetFetchRequestGroup
) -> messages.OffsetFetchResponse.OffsetFetchResponseGroup:
    response = messages.OffsetFetchResponse
    if code := problem_with(request, wanted.group_id, needs_name=False):
        return response.OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=code)
    group = request.cluster.groups.find(wanted.group_id)
    is_admin = wanted.member_epoch < 0 and wanted.member_id is None
    is_member = not is_admin and group is not None and group.consumer is not None
    if group and is_member and (code := consumer_problem(group, wanted.member_id or "", wanted.member_epoch)):
        return response.OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=code)
    row = response.OffsetFetchResponseTopics
    part = response.OffsetFetchResponsePartitions
    rows = (
        row(name=name, topic_id=topic_id, partitions=tuple(part(**offset._asdict()) for offset in parts))
        for name, topic_id, parts in _rows(request, wanted.group_id, wanted.topics, ErrorCode.NONE)
    )
    return response.OffsetFetchResponseGroup(group_id=wanted.group_id, topics=tuple(rows))


def _rows(
    request: RequestContext[messages.OffsetFetchRequest],
    group_id: str,
    topics: RequestedTopics | None,
    code: int,
) -> Iterator[tuple[str, bytes, list[FetchedOffset]]]:
    """Return the requested topics with the fields of their partitions; topics of None request all commits."""
    controller = request.cluster.controller
    group = request.cluster.groups.find(group_id)
    for name, topic_id, indexes in _merge_requested(topics) if topics is not None else _list_committed(request, group):
        topic = controller.find(name, topic_id)
        is_unknown = topic is None and not name
        failure = code or request.error(topic.name if topic else name or None)
        if failure and not code and topics is None:
            continue  # a request for all topics omits those that the principal may not describe
        failure = failure or (ErrorCode.UNKNOWN_TOPIC_ID if is_unknown else ErrorCode.NONE)
        yield name, topic_id, [_fields(request, group, topic, index, failure) for index in indexes]


def _merge_requested(topics: RequestedTopics) -> WantedOffsets:
    """Return the requested topics without duplicates."""
    wanted: dict[tuple[str, bytes], dict[int, None]] = {}
    for row in topics:
        key = row.name, getattr(row, "topic_id", NO_TOPIC_ID)
        wanted.setdefault(key, {}).update(dict.fromkeys(row.partition_indexes))
    return ((*key, list(indexes)) for key, indexes in wanted.items())


def _list_committed(request: RequestContext[messages.OffsetFetchRequest], group: Group | None) -> WantedOffsets:
    for name, indexes in group.commits.topics() if group is not None else ():
        topic = request.cluster.controller.find(name)
        if group is not None and topic is not None:
            kept = [index for index in indexes if group.commits.get(name, index, topic.topic_id)]
            if kept:
                yield name, topic.topic_id, kept


def _fields(
    request: RequestContext[messages.OffsetFetchRequest],
    group: Group | None,
    topic: Topic | None,
    index: int,
    code: int,
) -> FetchedOffset:
    if group is not None and topic is not None and request.message.require_stable:
        code = code or (ErrorCode.UNSTABLE_OFFSET_COMMIT if group.is_unstable(topic.name, index) else ErrorCode.NONE)
    commit = None if group is None or topic is None or code else group.commits.get(topic.name, index, topic.topic_id)
    if commit is None:
        return FetchedOffset(index, -1, -1, "", code)
    return FetchedOffset(index, commit.offset, commit.leader_epoch, commit.metadata, code)


APIS = {  # what each version has changed
    # 2: null stands for all topics; an error code for the whole request (KIP-88)
    # 3: the throttle time (KIP-124)
    # 4: the response is sent before the client is throttled (KIP-219)
    # 5: leader epochs (KIP-320)
    # 6: flexible (KIP-482)
    # 7: offsets of open transactions can be refused (KIP-447)
    # 8: several groups (KIP-709)
    # 9: member ids and epochs (KIP-848)
    # 10: topic ids instead of names (KIP-848)
    "OffsetFetch": ServedApi(0, 10, offset_fetch, finds_errors=True),
}
