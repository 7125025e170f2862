"""Reads message sets, the format before record batches: messages of magic 0 and 1 and their records.

A message of magic 0 or 1 is a record; a compressed message contains a message set, whose messages are: offset int64,
size int32, crc uint32, magic int8, attributes int8, [timestamp int64], key, value (int32 length, bytes). In magic 1,
offsets in a compressed message are relative to its first record, and the offset of the message itself is that of its
last record.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from struct import Struct as Packed
from typing import Any
from zlib import crc32

from ...errors import (
    BadBatchLength,
    BadChecksum,
    BadOuterOffset,
    CutBatch,
    EmptyMessageSet,
    MixedMagic,
    NestedCompression,
    NullNotAllowed,
    TrailingBytes,
)
from ..wire.java_integers import wrap_int64
from .batch_walk import BatchWalk
from .crc32c import hex32
from .located_reader import LocatedReader
from .record import Record, UndecodableRecords
from .record_layouts import COMPRESSION, LEAST_LENGTH, LOG_APPEND_TIME, LOG_OVERHEAD, MESSAGE, MESSAGES, MessageFields

LEAST = LEAST_LENGTH[0]
_OFFSET_AND_SIZE = Packed(">qi")


def read_message(walk: BatchWalk, cursor: Any) -> Iterator[Record | UndecodableRecords]:
    """Yield the record of a message of magic 0 or 1, or the records in a compressed message, which a cursor reads."""
    reader = walk.reader(MESSAGE.size)
    if not walk.batch.compression_id:
        cursor._close()
        yield walk.one(reader, 0, reader.end, 0, lambda inner: _read_record(walk, inner))
        return
    fields = _read_fields(reader, walk.batch.magic)
    if fields.value is None:
        reader.refuse_field("value", NullNotAllowed, reader.pos - 4, found=-1)
    _check_tail(reader)
    yield from _read_set(walk, cursor, walk.open_inflated(fields.value, reader.pos - len(fields.value)))


def _read_record(walk: BatchWalk, reader: LocatedReader) -> Record:
    batch = walk.batch
    key, value, timestamp = _read_fields(reader, batch.magic)
    _check_tail(reader)
    return Record(batch.last_offset, timestamp, key, value, (), batch.attributes)


def _read_fields(reader: LocatedReader, magic: int) -> MessageFields:
    fields: MessageFields = MESSAGES[magic]._parse(reader, None, "")
    return fields


def _check_tail(reader: LocatedReader) -> None:
    """Record a fault for bytes after the value; Kafka ignores them."""
    rest = reader.data[reader.pos : reader.end]
    if rest:
        reader.fault(TrailingBytes, reader.pos, have=len(rest), raw=rest)


def _read_set(walk: BatchWalk, cursor: Any, reader: LocatedReader) -> Iterator[Record | UndecodableRecords]:
    """Read the messages of a message set. A truncated last message is ignored, as Kafka does."""
    base = _base_offset(walk, reader)
    cursor._open(reader.data, reader.pos, base)
    while cursor._at < reader.end:
        record = cursor._take()
        if record is None:
            reader.pos = cursor._at
            walk.stand(reader.data, reader.pos)
            stop = _find_stop(reader, cursor._index)
            if stop is None:
                return
            read = partial(_read_inner_record, walk, base=base)
            record = walk.one(reader, reader.pos, stop, cursor._index, read)
            cursor._advance(stop)
        yield record


def _find_stop(reader: LocatedReader, index: int) -> int | None:
    """Return the end of the message that starts here; None if it is truncated."""
    start = reader.pos
    left = reader.end - reader.pos
    size = int.from_bytes(reader.data[start + 8 : start + 12], "big", signed=True) if left >= LOG_OVERHEAD else LEAST
    depth = len(reader.path)
    reader.path += ("records", index)
    if size < LEAST:
        reader.refuse_field("length", BadBatchLength, start + 8, found=size, need=LEAST)
    if left < LOG_OVERHEAD + size:
        reader.fault(CutBatch, start, need=LOG_OVERHEAD + size, have=left, raw=reader.data[start : reader.end])
        return None
    del reader.path[depth:]
    return start + LOG_OVERHEAD + size


def _base_offset(walk: BatchWalk, reader: LocatedReader) -> int:
    """Return the number to add to the inner offsets: 0, or in magic 1 the number that makes the last offset correct."""
    last = _last_offset(reader.data)
    if last is None:
        reader.refuse_field("value", EmptyMessageSet, reader.pos)
    outer = walk.batch.last_offset
    # librdkafka used to write 0 here; Kafka then treats the inner offsets as absolute.
    if walk.batch.magic == 0 or outer == 0:
        return 0
    if outer < last:
        reader.refuse_field("value", BadOuterOffset, reader.pos, found=outer, need=last)
    return outer - last


def _last_offset(data: bytes) -> int | None:
    """Return the offset field of the last complete message of a message set; None if there is none."""
    last = None
    at = 0
    while at + LOG_OVERHEAD <= len(data):
        offset, size = _OFFSET_AND_SIZE.unpack_from(data, at)
        at += LOG_OVERHEAD + size
        if size < LEAST or at > len(data):
            break
        last = int(offset)
    return last


def _read_inner_record(walk: BatchWalk, reader: LocatedReader, *, base: int) -> Record:
    batch = walk.batch
    start = reader.pos
    offset, _, crc, magic, attributes = MESSAGE.unpack_from(reader.data, start)
    if magic != batch.magic:
        reader.fault_field("magic", MixedMagic, start + 16, found=magic, need=batch.magic)
    if attributes & COMPRESSION:
        reader.refuse_field("attributes", NestedCompression, start + 17)
    right = crc32(reader.data[start + 16 : reader.end])
    if crc != right:
        reader.fault_field("crc", BadChecksum, start + 12, found=(hex32(crc), hex32(right)))
    reader.pos = start + MESSAGE.size
    key, value, timestamp = _read_fields(reader, 1 if magic else 0)  # Kafka treats any magic except 0 as 1
    _check_tail(reader)
    if magic == 1 and batch.magic and batch.attributes & LOG_APPEND_TIME:
        return Record(wrap_int64(offset + base), batch.max_timestamp, key, value, (), attributes, timestamp)
    return Record(wrap_int64(offset + base), timestamp, key, value, (), attributes)
