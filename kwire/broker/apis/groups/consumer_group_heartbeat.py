"""ConsumerGroupHeartbeat: a member joins a consumer group, reports its partitions, gets others, or leaves (KIP-848)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group
from ...groups.consumer_group import ASSIGNORS, Assigned, ConsumerGroup, ConsumerMember, pattern_problem, places_of
from ...request_context import RequestContext
from .classic_member_join import new_member_id
from .group_checks import JOINS, LEAVES_FOR_A_WHILE, consumer_group_of, is_settled, membership_problem, problem_with

FIRST_WITH_OWN_IDS = 1  # ConsumerGroupHeartbeat: clients generate their member ids (KIP-1082)


def consumer_group_heartbeat(
    request: RequestContext[messages.ConsumerGroupHeartbeatRequest],
) -> messages.ConsumerGroupHeartbeatResponse:
    """Handle ConsumerGroupHeartbeat."""
    # Kafka: GroupMetadataManager.consumerGroupHeartbeat (KIP-848)
    message = request.message
    code = problem_with(request, message.group_id) or _problem(request) or _find_denial(request)
    if code := code or membership_problem(request):
        return _make_error(code)
    if problem := pattern_problem(message.subscribed_topic_regex):
        return _make_error(ErrorCode.INVALID_REGULAR_EXPRESSION, problem)
    group = _group_for(request)
    if isinstance(group, int):
        return _make_error(group)
    consumer = consumer_group_of(group)
    assert consumer is not None
    if message.member_epoch < JOINS:
        return _leave(request, group, consumer)
    member = _member(request, group, consumer)
    if isinstance(member, int):
        return _make_error(member)
    return _heartbeat(request, group, consumer, member)


def _problem(request: RequestContext[messages.ConsumerGroupHeartbeatRequest]) -> int:
    """Return the error code of an invalid request; 0 if the request is valid."""
    message = request.message
    must_have_id = request.version >= FIRST_WITH_OWN_IDS or message.member_epoch != JOINS
    is_right = message.member_epoch >= LEAVES_FOR_A_WHILE and (message.member_id or not must_have_id)
    if message.member_epoch == JOINS:
        subscribes = message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None
        is_right = is_right and message.rebalance_timeout_ms > 0 and subscribes and not message.topic_partitions
        is_right = is_right and message.topic_partitions is not None
    if message.member_epoch == LEAVES_FOR_A_WHILE:
        is_right = is_right and message.instance_id is not None
    if not is_right or message.instance_id == "" or message.rack_id == "":
        return ErrorCode.INVALID_REQUEST
    if message.server_assignor is not None and message.server_assignor not in ASSIGNORS:
        return ErrorCode.UNSUPPORTED_ASSIGNOR
    return ErrorCode.NONE


def _find_denial(request: RequestContext[messages.ConsumerGroupHeartbeatRequest]) -> int:
    """Return the error code for topics that the principal may not describe; 0 if there are none."""
    names = request.message.subscribed_topic_names or ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _make_error(code: int, message: str | None = None) -> messages.ConsumerGroupHeartbeatResponse:
    return messages.ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)


def _group_for(request: RequestContext[messages.ConsumerGroupHeartbeatRequest]) -> Group | int:
    """Return the group of a request; a joining member creates or upgrades it."""
    message = request.message
    groups = request.cluster.groups
    group = groups.find(message.group_id)
    if consumer_group_of(group) is not None:
        return group or ErrorCode.GROUP_ID_NOT_FOUND
    if message.member_epoch != JOINS or (group is not None and not groups.can_convert(group)):
        return ErrorCode.GROUP_ID_NOT_FOUND
    group = groups.find_or_create(message.group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if len(group.members) >= min(groups.settings.most_group_members, groups.settings.consumer_group_max_size):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if group.members:
        return group if groups.upgrade(group, request.now) else ErrorCode.GROUP_ID_NOT_FOUND
    groups.begin_consumers(group, ConsumerGroup())
    return group


def _member(
    request: RequestContext[messages.ConsumerGroupHeartbeatRequest], group: Group, consumer: ConsumerGroup
) -> ConsumerMember | int:
    """Return the member that sent a request, or a new one if it joins; otherwise an error code."""
    message = request.message
    member = consumer.members.get(message.member_id)
    texts = *(message.subscribed_topic_names or ()), message.subscribed_topic_regex or ""
    if any(texts) and not request.cluster.groups.has_room_for((message.member_id, *texts), member):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if message.member_epoch == JOINS:
        before = consumer.static(message.instance_id)
        if before is not None and before is not member and not before.has_left and before.classic is None:
            return ErrorCode.UNRELEASED_INSTANCE_ID
        if member is None:
            member_id = message.member_id or new_member_id(request)
            made = ConsumerMember(member_id, message.instance_id, request.client_id, request.client_host)
            return request.cluster.groups.add_consumer(consumer, made, before)
        member.epoch = JOINS
        member.sent = None
        return member
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    owned = _read_owned(request)
    is_behind = message.member_epoch == member.previous_epoch and owned is not None and owned <= member.assigned
    return member if message.member_epoch == member.epoch or is_behind else ErrorCode.FENCED_MEMBER_EPOCH


def _heartbeat(
    request: RequestContext[messages.ConsumerGroupHeartbeatRequest],
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
) -> messages.ConsumerGroupHeartbeatResponse:
    message = request.message
    groups = request.cluster.groups
    if code := groups.write_problem(message.group_id):  # a member that has all it can have writes nothing
        if not _is_settled(consumer, member, message):
            return _make_error(code)
        groups.keep_consumer(group, member, request.now)
        return _answer(request, member)
    before = member.size
    is_new = member.member_id not in consumer.target
    member.classic = None  # this also converts a classic member with the same id
    changed = _update(consumer, member, message) or not consumer.epoch
    if is_new and not changed:
        consumer.target[member.member_id] = set()
    member_state = member.epoch, set(member.assigned), set(member.revoking)
    groups.held.take(member.size - before)
    epoch = consumer.epoch
    groups.plan(group, consumer, changed=changed)
    consumer.reconcile(member, _read_owned(request), request.now)
    has_changed = epoch != consumer.epoch or member_state != (member.epoch, member.assigned, member.revoking)
    if (has_changed or group.is_unwritten) and (code := groups.remember_or_revert(group)):
        return _make_error(code)
    groups.keep_consumer(group, member, request.now)
    response = _answer(request, member)
    if member.resolved != member.pattern and consumer.resolve(member, groups.partition_counts()):
        groups.plan(group, consumer)
        groups.remember(group)
    return response


def _is_settled(
    consumer: ConsumerGroup, member: ConsumerMember, message: messages.ConsumerGroupHeartbeatRequest
) -> bool:
    """Return whether a member is in the epoch of its group, and its heartbeat brings nothing new."""
    is_same = message.subscribed_topic_regex in (None, member.pattern)
    is_same = is_same and message.server_assignor in (None, member.assignor)
    return is_same and is_settled(consumer, member, message)


def _update(consumer: ConsumerGroup, member: ConsumerMember, message: messages.ConsumerGroupHeartbeatRequest) -> bool:
    """Update a member from its heartbeat; return whether the change can affect other members' assignments."""
    before = member.topics, member.resolved, member.assignor
    if message.subscribed_topic_names is not None:
        member.topics = tuple(sorted(message.subscribed_topic_names))
    if message.subscribed_topic_regex is not None:
        member.pattern = message.subscribed_topic_regex
        if consumer.is_resolved(member.pattern):
            member.resolved = member.pattern
    if message.server_assignor is not None:
        member.assignor = message.server_assignor
    if message.rebalance_timeout_ms > 0:
        member.rebalance_timeout = message.rebalance_timeout_ms / 1000
    member.rack = message.rack_id or member.rack
    return before != (member.topics, member.resolved, member.assignor)


