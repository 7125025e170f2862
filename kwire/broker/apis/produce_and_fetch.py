"""Produce validates batches, assigns offsets, and appends the batches to all in-sync replicas. Fetch returns whole
batches from an offset on, immediately or once there are enough bytes, with or without a fetch session; it directs
consumers to the nearest replica (KIP-392).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from ... import messages
from ...errors import BadChecksum, DecodeError, KwireError, MissingExtra
from ...records import RecordBatch, parse_records
from ...values import ErrorCode
from ..cluster_state import READ_ONLY, RequestContext
from ..partition_leader_and_isr import INTERNAL, Partition, Topic
from ..purgatory_and_fetch_sessions import Later, Parked
from ..replica_log import Log, with_append_time
from ..settings_and_quotas import FETCH, PRODUCE
from ..transaction_coordinator import TransactionState


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica that may serve a consumer, as the leader sees it."""

    node_id: int
    rack: str | None
    log_end_offset: int
    ms_since_caught_up: int


def select_replica(leader: ReplicaView, replicas: Iterable[ReplicaView], client_rack: str | None) -> ReplicaView:
    """Return the replica from which a consumer should fetch.

    Args:
        leader: the leader of the partition.
        replicas: all replicas that may serve the consumer, including the leader.
        client_rack: the consumer's `client.rack`; None or empty if it is not set.

    Returns:
        The leader, if the client has no rack, or the leader or no replica is in that rack. Otherwise the replica in the
        rack with the highest log end offset, then the one that was in sync last, then the one with the highest id.

    >>> leader, near = ReplicaView(1, "a", 7, 0), ReplicaView(2, "b", 5, 40)
    >>> [select_replica(leader, [leader, near], rack).node_id for rack in ("a", "b", "c", None)]
    [1, 2, 1, 1]
    """
    if not client_rack or leader.rack == client_rack:
        return leader
    near = (replica for replica in replicas if replica.rack == client_rack)
    return max(near, key=lambda one: (one.log_end_offset, -one.ms_since_caught_up, one.node_id), default=leader)


FIRST_WITH_ABORTABLE = 11  # the first version of Produce with abortable errors (KIP-890)
FIRST_OF_PROTOCOL_2 = 12  # the first version of Produce that adds partitions to transactions (KIP-890)
FIRST_OF_MAGIC_2 = 3  # older versions of Produce contain message sets, which are not supported

NO_TIME = -1
HIGHEST = 2**63 - 1
NO_KEY = "a record of a compacted topic must have a key"


class Outcome(NamedTuple):
    """The outcome for a partition: error code, offset of the first record, error message, the append time (-1 unless
    the log uses it), and the refused records, by their index in the batch (KIP-467), with their problem."""

    code: int
    offset: int = -1
    message: str | None = None
    time: int = NO_TIME
    refused: Sequence[int] = ()
    problem: str = ""


def produce(request: RequestContext) -> Any:
    """Handle Produce; return None for acks=0."""
    response = messages.ProduceResponse
    rows = []
    for sent in request.message.topic_data:
        topic = request.cluster.controller.find(sent.name, sent.topic_id)
        parts = tuple(_partition(request, topic, part, sent.name) for part in sent.partition_data)
        rows.append(response.TopicProduceResponse(name=sent.name, topic_id=sent.topic_id, partition_responses=parts))
    if request.message.acks == 0:
        return None
    size = sum(len(part.records or b"") for sent in request.message.topic_data for part in sent.partition_data)
    throttle = request.cluster.quotas.throttle(PRODUCE, request.client_id, size, request.now)
    return response(responses=tuple(rows), throttle_time_ms=throttle)


def _partition(request: RequestContext, topic: Topic | None, sent: Any, name: str) -> Any:
    asked = request.message.transactional_id
    if code := request.error(topic.name if topic else name or None, sent.index, transactional_id=asked):
        outcome = Outcome(code, -1, READ_ONLY if request.cluster.settings.read_only else None)
    elif topic is None or not 0 <= sent.index < len(topic.partitions):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name or topic else ErrorCode.UNKNOWN_TOPIC_ID
        outcome = Outcome(unknown)
    elif topic.name in INTERNAL:
        outcome = Outcome(ErrorCode.INVALID_TOPIC_EXCEPTION, -1, "only brokers can write to internal topics")
    else:
        outcome = _write(request, topic, sent.index, sent.records or b"")
    response = messages.ProduceResponse
    return response.PartitionProduceResponse(
        index=sent.index,
        error_code=outcome.code,
        base_offset=outcome.offset,
        log_append_time_ms=outcome.time,
        error_message=outcome.message,
        record_errors=tuple(
            response.BatchIndexAndErrorMessage(batch_index=place, batch_index_error_message=outcome.problem)
            for place in outcome.refused
        ),
    )


