"""Share groups (KIP-932). Their coordinator handles ShareGroupHeartbeat, ShareGroupDescribe, and
DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets. Partition leaders handle ShareFetch and
ShareAcknowledge, in share sessions; as in Kafka, they do not check whether a client is a member of the group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import messages
from ...records import parse_records
from ...values import ErrorCode, ResourceType
from ..authentication_and_acls import operations
from ..classic_group import Group
from ..cluster_state import RequestContext
from ..consumer_group import ConsumerMember, GroupState
from ..partition_leader_and_isr import Partition, Topic
from ..purgatory_and_fetch_sessions import Later, Parked
from ..replica_log import Entry, Log
from ..settings_and_quotas import FETCH
from ..share_coordinator import FINAL, FIRST, ShareSession, key_of
from ..share_group import SHARE, AcknowledgeType, Acquired, Place, ShareGroup, SharePartition, Span, Wanted
from .classic_groups import problem_with
from .consumer_groups_and_offsets import JOINS, LEAVES, by_topic
from .produce_and_fetch import MOST_WAIT_MS

NO_OFFSET = -1


def is_off(request: RequestContext) -> bool:
    """Return whether share groups are disabled: the level of the feature is 0."""
    return not request.cluster.feature_levels.get("share.version")


def share_problem(request: RequestContext, group_id: str) -> int:
    """Return the error code if this broker cannot handle a request for a share group; 0 if it can."""
    return ErrorCode.UNSUPPORTED_VERSION if is_off(request) else problem_with(request, group_id)


def share_group_heartbeat(request: RequestContext) -> Any:
    """Handle ShareGroupHeartbeat."""
    asked = request.message
    is_right = asked.member_id and asked.member_epoch >= LEAVES and asked.rack_id != "" and asked.group_id
    if asked.member_epoch == JOINS and not asked.subscribed_topic_names:
        is_right = False
    code = share_problem(request, asked.group_id)
    if code in (ErrorCode.NONE, ErrorCode.INVALID_GROUP_ID) and not is_right:
        code = ErrorCode.INVALID_REQUEST
    code = code or _hidden(request)
    if code:
        return messages.ShareGroupHeartbeatResponse(error_code=code)
    group = _group_for(request)
    if isinstance(group, int):
        return messages.ShareGroupHeartbeatResponse(error_code=group)
    share = request.cluster.shares.share(group)
    assert share is not None
    member = _member(request, group, share)
    if isinstance(member, int):
        return messages.ShareGroupHeartbeatResponse(error_code=member)
    if asked.member_epoch == LEAVES:
        request.cluster.groups.remove_consumers(group, [member], request.now)
        return messages.ShareGroupHeartbeatResponse(member_id=asked.member_id, member_epoch=LEAVES)
    return _heartbeat(request, group, share, member)


def _hidden(request: RequestContext) -> int:
    """Return the error code for topics that the principal may not describe; 0 if there are none."""
    names = request.message.subscribed_topic_names or ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _group_for(request: RequestContext) -> Group | int:
    """Return the share group; a joining member creates it if there is no group of this name."""
    asked, groups = request.message, request.cluster.groups
    group = groups.find(asked.group_id)
    if group is not None and (isinstance(group.consumer, ShareGroup) or not group.is_unused):
        return group if isinstance(group.consumer, ShareGroup) else ErrorCode.GROUP_ID_NOT_FOUND
    if asked.member_epoch != JOINS:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return _made(request, asked.group_id)


def _made(request: RequestContext, group_id: str) -> Group | int:
    """Return a new share group, or an error code if the limit is reached."""
    group = request.cluster.groups.found_or_made(group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    group.consumer = ShareGroup(epoch=max(1, group.generation))
    group.protocol_type = SHARE
    return group


def _member(request: RequestContext, group: Group, share: ShareGroup) -> ConsumerMember | int:
    """Return the member that sent a request, or a new one if it joins; otherwise an error code."""
    asked, groups = request.message, request.cluster.groups
    member = share.members.get(asked.member_id)
    if member is None and asked.member_epoch == JOINS:
        made = ConsumerMember(asked.member_id, None, request.client_id, request.client_host)
        return groups.add_consumer(share, made, None)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if asked.member_epoch == JOINS:
        member.sent = None
    elif asked.member_epoch not in (LEAVES, member.epoch, member.previous_epoch):
        return ErrorCode.FENCED_MEMBER_EPOCH
    return member


def _heartbeat(request: RequestContext, group: Group, share: ShareGroup, member: ConsumerMember) -> Any:
    asked, cluster, before = request.message, request.cluster, member.size
    changed = member.member_id not in share.target
    if asked.subscribed_topic_names is not None:
        topics = tuple(sorted(asked.subscribed_topic_names))
        changed = changed or topics != member.topics
        member.topics = topics
    member.rack = asked.rack_id or member.rack
    cluster.groups.held.take(member.size - before)
    place = share.epoch, member.epoch, set(member.assigned)
    cluster.groups.plan(group, share, changed=changed)
    is_new = cluster.shares.prepare(asked.group_id, share)
    share.reconcile(member, None, request.now)
    if is_new or changed or place != (share.epoch, member.epoch, member.assigned):
        cluster.groups.remember(group)
    cluster.groups.keep_consumer(group, member, request.now)
    return _answer(request, member)


def _answer(request: RequestContext, member: ConsumerMember) -> Any:
    response = messages.ShareGroupHeartbeatResponse
    state = member.epoch, frozenset(member.assigned)
    # A heartbeat with topics is complete, as after an error: the member may not know its assignment (Kafka:
    # `isFullRequest` in GroupMetadataManager.shareGroupHeartbeat).
    is_full = request.message.subscribed_topic_names is not None
    is_new = member.sent is None or member.sent[1] != state[1] or is_full
    member.sent = state
    rows = by_topic(request, member.assigned)
    parts = tuple(response.TopicPartitions(topic_id=topic_id, partitions=found) for topic_id, _, found in rows)
    configs = request.cluster.controller.group_configs_of(request.message.group_id)
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(configs["share.heartbeat.interval.ms"]),
        assignment=response.Assignment(topic_partitions=parts) if is_new else None,
    )


def share_group_describe(request: RequestContext) -> Any:
    """Handle ShareGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.ShareGroupDescribeResponse(groups=tuple(_described(request, name) for name in names))


