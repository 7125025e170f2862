"""Produce: checks batches, assigns offsets, and writes them to all in-sync replicas."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import messages
from ...errors import DecodeError, KwireError, MissingExtra
from ...errors.decode import BadChecksum
from ...records import RecordBatch, parse_records
from .. import codes
from ..cluster import READ_ONLY, RequestContext
from ..configs import PRODUCE
from ..log import Log, with_append_time
from ..topics import INTERNAL, Partition, Topic
from ..transactions import TransactionState

FIRST_WITH_ABORTABLE = 11  # KIP-890
FIRST_OF_PROTOCOL_2 = 12  # KIP-890: writing to a partition takes it into the transaction
FIRST_OF_MAGIC_2 = 3  # older versions of Produce carry message sets, which are not supported

NO_TIME = -1


class Outcome(NamedTuple):
    """Error code, offset of the first record, error message, and the broker's time if the records have it."""

    code: int
    offset: int = -1
    message: str | None = None
    time: int = NO_TIME


def produce(request: RequestContext) -> Any:
    """Answer Produce; None for acks=0."""
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
        unknown = codes.UNKNOWN_TOPIC_OR_PARTITION if name or topic else codes.UNKNOWN_TOPIC_ID
        outcome = Outcome(unknown)
    elif topic.name in INTERNAL:
        outcome = Outcome(codes.INVALID_TOPIC_EXCEPTION, -1, "only the broker writes to internal topics")
    else:
        outcome = _write(request, topic, sent.index, sent.records or b"")
    return messages.ProduceResponse.PartitionProduceResponse(
        index=sent.index,
        error_code=outcome.code,
        base_offset=outcome.offset,
        log_append_time_ms=outcome.time,
        error_message=outcome.message,
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
    if topic.has_policy("compact") and _lacks_keys(batch):
        return Outcome(codes.INVALID_RECORD, -1, "a record of a compacted topic has a key")
    if batch.is_transactional and (code := _join(request, partition, log, batch)):
        return Outcome(code, -1, "the partition is in no open transaction of this producer")
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
    return Outcome(codes.NONE, offset, None, time)


def _lacks_keys(batch: RecordBatch) -> bool:
    try:
        return any(record.key is None for record in batch.records())
    except MissingExtra:
        return False  # a batch that cannot be decompressed here is left to consumers


def _acks_problem(request: RequestContext, topic: Topic, partition: Partition) -> int:
    if request.message.acks not in (-1, 0, 1):
        return codes.INVALID_REQUIRED_ACKS
    least = topic.number("min.insync.replicas", request.cluster.settings.min_insync_replicas)
    return codes.NOT_ENOUGH_REPLICAS if request.message.acks == -1 and len(partition.isr) < least else codes.NONE


def _join(request: RequestContext, partition: Partition, log: Log, batch: RecordBatch) -> int:
    """Check that a transaction may write to a partition; with KIP-890 it takes the partition in by that."""
    transactional_id, transactions = request.message.transactional_id, request.cluster.transactions
    if batch.producer_id in log.producers.open:
        return codes.NONE
    if transactional_id is None:
        return codes.INVALID_TXN_STATE
    place = partition.topic, partition.index
    found = transactions.checked(transactional_id, batch.producer_id, batch.producer_epoch)
    if isinstance(found, int):
        return codes.INVALID_PRODUCER_EPOCH if found == codes.PRODUCER_FENCED else found
    if request.version >= FIRST_OF_PROTOCOL_2:
        transactions.add(found, request.now, [place], protocol=2)
    elif place not in found.partitions or found.state is not TransactionState.ONGOING:
        is_new = request.version >= FIRST_WITH_ABORTABLE
        return codes.TRANSACTION_ABORTABLE if is_new else codes.INVALID_TXN_STATE
    return codes.NONE


def checked(records: bytes, version: int, most: int) -> RecordBatch | Outcome:
    """Return the batch of a Produce request, or the error.

    Args:
        records: the bytes of the partition.
        version: of the Produce request.
        most: the largest size of a batch, in bytes.
    """
    if version < FIRST_OF_MAGIC_2:
        return Outcome(codes.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1, "only record batches of magic 2 are kept")
    if len(records) > most:
        return Outcome(codes.MESSAGE_TOO_LARGE, -1, f"a batch may have {most} bytes")
    try:
        batch, *others = parse_records(records)
    except BadChecksum as error:
        return Outcome(codes.CORRUPT_MESSAGE, -1, str(error))
    except (DecodeError, ValueError) as error:
        return Outcome(codes.CORRUPT_MESSAGE, -1, str(error) if isinstance(error, KwireError) else "there is no batch")
    problem = "there is more than one batch" if others else _problem(batch)
    return Outcome(codes.INVALID_RECORD, -1, problem) if problem else batch


def _problem(batch: RecordBatch) -> str:
    if batch.magic != 2:
        return "only record batches of magic 2 are kept"
    if batch.is_control:
        return "clients write no control records"
    if batch.is_transactional and batch.producer_id < 0:
        return "a transactional batch has a producer id"
    if (batch.record_count or 0) <= 0 or batch.last_offset_delta + 1 != batch.record_count:
        return f"{batch.record_count} records cannot end at delta {batch.last_offset_delta}"
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        return "an idempotent producer numbers its batches and has an epoch"
    return _problem_inside(batch)


def _problem_inside(batch: RecordBatch) -> str:
    try:
        if not batch.is_whole():
            return f"the offset deltas of its records are not 0 to {batch.last_offset_delta}"
    except MissingExtra:
        return ""  # a batch that cannot be decompressed here is left to consumers
    except DecodeError as error:
        return str(error)
    return ""
