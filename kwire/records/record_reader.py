"""Decompresses one batch and reads its records: positions, salvage, records of magic 2, messages of magic 0 and 1.

A record of magic 2: size varint, attributes int8, timestamp delta varlong, offset delta varint, key, value, headers;
key and value: length varint, bytes; headers: count varint, then name and value of each. A fast path reads valid
records; on any other bytes the layout reads the record again and explains what is wrong.

A message of magic 0 and 1 is a record; a compressed one holds a message set, whose messages are: offset int64, size
int32, crc uint32, magic int8, attributes int8, [timestamp int64], key, value (int32 length, bytes). In magic 1, offsets
inside a compressed message are relative to its first record, and the offset of the message itself is its last record's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct as Packed
from typing import Any, NoReturn

from ..errors import (
    BadBatchLength,
    BadChecksum,
    BadOuterOffset,
    BadRecordCount,
    BadRecordSize,
    CutBatch,
    DecodeError,
    EmptyMessageSet,
    MixedMagic,
    NestedCompression,
    NullNotAllowed,
    Tolerated,
    TooManyFaults,
    TrailingBytes,
    UnknownCompression,
)
from ..wire import VARINT, Reader
from ..wire.primitives import MOST_FAULTS, read_length
from .checksums import crc32, hex32
from .compression import inflate
from .layouts import (
    BATCH,
    CHECKED_FROM,
    COMPRESSION,
    LEAST_LENGTH,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MESSAGE,
    MESSAGES,
    RECORD,
    BatchHeader,
    MessageFields,
    Record,
    RecordHeader,
    UndecodableRecords,
    int64,
)


class PlacedReader(Reader):
    """A reader whose errors have offsets relative to the input.

    Args:
        data: the bytes to read.
        base: their position in the input; for decompressed bytes, the position of the compressed ones.
        path: the path of the value.
        start: where to start in `data`.
        inflated: whether they were decompressed; errors then have a separate offset in them.
        salvage: collect what Kafka tolerates in `faults` instead of raising it.
    """

    __slots__ = ("base", "inflated")

    def __init__(
        self,
        data: bytes,
        base: int,
        path: Iterable[str | int],
        *,
        start: int = 0,
        inflated: bool = False,
        salvage: bool = False,
    ) -> None:
        super().__init__(data, start, salvage=salvage)
        self.base: int = base
        self.inflated: bool = inflated
        self.path.extend(path)

    def refuse_field(self, field: str, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error about a field that was not read by a node."""
        self.path.append(field)
        self.refuse(kind, offset, **facts)

    def fault_field(self, field: str, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise or record a fault of a field that was not read by a node."""
        self.path.append(field)
        self.fault(kind, offset, **facts)
        self.path.pop()

    def _error(self, kind: type[DecodeError], offset: int, facts: dict[str, Any]) -> DecodeError:
        error = super()._error(kind, offset, facts)
        if self.inflated:
            error.offset, error.inflated_offset = self.base, offset
        else:
            error.offset = self.base + offset
        return error


class Walk:
    """The state of reading a batch.

    Args:
        batch: the header and bytes of the batch.
        salvage: return undecodable records as values.
        limit: the largest decompressed size of its records, in bytes.
    """

    def __init__(self, batch: BatchHeader, *, salvage: bool, limit: int) -> None:
        self.batch: BatchHeader = batch
        self.salvage: bool = salvage
        self.limit: int = limit
        self.faults: list[DecodeError] = []
        self._failures = 0
        self.stand(batch.data, 0)
        self._path = ("batches", batch.index)

    def reader(self, start: int) -> PlacedReader:
        """Return a reader of the batch's own bytes, positioned at `start`."""
        self.stand(self.batch.data, start)
        reader = PlacedReader(self.batch.data, self.batch.position, self._path, start=start, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def inflated(self, data: bytes, start: int) -> PlacedReader:
        """Decompress `data`, which starts at `start` in the batch, and return a reader of the result."""
        batch = self.batch
        self.stand(data, 0)
        if batch.compression is None:
            self.refuse_codec()
        try:
            inflated, tail = inflate(batch.compression, data, magic=batch.magic, limit=self.limit)
        except DecodeError as error:
            error.segments = (*self._path, "records")
            error.offset += batch.position + start
            error.rest, error.faults = self.unread, tuple(self.faults)
            error.__context__ = None  # its frames hold the inflated bytes
            raise error.with_traceback(None) from None
        if tail:
            offset = start + len(data) - len(tail)
            self.reader(offset).fault_field("records", TrailingBytes, offset, have=len(tail), raw=tail)
        self.stand(inflated, 0)
        reader = PlacedReader(inflated, batch.position + start, self._path, inflated=True, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def one(
        self, reader: PlacedReader, start: int, stop: int, index: int, read: Callable[[PlacedReader], Record]
    ) -> Record | UndecodableRecords:
        """Read the record from `start` to `stop`; the reader is at `stop` afterwards in any case."""
        end, depth = reader.end, len(reader.path)
        reader.end = stop
        reader.path += ("records", index)
        try:
            return read(reader)
        except DecodeError as error:
            failed = self.failed(reader.data[start:stop], error)
        finally:
            reader.pos, reader.end = stop, end
            del reader.path[depth:]
        self._failures += 1
        if self._failures > MOST_FAULTS or isinstance(failed.error, TooManyFaults):
            self.stand(reader.data, start)
            reader.refuse_field("records", TooManyFaults, start, need=MOST_FAULTS)
        return failed

    def stand(self, data: bytes, start: int) -> None:
        """Record that the bytes of `data` from `start` on are unread, in case reading stops here."""
        self._unread = data, start

    @property
    def unread(self) -> bytes:
        """The unread bytes."""
        data, start = self._unread
        return data[start:]

    def failed(self, data: bytes, error: DecodeError) -> UndecodableRecords:
        """With salvage, return undecodable bytes as a value; otherwise raise the error."""
        if not self.salvage:
            raise error
        return UndecodableRecords(data, error.with_traceback(None))

    def refuse_codec(self) -> NoReturn:
        """Raise the error for an unknown compression, with the bytes."""
        batch = self.batch
        error = UnknownCompression(
            offset=batch.position + CHECKED_FROM[batch.magic] + (batch.magic < 2),
            segments=(*self._path, "attributes"),
            found=(batch.compression_id, batch.magic),
        )
        error.rest, error.faults = self.unread, tuple(self.faults)
        raise error


def read_batch(walk: Walk) -> Iterator[Record | UndecodableRecords]:
    """Yield the records of a batch of magic 2."""
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


def _check_count(reader: PlacedReader, count: int, index: int) -> None:
    """Require the header's number of records; bytes after an empty batch are a fault, because Kafka ignores them."""
    rest = reader.data[reader.pos :]
    if count == 0 and rest:
        reader.fault_field("records", TrailingBytes, reader.pos, have=len(rest), raw=rest)
    elif index != count or rest:
        reader.refuse_field("records", BadRecordCount, reader.pos, found=count, have=index)


def _maker(walk: Walk) -> Callable[[Any], Record]:
    """Return a function that creates a `Record` of this batch from the fields of a record."""
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
    """Read a record by its layout. Only an invalid size stops reading of the batch."""
    start, depth = reader.pos, len(reader.path)
    walk.stand(reader.data, start)
    reader.path += ("records", index)
    size = read_length(reader, VARINT, nullable=False, least=1) or 0
    del reader.path[depth:]
    return walk.one(reader, start, reader.pos + size, index, lambda inner: make(_record_fields(inner)))


def _record_fields(reader: PlacedReader) -> Any:
    start = reader.pos
    fields = RECORD._parse(reader, None, "")
    if reader.pos != reader.end:
        reader.refuse(BadRecordSize, start, found=reader.end - start, have=reader.pos - start)
    return fields


def fast_fields(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a valid record; raise IndexError or ValueError for an invalid one.

    Returns:
        The record's fields in the order of the layout, and the position of its end.
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


LEAST = LEAST_LENGTH[0]
_OFFSET_AND_SIZE = Packed(">qi")


def read_message(walk: Walk) -> Iterator[Record | UndecodableRecords]:
    """Yield the record of a message of magic 0 or 1, or the records inside it."""
    reader = walk.reader(MESSAGE.size)
    if not walk.batch.compression_id:
        yield walk.one(reader, 0, reader.end, 0, lambda inner: _record(walk, inner))
        return
    fields = _message_fields(reader, walk.batch.magic)
    if fields.value is None:
        reader.refuse_field("value", NullNotAllowed, reader.pos - 4, found=-1)
    _check_tail(reader)
    yield from _read_set(walk, walk.inflated(fields.value, reader.pos - len(fields.value)))


def _record(walk: Walk, reader: PlacedReader) -> Record:
    batch = walk.batch
    key, value, timestamp = _message_fields(reader, batch.magic)
    _check_tail(reader)
    return Record(batch.last_offset, timestamp, key, value, (), batch.attributes)


def _message_fields(reader: PlacedReader, magic: int) -> MessageFields:
    fields: MessageFields = MESSAGES[magic]._parse(reader, None, "")
    return fields


def _check_tail(reader: PlacedReader) -> None:
    """Record a fault for bytes after the value; Kafka ignores them."""
    rest = reader.data[reader.pos : reader.end]
    if rest:
        reader.fault(TrailingBytes, reader.pos, have=len(rest), raw=rest)


def _read_set(walk: Walk, reader: PlacedReader) -> Iterator[Record | UndecodableRecords]:
    """Read the messages of a message set. A truncated last message is ignored, as Kafka does."""
    base, index = _base_offset(walk, reader), 0
    while reader.pos < reader.end:
        start = reader.pos
        walk.stand(reader.data, start)
        stop = _stop(reader, index)
        if stop is None:
            return
        yield walk.one(reader, start, stop, index, lambda inner: _inner_record(walk, inner, base))
        index += 1


def _stop(reader: PlacedReader, index: int) -> int | None:
    """Return the end of the message that begins here; None if it is truncated."""
    start, left = reader.pos, reader.end - reader.pos
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


def _base_offset(walk: Walk, reader: PlacedReader) -> int:
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
    last, at = None, 0
    while at + LOG_OVERHEAD <= len(data):
        offset, size = _OFFSET_AND_SIZE.unpack_from(data, at)
        at += LOG_OVERHEAD + size
        if size < LEAST or at > len(data):
            break
        last = int(offset)
    return last


def _inner_record(walk: Walk, reader: PlacedReader, base: int) -> Record:
    batch, start = walk.batch, reader.pos
    offset, _, crc, magic, attributes = MESSAGE.unpack_from(reader.data, start)
    if magic != batch.magic:
        reader.fault_field("magic", MixedMagic, start + 16, found=magic, need=batch.magic)
    if attributes & COMPRESSION:
        reader.refuse_field("attributes", NestedCompression, start + 17)
    right = crc32(reader.data[start + 16 : reader.end])
    if crc != right:
        reader.fault_field("crc", BadChecksum, start + 12, found=(hex32(crc), hex32(right)))
    reader.pos = start + MESSAGE.size
    key, value, timestamp = _message_fields(reader, 1 if magic else 0)  # Kafka takes any but 0 for 1
    _check_tail(reader)
    if magic == 1 and batch.magic and batch.attributes & LOG_APPEND_TIME:
        return Record(int64(offset + base), batch.max_timestamp, key, value, (), attributes, timestamp)
    return Record(int64(offset + base), timestamp, key, value, (), attributes)
