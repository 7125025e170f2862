"""The entries of a log: the records of its batches, with secrets masked, and bytes that could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...capture.logs.mask_logs import mask_log_bytes, mask_record

LogEntry = LogRecord | LogBytes | LogBatch
Other = TypeVar("Other")


def open_batches(
    items: Iterator[Other | LogBatch | LogBytes], *, salvage: bool = True, sealed: bool = True
) -> Iterator[Other | LogEntry]:
    """Yield the records of each batch instead of the batch; yield empty batches and all other items unchanged.

    Args:
        items: the items of `inputs.items`.
        salvage: yield batches and records with faults; otherwise, yield them as unreadable bytes.
        sealed: mask secrets in Kafka's own logs.
    """
    topic = None
    for entry in _open_items(items, salvage):
        if isinstance(entry, LogRecord | LogBatch):
            topic = (entry if isinstance(entry, LogBatch) else entry.batch).topic or ""
        if sealed and isinstance(entry, LogRecord):
            yield mask_record(entry)
        elif sealed and isinstance(entry, LogBytes):
            yield mask_log_bytes(entry, topic)
        else:
            yield entry


def _open_items(items: Iterator[Other | LogBatch | LogBytes], salvage: bool) -> Iterator[Other | LogEntry]:
    for item in items:
        if not isinstance(item, LogBatch):
            yield item
        elif item.faults and not salvage:
            data = item.header.data
            yield LogBytes(item.header.position, len(data), data, item.faults[0], item.header, item.file)
        else:
            read = item.entries(salvage=salvage)
            first = next(read, None)
            yield item if first is None else first
            yield from read


def is_bad(entry: LogEntry | DiskEntry) -> bool:
    """Whether an entry could not be read."""
    return isinstance(entry, LogBytes) and entry.error is not None


def is_faulty(entry: LogEntry | DiskEntry) -> bool:
    """Whether a fault was tolerated in an entry or its batch."""
    if isinstance(entry, LogRecord):
        return entry.fault is not None or bool(entry.batch.faults)
    return isinstance(entry, LogBatch | DiskEntry) and bool(entry.faults)
