"""The apis of consumer groups whose broker assigns partitions (KIP-848), and of offsets of groups and logs.

ConsumerGroupHeartbeat, ConsumerGroupDescribe; OffsetCommit, OffsetFetch, OffsetDelete (KIP-496), ListOffsets,
OffsetForLeaderEpoch. Offsets of a group are committed by members of its current generation, or by any client if the
group is empty. Unstable offsets are those that wait for the end of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import messages
from ...values import ErrorCode
from ..classic_group import Commit, Group
from ..cluster_state import RequestContext
from ..consumer_group import ASSIGNORS, Assigned, ConsumerGroup, ConsumerMember, GroupState, pattern_problem, places_of
from ..partition_leader_and_isr import NO_ID, Topic
from ..replica_log import Log
from ..share_group import ShareGroup
from .classic_groups import consumer_problem, membership, new_member_id, problem_with
from .produce_and_fetch import READ_COMMITTED

JOINS, LEAVES, LEAVES_FOR_A_WHILE = 0, -1, -2  # special member epochs
FIRST_WITH_OWN_IDS = 1  # ConsumerGroupHeartbeat: clients generate their member ids (KIP-1082)
CLASSIC_TYPE, CONSUMER_TYPE = 0, 1  # types of members


def consumer_group_heartbeat(request: RequestContext) -> Any:
    """Handle ConsumerGroupHeartbeat."""
    asked = request.message
    if code := problem_with(request, asked.group_id) or _problem(request) or _hidden(request):
        return _refused(code)
    if problem := pattern_problem(asked.subscribed_topic_regex):
        return _refused(ErrorCode.INVALID_REGULAR_EXPRESSION, problem)
    group = _group_for(request)
    if isinstance(group, int):
        return _refused(group)
    assert group.consumer is not None
    if asked.member_epoch < JOINS:
        return _leave(request, group, group.consumer)
    member = _member(request, group, group.consumer)
    if isinstance(member, int):
        return _refused(member)
    return _heartbeat(request, group, group.consumer, member)


def _problem(request: RequestContext) -> int:
    """Return the error code of an invalid request; 0 if the request is valid."""
    asked = request.message
    must_have_id = request.version >= FIRST_WITH_OWN_IDS or asked.member_epoch != JOINS
    is_right = asked.member_epoch >= LEAVES_FOR_A_WHILE and (asked.member_id or not must_have_id)
    if asked.member_epoch == JOINS:
        subscribes = asked.subscribed_topic_names is not None or asked.subscribed_topic_regex is not None
        is_right = is_right and asked.rebalance_timeout_ms > 0 and subscribes and not asked.topic_partitions
        is_right = is_right and asked.topic_partitions is not None
    if asked.member_epoch == LEAVES_FOR_A_WHILE:
        is_right = is_right and asked.instance_id is not None
    if not is_right or asked.instance_id == "" or asked.rack_id == "":
        return ErrorCode.INVALID_REQUEST
    if asked.server_assignor is not None and asked.server_assignor not in ASSIGNORS:
        return ErrorCode.UNSUPPORTED_ASSIGNOR
    return ErrorCode.NONE


def _hidden(request: RequestContext) -> int:
    """Return the error code for topics that the principal may not describe; 0 if there are none."""
    names = request.message.subscribed_topic_names or ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _refused(code: int, message: str | None = None) -> Any:
    return messages.ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)


def _group_for(request: RequestContext) -> Group | int:
    """Return the group of a request; a joining member creates or upgrades it."""
    asked, groups = request.message, request.cluster.groups
    group = groups.find(asked.group_id)
    if group is not None and group.consumer is not None:
        return ErrorCode.GROUP_ID_NOT_FOUND if isinstance(group.consumer, ShareGroup) else group
    if asked.member_epoch != JOINS:
        return ErrorCode.GROUP_ID_NOT_FOUND
    group = groups.found_or_made(asked.group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if len(group.members) >= groups.settings.most_group_members:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if group.members:
        return group if groups.upgrade(group, request.now) else ErrorCode.GROUP_ID_NOT_FOUND
    groups.begin_consumers(group, ConsumerGroup())
    return group


def _member(request: RequestContext, group: Group, consumer: ConsumerGroup) -> ConsumerMember | int:
    """Return the member that sent a request, or a new one if it joins; otherwise an error code."""
    asked = request.message
    member = consumer.members.get(asked.member_id)
    if asked.member_epoch == JOINS:
        before = consumer.static(asked.instance_id)
        if before is not None and before is not member and not before.has_left and before.classic is None:
            return ErrorCode.UNRELEASED_INSTANCE_ID
        if member is None:
            member_id = asked.member_id or new_member_id(request)
            made = ConsumerMember(member_id, asked.instance_id, request.client_id, request.client_host)
            return request.cluster.groups.add_consumer(consumer, made, before)
        member.epoch, member.sent = JOINS, None
        return member
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    owned = _owned(request)
    is_behind = asked.member_epoch == member.previous_epoch and owned is not None and owned <= member.assigned
    return member if asked.member_epoch == member.epoch or is_behind else ErrorCode.FENCED_MEMBER_EPOCH


def _heartbeat(request: RequestContext, group: Group, consumer: ConsumerGroup, member: ConsumerMember) -> Any:
    asked, groups, before = request.message, request.cluster.groups, member.size
    is_new = member.member_id not in consumer.target
    member.classic = None  # this also converts a classic member with the same id
    changed = _update(consumer, member, asked) or not consumer.epoch
    if is_new and not changed:
        consumer.target[member.member_id] = set()
    place = member.epoch, set(member.assigned), set(member.revoking)
    groups.held.take(member.size - before)
    epoch = consumer.epoch
    groups.plan(group, consumer, changed=changed)
    consumer.reconcile(member, _owned(request), request.now)
    if epoch != consumer.epoch or place != (member.epoch, member.assigned, member.revoking):
        groups.remember(group)
    groups.keep_consumer(group, member, request.now)
    response = _answer(request, member)
    if member.resolved != member.pattern and consumer.resolve(member, groups.partition_counts()):
        groups.plan(group, consumer)
        groups.remember(group)
    return response


def _update(consumer: ConsumerGroup, member: ConsumerMember, asked: Any) -> bool:
    """Update a member from its heartbeat; return whether the change can affect other members' assignments."""
    before = member.topics, member.resolved, member.assignor
    if asked.subscribed_topic_names is not None:
        member.topics = tuple(sorted(asked.subscribed_topic_names))
    if asked.subscribed_topic_regex is not None:
        member.pattern = asked.subscribed_topic_regex
        if consumer.is_resolved(member.pattern):
            member.resolved = member.pattern
    if asked.server_assignor is not None:
        member.assignor = asked.server_assignor
    if asked.rebalance_timeout_ms > 0:
        member.rebalance_timeout = asked.rebalance_timeout_ms / 1000
    member.rack = asked.rack_id or member.rack
    return before != (member.topics, member.resolved, member.assignor)


