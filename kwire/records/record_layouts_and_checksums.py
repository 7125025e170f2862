"""Byte layouts of batches, records and messages, as nodes of `kwire.wire`; CRC32C; reads the records of a batch.

A record of magic 2: size varint, attributes int8, timestamp delta varlong, offset delta varint, key, value, headers;
key and value: length varint, bytes; headers: count varint, then name and value of each. A fast path reads valid
records; for other bytes, the record is read again by its layout, which finds the fault.

`batch` verifies the checksums. Sources: "Record Batch" and "Message sets" in Kafka's documentation. CRC32C uses
google-crc32c if it is installed, otherwise a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from struct import Struct as Packed
from typing import Any, NamedTuple, NoReturn

import msgspec

from ..errors import (
    BadRecordCount,
    BadRecordSize,
    DecodeError,
    Tolerated,
    TooManyFaults,
    TrailingBytes,
    UnknownCompression,
)
from ..wire import INT8, INT32, INT64, VARINT, VARLONG, Array, Bytes, Field, Node, Reader, String, Struct
from ..wire.primitives import MOST_FAULTS, read_length
from .compression import inflate, name_of


class RecordHeader(NamedTuple):
    """A header of a record. Names may repeat; the value may be None."""

    key: str
    value: bytes | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, in any magic.

    `timestamp` is in milliseconds since 1970; -1 if there is none (magic 0). In a batch with `LogAppendTime` it is the
    broker's timestamp, and `create_timestamp` is the producer's, if it was stored. `attributes` are those of the
    record; magic 2 defines none. Only magic 2 has `headers`.

    >>> import kwire
    >>> data = kwire.build_batch([kwire.Record(7, key=b"k", value=b"v", headers=(kwire.RecordHeader("h", b"x"),))])
    >>> [(record.offset, record.key) for batch in kwire.parse_records(data) for record in batch.records()]
    [(7, b'k')]
    """

    offset: int
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[RecordHeader, ...] = ()
    attributes: int = 0
    create_timestamp: int | None = None


class UndecodableRecords(NamedTuple):
    """Bytes that could not be read as a batch or as a record, in salvage mode. `error.path` shows which."""

    data: bytes
    error: DecodeError


# The first fields of every magic: the offset (int64), and the number of bytes that follow (int32).
LOG_OVERHEAD = 12
# In any magic: up to and including the magic byte.
UP_TO_MAGIC = 17
# offset, length, leader epoch, magic, crc, attributes, last offset delta, base and max timestamp, producer id and
# epoch, base sequence, count
BATCH = Packed(">qiibIhiqqqhii")
# offset, length, crc, magic, attributes
MESSAGE = Packed(">qiIbb")
# The start of the bytes that the checksum covers.
CHECKED_FROM = {0: 16, 1: 16, 2: 21}
# The smallest length field: a batch that is only a header; a message with neither key nor value.
LEAST_LENGTH = {0: 14, 1: 22, 2: BATCH.size - LOG_OVERHEAD}

COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40


def magic_at(data: bytes | bytearray, start: int = 0) -> int:
    """Return the magic of the batch that starts at `start`, an int8.

    >>> magic_at(bytes(16) + b"\\xff")
    -1
    """
    return int.from_bytes(data[start + 16 : start + UP_TO_MAGIC], "big", signed=True)


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The header and the bytes of a batch; `RecordBatch` adds the records, and describes the attributes."""

    base_offset: int | None
    last_offset: int
    length: int
    magic: int
    crc: int
    attributes: int
    partition_leader_epoch: int = -1
    last_offset_delta: int = 0
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int | None = 1
    data: bytes
    position: int = 0
    index: int = 0
    faults: tuple[DecodeError, ...] = ()

    @property
    def compression(self) -> str | None:
        """`none`, `gzip`, `snappy`, `lz4` or `zstd`; None for an unknown number."""
        return name_of(self.compression_id, self.magic)

    @property
    def compression_id(self) -> int:
        """The number of the compression."""
        return self.attributes & COMPRESSION

    @property
    def timestamp_type(self) -> str:
        """`CreateTime`, `LogAppendTime`, or in magic 0 `NoTimestampType`."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether its records are control records; `kwire.internal.decode_control_record` decodes them."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """The time from which the log cleaner may remove tombstones, in milliseconds since 1970; None if not set."""
        return self.base_timestamp if self.magic >= 2 and self.attributes & DELETE_HORIZON else None


class RecordFields(NamedTuple):
    """The fields of a record of magic 2 after its size."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...]


class MessageFields(NamedTuple):
    """The fields of a message of magic 0 or 1 after its attributes; magic 0 has no timestamp."""

    key: bytes | None
    value: bytes | None
    timestamp: int = -1


def _fields(**nodes: Node) -> list[Field]:
    return [Field(name, node, json_name=name, default=None) for name, node in nodes.items()]


_SHORT = Bytes(VARINT, nullable=True)
_LONG = Bytes(INT32, nullable=True)
_HEADER = Struct(RecordHeader, _fields(key=String(VARINT, longest=2**31 - 1), value=_SHORT))
RECORD = Struct(
    RecordFields,
    _fields(
        attributes=INT8,
        timestamp_delta=VARLONG,
        offset_delta=VARINT,
        key=_SHORT,
        value=_SHORT,
        headers=Array(_HEADER, VARINT),
    ),
)
MESSAGES = {
    0: Struct(MessageFields, _fields(key=_LONG, value=_LONG)),
    1: Struct(MessageFields, _fields(timestamp=INT64, key=_LONG, value=_LONG)),
}


def int64(value: int) -> int:
    """Wrap a number to 64 bits, like Java's long.

    >>> int64(2**63)
    -9223372036854775808
    """
    return (value + 2**63) % 2**64 - 2**63


_MASK = 0xFFFFFFFF


def hex32(checksum: int) -> str:
    """Format a checksum as hexadecimal.

    >>> hex32(255)
    '0x000000ff'
    """
    return f"{checksum:#010x}"


def crc32c(data: bytes) -> int:
    """Return the CRC32C (Castagnoli) of bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value: int = _fastest()(data)
    return value


def crc32c_by_table(data: bytes) -> int:
    """Return the CRC32C of bytes, without any library.

    >>> hex(crc32c_by_table(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), _MASK
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ _MASK


@cache
def _fastest() -> Any:
    try:
        from google_crc32c import implementation, value
    except ImportError:
        return crc32c_by_table
    return crc32c_by_table if implementation == "python" else value


@cache
def _table() -> tuple[int, ...]:
    entries = range(256)
    for _ in range(8):
        entries = [entry >> 1 ^ (0x82F63B78 if entry & 1 else 0) for entry in entries]  # type: ignore[assignment]
    return tuple(entries)


class PlacedReader(Reader):
    """A reader whose errors have offsets relative to the input.

    Args:
        data: the bytes to read.
        base: their position in the input; for decompressed bytes, the position of the compressed bytes.
        path: the path of the value.
        start: the start position in `data`.
        inflated: whether the bytes were decompressed; errors then also have an offset in the decompressed bytes.
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
        limit: the maximum decompressed size of its records, in bytes.
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
        """Return a reader of the batch's bytes, positioned at `start`."""
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
            error.__context__ = None  # its frames reference the decompressed bytes
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
        """Read the record from `start` to `stop`; afterwards, the reader is always at `stop`."""
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
    """Check that the number of records is that of the header.

    Bytes after an empty batch are a fault, because Kafka ignores them.
    """
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