def _described(request: RequestContext, group_id: str) -> Any:
    row = messages.ShareGroupDescribeResponse.DescribedGroup
    if code := share_problem(request, group_id):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    share = request.cluster.shares.share(group)
    if share is None:
        missing = f"Group {group_id} {'not found' if group is None else 'is not a share group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    bits = row().authorized_operations
    if request.message.include_authorized_operations:
        bits = operations(request.allows, ResourceType.GROUP, group_id)
    return row(
        group_id=group_id,
        group_state=share.state.value,
        group_epoch=share.epoch,
        assignment_epoch=share.target_epoch,
        assignor_name=share.assignor,
        members=tuple(_described_member(request, one) for one in share.members.values()),
        authorized_operations=bits,
    )


def _described_member(request: RequestContext, member: ConsumerMember) -> Any:
    response = messages.ShareGroupDescribeResponse
    rows = tuple(
        response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=found)
        for topic_id, name, found in by_topic(request, member.assigned)
    )
    return response.Member(
        member_id=member.member_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        assignment=response.Assignment(topic_partitions=rows),
    )


def describe_share_group_offsets(request: RequestContext) -> Any:
    """Handle DescribeShareGroupOffsets: return the stored start offset of each partition; -1 if none is stored."""
    response = messages.DescribeShareGroupOffsetsResponse
    return response(groups=tuple(_offsets(request, asked) for asked in request.message.groups))


