"""Produce: validates batches, assigns offsets, and appends the batches to all in-sync replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .... import messages
from ....codecs.records import RecordBatch, parse_records
from ....errors import BadChecksum, DecodeError, KwireError, MissingExtra
from ....values import ErrorCode
from ...api import ServedApi
from ...client_quota_manager import PRODUCE
from ...controller.partition import Partition
from ...controller.topic import Topic
from ...controller.topic_names import INTERNAL
from ...log.batch_stamps import stamp_append_time
from ...log.replica_log import ReplicaLog
from ...request_context import READ_ONLY, RequestContext
from ...transactions.transaction import TransactionState

FIRST_WITH_ABORTABLE = 11  # the first version of Produce with abortable errors (KIP-890)
FIRST_OF_PROTOCOL_2 = 12  # the first version of Produce that adds partitions to transactions (KIP-890)
FIRST_OF_MAGIC_2 = 3  # older versions of Produce contain message sets, which are not supported
NO_TIME = -1
HIGHEST = 2**63 - 1
NO_KEY = "a record of a compacted topic must have a key"


class ProduceOutcome(NamedTuple):
    """The outcome for a partition: error code, offset of the first record, error message, the append time (-1 unless
    the log uses it), and the refused records, by their index in the batch (KIP-467), with their problem."""

    code: int
    offset: int = -1
    message: str | None = None
    time: int = NO_TIME
    refused: Sequence[int] = ()
    problem: str = ""


def produce(request: RequestContext[messages.ProduceRequest]) -> messages.ProduceResponse | None:
    """Handle Produce; return None for acks=0."""
    # Kafka: ReplicaManager.handleProduceAppend
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


def _partition(
    request: RequestContext[messages.ProduceRequest],
    topic: Topic | None,
    sent: messages.ProduceRequest.PartitionProduceData,
    name: str,
) -> messages.ProduceResponse.PartitionProduceResponse:
    asked = request.message.transactional_id
    if code := request.error(topic.name if topic else name or None, sent.index, transactional_id=asked):
        outcome = ProduceOutcome(code, -1, READ_ONLY if request.cluster.settings.read_only else None)
    elif topic is None or not 0 <= sent.index < len(topic.partitions):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name or topic else ErrorCode.UNKNOWN_TOPIC_ID
        outcome = ProduceOutcome(unknown)
    elif topic.name in INTERNAL:
        outcome = ProduceOutcome(ErrorCode.INVALID_TOPIC_EXCEPTION, -1, "only brokers can write to internal topics")
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


def _write(
    request: RequestContext[messages.ProduceRequest], topic: Topic, index: int, records: bytes
) -> ProduceOutcome:
    # Kafka: Partition.appendRecordsToLeader
    partition = topic.partitions[index]
    settings = request.cluster.settings
    log = partition.log_at(request.node_id)
    if isinstance(log, int):
        return ProduceOutcome(log)
    if code := _acks_problem(request, topic, partition):
        return ProduceOutcome(code)
    batch = validate_batch(records, request.version, topic.number("max.message.bytes", settings.max_message_bytes))
    if not isinstance(batch, RecordBatch):
        return batch
    if topic.has_policy("compact") and (refused := _without_keys(batch)):
        problem = f"{len(refused)} of {batch.record_count} records have no key, and all are refused: {NO_KEY}"
        return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, problem, NO_TIME, refused, NO_KEY)
    if outcome := _out_of_time(topic, batch, request.cluster.time_ms(), settings.most_ahead_ms):
        return outcome
    if batch.is_transactional and (code := _join(request, partition, log, batch)):
        return ProduceOutcome(code, -1, "the producer has no open transaction with this partition")
    code, before = log.producers.check(batch)
    if code or before is not None:
        return ProduceOutcome(code, -1 if before is None else before)
    return _append(request, topic, partition, batch)


def _append(
    request: RequestContext[messages.ProduceRequest], topic: Topic, partition: Partition, batch: RecordBatch
) -> ProduceOutcome:
    time = NO_TIME
    if topic.configs.get("message.timestamp.type") == "LogAppendTime":
        time = request.cluster.time_ms()
        batch = stamp_append_time(batch, time)
    code, offset = request.cluster.appended(partition, batch)
    if code:
        return ProduceOutcome(code, -1, "the log directory failed")
    retention_bytes = topic.number("retention.bytes", request.cluster.settings.retention_bytes)
    if retention_bytes >= 0:
        request.cluster.fail(*partition.retain(retention_bytes))
    return ProduceOutcome(ErrorCode.NONE, offset, None, time)


def _out_of_time(topic: Topic, batch: RecordBatch, now: int, most_ahead: int) -> ProduceOutcome | None:
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
    return ProduceOutcome(ErrorCode.INVALID_TIMESTAMP, -1, message, NO_TIME, refused, problem) if refused else None


def _without_keys(batch: RecordBatch) -> list[int]:
    try:
        return [place for place, record in enumerate(batch.tolerant_records()) if record.key is None]
    except MissingExtra:
        return []  # a batch that cannot be decompressed here is not validated further


def _acks_problem(request: RequestContext[messages.ProduceRequest], topic: Topic, partition: Partition) -> int:
    if request.message.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    minimum = topic.number("min.insync.replicas", request.cluster.settings.min_insync_replicas)
    return (
        ErrorCode.NOT_ENOUGH_REPLICAS if request.message.acks == -1 and len(partition.isr) < minimum else ErrorCode.NONE
    )


def _join(
    request: RequestContext[messages.ProduceRequest], partition: Partition, log: ReplicaLog, batch: RecordBatch
) -> int:
    """Check that a transaction may write to a partition; with KIP-890, add the partition to the transaction."""
    transactional_id = request.message.transactional_id
    transactions = request.cluster.transactions
    if batch.producer_id in log.producers.open:
        return ErrorCode.NONE
    if transactional_id is None:
        return ErrorCode.INVALID_TXN_STATE
    topic_partition = partition.topic, partition.index
    transaction = transactions.find_for_producer(transactional_id, batch.producer_id, batch.producer_epoch)
    if isinstance(transaction, int):
        return ErrorCode.INVALID_PRODUCER_EPOCH if transaction == ErrorCode.PRODUCER_FENCED else transaction
    if request.version >= FIRST_OF_PROTOCOL_2:
        transactions.add(transaction, request.now, [topic_partition], protocol=2)
    elif topic_partition not in transaction.partitions or transaction.state is not TransactionState.ONGOING:
        is_new = request.version >= FIRST_WITH_ABORTABLE
        return ErrorCode.TRANSACTION_ABORTABLE if is_new else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NONE


def validate_batch(records: bytes, version: int, most: int) -> RecordBatch | ProduceOutcome:
    """Return the batch in a Produce request, or the error.

    Args:
        records: the bytes for the partition.
        version: the version of the Produce request.
        most: the maximum size of a batch in bytes.
    """
    # Kafka: UnifiedLog.analyzeAndValidateRecords
    if version < FIRST_OF_MAGIC_2:
        return ProduceOutcome(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1, "only record batches of magic 2 are supported"
        )
    if len(records) > most:
        return ProduceOutcome(ErrorCode.MESSAGE_TOO_LARGE, -1, f"a batch may have at most {most} bytes")
    try:
        batch, *others = parse_records(records)
    except BadChecksum as error:
        return ProduceOutcome(ErrorCode.CORRUPT_MESSAGE, -1, str(error))
    except (DecodeError, ValueError) as error:
        return ProduceOutcome(
            ErrorCode.CORRUPT_MESSAGE,
            -1,
            str(error) if isinstance(error, KwireError) else "the request contains no batch",
        )
    problem = "the request contains more than one batch" if others else _problem(batch)
    return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, problem) if problem else batch


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


APIS = {  # what each version has changed
    # 0 to 2: message sets, which are refused per batch: some clients read a higher minimum as "no compression"
    #    (KAFKA-18659)
    # 1: the throttle time
    # 2: the time of append (KIP-32)
    # 3: record batches of magic 2, and transactional ids (KIP-98)
    # 4: KAFKA_STORAGE_ERROR (KIP-112)
    # 5: the log start offset (KIP-107)
    # 6: the response is sent before the client is throttled (KIP-219)
    # 7: batches compressed with zstd (KIP-110)
    # 8: the refused records of a batch, and an error message (KIP-467)
    # 9: flexible (KIP-482)
    # 10: the new leader of a partition (KIP-951)
    # 11: TRANSACTION_ABORTABLE (KIP-890)
    # 12: the broker adds partitions to transactions itself (KIP-890)
    # 13: topic ids instead of names (KIP-516)
    "Produce": ServedApi(0, 13, produce, finds_errors=True),
}
