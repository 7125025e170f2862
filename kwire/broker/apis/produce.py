"""Produce: checks batches, assigns offsets, and writes them to all replicas in sync."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...errors import DecodeError, KwireError, MissingExtra
from ...errors.decode import BadChecksum
from ...records import RecordBatch, parse_records
from .. import codes
from ..cluster import RequestContext
from ..topics import Topic

FIRST_OF_MAGIC_2 = 3  # versions of Produce before it bring message sets, which are not kept here

Outcome = tuple[int, int, str | None]  # error code, offset of the first record, what is wrong in words


def produce(request: RequestContext) -> Any:
    """Answer Produce; acks=0 gets no answer."""
    response = messages.ProduceResponse
    rows = []
    for sent in request.message.topic_data:
        topic = request.cluster.controller.find(sent.name, sent.topic_id)
        parts = tuple(_partition(request, topic, part, by_id=not sent.name) for part in sent.partition_data)
        rows.append(response.TopicProduceResponse(name=sent.name, topic_id=sent.topic_id, partition_responses=parts))
    return None if request.message.acks == 0 else response(responses=tuple(rows))


def _partition(request: RequestContext, topic: Topic | None, sent: Any, *, by_id: bool) -> Any:
    if topic is None or not 0 <= sent.index < len(topic.partitions):
        unknown = codes.UNKNOWN_TOPIC_ID if topic is None and by_id else codes.UNKNOWN_TOPIC_OR_PARTITION
        outcome: Outcome = (unknown, -1, None)
    else:
        outcome = _write(request, topic, sent.index, sent.records or b"")
    return messages.ProduceResponse.PartitionProduceResponse(
        index=sent.index, error_code=outcome[0], base_offset=outcome[1], error_message=outcome[2]
    )


def _write(request: RequestContext, topic: Topic, index: int, records: bytes) -> Outcome:
    partition, settings = topic.partitions[index], request.cluster.settings
    log = request.error(topic.name, index) or partition.log_at(request.node_id)
    if isinstance(log, int):
        return log, -1, None
    if request.message.acks not in (-1, 0, 1):
        return codes.INVALID_REQUIRED_ACKS, -1, None
    least = topic.number("min.insync.replicas", settings.min_insync_replicas)
    if request.message.acks == -1 and len(partition.isr) < least:
        return codes.NOT_ENOUGH_REPLICAS, -1, None
    batch = checked(records, request.version, topic.number("max.message.bytes", settings.max_message_bytes))
    if not isinstance(batch, RecordBatch):
        return batch
    code, offset = log.producers.check(batch)
    if code or offset is not None:
        return code, -1 if offset is None else offset, None
    offset, failed = partition.append(log, batch)
    request.cluster.fail(*failed)
    if offset is None:
        return codes.KAFKA_STORAGE_ERROR, -1, "the log directory failed"
    retention_bytes = topic.number("retention.bytes", settings.retention_bytes)
    if retention_bytes >= 0:
        request.cluster.fail(*partition.retain(retention_bytes))
    request.cluster.waiting.changed((partition.topic, partition.index))
    return codes.NONE, offset, None


def checked(records: bytes, version: int, most: int) -> RecordBatch | Outcome:
    """Take the one batch out of what a producer sends, or say what is wrong with it.

    Args:
        records: the bytes.
        version: of the Produce request.
        most: how many bytes a batch may have.
    """
    if version < FIRST_OF_MAGIC_2:
        return codes.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1, "only record batches of magic 2 are kept"
    if len(records) > most:
        return codes.MESSAGE_TOO_LARGE, -1, f"a batch may have {most} bytes"
    try:
        batch, *others = parse_records(records)
    except BadChecksum as error:
        return codes.CORRUPT_MESSAGE, -1, str(error)
    except (DecodeError, ValueError) as error:
        return codes.CORRUPT_MESSAGE, -1, str(error) if isinstance(error, KwireError) else "there is no batch"
    problem = "there is more than one batch" if others else _problem(batch)
    return (codes.INVALID_RECORD, -1, problem) if problem else batch


def _problem(batch: RecordBatch) -> str:
    if batch.magic != 2:
        return "only record batches of magic 2 are kept"
    if batch.is_control or batch.is_transactional:
        return "control records and transactions are not served"
    if (batch.record_count or 0) <= 0 or batch.last_offset_delta + 1 != batch.record_count:
        return f"{batch.record_count} records cannot end at delta {batch.last_offset_delta}"
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        return "an idempotent producer numbers its batches and has an epoch"
    return _problem_inside(batch)


def _problem_inside(batch: RecordBatch) -> str:
    first = batch.base_offset or 0
    count = 0
    try:
        for record in batch.records():
            if record.offset != first + count:
                return f"record {count} has offset delta {record.offset - first}"
            count += 1
    except MissingExtra:
        return ""  # what cannot be decompressed here is left to whoever consumes it
    except DecodeError as error:
        return str(error)
    return ""