def _offsets(request: RequestContext, asked: Any) -> Any:
    response = messages.DescribeShareGroupOffsetsResponse
    row = response.DescribeShareGroupOffsetsResponseGroup
    if code := share_problem(request, asked.group_id):
        return row(group_id=asked.group_id, error_code=code, error_message=ErrorCode(code).about)
    group = request.cluster.groups.find(asked.group_id)
    share = request.cluster.shares.share(group)
    if group is not None and share is None:
        about = f"Group {asked.group_id} is not a share group."
        return row(group_id=asked.group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=about)
    wanted = {one.topic_name: list(one.partitions) for one in asked.topics or ()}
    if asked.topics is None:
        wanted = dict(request.cluster.shares.state_topics(share)) if share is not None else {}
    topics = tuple(
        response.DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=topic.topic_id if topic is not None else bytes(16),
            partitions=tuple(_offset(request, share, topic, index) for index in indexes),
        )
        for name, indexes in wanted.items()
        if not (request.error(name) and asked.topics is None)
        for topic in (request.cluster.controller.topics.get(name),)
    )
    return row(group_id=asked.group_id, topics=topics)


def _offset(request: RequestContext, share: ShareGroup | None, topic: Topic | None, index: int) -> Any:
    row = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
    if topic is not None and (code := request.error(topic.name, index)):
        return row(partition_index=index, start_offset=NO_OFFSET, error_code=code)
    part = share.partitions.get((topic.topic_id, index)) if share is not None and topic is not None else None
    if part is None or topic is None or part.stored.start == NO_OFFSET or index >= len(topic.partitions):
        return row(partition_index=index, start_offset=NO_OFFSET)
    found, partition = part.stored, topic.partitions[index]
    log = partition.log_at(partition.leader)
    lag = NO_OFFSET
    if not isinstance(log, int):
        first = max(found.start, log.start)  # AlterShareGroupOffsets may have set an offset below the log
        lag = max(0, log.end - first - found.ended)
    return row(partition_index=index, start_offset=found.start, leader_epoch=partition.leader_epoch, lag=lag)


def _empty_share(request: RequestContext, *, makes: bool) -> ShareGroup | int:
    """Return the share group of a request if it has no members; otherwise an error code."""
    group_id = request.message.group_id
    if code := share_problem(request, group_id):
        return code
    group = request.cluster.groups.find(group_id)
    if group is None and makes:
        made = _made(request, group_id)
        if isinstance(made, int):
            return made
        group = made
    share = request.cluster.shares.share(group)
    if group is None or share is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return share if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def alter_share_group_offsets(request: RequestContext) -> Any:
    """Handle AlterShareGroupOffsets: set the start offsets of partitions in a group without members."""
    response, asked = messages.AlterShareGroupOffsetsResponse, request.message
    share = _empty_share(request, makes=True)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = []
    for topic in asked.topics:
        found = request.cluster.controller.topics.get(topic.topic_name)
        parts = tuple(_altered(request, share, found, topic.topic_name, one) for one in topic.partitions)
        row = response.AlterShareGroupOffsetsResponseTopic
        topic_id = found.topic_id if found is not None else bytes(16)
        rows.append(row(topic_name=topic.topic_name, topic_id=topic_id, partitions=parts))
    group = request.cluster.groups.find(asked.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=tuple(rows))


def _altered(request: RequestContext, share: ShareGroup, topic: Topic | None, name: str, part: Any) -> Any:
    row = messages.AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
    index = part.partition_index
    code = request.error(name, index)
    if not code and (topic is None or not 0 <= index < len(topic.partitions)):
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not code and topic is not None:
        place = topic.topic_id, index
        code = request.cluster.shares.alter(request.message.group_id, share, place, part.start_offset)
    return row(partition_index=index, error_code=code, error_message=ErrorCode(code).about if code else None)


def delete_share_group_offsets(request: RequestContext) -> Any:
    """Handle DeleteShareGroupOffsets: delete the state of whole topics in a group without members."""
    response, asked = messages.DeleteShareGroupOffsetsResponse, request.message
    share = _empty_share(request, makes=False)
    if isinstance(share, int):
        return response(error_code=share, error_message=ErrorCode(share).about)
    rows = tuple(_deleted(request, share, one.topic_name) for one in asked.topics)
    group = request.cluster.groups.find(asked.group_id)
    assert group is not None
    request.cluster.groups.remember(group)
    return response(responses=rows)


