"""Reads the records of a batch of magic 2.

A fast path reads valid records; for other bytes, the record is read again by its layout, which finds the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...errors import BadRecordCount, BadRecordSize, TrailingBytes
from ..wire import VARINT
from ..wire.java_integers import wrap_int64
from ..wire.lengths import read_length
from .batch_walk import BatchWalk
from .located_reader import LocatedReader
from .record import Record, RecordHeader, UndecodableRecords
from .record_layouts import BATCH, LOG_APPEND_TIME, RECORD


def read_batch(walk: BatchWalk) -> Iterator[Record | UndecodableRecords]:
    """Yield the records of a batch of magic 2."""
    data = walk.batch.data
    count = walk.batch.record_count or 0
    if count and walk.batch.compression_id:
        reader = walk.open_inflated(data[BATCH.size :], BATCH.size)
    else:
        reader = walk.reader(BATCH.size)
        if walk.batch.compression is None:
            walk.refuse_codec()
    make = _make_reader(walk)
    index = 0
    while index < count and reader.pos < reader.end:
        try:
            fields, stop = read_fast(reader.data, reader.pos)
            yield make(fields)
            reader.pos = stop
        except (IndexError, ValueError):
            yield _read_slowly(walk, reader, index, make)
        index += 1
    walk.stand(reader.data, reader.pos)
    _check_count(reader, count, index)


def _check_count(reader: LocatedReader, count: int, index: int) -> None:
    """Check that the number of records is that of the header.

    Bytes after an empty batch are a fault, because Kafka ignores them.
    """
    rest = reader.data[reader.pos :]
    if count == 0 and rest:
        reader.fault_field("records", TrailingBytes, reader.pos, have=len(rest), raw=rest)
    elif index != count or rest:
        reader.refuse_field("records", BadRecordCount, reader.pos, found=count, have=index)


def _make_reader(walk: BatchWalk) -> Callable[[Any], Record]:
    """Return a function that creates a `Record` of this batch from the fields of a record."""
    batch = walk.batch
    base_offset = batch.base_offset or 0
    base_timestamp = batch.base_timestamp
    appended = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None

    def make(fields: Any) -> Record:
        attributes, timestamp_delta, offset_delta, key, value, headers = fields
        offset = base_offset + offset_delta
        timestamp = base_timestamp + timestamp_delta
        if not -(2**63) <= offset < 2**63:
            offset = wrap_int64(offset)
        if not -(2**63) <= timestamp < 2**63:
            timestamp = wrap_int64(timestamp)
        if appended is None:
            return Record(offset, timestamp, key, value, headers, attributes)
        return Record(offset, appended, key, value, headers, attributes, timestamp)

    return make


def _read_slowly(
    walk: BatchWalk, reader: LocatedReader, index: int, make: Callable[[Any], Record]
) -> Record | UndecodableRecords:
    """Read a record by its layout. Only an invalid size stops reading of the batch."""
    start = reader.pos
    depth = len(reader.path)
    walk.stand(reader.data, start)
    reader.path += ("records", index)
    size = read_length(reader, VARINT, nullable=False, least=1) or 0
    del reader.path[depth:]
    return walk.one(reader, start, reader.pos + size, index, lambda inner: make(_record_fields(inner)))


def _record_fields(reader: LocatedReader) -> Any:
    start = reader.pos
    fields = RECORD._parse(reader, None, "")
    if reader.pos != reader.end:
        reader.refuse(BadRecordSize, start, found=reader.end - start, have=reader.pos - start)
    return fields


def read_fast(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a valid record; raise IndexError or ValueError for an invalid one.

    Returns:
        The record's fields in the order of the layout, and the position of its end.
    """
    size, at = _read_varint(data, at)
    stop = at + size
    attributes = data[at] if data[at] < 128 else data[at] - 256
    timestamp_delta, at = _read_varint(data, at + 1)
    offset_delta, at = _read_varint(data, at)
    key, at = _read_bytes(data, at)
    value, at = _read_bytes(data, at)
    count, at = _read_varint(data, at)
    headers = []
    if not 0 <= 2 * count <= stop - at:
        raise ValueError
    for _ in range(count):
        length, at = _read_varint(data, at)
        name = data[at : at + length].decode()
        value_of, at = _read_bytes(data, at + length)
        headers.append(RecordHeader(name, value_of))
        if length < 0:
            raise ValueError
    if at != stop or stop > len(data) or not -(2**31) <= offset_delta < 2**31:
        raise ValueError
    return (attributes, timestamp_delta, offset_delta, key, value, tuple(headers)), stop


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(data, at)
    if size < 0:
        if size < -1:
            raise ValueError
        return None, at
    return data[at : at + size], at + size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the value and the end of a zigzag varint of at most 64 bits, as in Protocol Buffers.

    Raises:
        IndexError: the data ends in it.
        ValueError: it is overlong, or has more than 64 bits.
    """
    byte = data[at]
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value = byte & 127
    shift = 0
    while byte >= 128:
        at += 1
        shift += 7
        byte = data[at]
        value |= (byte & 127) << shift
        if shift > 63:
            raise ValueError
    if byte == 0 or value >> 64:
        raise ValueError
    return (value >> 1) ^ -(value & 1), at + 1