def _write(request: RequestContext, topic: Topic, index: int, records: bytes) -> Outcome:
    partition, settings = topic.partitions[index], request.cluster.settings
    log = partition.log_at(request.node_id)
    if isinstance(log, int):
        return Outcome(log)
    if code := _acks_problem(request, topic, partition):
        return Outcome(code)
    batch = checked(records, request.version, topic.number("max.message.bytes", settings.max_message_bytes))
    if not isinstance(batch, RecordBatch):
        return batch
    if topic.has_policy("compact") and (refused := _without_keys(batch)):
        problem = f"{len(refused)} of {batch.record_count} records have no key, and all are refused: {NO_KEY}"
        return Outcome(ErrorCode.INVALID_RECORD, -1, problem, NO_TIME, refused, NO_KEY)
    if outcome := _out_of_time(topic, batch, request.cluster.time_ms(), settings.most_ahead_ms):
        return outcome
    if batch.is_transactional and (code := _join(request, partition, log, batch)):
        return Outcome(code, -1, "the producer has no open transaction with this partition")
    code, before = log.producers.check(batch)
    if code or before is not None:
        return Outcome(code, -1 if before is None else before)
    return _append(request, topic, partition, batch)


def _append(request: RequestContext, topic: Topic, partition: Partition, batch: RecordBatch) -> Outcome:
    time = NO_TIME
    if topic.configs.get("message.timestamp.type") == "LogAppendTime":
        time = request.cluster.time_ms()
        batch = with_append_time(batch, time)
    code, offset = request.cluster.appended(partition, batch)
    if code:
        return Outcome(code, -1, "the log directory failed")
    retention_bytes = topic.number("retention.bytes", request.cluster.settings.retention_bytes)
    if retention_bytes >= 0:
        request.cluster.fail(*partition.retain(retention_bytes))
    return Outcome(ErrorCode.NONE, offset, None, time)


def _out_of_time(topic: Topic, batch: RecordBatch, now: int, most_ahead: int) -> Outcome | None:
    """Return the error of a batch with timestamps that are too far from the broker's time (KIP-937), if it has any."""
    if topic.configs.get("message.timestamp.type") == "LogAppendTime":
        return None
    earliest = now - topic.number("message.timestamp.before.max.ms", HIGHEST)
    latest = now + topic.number("message.timestamp.after.max.ms", most_ahead)
    if earliest <= 0 and batch.max_timestamp <= latest:
        return None
    try:
        times = [record.timestamp for record in batch.tolerant_records()]
    except MissingExtra:
        times = [batch.max_timestamp]  # a batch that cannot be decompressed here
    refused = [place for place, time in enumerate(times) if time != NO_TIME and not earliest <= time <= latest]
    problem = f"the timestamp of a record must be between {earliest} and {latest}"
    message = f"{len(refused)} records have a timestamp that is out of range, and all are refused: {problem}"
    return Outcome(ErrorCode.INVALID_TIMESTAMP, -1, message, NO_TIME, refused, problem) if refused else None


def _without_keys(batch: RecordBatch) -> list[int]:
    try:
        return [place for place, record in enumerate(batch.tolerant_records()) if record.key is None]
    except MissingExtra:
        return []  # a batch that cannot be decompressed here is not validated further


def _acks_problem(request: RequestContext, topic: Topic, partition: Partition) -> int:
    if request.message.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    least = topic.number("min.insync.replicas", request.cluster.settings.min_insync_replicas)
    return (
        ErrorCode.NOT_ENOUGH_REPLICAS if request.message.acks == -1 and len(partition.isr) < least else ErrorCode.NONE
    )