def _deleted(request: RequestContext, share: ShareGroup, name: str) -> Any:
    topic = request.cluster.controller.topics.get(name)
    places = [place for place in share.partitions if topic is not None and place[0] == topic.topic_id]
    code = request.error(name) or (ErrorCode.NONE if places else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not code:
        request.cluster.shares.forget(request.message.group_id, share, places)
    return messages.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=topic.topic_id if topic is not None else bytes(16),
        error_code=code,
        error_message=ErrorCode(code).about if code else None,
    )


EXACTLY = 1  # the acquire mode that never acquires more records than requested (KIP-1206)
READ_COMMITTED = "read_committed"
_DURATION = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")
_SECONDS = (86400, 3600, 60, 1)
Codes = dict[Place, int]  # error codes of acknowledgements, by partition


def share_fetch(request: RequestContext) -> Any:
    """Handle ShareFetch: apply acknowledgements, and acquire records; park the request until there are some."""
    asked = request.message
    acks = [(topic.topic_id, part) for topic in asked.topics for part in topic.partitions]
    if code := _problem(request) or _fetch_problem(request, acks):
        return messages.ShareFetchResponse(error_code=code)
    shares, who = request.cluster.shares, (request.node_id, asked.group_id, asked.member_id)
    session = shares.session(*who, asked.share_session_epoch, request.session)
    if isinstance(session, int):
        return messages.ShareFetchResponse(error_code=session)
    for topic_id, part in acks if asked.share_session_epoch != FINAL else ():
        session.parts.setdefault((bytes(topic_id), part.partition_index), True)
    for topic in asked.forgotten_topics_data:
        for index in topic.partitions:
            session.parts.pop((bytes(topic.topic_id), index), None)
    found = _acknowledged(request, acks)
    if asked.share_session_epoch == FINAL:
        shares.end_session(*who)
    if asked.share_session_epoch == FINAL or asked.is_renew_ack:
        return _Fetching(request, ShareSession(), found).response(())
    return _fetched(_Fetching(request, session, found))


def _fetched(fetching: _Fetching) -> Any:
    """Respond to a fetch, or park it."""
    request = fetching.request
    now = fetching.attempt(request.message.max_wait_ms <= 0)
    if now is not None:
        return now.make()
    keys = [key for place in fetching.session.parts for key in fetching.keys(place)]
    parked = Parked(fetching.attempt, keys)
    request.cluster.waiting.park(parked, request.now + min(request.message.max_wait_ms, MOST_WAIT_MS) / 1000)
    return parked


def share_acknowledge(request: RequestContext) -> Any:
    """Handle ShareAcknowledge."""
    asked, response = request.message, messages.ShareAcknowledgeResponse
    acks = [(topic.topic_id, part) for topic in asked.topics for part in topic.partitions]
    code = _problem(request)
    if not code and asked.share_session_epoch == FIRST:
        code = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    if code:
        return response(error_code=code)
    shares, who = request.cluster.shares, (request.node_id, asked.group_id, asked.member_id)
    session = shares.session(*who, asked.share_session_epoch)
    if isinstance(session, int):
        return response(error_code=session)
    found = _acknowledged(request, acks)
    if asked.share_session_epoch == FINAL:
        shares.end_session(*who)
    rows: dict[bytes, list[Any]] = {}
    for place, code in found.items():
        row = response.PartitionData(
            partition_index=place[1], error_code=code, current_leader=_leader(request, place, code, response)
        )
        rows.setdefault(place[0], []).append(row)
    topic_row = response.ShareAcknowledgeTopicResponse
    return response(
        acquisition_lock_timeout_ms=int(shares.limits(asked.group_id).lock * 1000),
        responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(parts)) for topic_id, parts in rows.items()),
        node_endpoints=_endpoints(request, found.values(), response),
    )


def _problem(request: RequestContext) -> int:
    """Return the error code of a request that cannot be handled; 0 if it can."""
    asked = request.message
    if is_off(request):
        return ErrorCode.UNSUPPORTED_VERSION
    if asked.group_id is None or not asked.member_id:
        return ErrorCode.INVALID_REQUEST
    return request.error(group=asked.group_id)


