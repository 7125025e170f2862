"""A log as lines: one for each batch that says more than its records do, one for each day, one for each record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import DecodeError
from ..logs import LogBatch, LogBytes, LogRecord
from ..records import RecordBatch
from .record_values import bytes_text, message_text, safe, time_text
from .style import PLAIN, Style
from .values import count_text, shorten

Entry = LogRecord | LogBytes | LogBatch


class RecordLines:
    """Writes the lines of one log after another; knows which batch it is in.

    >>> from kwire import Record, build_batch
    >>> from kwire.logs import Log
    >>> lines = RecordLines()
    >>> for batch in Log([build_batch([Record(7, 1700000000000, b"k", b"v")])]):
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
        """Yield the line of a record; in front of it the date (UTC), where it is another than before."""
        record = entry.record
        date, _, time = time_text(record.timestamp).rpartition(" ")
        if date not in ("", self._date):
            self._date = date
            yield self._line("dim", f"# {date}")
        headers = f"  {count_text(len(record.headers), 'header')}" if record.headers else ""
        if entry.message is not None:
            text = message_text(entry.message)
        else:
            text = f"{bytes_text(record.key)}: {bytes_text(record.value, self.style.width)}{headers}"
        fault = f"!{entry.fault.reason}  " if entry.fault else ""
        kind = "warning" if entry.fault else "value"
        yield self._line(kind, f"{record.offset:>8} {time:<12} {fault}{text}")

    def _bytes(self, entry: LogBytes) -> str:
        if entry.error is None:
            return self._line("dim", f"# {count_text(entry.count, 'zero')} at {entry.position}: space allocated ahead")
        return self._line("error", f"?  !undecodable at {entry.position}: {entry.error.reason}")

    def _line(self, kind: str, text: str) -> str:
        return self.style.paint(kind, shorten(safe(text), self.style.width))


def batch_text(batch: RecordBatch) -> str:
    """Say in one line what a batch is: place, size, offsets, compression, producer, and the bits that are set."""
    first = batch.last_offset if batch.base_offset is None else batch.base_offset
    offsets = f"offset {first}" if first == batch.last_offset else f"offsets {first}-{batch.last_offset}"
    notes = [offsets if batch.base_offset is not None else f"up to {offsets}"]
    if batch.record_count is not None and batch.record_count != batch.last_offset - first + 1:
        notes.append(count_text(batch.record_count, "record"))
    notes.append(batch.compression or f"compression {batch.compression_id}")
    if batch.magic < 2:
        notes.append(f"magic {batch.magic}")
    bits = {"control": batch.is_control, "transactional": batch.is_transactional}
    notes += [word for word, is_set in bits.items() if is_set]
    return f"# batch at {batch.position}, {count_text(len(batch.data), 'byte')}: {', '.join([*notes, *_origin(batch)])}"


def _origin(batch: RecordBatch) -> Iterator[str]:
    """Say who wrote a batch, and whose its times are."""
    if batch.producer_id != -1:
        sequence = "" if batch.base_sequence == -1 else f" sequence {batch.base_sequence}"
        yield (f"producer {batch.producer_id} epoch {batch.producer_epoch}{sequence}")
    if batch.timestamp_type == "LogAppendTime":
        yield ("LogAppendTime")
    if batch.delete_horizon is not None:
        yield (f"delete horizon {time_text(batch.delete_horizon)}")
    if batch.partition_leader_epoch != -1:
        yield (f"leader epoch {batch.partition_leader_epoch}")
