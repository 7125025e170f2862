"""Builds record batches of magic 2, and message sets of magic 0 and 1, out of records.

Where nothing is said, a header's field is what Kafka's producer writes. Knows nothing of parsing.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from ..wire import INT8, INT16, INT32, INT64, UINT32
from ..wire.varints import unsigned_varint
from .checksums import crc32c
from .compression import deflate
from .layouts import (
    CHECKED_FROM,
    LEAST_LENGTH,
    LOG_OVERHEAD,
    MESSAGES,
    RECORD,
    MessageFields,
    RecordFields,
    int64,
)
from .plans import Plan
from .values import Record


def build_batch(
    records: Iterable[Record],
    *,
    magic: int = 2,
    compression: str = "none",
    timestamp_type: str = "CreateTime",
    base_offset: int | None = None,
    last_offset: int | None = None,
    partition_leader_epoch: int = -1,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    delete_horizon: int | None = None,
    attributes: int = 0,
) -> bytes:
    """Build a record batch; in magic 0 and 1 a message set: one message a record, or a compressed one around them.

    Args:
        records: in the order of their offsets.
        magic: 0, 1 or 2; from 2 on there are headers, and all that follows `last_offset` here.
        compression: `none`, `gzip`, `snappy`, `lz4` or (magic 2) `zstd`.
        timestamp_type: `CreateTime`, or `LogAppendTime` for times that are the broker's; magic 0 has no times.
        base_offset: of the first record, unless that was cleaned away.
        last_offset: of the last record, unless that was cleaned away.
        base_timestamp: what the records' times are written relative to; that of the first record.
        max_timestamp: the highest of the records' times.
        attributes: bits that have no name here.

    Returns:
        The bytes, with lengths and checksum.

    Raises:
        EncodeError: a value that does not fit, or that this magic would lose; with its path.
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch
    >>> build_batch([Record(0, key=b"k", value=b"v")], magic=0).hex(" ", 4)
    '00000000 00000000 00000010 1fecd70a 00000000 00016b00 00000176'
    """
    plan = Plan(
        records=tuple(records),
        magic=magic,
        compression=compression,
        timestamp_type=timestamp_type,
        base_offset=base_offset,
        last_offset=last_offset,
        partition_leader_epoch=partition_leader_epoch,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        delete_horizon=delete_horizon,
        attributes=attributes,
    )
    return _build_batch(plan.checked()) if magic == 2 else _build_set(plan.checked())


def _build_batch(plan: Plan) -> bytes:
    base_timestamp = plan.first_timestamp()
    body = b"".join(_record(plan, index, base_timestamp) for index in range(len(plan.records)))
    if plan.codec and body:  # of an empty batch nothing is read behind the header
        body = deflate(plan.compression, body)
    writer = plan.writer()
    writer.child("base_offset", INT64, plan.first_offset)
    writer.child("length", INT32, len(body) + LEAST_LENGTH[2])
    writer.child("partition_leader_epoch", INT32, plan.partition_leader_epoch)
    writer.child("magic", INT8, 2)
    writer.child("crc", UINT32, 0)
    writer.child("attributes", INT16, plan.bits())
    writer.child("last_offset_delta", INT32, int64(plan.end_offset - plan.first_offset))
    writer.child("base_timestamp", INT64, base_timestamp)
    writer.child("max_timestamp", INT64, plan.highest_timestamp())
    writer.child("producer_id", INT64, plan.producer_id)
    writer.child("producer_epoch", INT16, plan.producer_epoch)
    writer.child("base_sequence", INT32, plan.base_sequence)
    writer.child("record_count", INT32, len(plan.records))
    checked = bytes(writer.out[CHECKED_FROM[2] :]) + body
    writer.out[17 : CHECKED_FROM[2]] = crc32c(checked).to_bytes(4, "big")
    return bytes(writer.out[: CHECKED_FROM[2]]) + checked


def _record(plan: Plan, index: int, base_timestamp: int) -> bytes:
    record = plan.records[index]
    fields = RecordFields(
        record.attributes,
        int64(plan.written_timestamp(record) - base_timestamp),
        int64(record.offset - plan.first_offset),
        record.key,
        record.value,
        plan.headers(index),
    )
    writer = plan.writer("records", index)
    RECORD._build(fields, writer, None, "")
    size = len(writer.out)
    return unsigned_varint(2 * size) + writer.out


def _build_set(plan: Plan) -> bytes:
    """Build messages one after the other; if they are to be compressed, a message around them (Kafka: wrapper)."""
    relative = plan.first_offset if plan.codec and plan.magic else 0
    messages = []
    for index, record in enumerate(plan.records):
        timestamp = plan.written_timestamp(record) if plan.codec else record.timestamp
        fields = MessageFields(record.key, record.value, timestamp)
        bits = plan.bits(record.attributes, inside=True)
        messages.append(_message(plan, record.offset - relative, bits, fields, "records", index))
    body = b"".join(messages)
    if not plan.codec:
        return body
    value = deflate(plan.compression, body, magic=plan.magic)
    return _message(plan, plan.end_offset, plan.bits(), MessageFields(None, value, plan.highest_timestamp()))


def _message(plan: Plan, offset: int, bits: int, fields: MessageFields, *path: str | int) -> bytes:
    writer = plan.writer(*path)
    writer.child("magic", INT8, plan.magic)
    writer.child("attributes", INT8, bits)
    MESSAGES[plan.magic]._build(fields, writer, None, "")
    checked = bytes(writer.out)
    writer.out.clear()
    writer.child("offset", INT64, offset)
    writer.child("length", INT32, len(checked) + CHECKED_FROM[0] - LOG_OVERHEAD)
    writer.child("crc", UINT32, crc32(checked))
    return bytes(writer.out) + checked