def _fetch_problem(request: RequestContext, acks: Sequence[tuple[bytes, Any]]) -> int:
    """Return the error code of an invalid fetch; 0 if it is valid."""
    asked = request.message
    has_acks = any(part.acknowledgement_batches for _, part in acks)
    if asked.share_session_epoch == FIRST and has_acks:
        return ErrorCode.INVALID_REQUEST
    is_fetch = asked.max_bytes or asked.min_bytes or asked.max_records or asked.max_wait_ms
    return ErrorCode.INVALID_REQUEST if asked.is_renew_ack and is_fetch else ErrorCode.NONE


def _partition(request: RequestContext, place: Place) -> tuple[Partition, Log] | int:
    """Return a partition that this broker leads, with its log; otherwise an error code."""
    topic = request.cluster.controller.by_id.get(place[0])
    if topic is None:
        return request.error(None, place[1]) or ErrorCode.UNKNOWN_TOPIC_ID
    return request.led(topic.name, place[1])


def _acknowledged(request: RequestContext, acks: Sequence[tuple[bytes, Any]]) -> Codes:
    """Apply the acknowledgements of a request; return the error code of each partition that has some."""
    found: Codes = {}
    for topic_id, part in acks:
        if part.acknowledgement_batches:
            place = bytes(topic_id), part.partition_index
            found[place] = _acknowledge(request, place, part.acknowledgement_batches)
    return found