def _read_owned(request: RequestContext[messages.ConsumerGroupHeartbeatRequest]) -> Assigned | None:
    """Return the partitions that a member reports as owned; None if the request does not list them."""
    rows = request.message.topic_partitions
    if rows is None:
        return None
    by_id = request.cluster.controller.by_id
    known = ((by_id[row.topic_id].name if row.topic_id in by_id else None, row.partitions) for row in rows)
    return places_of(known)


def _answer(
    request: RequestContext[messages.ConsumerGroupHeartbeatRequest], member: ConsumerMember
) -> messages.ConsumerGroupHeartbeatResponse:
    response = messages.ConsumerGroupHeartbeatResponse
    state = member.epoch, frozenset(member.assigned)
    is_new = member.sent is None or member.sent[1] != state[1] or _is_full(request.message)
    member.sent = state
    rows = group_by_topic(request, member.assigned)
    parts = tuple(
        response.TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, _, partitions in rows
    )
    own = request.cluster.controller.group_configs.get(request.message.group_id, {})
    usual = request.cluster.settings.consumer_heartbeat_interval * 1000
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(own.get("consumer.heartbeat.interval.ms", usual)),
        assignment=response.Assignment(topic_partitions=parts) if is_new else None,
    )


def _is_full(message: messages.ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has all fields, as after an error or a lost response: the member may not know its
    assignment (Kafka: `isFullRequest` in GroupMetadataManager.consumerGroupHeartbeat)."""
    has_topics = message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None
    is_complete = message.rebalance_timeout_ms != -1 and has_topics and message.topic_partitions is not None
    return message.member_epoch == JOINS or is_complete


def group_by_topic(request: RequestContext[object], places: Assigned) -> list[tuple[bytes, str, tuple[int, ...]]]:
    """Return partitions as rows of topics, each with its id, name and partition indexes."""
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        indexes.setdefault(topic, []).append(index)
    topics = request.cluster.controller.topics
    return [(topics[name].topic_id, name, tuple(partitions)) for name, partitions in indexes.items() if name in topics]


def _leave(
    request: RequestContext[messages.ConsumerGroupHeartbeatRequest], group: Group, consumer: ConsumerGroup
) -> messages.ConsumerGroupHeartbeatResponse:
    # Kafka: GroupMetadataManager.consumerGroupLeave
    message = request.message
    member = consumer.members.get(message.member_id)
    if member is None:
        return _make_error(ErrorCode.UNKNOWN_MEMBER_ID)
    if message.member_epoch == LEAVES_FOR_A_WHILE:
        member.has_left = True
    else:
        request.cluster.groups.remove_consumers(group, [member], request.now)
    return messages.ConsumerGroupHeartbeatResponse(member_id=message.member_id, member_epoch=message.member_epoch)


APIS = {  # what each version has changed
    # 1: regular expressions of topics; members choose their id (KIP-1082)
    "ConsumerGroupHeartbeat": ServedApi(0, 1, consumer_group_heartbeat, finds_errors=True),
}