def _join(request: RequestContext, partition: Partition, log: Log, batch: RecordBatch) -> int:
    """Check that a transaction may write to a partition; with KIP-890, add the partition to the transaction."""
    transactional_id, transactions = request.message.transactional_id, request.cluster.transactions
    if batch.producer_id in log.producers.open:
        return ErrorCode.NONE
    if transactional_id is None:
        return ErrorCode.INVALID_TXN_STATE
    place = partition.topic, partition.index
    found = transactions.checked(transactional_id, batch.producer_id, batch.producer_epoch)
    if isinstance(found, int):
        return ErrorCode.INVALID_PRODUCER_EPOCH if found == ErrorCode.PRODUCER_FENCED else found
    if request.version >= FIRST_OF_PROTOCOL_2:
        transactions.add(found, request.now, [place], protocol=2)
    elif place not in found.partitions or found.state is not TransactionState.ONGOING:
        is_new = request.version >= FIRST_WITH_ABORTABLE
        return ErrorCode.TRANSACTION_ABORTABLE if is_new else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NONE


def checked(records: bytes, version: int, most: int) -> RecordBatch | Outcome:
    """Return the batch in a Produce request, or the error.

    Args:
        records: the bytes for the partition.
        version: the version of the Produce request.
        most: the maximum size of a batch in bytes.
    """
    if version < FIRST_OF_MAGIC_2:
        return Outcome(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1, "only record batches of magic 2 are supported")
    if len(records) > most:
        return Outcome(ErrorCode.MESSAGE_TOO_LARGE, -1, f"a batch may have at most {most} bytes")
    try:
        batch, *others = parse_records(records)
    except BadChecksum as error:
        return Outcome(ErrorCode.CORRUPT_MESSAGE, -1, str(error))
    except (DecodeError, ValueError) as error:
        return Outcome(
            ErrorCode.CORRUPT_MESSAGE,
            -1,
            str(error) if isinstance(error, KwireError) else "the request contains no batch",
        )
    problem = "the request contains more than one batch" if others else _problem(batch)
    return Outcome(ErrorCode.INVALID_RECORD, -1, problem) if problem else batch


def _problem(batch: RecordBatch) -> str:
    if batch.magic != 2:
        return "only record batches of magic 2 are supported"
    if batch.is_control:
        return "clients cannot write control records"
    if batch.is_transactional and batch.producer_id < 0:
        return "a transactional batch must have a producer id"
    if (batch.record_count or 0) <= 0 or batch.last_offset_delta + 1 != batch.record_count:
        return f"{batch.record_count} records cannot have the last offset delta {batch.last_offset_delta}"
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        return "a batch with a producer id must have a sequence number and an epoch"
    return _problem_inside(batch)


def _problem_inside(batch: RecordBatch) -> str:
    try:
        if not batch.is_whole(salvage=True):
            return f"the offset deltas of the records are not 0 to {batch.last_offset_delta}"
    except MissingExtra:
        return ""  # a batch that cannot be decompressed here is not validated further
    except DecodeError as error:
        return str(error)
    return ""


FIRST_WITH_RACKS = 11  # the first version that followers serve, too (KIP-392)
READ_COMMITTED = 1
MOST_WAIT_MS = 300_000  # the maximum time for which a fetch is parked


def fetch(request: RequestContext) -> Any:
    """Handle Fetch, or park the request until there are enough bytes."""
    asked = request.message
    session = request.cluster.fetch_sessions.session_for(request.node_id, asked)
    if isinstance(session, int):
        return messages.FetchResponse(error_code=session)
    if session is None:
        return _fetch(request, lambda response: response)
    whole = replace(request, message=msgspec.structs.replace(asked, topics=session.topics()))
    return _fetch(whole, session.changes_in)


def _fetch(request: RequestContext, finish: Callable[[Any], Any]) -> Any:
    """Handle a request that lists all its partitions; call `finish` with the response before it is sent."""
    asked = request.message
    response, enough = _read(request)
    if enough or asked.max_wait_ms <= 0:
        return finish(response)
    keys = [(topic.name, part.partition) for topic, part in _wanted(request)]

    def attempt(over: bool) -> Any:
        _, enough = _read(request, measure=True)
        return Later(lambda: finish(_read(request)[0])) if enough or over else None

    parked = Parked(attempt, keys)
    request.cluster.waiting.park(parked, request.now + min(asked.max_wait_ms, MOST_WAIT_MS) / 1000)
    return parked


def _wanted(request: RequestContext) -> list[tuple[Topic, Any]]:
    find = request.cluster.controller.find
    rows = ((find(row.topic, row.topic_id), row.partitions) for row in request.message.topics)
    return [(topic, part) for topic, parts in rows if topic is not None for part in parts]


