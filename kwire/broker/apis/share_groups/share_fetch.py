"""ShareFetch: acquires records for a member of a share group, immediately or once there are some (KIP-932)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .... import messages
from ....codecs.records import parse_records
from ....values import ErrorCode
from ...api import ServedApi
from ...client_quota_manager import FETCH
from ...controller.partition import Partition
from ...controller.topic import Topic
from ...groups.share_group import TopicIdPartition
from ...groups.share_partition import AcquiredRange, AcquireLimits, OffsetRange, SharePartition
from ...log.replica_log import LogEntry, ReplicaLog
from ...purgatory import Later, Parked
from ...request_context import RequestContext
from ...share_groups.share_coordinator import FINAL, FIRST, ShareSession, key_of
from ..records.fetch import MOST_WAIT_MS
from .share_acknowledge import (
    Acknowledgement,
    Codes,
    ShareMember,
    apply_acknowledgements,
    check_share_request,
    current_leader,
    find_led_partition,
    node_endpoints,
)

ShareFetchAnswer: TypeAlias = "messages.ShareFetchResponse | Parked[messages.ShareFetchResponse]"

OPTIMIZED, EXACTLY = 0, 1  # acquire modes; the second one never acquires more records than requested (KIP-1206)
READ_COMMITTED = "read_committed"
_DURATION = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")
_SECONDS = (86400, 3600, 60, 1)


def share_fetch(request: RequestContext[messages.ShareFetchRequest]) -> ShareFetchAnswer:
    """Handle ShareFetch: apply acknowledgements, and acquire records; park the request until there are some."""
    # Kafka: KafkaApis.handleShareFetchRequest, SharePartitionManager.fetchMessages
    message = request.message
    acks = [(topic.topic_id, part) for topic in message.topics for part in topic.partitions]
    member = check_share_request(request)
    if isinstance(member, int):
        return messages.ShareFetchResponse(error_code=member)
    if code := _fetch_problem(request, acks):
        return messages.ShareFetchResponse(error_code=code)
    shares = request.cluster.shares
    who = (request.node_id, *member)
    session = shares.session(*who, message.share_session_epoch, request.session)
    if isinstance(session, int):
        return messages.ShareFetchResponse(error_code=session)
    _update_session(session, message)
    codes = apply_acknowledgements(request, member, acks)
    if message.share_session_epoch == FINAL:
        shares.end_session(*who)
    if message.share_session_epoch == FINAL or message.is_renew_ack:
        return _Fetching(request, member, ShareSession(), codes).response(())
    if session.parts and message.share_acquire_mode not in (OPTIMIZED, EXACTLY):
        # ShareAcquireMode.forId; the client does not get the outcome of its acknowledgements
        return messages.ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return _respond_or_park(_Fetching(request, member, session, codes))


def _update_session(session: ShareSession, message: messages.ShareFetchRequest) -> None:
    """Add the partitions that a request lists to the session, and remove those that it forgets."""
    if message.share_session_epoch != FINAL:
        for topic in message.topics:
            for part in topic.partitions:
                session.parts.setdefault((bytes(topic.topic_id), part.partition_index), True)
    for forgotten in message.forgotten_topics_data:
        for index in forgotten.partitions:
            session.parts.pop((bytes(forgotten.topic_id), index), None)


def _respond_or_park(fetching: _Fetching) -> ShareFetchAnswer:
    """Respond to a fetch, or park it."""
    request = fetching.request
    now = fetching.attempt(request.message.max_wait_ms <= 0)
    if now is not None:
        return now.make()
    keys = [key for topic_partition in fetching.session.parts for key in fetching.keys(topic_partition)]
    parked: Parked[messages.ShareFetchResponse] = Parked(fetching.attempt, keys)
    request.cluster.waiting.park(parked, request.now + min(request.message.max_wait_ms, MOST_WAIT_MS) / 1000)
    return parked


def _fetch_problem(request: RequestContext[messages.ShareFetchRequest], acks: Sequence[Acknowledgement]) -> int:
    """Return the error code of an invalid fetch; 0 if it is valid."""
    message = request.message
    has_acks = any(part.acknowledgement_batches for _, part in acks)
    if message.share_session_epoch == FIRST and has_acks:
        return ErrorCode.INVALID_REQUEST
    is_fetch = message.max_bytes or message.min_bytes or message.max_records or message.max_wait_ms
    return ErrorCode.INVALID_REQUEST if message.is_renew_ack and is_fetch else ErrorCode.NONE


class _FetchedPartition(NamedTuple):
    """The result of a fetch for a partition: an error, or acquired offsets and where their records are in the log."""

    error_code: int = 0
    acquired: Sequence[AcquiredRange] = ()
    log: ReplicaLog | None = None
    partition: Partition | None = None
    first: int = 0
    size: int = 0


class _Candidate(NamedTuple):
    """A partition whose records can be acquired."""

    place: TopicIdPartition
    part: SharePartition
    partition: Partition
    log: ReplicaLog
    entries: Sequence[LogEntry]
    spans: Sequence[OffsetRange]


@dataclass(slots=True)
class _Fetching:
    """A fetch in a share session, with the error codes of its acknowledgements."""

    request: RequestContext[messages.ShareFetchRequest]
    member: ShareMember
    session: ShareSession
    codes: Codes

    def keys(self, topic_partition: TopicIdPartition) -> Iterator[Hashable]:
        """Yield the purgatory keys of a partition: new records, and records that become available again."""
        topic: Topic | None = self.request.cluster.controller.by_id.get(topic_partition[0])
        if topic is not None:
            yield topic.name, topic_partition[1]
        yield key_of(self.member.group_id, topic_partition)

    def attempt(self, over: bool) -> Later[messages.ShareFetchResponse] | None:
        """Acquire records if there are enough, or at the deadline; the records are read when the response is sent."""
        # Kafka: DelayedShareFetch.tryComplete
        message = self.request.message
        failed: dict[TopicIdPartition, _FetchedPartition] = {}
        candidates: list[_Candidate] = []
        left = min(message.max_bytes, self.request.cluster.fetch_max_bytes)
        records_left = message.max_records
        for topic_partition in list(self.session.parts) if not self.session.is_over else ():
            candidate = self._candidate(topic_partition, left, records_left) if records_left > 0 and left > 0 else None
            if isinstance(candidate, int):
                failed[topic_partition] = _FetchedPartition(candidate)
            elif candidate is not None and candidate.spans:
                candidates.append(candidate)
                left -= sum(stored.size for stored in candidate.entries)
                records_left -= sum(last - first + 1 for first, last in candidate.spans)
        size = sum(entry.size for candidate in candidates for entry in candidate.entries)
        if not over and not failed and (not candidates or size < message.min_bytes):
            return None
        parts = failed | {candidate.place: self._acquire(candidate) for candidate in candidates}
        for candidate in candidates:  # the next fetch begins with the other partitions
            self.session.parts[candidate.place] = self.session.parts.pop(candidate.place)
        rows = [(topic_partition, part) for topic_partition, part in parts.items() if part.error_code or part.acquired]
        return Later(lambda: self.response(rows))

    def _candidate(self, topic_partition: TopicIdPartition, size: int, record_limit: int) -> _Candidate | int | None:
        request = self.request
        message = self.request.message
        shares = self.request.cluster.shares
        where = find_led_partition(request, topic_partition)
        if isinstance(where, int):
            return where
        partition, log = where
        part = shares.find(self.member.group_id, topic_partition)
        if part is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # no member of the group has subscribed to the topic
        configs = request.cluster.controller.group_configs_of(self.member.group_id)
        if part.start < 0 and not shares.can_store(self.member.group_id, topic_partition):
            return None  # SharePartition.maybeInitialize: what is stored is not known yet, and the fetch waits
        if part.start < 0:
            part.begin(_start(log, configs["share.auto.offset.reset"], request.cluster.time_ms))
        shares.send_letters(self.member.group_id, topic_partition, part)
        before = part.size
        if part.trim(log.start, log.end):
            shares.changed(self.member.group_id, topic_partition, part, before)
        end = log.stable_end if configs["share.isolation.level"] == READ_COMMITTED else None
        offset = max(part.next_offset, log.start)
        entries = log.entries_from(offset, log.measure(offset, size, end=end))
        wanted = AcquireLimits(record_limit, max(1, message.batch_size), message.share_acquire_mode == EXACTLY)
        batches = [(entry.base_offset, entry.last_offset) for entry in entries]
        spans = part.acquirable(batches, wanted, shares.limits(self.member.group_id))
        first = spans[0][0] if spans else log.end
        last = spans[-1][1] if spans else -1
        entries = [entry for entry in entries if entry.last_offset >= first and entry.base_offset <= last]
        if not entries or not shares.has_room([*spans, (last + 1, entries[-1].last_offset)]):
            return _Candidate(topic_partition, part, partition, log, (), ())
        return _Candidate(topic_partition, part, partition, log, entries, spans)

    def _acquire(self, candidate: _Candidate) -> _FetchedPartition:
        shares = self.request.cluster.shares
        now = max(self.request.cluster.waiting.now, self.request.now)  # the fetch may have been parked
        group_id, member_id = self.member
        batch_end = candidate.entries[-1].last_offset
        acquired = shares.acquire(group_id, candidate.place, candidate.part, candidate.spans, batch_end, member_id, now)
        configs = self.request.cluster.controller.group_configs_of(group_id)
        if configs["share.isolation.level"] == READ_COMMITTED:
            acquired = self._drop_aborted(candidate, acquired)
        if not acquired:
            return _FetchedPartition()
        first = acquired[0].first
        last = acquired[-1].last
        entries = [entry for entry in candidate.entries if entry.last_offset >= first and entry.base_offset <= last]
        return _FetchedPartition(
            0,
            acquired,
            candidate.log,
            candidate.partition,
            entries[0].base_offset,
            sum(entry.size for entry in entries),
        )

    def _drop_aborted(self, candidate: _Candidate, acquired: list[AcquiredRange]) -> list[AcquiredRange]:
        """Return acquired offsets without the records of aborted transactions, which are never delivered."""
        before = candidate.part.size
        aborted = _find_aborted(
            candidate.log, candidate.entries[0].base_offset, sum(entry.size for entry in candidate.entries)
        )
        for span in aborted:
            candidate.part.archive(*span)
        left = [kept for row in acquired for kept in _without(row, aborted)]
        if aborted and not left:  # otherwise they are stored with the next acknowledgement, as in Kafka
            self.request.cluster.shares.changed(self.member.group_id, candidate.place, candidate.part, before)
        return left

    def response(self, parts: Sequence[tuple[TopicIdPartition, _FetchedPartition]]) -> messages.ShareFetchResponse:
        """Return the response: partitions with records, errors or acknowledgements, and partitions new in the
        session."""
        response = messages.ShareFetchResponse
        cluster = self.request.cluster
        new = [topic_partition for topic_partition, is_new in self.session.parts.items() if is_new]
        self.session.parts.update(dict.fromkeys(new, False))
        fetched = dict.fromkeys([*self.codes, *new], _FetchedPartition()) | dict(parts)
        rows: dict[bytes, list[messages.ShareFetchResponse.PartitionData]] = {}
        codes = [*self.codes.values()]
        for topic_partition, part in fetched.items():
            row = self._row(topic_partition, part)
            codes.append(row.error_code)
            rows.setdefault(topic_partition[0], []).append(row)
        size = sum(len(row.records or b"") for some in rows.values() for row in some)
        throttle = cluster.quotas.throttle(FETCH, self.request.client_id, size, cluster.waiting.now)
        if throttle:  # as in Kafka, the response is empty, and its records stay acquired until their lock expires
            rows.clear()
        topic_row = response.ShareFetchableTopicResponse
        return response(
            throttle_time_ms=throttle,
            acquisition_lock_timeout_ms=int(cluster.shares.limits(self.member.group_id).lock * 1000),
            responses=tuple(topic_row(topic_id=topic_id, partitions=tuple(some)) for topic_id, some in rows.items()),
            node_endpoints=tuple(
                response.NodeEndpoint(**endpoint._asdict()) for endpoint in node_endpoints(self.request, codes)
            ),
        )

    def _row(
        self, topic_partition: TopicIdPartition, part: _FetchedPartition
    ) -> messages.ShareFetchResponse.PartitionData:
        response = messages.ShareFetchResponse
        code = part.error_code
        data = b""
        try:
            data = part.log.read(part.first, part.size) if part.log is not None else b""
        except OSError:
            assert part.partition is not None
            self.request.cluster.fail(part.partition.replicas[self.request.node_id].log_dir)
            code = ErrorCode.KAFKA_STORAGE_ERROR
            part = _FetchedPartition()
        is_unknown = code == ErrorCode.UNKNOWN_SERVER_ERROR
        about = f"no member of group {self.member.group_id} has subscribed to this topic"
        acked = self.codes.get(topic_partition, ErrorCode.NONE)
        row = response.AcquiredRecords
        return response.PartitionData(
            partition_index=topic_partition[1],
            error_code=code,
            error_message=about if is_unknown else None,
            acknowledge_error_code=acked,
            current_leader=response.LeaderIdAndEpoch(
                **current_leader(self.request, topic_partition, code or acked)._asdict()
            ),
            records=data,
            acquired_records=tuple(
                row(first_offset=acquired.first, last_offset=acquired.last, delivery_count=acquired.deliveries)
                for acquired in part.acquired
            ),
        )


def _start(log: ReplicaLog, reset: str, time_ms: Callable[[], int]) -> int:
    """Return the offset at which a group starts reading a partition."""
    if reset == "earliest":
        return log.start
    match = _DURATION.fullmatch(reset)
    if match is None:
        return log.end
    seconds = sum(unit * float(number or 0) for unit, number in zip(_SECONDS, match.groups(), strict=True))
    offset = log.find_time(time_ms() - int(seconds * 1000))[0]
    return log.end if offset < 0 else offset


def _find_aborted(log: ReplicaLog, offset: int, size: int) -> list[OffsetRange]:
    """Return the batches of aborted transactions in the data that is read from an offset on."""
    if not size:
        return []
    known = log.producers.aborted_between(offset, log.end_of(offset, size))
    spans = []
    for batch in parse_records(log.read(offset, size)) if known else ():
        base = batch.base_offset or 0
        is_aborted = any(
            transaction.producer_id == batch.producer_id and transaction.first_offset <= base < transaction.last_offset
            for transaction in known
        )
        if batch.is_transactional and not batch.is_control and is_aborted:
            spans.append((base, batch.last_offset))
    return spans


def _without(row: AcquiredRange, spans: Sequence[OffsetRange]) -> list[AcquiredRange]:
    """Return acquired offsets without some ranges."""
    left = []
    at = row.first
    for first, last in spans:
        if last < at or first > row.last:
            continue
        if first > at:
            left.append(AcquiredRange(at, first - 1, row.deliveries))
        at = last + 1
    return [*left, AcquiredRange(at, row.last, row.deliveries)] if at <= row.last else left


APIS = {  # what each version has changed
    # 2: exact numbers of records (KIP-1206), and longer locks (KIP-1222)
    "ShareFetch": ServedApi(1, 2, share_fetch, finds_errors=True),
}