def _owned(request: RequestContext) -> Assigned | None:
    """Return the partitions that a member reports as owned; None if the request does not list them."""
    rows = request.message.topic_partitions
    if rows is None:
        return None
    by_id = request.cluster.controller.by_id
    known = ((by_id[row.topic_id].name if row.topic_id in by_id else None, row.partitions) for row in rows)
    return places_of(known)


def _answer(request: RequestContext, member: ConsumerMember) -> Any:
    response = messages.ConsumerGroupHeartbeatResponse
    state = member.epoch, frozenset(member.assigned)
    is_new = member.sent is None or member.sent[1] != state[1] or _is_full(request.message)
    member.sent = state
    rows = by_topic(request, member.assigned)
    parts = tuple(response.TopicPartitions(topic_id=topic_id, partitions=found) for topic_id, _, found in rows)
    own = request.cluster.controller.group_configs.get(request.message.group_id, {})
    usual = request.cluster.settings.consumer_heartbeat_interval * 1000
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(own.get("consumer.heartbeat.interval.ms", usual)),
        assignment=response.Assignment(topic_partitions=parts) if is_new else None,
    )


def _is_full(asked: Any) -> bool:
    """Return whether a heartbeat has all fields, as after an error or a lost response: the member may not know its
    assignment (Kafka: `isFullRequest` in GroupMetadataManager.consumerGroupHeartbeat)."""
    has_topics = asked.subscribed_topic_names is not None or asked.subscribed_topic_regex is not None
    is_complete = asked.rebalance_timeout_ms != -1 and has_topics and asked.topic_partitions is not None
    return asked.member_epoch == JOINS or is_complete


