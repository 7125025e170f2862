"""Renders the records of logs as trees of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..protocol.nested import ControlRecord, FramedRecord
from ..protocol.nested.versioned_message import Embedded, embedded_codec
from .colours import PLAIN, Style
from .escaping import escape, escape_line
from .frame_tree import fields
from .json_objects.record_json import HEADER
from .record_text import Entry, bytes_text, control_name, disk_fields, part_text, parts_of, schema_problems, time_text
from .value_text import count_text, error_lines, value_text

if TYPE_CHECKING:
    from ..serdes.schema_value import SchemaValue

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
            yield self._fault_line(fault, 1)

    def _batch(self, batch: LogBatch) -> Iterator[str]:
        header = batch.header
        of_topic = f" of {batch.topic}" if batch.topic else ""
        size = count_text(len(header.data), "byte")
        yield self.style.paint("title", f"batch {header.index}{of_topic}, at {header.position}, {size}")
        for name in HEADER.values():
            value = getattr(header, name)
            if value is not None:
                time = f" ({time_text(value)})" if name in _TIMES and value >= 0 else ""
                text = value if isinstance(value, str) else value_text(value)
                yield self._line(name, f"{text}{time}", 1)
        for fault in batch.faults:
            yield self._fault_line(fault, 1)

    def _record(self, entry: LogRecord) -> Iterator[str]:
        record, message = entry.record, entry.message
        word = f", {control_name(message)}" if isinstance(message, ControlRecord) else ""
        yield "  " + self.style.paint("dim", f"record {record.offset}, {time_text(record.timestamp)}{word}")
        if record.create_timestamp is not None:
            yield self._line("create time", time_text(record.create_timestamp), 2)
        key, value = (None, None) if message is None else parts_of(message)
        if not isinstance(message, FramedRecord):
            yield from self._part("key", record.key, key, entry.key_by_schema)
        yield from self._part("value", record.value, value, entry.value_by_schema)
        for name, data in record.headers:
            yield self._line(f"header {value_text(name)}", escape_line(bytes_text(data, WIDTH)), 2)
        if entry.fault is not None:
            yield self._fault_line(entry.fault, 2)
        for problem in schema_problems(entry):
            yield "    " + self.style.paint("warning", escape_line(f"! {problem}"))

    def _part(
        self, name: str, data: bytes | None, embedded: Embedded | None, by_schema: SchemaValue | None
    ) -> Iterator[str]:
        codec = None if embedded is None else embedded_codec(embedded)
        if by_schema is not None and by_schema.json:
            yield self._line(name, escape_line(by_schema.title), 2)
            yield "      " + self.style.paint("value", escape_line(part_text(data, by_schema, WIDTH)))
            return
        if embedded is None or codec is None:
            unknown = f"{embedded.name or 'unknown type'} v{embedded.version}: " if embedded is not None else ""
            yield self._line(name, escape_line(unknown + bytes_text(data, WIDTH)), 2)
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

    def _fault_line(self, fault: Exception, depth: int) -> str:
        return "  " * depth + self.style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))

    def _line(self, name: str, text: str, depth: int) -> str:
        return f"{'  ' * depth}{self.style.paint('name', f'{name}:')} {self.style.paint('value', text)}"
