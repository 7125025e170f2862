"""Maps the bytes of a batch to fields: its header, its records, and the messages in keys and values.

Compressed records are one span; the decompressed bytes have separate spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...codecs.compression.compression_types import inflate
from ...codecs.records import LIMIT, RecordBatch
from ...codecs.records.record_layouts import LOG_OVERHEAD, MESSAGES, RECORD
from ...codecs.tracing import Span, TracingReader
from ...codecs.wire import INT8, INT16, INT32, INT64, UINT32, UNSIGNED_VARINT, VARINT
from ...codecs.wire.construct_classes import Construct
from ...errors import BadBatchLength, BadRecordCount, BadRecordSize, DecodeError
from ...protocol.nested import ControlRecord, FramedRecord
from ...protocol.nested.control_records import MARKER
from ...protocol.nested.versioned_message import Embedded, embedded_codec
from .log_batch import LogBatch, LogRecord, Message

_HEADER: dict[str, Construct] = {
    "base_offset": INT64,
    "length": INT32,
    "partition_leader_epoch": INT32,
    "magic": INT8,
    "crc": UINT32,
    "attributes": INT16,
    "last_offset_delta": INT32,
    "base_timestamp": INT64,
    "max_timestamp": INT64,
    "producer_id": INT64,
    "producer_epoch": INT16,
    "base_sequence": INT32,
    "record_count": INT32,
}
_MESSAGE: dict[str, Construct] = {"offset": INT64, "length": INT32, "crc": UINT32, "magic": INT8, "attributes": INT8}
_Front = list[tuple[str, Construct]]


class ExplainedBytes(NamedTuple):
    """Bytes, and the spans that cover them without gaps or overlaps."""

    data: bytes
    spans: tuple[Span, ...]


def explain_batch(batch: LogBatch, *, limit: int = LIMIT) -> tuple[ExplainedBytes, ExplainedBytes | None]:
    """Map each byte of a batch to its field.

    Args:
        batch: a batch of a log.
        limit: the maximum decompressed size of its records, in bytes.

    Returns:
        The batch; and the decompressed records, if the records are compressed and can be decompressed.

    Raises:
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch
    >>> from kwire.capture.logs.log_reader import LogReader
    >>> whole, _ = explain_batch(next(iter(LogReader([build_batch([Record(7, key=b"k")], magic=0)]))))
    >>> [(span.start, span.stop, span.path) for span in whole.spans][-2:]
    [(18, 23, 'key'), (23, 27, 'value')]
    """
    header = batch.header
    reader = TracingReader(header.data, salvage=True)
    compressed = header.compression_id and (header.magic < 2 or header.record_count)
    read = _trace_message if header.magic < 2 else _trace_batch
    _trace(reader, lambda: read(reader, header, bool(compressed)))
    spans = _add_faults(reader.spans, header)
    if not compressed:
        return ExplainedBytes(header.data, tuple(_unfold_messages(spans, header.data, batch))), None
    return ExplainedBytes(header.data, tuple(spans)), _explain_compressed(batch, spans[-1], limit)


def _trace(reader: TracingReader, read: Callable[[], None]) -> None:
    """Read a value; undecodable and trailing bytes become the last span."""
    try:
        read()
        if reader.finish():
            reader.leave_rest("left over", reader.pending.pop())
    except DecodeError as error:
        reader.leave_rest("not understood", error)


def _add_faults(spans: list[Span], header: RecordBatch) -> list[Span]:
    faults = {fault.path.rpartition(".")[2]: fault for fault in header.faults}
    return [span._replace(faults=(*span.faults, faults[span.path])) if span.path in faults else span for span in spans]


def _trace_batch(reader: TracingReader, header: RecordBatch, compressed: bool) -> None:
    for name, node in _HEADER.items():
        reader.child(name, node)
    if compressed:
        start = reader.pos
        reader.path.append("records")
        reader.read()
        reader.mark(start, f"{header.compression} records", reader.data[start:])
        reader.path.clear()
    else:
        _trace_records(reader, header.record_count or 0)


def _trace_records(reader: TracingReader, count: int) -> None:
    """Read records; the rest of an undecodable record is one span, and its size gives the start of the next record."""
    index = 0
    end = reader.end
    while index < count and reader.pos < end:
        reader.path[:] = ["records", index]
        size = reader.child("size", VARINT)
        start = reader.pos
        if not 0 < size <= end - start:
            reader.refuse(BadRecordSize, start, found=size, have=end - start)
        reader.end = start + size
        try:
            RECORD._parse(reader, None, "")
            if reader.pos != reader.end:
                reader.refuse(BadRecordSize, reader.pos, found=size, have=reader.pos - start)
        except DecodeError as error:
            reader.leave_rest("not understood", error)
        reader.pos = start + size
        reader.end = end
        index += 1
    reader.path.clear()
    if index != count:
        reader.refuse(BadRecordCount, reader.pos, found=count, have=index)


def _trace_message(reader: TracingReader, header: RecordBatch, compressed: bool) -> None:
    for name, node in _MESSAGE.items():
        reader.child(name, node)
    MESSAGES[header.magic]._parse(reader, None, "")


def _trace_message_set(reader: TracingReader, magic: int) -> None:
    index = 0
    while reader.pos < reader.end:
        start, end = reader.pos, reader.end
        reader.path[:] = ["records", index]
        reader.child("offset", INT64)
        size = reader.child("length", INT32)
        if not 0 < size <= end - reader.pos:
            reader.refuse(BadBatchLength, reader.pos, found=size, need=end - reader.pos)
        reader.end = start + LOG_OVERHEAD + size
        for name in ("crc", "magic", "attributes"):
            reader.child(name, _MESSAGE[name])
        MESSAGES[magic]._parse(reader, None, "")
        reader.end = end
        index += 1
    reader.path.clear()


def _explain_compressed(batch: LogBatch, last: Span, limit: int) -> ExplainedBytes | None:
    header = batch.header
    if header.compression is None or not isinstance(last.value, bytes):
        return None
    try:
        data = inflate(header.compression, last.value, magic=header.magic, limit=limit).data
    except DecodeError:
        return None
    reader = TracingReader(data, salvage=True)
    if header.magic == 2:
        _trace(reader, lambda: _trace_records(reader, header.record_count or 0))
    else:
        _trace(reader, lambda: _trace_message_set(reader, header.magic))
    return ExplainedBytes(data, tuple(_unfold_messages(reader.spans, data, batch)))


def _unfold_messages(spans: list[Span], data: bytes, batch: LogBatch) -> Iterator[Span]:
    """Replace keys and values that contain messages by the spans of these messages."""
    entries = batch.entries()
    record: str | None = None  # the path of the record to which the message belongs
    message: Message | None = None
    for span in spans:
        path, _, name = span.path.rpartition(".")
        if name not in ("key", "value") or not isinstance(span.value, bytes):
            yield span
            continue
        if path != record:
            record = path
            message = _next_message(entries, path)
        part = None if message is None else _find_embedded(message, name)
        if part is None:
            yield span
        else:
            yield from _unfold_message(span, *part)


def _next_message(entries: Iterator[object], prefix: str) -> Message | None:
    """Return the decoded content of the next record."""
    wanted = int(prefix.rpartition("[")[2].rstrip("]") or 0)
    for index, entry in enumerate(entries):
        if isinstance(entry, LogRecord) and entry.index == wanted:
            return entry.message
        if index >= wanted:
            break
    return None


def _find_embedded(message: Message, name: str) -> tuple[Embedded, _Front] | None:
    """Return the message in a key or value, and the fields that precede it."""
    if isinstance(message, FramedRecord):
        front: _Front = [(part, UNSIGNED_VARINT) for part in ("frame_version", "type", "version")]
        return (message.value, front) if name == "value" else None
    embedded = message.key if name == "key" else message.value
    if embedded is None:
        return None
    if isinstance(message, ControlRecord):
        return embedded, [("version", INT16)] if name == "key" or embedded.name == MARKER else []
    return embedded, [("type" if name == "key" else "version", INT16)]


def _unfold_message(span: Span, embedded: Embedded, front: _Front) -> Iterator[Span]:
    codec = embedded_codec(embedded)
    if codec is None:
        yield span
        return
    start = span.stop - len(span.value)
    yield Span(span.start, start, f"{span.path}.size", "length", len(span.value), span.faults)
    reader = TracingReader(span.value, salvage=True)

    def read() -> None:
        reader.path[:] = [span.path]
        for name, node in front:
            reader.child(name, node)
        codec.read(reader)

    _trace(reader, read)
    for part in reader.spans:
        yield part._replace(start=part.start + start, stop=part.stop + start)
