"""The records of a batch of magic 2.

record: size varint, attributes int8, timestamp delta varlong, offset delta varint, key, value, headers; key and value:
length varint, bytes; headers: count varint, then name and value of each.
A fast path knows how to succeed; what it does not like is read again by the layout, which knows how to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import native
from ..errors.decode import BadRecordCount, BadRecordSize, TrailingBytes
from ..wire import VARINT
from ..wire.primitives import read_length
from .batch_reader import PlacedReader, Walk
from .layouts import BATCH, LOG_APPEND_TIME, RECORD, Record, RecordHeader, UndecodableRecords, int64

if TYPE_CHECKING:
    from .batch import RecordBatch


def read_batch(walk: Walk) -> Iterator[Record | UndecodableRecords]:
    """Read the records of a batch of magic 2, one after the other."""
    data, count = walk.batch.data, walk.batch.record_count or 0
    if count and walk.batch.compression_id:
        reader = walk.inflated(data[BATCH.size :], BATCH.size)
    else:
        reader = walk.reader(BATCH.size)
        if walk.batch.compression is None:
            walk.refuse_codec()
    make, index = _maker(walk), 0
    while index < count and reader.pos < reader.end:
        try:
            fields, stop = fast_fields(reader.data, reader.pos)
            yield make(fields)
            reader.pos = stop
        except (IndexError, ValueError):
            yield _read_slowly(walk, reader, index, make)
        index += 1
    walk.stand(reader.data, reader.pos)
    _check_count(reader, count, index)


def are_whole(batch: RecordBatch, limit: int) -> bool:
    """Whether all records of a batch of magic 2 can be read, and their offsets go on one by one; makes none of them.

    Args:
        batch: its header and bytes.
        limit: the largest decompressed size of its records, in bytes.

    Raises:
        DecodeError, MissingExtra: they cannot be inflated.
    """
    count = batch.record_count or 0
    if batch.compression_id:
        walk = Walk(batch, salvage=False, limit=limit)
        data, start = walk.inflated(batch.data[BATCH.size :], BATCH.size).data, 0
    else:
        data, start = batch.data, BATCH.size
    if native.AVAILABLE and native.records_are_whole(bytes(data), start, count):
        return True
    first = batch.base_offset or 0
    return [record.offset - first for record in batch.records(limit=limit)] == list(range(count))


def _check_count(reader: PlacedReader, count: int, index: int) -> None:
    """Demand as many records as the batch says; behind the header of an empty one, Kafka does not look."""
    rest = reader.data[reader.pos :]
    if count == 0 and rest:
        reader.fault_field("records", TrailingBytes, reader.pos, have=len(rest), raw=rest)
    elif index != count or rest:
        reader.refuse_field("records", BadRecordCount, reader.pos, found=count, have=index)


def _maker(walk: Walk) -> Callable[[Any], Record]:
    """Return what turns the fields of a record into a `Record` of this batch."""
    batch = walk.batch
    base_offset, base_timestamp = batch.base_offset or 0, batch.base_timestamp
    appended = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None

    def make(fields: Any) -> Record:
        attributes, timestamp_delta, offset_delta, key, value, headers = fields
        offset, timestamp = base_offset + offset_delta, base_timestamp + timestamp_delta
        if not -(2**63) <= offset < 2**63:
            offset = int64(offset)
        if not -(2**63) <= timestamp < 2**63:
            timestamp = int64(timestamp)
        if appended is None:
            return Record(offset, timestamp, key, value, headers, attributes)
        return Record(offset, appended, key, value, headers, attributes, timestamp)

    return make


def _read_slowly(
    walk: Walk, reader: PlacedReader, index: int, make: Callable[[Any], Record]
) -> Record | UndecodableRecords:
    """Read a record by its layout. Only a size that says nothing ends the reading of the batch."""
    start, depth = reader.pos, len(reader.path)
    walk.stand(reader.data, start)
    reader.path += ("records", index)
    size = read_length(reader, VARINT, nullable=False, least=1) or 0
    del reader.path[depth:]
    return walk.one(reader, start, reader.pos + size, index, lambda inner: make(_read_fields(inner)))


def _read_fields(reader: PlacedReader) -> Any:
    start = reader.pos
    fields = RECORD._parse(reader, None, "")
    if reader.pos != reader.end:
        reader.refuse(BadRecordSize, start, found=reader.end - start, have=reader.pos - start)
    return fields


def fast_fields(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a record as it should be; IndexError or ValueError if it is not so.

    Returns:
        Its fields in the order of the layout, and where it ends.
    """
    size, at = _varint(data, at)
    stop = at + size
    attributes = data[at] if data[at] < 128 else data[at] - 256
    timestamp_delta, at = _varint(data, at + 1)
    offset_delta, at = _varint(data, at)
    key, at = _bytes(data, at)
    value, at = _bytes(data, at)
    count, at = _varint(data, at)
    headers = []
    if not 0 <= 2 * count <= stop - at:
        raise ValueError
    for _ in range(count):
        length, at = _varint(data, at)
        name = data[at : at + length].decode()
        value_of, at = _bytes(data, at + length)
        headers.append(RecordHeader(name, value_of))
        if length < 0:
            raise ValueError
    if at != stop or stop > len(data) or not -(2**31) <= offset_delta < 2**31:
        raise ValueError
    return (attributes, timestamp_delta, offset_delta, key, value, tuple(headers)), stop


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    if size < 0:
        if size < -1:
            raise ValueError
        return None, at
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 127, 0
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