def _acknowledge(request: RequestContext, place: Place, rows: Sequence[Any]) -> int:
    asked, shares = request.message, request.cluster.shares
    batches = [(one.first_offset, one.last_offset, tuple(one.acknowledge_types)) for one in rows]
    where = _partition(request, place)
    if isinstance(where, int):
        return where
    if not _are_right(batches, is_renew=asked.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    part = shares.find(asked.group_id, place)
    if part is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not shares.can_store(asked.group_id, place):  # Kafka: SharePartition.fetchPersisterError
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    limits, size = shares.limits(asked.group_id), part.size
    code = part.acknowledge(asked.member_id, batches, limits, request.now + limits.lock)
    if not code:
        shares.changed(asked.group_id, place, part, size)
    return code


def _are_right(batches: Sequence[tuple[int, int, Sequence[int]]], *, is_renew: bool) -> bool:
    """Return whether acknowledged batches are ascending, with one type for all offsets or one for each."""
    highest = AcknowledgeType.RENEW if is_renew else AcknowledgeType.REJECT
    end = -1
    for first, last, types in batches:
        is_right = end < first <= last and len(types) in (1, last - first + 1)
        if not is_right or not all(AcknowledgeType.GAP <= one <= highest for one in types):
            return False
        end = last
    return True


class _Part(NamedTuple):
    """The result of a fetch for a partition: an error, or acquired offsets and where their records are in the log."""

    error_code: int = 0
    acquired: Sequence[Acquired] = ()
    log: Log | None = None
    partition: Partition | None = None
    first: int = 0
    size: int = 0


class _Candidate(NamedTuple):
    """A partition whose records can be acquired."""

    place: Place
    part: SharePartition
    partition: Partition
    log: Log
    entries: Sequence[Entry]
    spans: Sequence[Span]


@dataclass(slots=True)
class _Fetching:
    """A fetch in a share session, with the error codes of its acknowledgements."""

    request: RequestContext
    session: ShareSession
    codes: Codes

    def keys(self, place: Place) -> Iterator[Any]:
        """Yield the purgatory keys of a partition: new records, and records that become available again."""
        topic: Topic | None = self.request.cluster.controller.by_id.get(place[0])
        if topic is not None:
            yield topic.name, place[1]
        yield key_of(self.request.message.group_id, place)

    def attempt(self, over: bool) -> Later | None:
        """Acquire records if there are enough, or at the deadline; the records are read when the response is sent."""
        asked = self.request.message
        failed: dict[Place, _Part] = {}
        candidates: list[_Candidate] = []
        left, most = min(asked.max_bytes, self.request.cluster.fetch_max_bytes), asked.max_records or 1
        for place in list(self.session.parts) if not self.session.is_over else ():
            found = self._candidate(place, left, most) if most > 0 and left > 0 else None
            if isinstance(found, int):
                failed[place] = _Part(found)
            elif found is not None and found.spans:
                candidates.append(found)
                left -= sum(one.size for one in found.entries)
                most -= sum(last - first + 1 for first, last in found.spans)
        size = sum(entry.size for one in candidates for entry in one.entries)
        if not over and not failed and (not candidates or size < asked.min_bytes):
            return None
        parts = failed | {one.place: self._acquire(one) for one in candidates}
        for place in [one.place for one in candidates]:  # the next fetch begins with the other partitions
            self.session.parts[place] = self.session.parts.pop(place)
        rows = [(place, part) for place, part in parts.items() if part.error_code or part.acquired]
        return Later(lambda: self.response(rows))

    def _candidate(self, place: Place, size: int, most: int) -> _Candidate | int:
        request, asked, shares = self.request, self.request.message, self.request.cluster.shares
        where = _partition(request, place)
        if isinstance(where, int):
            return where
        partition, log = where
        part = shares.find(asked.group_id, place)
        if part is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # no member of the group has subscribed to the topic
        configs = request.cluster.controller.group_configs_of(asked.group_id)
        if part.start < 0:
            part.begin(_start(log, configs["share.auto.offset.reset"], request.cluster.time_ms))
        before = part.size
        if part.trim(log.start, log.end):
            shares.changed(asked.group_id, place, part, before)
        end = log.stable_end if configs["share.isolation.level"] == READ_COMMITTED else None
        offset = max(part.next_offset, log.start)
        entries = log.entries_from(offset, log.measure(offset, size, end=end))
        wanted = Wanted(most, max(1, asked.batch_size), asked.share_acquire_mode == EXACTLY)
        batches = [(one.base_offset, one.last_offset) for one in entries]
        spans = part.acquirable(batches, wanted, shares.limits(asked.group_id))
        if not spans or not shares.has_room(spans):
            return _Candidate(place, part, partition, log, (), ())
        first, last = spans[0][0], spans[-1][1]
        entries = [one for one in entries if one.last_offset >= first and one.base_offset <= last]
        return _Candidate(place, part, partition, log, entries, spans)

    def _acquire(self, one: _Candidate) -> _Part:
        asked, shares = self.request.message, self.request.cluster.shares
        now = max(self.request.cluster.waiting.now, self.request.now)  # the fetch may have been parked
        acquired = shares.acquire(asked.group_id, one.place, one.part, one.spans, asked.member_id, now)
        configs = self.request.cluster.controller.group_configs_of(asked.group_id)
        if configs["share.isolation.level"] == READ_COMMITTED:
            acquired = self._committed(one, acquired)
        if not acquired:
            return _Part()
        first, last = acquired[0].first, acquired[-1].last
        entries = [entry for entry in one.entries if entry.last_offset >= first and entry.base_offset <= last]
        return _Part(0, acquired, one.log, one.partition, entries[0].base_offset, sum(entry.size for entry in entries))

    def _committed(self, one: _Candidate, acquired: list[Acquired]) -> list[Acquired]:
        """Return acquired offsets without the records of aborted transactions, which are never delivered."""
        before = one.part.size
        aborted = _aborted(one.log, one.entries[0].base_offset, sum(entry.size for entry in one.entries))
        for span in aborted:
            one.part.archive(*span)
        left = [kept for row in acquired for kept in _without(row, aborted)]
        if aborted and not left:  # otherwise they are stored with the next acknowledgement, as in Kafka
            self.request.cluster.shares.changed(self.request.message.group_id, one.place, one.part, before)
        return left

    def response(self, parts: Sequence[tuple[Place, _Part]]) -> Any:
        """Return the response: partitions with records, errors or acknowledgements, and partitions new in the
        session."""
        response, asked, cluster = messages.ShareFetchResponse, self.request.message, self.request.cluster
        new = [place for place, is_new in self.session.parts.items() if is_new]
        self.session.parts.update(dict.fromkeys(new, False))
        found = dict.fromkeys([*self.codes, *new], _Part()) | dict(parts)
        rows: dict[bytes, list[Any]] = {}
        codes = [*self.codes.values()]
        for place, part in found.items():
            row = self._row(place, part)
            codes.append(row.error_code)
            rows.setdefault(place[0], []).append(row)
        size = sum(len(row.records or b"") for some in rows.values() for row in some)
        throttle = cluster.quotas.throttle(FETCH, self.request.client_id, size, cluster.waiting.now)
        if throttle:  # as in Kafka, the response is empty, and its records stay acquired until their lock expires
            rows.clear()
        topic_row = response.ShareFetchableTopicResponse
        return response(
            throttle_time_ms=throttle,
            acquisition_lock_timeout_ms=int(cluster.shares.limits(asked.group_id).lock * 1000),
            responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(some)) for topic_id, some in rows.items()),
            node_endpoints=_endpoints(self.request, codes, response),
        )

    def _row(self, place: Place, part: _Part) -> Any:
        response = messages.ShareFetchResponse
        code, data = part.error_code, b""
        try:
            data = part.log.read(part.first, part.size) if part.log is not None else b""
        except OSError:
            assert part.partition is not None
            self.request.cluster.fail(part.partition.replicas[self.request.node_id].log_dir)
            code, part = ErrorCode.KAFKA_STORAGE_ERROR, _Part()
        is_unknown = code == ErrorCode.UNKNOWN_SERVER_ERROR
        about = f"no member of group {self.request.message.group_id} has subscribed to this topic"
        acked = self.codes.get(place, ErrorCode.NONE)
        row = response.AcquiredRecords
        return response.PartitionData(
            partition_index=place[1],
            error_code=code,
            error_message=about if is_unknown else None,
            acknowledge_error_code=acked,
            current_leader=_leader(self.request, place, code or acked, response),
            records=data,
            acquired_records=tuple(
                row(first_offset=one.first, last_offset=one.last, delivery_count=one.deliveries)
                for one in part.acquired
            ),
        )


