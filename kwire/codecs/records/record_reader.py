"""Reads the records of a batch of magic 2: those that the engine refuses by their layout, which finds the fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...errors import BadRecordCount, BadRecordSize, TrailingBytes
from ..wire import VARINT
from ..wire.lengths import read_length
from .batch_walk import BatchWalk
from .located_reader import LocatedReader
from .python_cursors import make_reader
from .record import Record, UndecodableRecords
from .record_layouts import BATCH, RECORD


def read_batch(walk: BatchWalk, cursor: Any) -> Iterator[Record | UndecodableRecords]:
    """Yield the records of a batch of magic 2, from the position of a cursor on, which others may move meanwhile."""
    data = walk.batch.data
    count = walk.batch.record_count or 0
    if count and walk.batch.compression_id:
        reader = walk.open_inflated(data[BATCH.size :], BATCH.size)
    else:
        reader = walk.reader(BATCH.size)
        if walk.batch.compression is None:
            walk.refuse_codec()
    if cursor._index == 0:
        cursor._open(reader.data, reader.pos)
    make = make_reader(walk.batch)
    while cursor._index < count and cursor._at < reader.end:
        record = cursor._take()
        if record is None:
            reader.pos = cursor._at
            record = _read_slowly(walk, reader, cursor._index, make)
            cursor._advance(reader.pos)
        yield record
    reader.pos = cursor._at
    walk.stand(reader.data, reader.pos)
    _check_count(reader, count, cursor._index)


def _check_count(reader: LocatedReader, count: int, index: int) -> None:
    """Check that the number of records is that of the header.

    Bytes after an empty batch are a fault, because Kafka ignores them.
    """
    rest = reader.data[reader.pos :]
    if count == 0 and rest:
        reader.fault_field("records", TrailingBytes, reader.pos, have=len(rest), raw=rest)
    elif index != count or rest:
        reader.refuse_field("records", BadRecordCount, reader.pos, found=count, have=index)


def _read_slowly(
    walk: BatchWalk, reader: LocatedReader, index: int, make: Callable[[Any], Record]
) -> Record | UndecodableRecords:
    """Read a record by its layout. Only an invalid size stops reading of the batch."""
    start = reader.pos
    depth = len(reader.path)
    walk.stand(reader.data, start)
    reader.path += ("records", index)
    size = read_length(reader, VARINT, nullable=False, element_size=1) or 0
    del reader.path[depth:]
    return walk.one(reader, start, reader.pos + size, index, lambda inner: make(_record_fields(inner)))


def _record_fields(reader: LocatedReader) -> Any:
    start = reader.pos
    fields = RECORD._parse(reader, None, "")
    if reader.pos != reader.end:
        reader.refuse(BadRecordSize, start, found=reader.end - start, have=reader.pos - start)
    return fields
