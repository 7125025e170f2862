"""Renders logs as lines: one for each day, one for each record, and one for each batch that adds information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..codecs.records import RecordBatch
from ..errors import DecodeError
from .colours import PLAIN, Style
from .escaping import escape_line
from .record_text import Entry, batch_text, disk_fields, message_text, part_text, schema_problems, time_text
from .value_text import count_text, shorten


class RecordLines:
    """Writes the lines of logs; tracks the current batch.

    >>> from kwire import Record, build_batch
    >>> from kwire.capture.logs.log_reader import LogReader
    >>> lines = RecordLines()
    >>> for batch in LogReader([build_batch([Record(7, 1700000000000, b"k", b"v")])]):
    ...     for entry in batch.entries():
    ...         print(*lines.lines(entry), sep="\\n")
    # batch at 0, 70 bytes: offset 7, none
    # 2023-11-14
           7 22:13:20.000 "k": "v"
    """

    def __init__(self, style: Style = PLAIN) -> None:
        self.style = style
        self._batch: RecordBatch | None = None
        self._date = ""

    def lines(self, entry: Entry) -> Iterator[str]:
        """Yield the lines of a record, of bytes that could not be read, or of a batch without records."""
        if isinstance(entry, DiskEntry):
            yield from self._disk(entry)
            return
        batch = entry if isinstance(entry, LogBatch) else entry.batch
        header = batch.header if isinstance(batch, LogBatch) else batch
        if header is not None and header is not self._batch:
            self._batch = header
            yield from self._batch_lines(header, batch.faults if isinstance(batch, LogBatch) else header.faults)
        if not isinstance(entry, LogBatch):
            yield from [self._bytes(entry)] if isinstance(entry, LogBytes) else self._record(entry)

    def _batch_lines(self, batch: RecordBatch, faults: Iterable[DecodeError]) -> Iterator[str]:
        if batch.magic == 2 or batch.compression_id:
            yield self._line("dim", batch_text(batch))
        for fault in faults:
            yield self._line("warning", f"! batch at {batch.position}: {fault}")

    def _record(self, entry: LogRecord) -> Iterator[str]:
        """Yield the line of a record; a line with the date (UTC) precedes it if the date has changed."""
        record = entry.record
        date, _, time = time_text(record.timestamp).rpartition(" ")
        if date not in ("", self._date):
            self._date = date
            yield self._line("dim", f"# {date}")
        headers = f"  {count_text(len(record.headers), 'header')}" if record.headers else ""
        if entry.message is not None:
            text = message_text(entry.message)
        else:
            key = part_text(record.key, entry.key_by_schema)
            text = f"{key}: {part_text(record.value, entry.value_by_schema, self.style.width)}{headers}"
        problems = [entry.fault.reason] if entry.fault else list(schema_problems(entry))
        fault = "".join(f"!{problem}  " for problem in problems)
        kind = "warning" if problems else "value"
        yield self._line(kind, f"{record.offset:>8} {time:<12} {fault}{text}")

    def _disk(self, entry: DiskEntry) -> Iterator[str]:
        if entry.index == 0:
            yield self._line("dim", f"# {entry.kind}")
        fields = " ".join(f"{name}={value}" for name, value in disk_fields(entry))
        yield self._line("value", f"{entry.index:>8} {fields}")
        for fault in entry.faults:
            yield self._line("warning", f"! {fault}")

    def _bytes(self, entry: LogBytes) -> str:
        if entry.error is None:
            return self._line("dim", f"# {count_text(entry.count, 'zero')} at {entry.position}: space allocated ahead")
        return self._line("error", f"?  !undecodable at {entry.position}: {entry.error.reason}")

    def _line(self, kind: str, text: str) -> str:
        return self.style.paint(kind, shorten(escape_line(text), self.style.width))