def _start(log: Log, reset: str, time_ms: Callable[[], int]) -> int:
    """Return the offset at which a group starts reading a partition."""
    if reset == "earliest":
        return log.start
    found = _DURATION.fullmatch(reset)
    if found is None:
        return log.end
    seconds = sum(unit * float(number or 0) for unit, number in zip(_SECONDS, found.groups(), strict=True))
    offset = log.find_time(time_ms() - int(seconds * 1000))[0]
    return log.end if offset < 0 else offset


def _aborted(log: Log, offset: int, size: int) -> list[Span]:
    """Return the batches of aborted transactions in the data that is read from an offset on."""
    if not size:
        return []
    known = log.producers.aborted_between(offset, log.end_of(offset, size))
    found = []
    for batch in parse_records(log.read(offset, size)) if known else ():
        base = batch.base_offset or 0
        is_aborted = any(
            one.producer_id == batch.producer_id and one.first_offset <= base < one.last_offset for one in known
        )
        if batch.is_transactional and not batch.is_control and is_aborted:
            found.append((base, batch.last_offset))
    return found


def _without(row: Acquired, spans: Sequence[Span]) -> list[Acquired]:
    """Return acquired offsets without some ranges."""
    left, at = [], row.first
    for first, last in spans:
        if last < at or first > row.last:
            continue
        if first > at:
            left.append(Acquired(at, first - 1, row.deliveries))
        at = last + 1
    return [*left, Acquired(at, row.last, row.deliveries)] if at <= row.last else left


def _leader(request: RequestContext, place: Place, code: int, response: Any) -> Any:
    """Return the partition's leader for a client that sent its request to another broker."""
    topic = request.cluster.controller.by_id.get(place[0])
    if code != ErrorCode.NOT_LEADER_OR_FOLLOWER or topic is None or not 0 <= place[1] < len(topic.partitions):
        return response.LeaderIdAndEpoch()
    partition = topic.partitions[place[1]]
    return response.LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)


def _endpoints(request: RequestContext, codes: Any, response: Any) -> tuple[Any, ...]:
    """Return the addresses of brokers if a partition has another leader."""
    if ErrorCode.NOT_LEADER_OR_FOLLOWER not in codes:
        return ()
    nodes = request.cluster.controller.nodes.values()
    brokers = (node.broker() for node in nodes)
    return tuple(
        response.NodeEndpoint(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack) for one in brokers
    )
