"""What a leader writes into a batch: its offsets, its leader epoch, and with LogAppendTime its timestamps.

As Kafka's LogValidator.validateMessagesAndAssignOffsets.
"""

from __future__ import annotations

import msgspec

from ...codecs.records import RecordBatch
from ...codecs.records.crc32c import crc32c
from ...codecs.records.record_layouts import LOG_APPEND_TIME


def stamp_batch(batch: RecordBatch, base_offset: int, leader_epoch: int) -> RecordBatch:
    """Set the offsets and leader epoch of a batch; its checksum covers neither."""
    # This is the only copy of a batch between request and log: 0.3 ms for 1 MB. Concatenating slices would copy twice.
    data = b"".join(
        (base_offset.to_bytes(8, "big"), batch.data[8:12], leader_epoch.to_bytes(4, "big"), memoryview(batch.data)[16:])
    )
    return msgspec.structs.replace(
        batch,
        base_offset=base_offset,
        last_offset=base_offset + batch.last_offset_delta,
        partition_leader_epoch=leader_epoch,
        data=data,
    )


def stamp_append_time(batch: RecordBatch, now_ms: int) -> RecordBatch:
    """Set the timestamps of a batch to the broker's time, as for `message.timestamp.type=LogAppendTime`.

    >>> from kwire import Record, build_batch, parse_records
    >>> (batch,) = parse_records(build_batch([Record(0, 5, value=b"a")]))
    >>> (batch,) = parse_records(stamp_append_time(batch, 1000).data)
    >>> batch.timestamp_type, [record.timestamp for record in batch.records()]
    ('LogAppendTime', [1000])
    """
    attributes = batch.attributes | LOG_APPEND_TIME
    covered = b"".join(
        (attributes.to_bytes(2, "big"), batch.data[23:35], now_ms.to_bytes(8, "big", signed=True), batch.data[43:])
    )
    crc = crc32c(covered)
    data = batch.data[:17] + crc.to_bytes(4, "big") + covered
    return msgspec.structs.replace(batch, attributes=attributes, max_timestamp=now_ms, crc=crc, data=data)
