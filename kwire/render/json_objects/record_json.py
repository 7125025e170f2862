"""The JSON object of a log record, of a batch, or of an entry of a file beside the segments, format version 1.

Each record is self-contained, so that `jq` needs no state:

    {"kwire": 1, "type": "record", "source": {...}, "topic": "__consumer_offsets", "batch": {...},
     "offset": 7, "timestamp": 1700000000000, "key": ..., "value": ..., "headers": [...]}

`key` and `value` are null, {"text"}, {"base64"}, or decoded: {"name", "version", "payload"}; by schema {"schema",
"payload"}, or their bytes with {"schema", "error"}. The type is "batch" for a
batch without records, "zeros" for zeros, "undecodable" for undecodable bytes, and "diskEntry" for an entry of a file
beside the segments.
"""

from __future__ import annotations

from typing import Any

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...codecs.records import RecordBatch
from ...errors import DecodeError
from ...protocol.nested import ControlRecord, FramedRecord
from ...schema.sensitive_fields import HIDDEN, Hidden
from ..escaping import compact_json
from ..record_text import Entry, bytes_json, control_name, embedded_json, part_json, parts_of
from .frame_json import error_json

HEADER = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "recordCount": "record_count",
    "magic": "magic",
    "crc": "crc",
    "attributes": "attributes",
    "compression": "compression",
    "timestampType": "timestamp_type",
    "baseTimestamp": "base_timestamp",
    "maxTimestamp": "max_timestamp",
    "deleteHorizon": "delete_horizon",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "baseSequence": "base_sequence",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
}


def record_envelope(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of a record, of bytes that could not be read, or of a batch without records."""
    if isinstance(entry, LogBytes):
        return _bytes(entry)
    if isinstance(entry, DiskEntry):
        return _disk(entry)
    batch = entry if isinstance(entry, LogBatch) else entry.batch
    members: dict[str, Any] = {"kwire": 1, "type": "batch" if entry is batch else "record"}
    members["source"] = _batch_source(batch.file, batch.header)
    if isinstance(entry, LogRecord):
        members["source"]["record"] = entry.index
    if batch.topic is not None:
        members["topic"] = batch.topic
    members["batch"] = batch_json(batch)
    return members if isinstance(entry, LogBatch) else {**members, **record_members(entry)}


def record_json_line(entry: Entry) -> str:
    """Return the JSON of `record_envelope` on one line, safe for a terminal."""
    return compact_json(record_envelope(entry))


def batch_json(batch: LogBatch) -> dict[str, Any]:
    """Return the header of a batch, its size, and its faults."""
    header = batch.header
    members: dict[str, Any] = {name: getattr(header, attribute) for name, attribute in HEADER.items()}
    members = {"size": len(header.data), **{name: value for name, value in members.items() if value is not None}}
    return {**members, "faults": [_fault(fault) for fault in batch.faults]} if batch.faults else members


def record_members(entry: LogRecord) -> dict[str, Any]:
    """Return the members of a record itself: offset, times, key, value, headers, faults."""
    record, message = entry.record, entry.message
    members: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    if record.create_timestamp is not None:
        members["createTimestamp"] = record.create_timestamp
    if isinstance(message, ControlRecord):
        members["control"] = control_name(message)
    elif message is not None:
        members["recordType"] = message.type
    key, value = (None, None) if message is None else parts_of(message)
    members["key"] = part_json(record.key, entry.key_by_schema) if key is None else embedded_json(key)
    members["value"] = part_json(record.value, entry.value_by_schema) if value is None else embedded_json(value)
    if isinstance(message, FramedRecord):
        members["frameVersion"] = message.frame_version
    members["headers"] = [{"key": name, "value": bytes_json(value)} for name, value in record.headers]
    if entry.fault is not None:
        members["faults"] = [_fault(entry.fault)]
    return members


def _disk(entry: DiskEntry) -> dict[str, Any]:
    source = {"file": entry.file, "offset": entry.position, "entry": entry.index}
    is_named = isinstance(entry.value, dict)  # named as in the file
    fields = {name if is_named else _camel_case(name): value for name, value in entry.fields.items()}
    members = {"kwire": 1, "type": "diskEntry", "source": source, "kind": entry.kind, "fields": fields}
    return {**members, "faults": [_fault(fault) for fault in entry.faults]} if entry.faults else members


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _bytes(entry: LogBytes) -> dict[str, Any]:
    source = _batch_source(entry.file, entry.batch) if entry.batch else {"file": entry.file, "offset": entry.position}
    members: dict[str, Any] = {"kwire": 1, "type": "zeros" if entry.error is None else "undecodable", "source": source}
    if entry.error is None:
        return {**members, "count": entry.count}
    raw = {HIDDEN: entry.count} if isinstance(entry.data, Hidden) else entry.data.hex()
    return {**members, "error": error_json(entry.error), "raw": raw}


def _batch_source(file: str, batch: RecordBatch) -> dict[str, Any]:
    return {"file": file, "offset": batch.position, "batch": batch.index}


def _fault(fault: DecodeError) -> dict[str, Any]:
    return {**error_json(fault), "raw": fault.raw.hex()}