def _read(request: RequestContext, *, measure: bool = False) -> tuple[Any, bool]:
    """Read the available batches, or only measure them; also return whether the fetch can complete, because there are
    enough bytes or an error occurred."""
    response = messages.FetchResponse
    reading = _Reading(request, measure)
    rows = []
    for row in request.message.topics:
        topic = request.cluster.controller.find(row.topic, row.topic_id)
        parts = tuple(reading.partition(topic, part, row.topic) for part in row.partitions)
        rows.append(response.FetchableTopicResponse(topic=row.topic, topic_id=row.topic_id, partitions=parts))
    enough = reading.failed or reading.size >= request.message.min_bytes or not rows
    if measure:
        return response(responses=tuple(rows)), enough
    throttle = request.cluster.quotas.throttle(FETCH, request.client_id, reading.size, request.cluster.waiting.now)
    return response(responses=tuple(rows), throttle_time_ms=throttle), enough


class _Reading:
    """The number of bytes read so far, and the limit."""

    def __init__(self, request: RequestContext, measure: bool) -> None:
        self.request, self.size, self.failed = request, 0, False
        self.only_measure = measure
        self.is_committed = request.message.isolation_level == READ_COMMITTED
        self.left = min(request.message.max_bytes, request.cluster.fetch_max_bytes)

    def partition(self, topic: Topic | None, part: Any, name: str) -> Any:
        if code := self.request.error(topic.name if topic else name or None, part.partition):
            return self._failure(part, code)
        if topic is None or not 0 <= part.partition < len(topic.partitions):
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name or topic else ErrorCode.UNKNOWN_TOPIC_ID
            return self._failure(part, unknown)
        partition = topic.partitions[part.partition]
        may_follow = self.request.version >= FIRST_WITH_RACKS
        log = partition.log_at(self.request.node_id, part.current_leader_epoch, may_follow=may_follow)
        if isinstance(log, int):
            return self._failure(part, log)
        if not log.start <= part.fetch_offset <= log.end:
            return self._failure(part, ErrorCode.OFFSET_OUT_OF_RANGE)
        if (preferred := self._preferred(partition)) is not None:
            self.failed = True  # the client must not wait here
            return self._row(part, log, b"", preferred)
        most = min(part.partition_max_bytes, self.left)
        end = log.stable_end if self.is_committed else None
        size = log.measure(part.fetch_offset, most, at_least_one=not self.size, end=end)
        try:
            data = b"" if self.only_measure else log.read(part.fetch_offset, size)
        except OSError:
            self.request.cluster.fail(partition.replicas[self.request.node_id].log_dir)
            return self._failure(part, ErrorCode.KAFKA_STORAGE_ERROR)
        self.size += size
        self.left -= size
        return self._row(part, log, data)

    def _row(self, part: Any, log: Log, data: bytes, preferred: int = -1) -> Any:
        return messages.FetchResponse.PartitionData(
            partition_index=part.partition,
            high_watermark=log.end,
            last_stable_offset=log.stable_end,
            log_start_offset=log.start,
            aborted_transactions=_aborted(log, part.fetch_offset, data) if self.is_committed else None,
            preferred_read_replica=preferred,
            records=data,
        )

    def _preferred(self, partition: Partition) -> int | None:
        """Return the follower from which the client should fetch; None if it should fetch from this broker
        (KIP-392)."""
        cluster, request = self.request.cluster, self.request
        is_asked = cluster.settings.rack_aware_fetch and request.version >= FIRST_WITH_RACKS and request.message.rack_id
        if not is_asked or partition.leader != request.node_id:
            return None
        nodes, logs = cluster.controller.nodes, partition.online_logs()
        views = {one: ReplicaView(one, nodes[one].rack, logs[one].end, 0) for one in partition.isr if one in logs}
        found = select_replica(views[partition.leader], views.values(), request.message.rack_id).node_id
        return None if found == partition.leader else found

    def _failure(self, part: Any, code: int) -> Any:
        self.failed = True
        return messages.FetchResponse.PartitionData(
            partition_index=part.partition,
            error_code=code,
            high_watermark=-1,
            aborted_transactions=None,
            records=b"",
        )


def _aborted(log: Log, offset: int, data: bytes) -> tuple[Any, ...]:
    """Return the aborted transactions with records in the data that was read from an offset on."""
    row = messages.FetchResponse.AbortedTransaction
    found = log.producers.aborted_between(offset, log.end_of(offset, len(data))) if data else ()
    return tuple(row(producer_id=one.producer_id, first_offset=one.first_offset) for one in found)
