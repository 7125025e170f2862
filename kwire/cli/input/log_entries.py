"""The entries of a log: the records of its batches, with secrets masked, and bytes that could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...capture.logs.log_reader import deserialize_record
from ...capture.logs.mask_logs import mask_log_bytes, mask_record
from ...query.record_properties import RECORD_PROPERTIES

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer

LogEntry = LogRecord | LogBytes | LogBatch
Other = TypeVar("Other")


def open_batches(
    items: Iterator[Other | LogBatch | LogBytes],
    *,
    salvage: bool = True,
    sealed: bool = True,
    values: RecordDeserializer | None = None,
    topic: str | None = None,
) -> Iterator[Other | LogEntry]:
    """Yield the records of each batch instead of the batch; yield empty batches and all other items unchanged.

    Args:
        items: the items of `inputs.items`.
        salvage: yield batches and records with faults; otherwise, yield them as unreadable bytes.
        sealed: mask secrets in Kafka's own logs.
        values: decodes keys and values by schema.
        topic: the topic of all records, if known; otherwise the folder of their file names it.
    """
    log_topic = None
    for entry in _open_items(items, salvage):
        if isinstance(entry, LogRecord | LogBatch):
            log_topic = (entry if isinstance(entry, LogBatch) else entry.batch).topic or ""
        if isinstance(entry, LogRecord):
            entry = mask_record(entry) if sealed else entry
            yield entry if values is None else deserialize_record(entry, values, topic or _topic_of(entry))
        elif sealed and isinstance(entry, LogBytes):
            yield mask_log_bytes(entry, log_topic)
        else:
            yield entry


def _topic_of(entry: LogRecord) -> str | None:
    return next(iter(RECORD_PROPERTIES["topic"].read(entry)), None)


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