def by_topic(request: RequestContext, places: Assigned) -> list[tuple[bytes, str, tuple[int, ...]]]:
    """Return partitions as rows of topics, each with its id, name and partition indexes."""
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        indexes.setdefault(topic, []).append(index)
    topics = request.cluster.controller.topics
    return [(topics[name].topic_id, name, tuple(found)) for name, found in indexes.items() if name in topics]


def _leave(request: RequestContext, group: Group, consumer: ConsumerGroup) -> Any:
    asked = request.message
    member = consumer.members.get(asked.member_id)
    if member is None:
        return _refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if asked.member_epoch == LEAVES_FOR_A_WHILE:
        member.has_left = True
    else:
        request.cluster.groups.remove_consumers(group, [member], request.now)
    return messages.ConsumerGroupHeartbeatResponse(member_id=asked.member_id, member_epoch=asked.member_epoch)


def consumer_group_describe(request: RequestContext) -> Any:
    """Handle ConsumerGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.ConsumerGroupDescribeResponse(groups=tuple(_described(request, name) for name in names))


def _described(request: RequestContext, group_id: str) -> Any:
    row = messages.ConsumerGroupDescribeResponse.DescribedGroup
    if code := problem_with(request, group_id):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    if group is None or group.consumer is None or isinstance(group.consumer, ShareGroup):
        missing = f"Group {group_id} {'not found' if group is None else 'is not a consumer group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    consumer = group.consumer
    return row(
        group_id=group_id,
        group_state=consumer.state.value,
        group_epoch=consumer.epoch,
        assignment_epoch=consumer.target_epoch,
        assignor_name=consumer.assignor,
        members=tuple(_described_member(request, consumer, one) for one in consumer.members.values()),
    )


def _described_member(request: RequestContext, consumer: ConsumerGroup, member: ConsumerMember) -> Any:
    response = messages.ConsumerGroupDescribeResponse

    def assignment(places: Assigned) -> Any:
        rows = by_topic(request, places)
        return response.Assignment(
            topic_partitions=tuple(
                response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=found)
                for topic_id, name, found in rows
            )
        )

    return response.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.pattern or None,
        assignment=assignment(member.assigned),
        target_assignment=assignment(consumer.target.get(member.member_id, set())),
        member_type=CONSUMER_TYPE if member.classic is None else CLASSIC_TYPE,
    )


FIRST_WITH_ERROR = 2  # OffsetFetch: older versions have error codes only per partition
FIRST_WITH_GROUPS = 8  # the first version of OffsetFetch for several groups (KIP-709)
Wanted = Iterator[tuple[str, bytes, list[int]]]
FIRST_WITH_EPOCHS = 4  # the first version of ListOffsets with leader epochs
FIRST_OF_CONSUMERS = 9  # OffsetCommit: the first version for members of KIP-848 groups
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4


def offset_commit(request: RequestContext) -> Any:
    """Handle OffsetCommit."""
    groups, response = request.cluster.groups, messages.OffsetCommitResponse
    group = _committing(request)
    commits: dict[tuple[str, int], Commit] = {}
    errors: list[list[int]] = []
    for sent in request.message.topics:
        errors.append([checked_commit(request, group, sent, part, commits) for part in sent.partitions])
    retention_ms = request.message.retention_time_ms
    failed = groups.commit(group, commits, retention_ms) if isinstance(group, Group) else ErrorCode.NONE
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
    """Add a row of a request to the commits; return an error code if it cannot be stored, otherwise 0."""
    topic = request.cluster.controller.find(sent.name, sent.topic_id)
    found = group if isinstance(group, int) else _kept_commit(request, topic, part, sent.name)
    if isinstance(found, int) or topic is None:
        return found if isinstance(found, int) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not isinstance(found, Commit) or not request.cluster.groups.held.has_room(found.size * (len(commits) + 1)):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    commits[topic.name, part.partition_index] = found
    return ErrorCode.NONE


def _committing(request: RequestContext) -> Group | int:
    """Return the group, or an error code if this client may not commit now."""
    asked, groups = request.message, request.cluster.groups
    if code := problem_with(request, asked.group_id, needs_name=False):
        return code
    group, generation = groups.find(asked.group_id), asked.generation_id_or_member_epoch
    if group is not None and isinstance(group.consumer, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if generation < 0 and (group is None or group.state is GroupState.EMPTY):
        # clients with manual assignment use a group only to store offsets
        made = groups.found_or_made(asked.group_id)
        return ErrorCode.GROUP_MAX_SIZE_REACHED if made is None else made
    if group is not None and group.consumer is not None and group.consumer.members:
        member = group.consumer.members.get(asked.member_id)
        if member is not None and member.classic is None and request.version < FIRST_OF_CONSUMERS:
            return ErrorCode.UNSUPPORTED_VERSION
        return consumer_problem(group, asked.member_id, generation) or group
    return ErrorCode.ILLEGAL_GENERATION if group is None else _member_committing(request, generation)


def _member_committing(request: RequestContext, generation: int) -> Group | int:
    found = membership(request, generation)
    if isinstance(found, int):
        return found
    group, member = found
    request.cluster.groups.rebalancing.keep(group, member, request.now)
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else group


def _kept_commit(request: RequestContext, topic: Topic | None, part: Any, name: str) -> Commit | int:
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


def offset_fetch(request: RequestContext) -> Any:
    """Handle OffsetFetch."""
    response, asked = messages.OffsetFetchResponse, request.message
    if request.version >= FIRST_WITH_GROUPS:
        groups = {group.group_id: group for group in asked.groups}
        return response(groups=tuple(_group(request, group) for group in groups.values()))
    code = problem_with(request, asked.group_id, needs_name=False)
    if code and request.version >= FIRST_WITH_ERROR:
        return response(error_code=code)
    row, part = response.OffsetFetchResponseTopic, response.OffsetFetchResponsePartition
    found = _rows(request, asked.group_id, asked.topics, code)
    rows = (row(name=name, partitions=tuple(part(**fields) for fields in parts)) for name, _, parts in found)
    return response(topics=tuple(rows), error_code=code)


def _group(request: RequestContext, wanted: Any) -> Any:
    response = messages.OffsetFetchResponse
    if code := problem_with(request, wanted.group_id, needs_name=False):
        return response.OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=code)
    group = request.cluster.groups.find(wanted.group_id)
    is_member = wanted.member_epoch >= 0 and group is not None and group.consumer is not None
    if group and is_member and (code := consumer_problem(group, wanted.member_id or "", wanted.member_epoch)):
        return response.OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=code)
    row, part = response.OffsetFetchResponseTopics, response.OffsetFetchResponsePartitions
    rows = (
        row(name=name, topic_id=topic_id, partitions=tuple(part(**fields) for fields in parts))
        for name, topic_id, parts in _rows(request, wanted.group_id, wanted.topics, ErrorCode.NONE)
    )
    return response.OffsetFetchResponseGroup(group_id=wanted.group_id, topics=tuple(rows))


def _rows(
    request: RequestContext, group_id: str, topics: Any, code: int
) -> Iterator[tuple[str, bytes, list[dict[str, Any]]]]:
    """Return the requested topics with the fields of their partitions; topics of None request all commits."""
    controller, group = request.cluster.controller, request.cluster.groups.find(group_id)
    for name, topic_id, indexes in _asked(topics) if topics is not None else _committed(request, group):
        topic = controller.find(name, topic_id)
        is_unknown = topic is None and not name
        failure = code or request.error(topic.name if topic else name or None)
        if failure and not code and topics is None:
            continue  # a request for all topics omits those that the principal may not describe
        failure = failure or (ErrorCode.UNKNOWN_TOPIC_ID if is_unknown else ErrorCode.NONE)
        yield name, topic_id, [_fields(request, group, topic, index, failure) for index in indexes]


def _asked(topics: Any) -> Wanted:
    """Return the requested topics without duplicates."""
    wanted: dict[tuple[str, bytes], dict[int, None]] = {}
    for row in topics:
        key = row.name, getattr(row, "topic_id", NO_ID)
        wanted.setdefault(key, {}).update(dict.fromkeys(row.partition_indexes))
    return ((*key, list(indexes)) for key, indexes in wanted.items())


def _committed(request: RequestContext, group: Group | None) -> Wanted:
    for name, indexes in group.commits.topics() if group is not None else ():
        topic = request.cluster.controller.find(name)
        if group is not None and topic is not None:
            kept = [index for index in indexes if group.commits.get(name, index, topic.topic_id)]
            if kept:
                yield name, topic.topic_id, kept


def _fields(request: RequestContext, group: Group | None, topic: Topic | None, index: int, code: int) -> dict[str, Any]:
    if group is not None and topic is not None and request.message.require_stable:
        code = code or (ErrorCode.UNSTABLE_OFFSET_COMMIT if group.is_unstable(topic.name, index) else ErrorCode.NONE)
    found = None if group is None or topic is None or code else group.commits.get(topic.name, index, topic.topic_id)
    return {
        "partition_index": index,
        "committed_offset": found.offset if found else -1,
        "committed_leader_epoch": found.leader_epoch if found else -1,
        "metadata": found.metadata if found else "",
        "error_code": code,
    }


def offset_delete(request: RequestContext) -> Any:
    """Handle OffsetDelete: delete offsets of topics to which no member subscribes."""
    response, asked = messages.OffsetDeleteResponse, request.message
    group = request.cluster.groups.find(asked.group_id)
    code = problem_with(request, asked.group_id, needs_name=False)
    if code or group is None or isinstance(group.consumer, ShareGroup):
        return response(error_code=code or ErrorCode.GROUP_ID_NOT_FOUND)
    if group.members and group.protocol_type != "consumer":
        return response(error_code=ErrorCode.NON_EMPTY_GROUP)
    rows, deleted = [], []
    for row in asked.topics:
        topic = request.cluster.controller.find(row.name)
        parts = []
        for part in row.partitions:
            index = part.partition_index
            code = request.error(row.name, index)
            if not code and (topic is None or not 0 <= index < len(topic.partitions)):
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif not code and group.reads(row.name):
                code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif not code:
                deleted.append((row.name, index))
            parts.append(response.OffsetDeleteResponsePartition(partition_index=index, error_code=code))
        rows.append(response.OffsetDeleteResponseTopic(name=row.name, partitions=tuple(parts)))
    request.cluster.groups.delete_commits(group, deleted)
    return response(topics=tuple(rows))


def list_offsets(request: RequestContext) -> Any:
    """Handle ListOffsets."""
    response = messages.ListOffsetsResponse
    rows = []
    for row in request.message.topics:
        parts = [_listed(request, row.name, part) for part in row.partitions]
        rows.append(response.ListOffsetsTopicResponse(name=row.name, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _listed(request: RequestContext, topic: str, part: Any) -> Any:
    row = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
    found = request.led(topic, part.partition_index, part.current_leader_epoch)
    if isinstance(found, int):
        return row(partition_index=part.partition_index, error_code=found)
    partition, log = found
    try:
        is_committed = request.message.isolation_level == READ_COMMITTED
        offset, timestamp, epoch = _offset_at(log, part.timestamp, log.stable_end if is_committed else log.end)
        epoch = epoch if request.version >= FIRST_WITH_EPOCHS else -1
    except OSError:
        request.cluster.fail(partition.replicas[request.node_id].log_dir)
        return row(partition_index=part.partition_index, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return row(partition_index=part.partition_index, offset=offset, timestamp=timestamp, leader_epoch=epoch)


def offset_for_leader_epoch(request: RequestContext) -> Any:
    """Handle OffsetForLeaderEpoch (KIP-101): return the end offset of a leader epoch."""
    response = messages.OffsetForLeaderEpochResponse
    rows = []
    for row in request.message.topics:
        parts = [_epoch_end(request, row.topic, part) for part in row.partitions]
        rows.append(response.OffsetForLeaderTopicResult(topic=row.topic, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _epoch_end(request: RequestContext, topic: str, part: Any) -> Any:
    row = messages.OffsetForLeaderEpochResponse.EpochEndOffset
    found = request.led(topic, part.partition, part.current_leader_epoch)
    if isinstance(found, int):
        return row(partition=part.partition, error_code=found)
    partition, log = found
    if part.leader_epoch > partition.leader_epoch or part.leader_epoch < 0:
        return row(partition=part.partition)
    epoch, end = log.end_of_epoch(part.leader_epoch)
    if part.leader_epoch == partition.leader_epoch:
        epoch, end = part.leader_epoch, log.end
    return row(partition=part.partition, leader_epoch=epoch, end_offset=end)


def _offset_at(log: Log, timestamp: int, end: int) -> tuple[int, int, int]:
    """Return offset, timestamp and leader epoch for a timestamp; `end` is the first offset that the client may not
    read."""
    if timestamp == LATEST:
        return end, -1, log.epoch_at(end)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.start, -1, log.epoch_at(log.start)
    if timestamp == MAX_TIMESTAMP:
        return log.find_newest()
    found = log.find_time(timestamp) if timestamp >= 0 else (-1, -1, -1)
    return found if found[0] < end else (-1, -1, -1)
