"""Reads a log in portions: its batches with the records of its topic, and bytes outside batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...codecs.records import Record, RecordBatch
from ...errors import KwireError
from ...protocol.nested.topic_record_types import METADATA
from .log_batch import LogBatch, LogBytes, LogRecord
from .log_topic import LogTopic, topic_of_folder
from .segment_reader import SegmentItem, SegmentReader

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer

SNAPSHOT_HEADER = b"\0\0\0\3"  # the key of the first record of a snapshot: version and type


class LogReader:
    """An iterator over the batches of a log.

    Args:
        portions: the bytes of the log, in portions of any size.
        file: the name of the log.
        topic: the topic of the log, if known; otherwise it is identified from the records.

    Attributes:
        topic: the topic that was identified so far.

    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(7, key=b"k", value=b"v")])
    >>> [entry.record.value for batch in LogReader([data]) for entry in batch.entries()]
    [b'v']
    """

    def __init__(self, portions: Iterable[bytes], file: str = "", topic: str | None = None) -> None:
        self.file = file
        self.topic: LogTopic = LogTopic(topic)
        self._items = self._read(portions)

    def __iter__(self) -> Iterator[LogBatch | LogBytes]:
        return self._items

    def _read(self, portions: Iterable[bytes]) -> Iterator[LogBatch | LogBytes]:
        reader = SegmentReader()
        for portion in portions:
            yield from map(self._build_item, reader.feed(portion))
        yield from map(self._build_item, reader.finish())

    def _build_item(self, cut: SegmentItem) -> LogBatch | LogBytes:
        if not isinstance(cut, RecordBatch):
            return replace(cut, file=self.file)
        self.topic.learn(cut)
        return LogBatch(cut, self.topic.name, self.file, self.topic.read, list(cut.faults))


def describe_log(head: bytes, file: str, topic: str | None) -> tuple[str, str | None]:
    """Return the kind and topic of a log.

    The topic is the given one, or else from the name of the folder, or else identified from the first records.
    """
    if topic is not None:
        return f"a log segment of {topic}", topic
    named = topic_of_folder(Path(file).absolute().parent.name)
    learnt = LogTopic()
    for cut in SegmentReader().feed(head):
        if isinstance(cut, RecordBatch):
            if cut.index == 0 and _is_snapshot(cut):
                return "a snapshot of the metadata log", METADATA
            learnt.learn(cut)
        if learnt.name is not None:
            return f"a log segment of {learnt.name}, as its records show", learnt.name
    if named is not None:
        return f"a log segment of {named}, by its folder's name (--log-of overrides it)", named
    return "a log segment", None


def read_log_items(
    portions: Iterator[bytes], file: str, topic: str | None, remarks: list[str]
) -> Iterator[LogBatch | LogBytes]:
    """Yield the items of a log, and add a remark if later records identified its topic."""
    log = LogReader(portions, file, topic)
    yield from log
    if log.topic.found:
        remarks.append(f"from some record on, its records are those of {log.topic.name}: --log-of reads all of them so")


def _is_snapshot(batch: RecordBatch) -> bool:
    first = next(batch.records(salvage=True), None) if batch.is_control else None
    return isinstance(first, Record) and first.key == SNAPSHOT_HEADER


def deserialize_record(entry: LogRecord, values: RecordDeserializer | None, topic: str | None) -> LogRecord:
    """Return a record with what its key and value say by their schemas.

    Args:
        entry: the record. Control records and those of Kafka's internal topics are not users', and stay as they are.
        values: the schemas; None leaves all records as they are.
        topic: the topic of the record; None if it is unknown.
    """
    batch = entry.batch
    if values is None or batch.topic is not None or batch.header.is_control:
        return entry
    key = values.read(topic, "key", entry.record.key)
    value = values.read(topic, "value", entry.record.value)
    return entry if key is value is None else replace(entry, key_by_schema=key, value_by_schema=value)


def read_records(
    data: bytes, topic: str | None, values: RecordDeserializer | None = None
) -> Iterator[LogRecord | LogBytes | KwireError]:
    """Yield the records in a field of a message, what cannot be read of them, and why a batch cannot be opened.

    Args:
        data: the bytes of the field: any number of batches.
        topic: the topic of the records, if known.
        values: decodes keys and values by schema.
    """
    for item in LogReader([data], topic=topic):
        try:
            for entry in item.entries() if isinstance(item, LogBatch) else [item]:
                yield deserialize_record(entry, values, topic) if isinstance(entry, LogRecord) else entry
        except KwireError as error:  # for example, a compression library is missing
            yield error
