"""The JSON of one record of a log, in a fixed shape (version 1), so that `jq` needs no state:

    {"kwire": 1, "type": "record", "source": {...}, "topic": "__consumer_offsets", "batch": {...},
     "offset": 7, "timestamp": 1700000000000, "key": ..., "value": ..., "headers": [...]}

`key` and `value` are null, {"text"}, {"base64"}, or decoded: {"name", "version", "payload"}. A batch without records
has type "batch", zeros have "zeros" and a count, undecodable bytes are "undecodable", as for frames. An entry of a file
beside the segments is a "diskEntry", with its kind and its fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..errors import DecodeError
from ..internal import ControlRecord, FramedRecord
from ..internal.versioned_body import Embedded, codec_of
from ..logs import DiskEntry, LogBatch, LogBytes, LogRecord
from ..records import RecordBatch
from ..sensitive_fields import HIDDEN, Hidden
from .json_frame import error_json
from .record_text import (
    Entry,
    bytes_json,
    bytes_text,
    control_name,
    disk_fields,
    embedded_json,
    parts_of,
    safe,
    time_text,
)
from .style import PLAIN, Style, escape
from .tree import fields
from .values import count_text, error_lines, value_text

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
    members["source"] = _source(batch.file, batch.header)
    if isinstance(entry, LogRecord):
        members["source"]["record"] = entry.index
    if batch.topic is not None:
        members["topic"] = batch.topic
    members["batch"] = batch_json(batch)
    return members if isinstance(entry, LogBatch) else {**members, **_record(entry)}


def record_json_line(entry: Entry) -> str:
    """Return the JSON of `record_envelope` on one line, safe for a terminal."""
    return escape(msgspec.json.encode(record_envelope(entry)).decode())


def batch_json(batch: LogBatch) -> dict[str, Any]:
    """Return the header of a batch, its size, and its faults."""
    header = batch.header
    members: dict[str, Any] = {name: getattr(header, attribute) for name, attribute in HEADER.items()}
    members = {"size": len(header.data), **{name: value for name, value in members.items() if value is not None}}
    return {**members, "faults": [_fault(fault) for fault in batch.faults]} if batch.faults else members


def _record(entry: LogRecord) -> dict[str, Any]:
    record, message = entry.record, entry.message
    members: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    if record.create_timestamp is not None:
        members["createTimestamp"] = record.create_timestamp
    if isinstance(message, ControlRecord):
        members["control"] = control_name(message)
    elif message is not None:
        members["recordType"] = message.type
    key, value = (None, None) if message is None else parts_of(message)
    members["key"] = bytes_json(record.key) if key is None else embedded_json(key)
    members["value"] = bytes_json(record.value) if value is None else embedded_json(value)
    if isinstance(message, FramedRecord):
        members["frameVersion"] = message.frame_version
    members["headers"] = [{"key": name, "value": bytes_json(value)} for name, value in record.headers]
    if entry.fault is not None:
        members["faults"] = [_fault(entry.fault)]
    return members


def _disk(entry: DiskEntry) -> dict[str, Any]:
    source = {"file": entry.file, "offset": entry.position, "entry": entry.index}
    is_named = isinstance(entry.value, dict)  # as the file names them
    fields = {name if is_named else _camel_case(name): value for name, value in entry.fields.items()}
    members = {"kwire": 1, "type": "diskEntry", "source": source, "kind": entry.kind, "fields": fields}
    return {**members, "faults": [_fault(fault) for fault in entry.faults]} if entry.faults else members


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _bytes(entry: LogBytes) -> dict[str, Any]:
    source = _source(entry.file, entry.batch) if entry.batch else {"file": entry.file, "offset": entry.position}
    members: dict[str, Any] = {"kwire": 1, "type": "zeros" if entry.error is None else "undecodable", "source": source}
    if entry.error is None:
        return {**members, "count": entry.count}
    raw = {HIDDEN: entry.count} if isinstance(entry.data, Hidden) else entry.data.hex()
    return {**members, "error": error_json(entry.error), "raw": raw}


def _source(file: str, batch: RecordBatch) -> dict[str, Any]:
    return {"file": file, "offset": batch.position, "batch": batch.index}


def _fault(fault: DecodeError) -> dict[str, Any]:
    return {**error_json(fault), "raw": fault.raw.hex()}


_TIMES = {"base_timestamp", "max_timestamp", "delete_horizon"}
WIDTH = 2000  # characters of a key or value


class RecordTree:
    """Writes the records of logs as trees; tracks the current batch."""

    def __init__(self, style: Style = PLAIN) -> None:
        self.style = style
        self._place: tuple[str, int] | None = None

    def lines(self, entry: Entry) -> Iterator[str]:
        """Yield the lines of a record, of bytes that could not be read, or of a batch without records."""
        if isinstance(entry, DiskEntry):
            yield from self._disk(entry)
            return
        batch = entry if isinstance(entry, LogBatch) else entry.batch
        if isinstance(batch, LogBatch) and (batch.file, batch.header.position) != self._place:
            self._place = batch.file, batch.header.position
            yield from self._batch(batch)
        if isinstance(entry, LogRecord):
            yield from self._record(entry)
        elif isinstance(entry, LogBytes):
            yield from self._bytes(entry)

    def _disk(self, entry: DiskEntry) -> Iterator[str]:
        yield self.style.paint("title", f"{entry.kind}, entry {entry.index} at {entry.position}")
        for name, text in disk_fields(entry):
            yield self._line(name, text, 1)
        for fault in entry.faults:
            yield "  " + self.style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))

    def _batch(self, batch: LogBatch) -> Iterator[str]:
        header = batch.header
        of = f" of {batch.topic}" if batch.topic else ""
        yield self.style.paint(
            "title", f"batch {header.index}{of}, at {header.position}, {count_text(len(header.data), 'byte')}"
        )
        for name in HEADER.values():
            value = getattr(header, name)
            if value is not None:
                time = f" ({time_text(value)})" if name in _TIMES and value >= 0 else ""
                yield self._line(name, f"{value_text(value) if not isinstance(value, str) else value}{time}", 1)
        for fault in batch.faults:
            yield "  " + self.style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))

    def _record(self, entry: LogRecord) -> Iterator[str]:
        record, message = entry.record, entry.message
        word = f", {control_name(message)}" if isinstance(message, ControlRecord) else ""
        yield "  " + self.style.paint("dim", f"record {record.offset}, {time_text(record.timestamp)}{word}")
        if record.create_timestamp is not None:
            yield self._line("create time", time_text(record.create_timestamp), 2)
        key, value = (None, None) if message is None else parts_of(message)
        if not isinstance(message, FramedRecord):
            yield from self._part("key", record.key, key)
        yield from self._part("value", record.value, value)
        for name, data in record.headers:
            yield self._line(f"header {value_text(name)}", safe(bytes_text(data, WIDTH)), 2)
        if entry.fault is not None:
            yield "    " + self.style.paint("warning", escape(f"! {type(entry.fault).__name__}: {entry.fault}"))

    def _part(self, name: str, data: bytes | None, embedded: Embedded | None) -> Iterator[str]:
        codec = None if embedded is None else codec_of(embedded)
        if embedded is None or codec is None:
            unknown = f"{embedded.name or 'unknown type'} v{embedded.version}: " if embedded is not None else ""
            yield self._line(name, safe(unknown + bytes_text(data, WIDTH)), 2)
            return
        yield self._line(name, f"{embedded.name} v{embedded.version}", 2)
        yield from fields(codec, embedded.message, 3, self.style)
        if embedded.rest:
            yield self._line("rest", value_text(embedded.rest), 3)

    def _bytes(self, entry: LogBytes) -> Iterator[str]:
        if entry.error is None:
            yield self.style.paint("dim", f"{count_text(entry.count, 'zero')} at {entry.position}: allocated ahead")
            return
        indent = "  " if entry.batch else ""
        yield indent + self.style.paint("error", f"undecodable: {count_text(entry.count, 'byte')} at {entry.position}")
        for line in error_lines(entry.error, self.style):
            yield f"{indent}  {line}"
        yield f"{indent}  {value_text(entry.data)}"

    def _line(self, name: str, text: str, depth: int) -> str:
        return f"{'  ' * depth}{self.style.paint('name', f'{name}:')} {self.style.paint('value', text)}"
