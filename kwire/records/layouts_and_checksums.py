"""Byte layouts of batches, records and messages, as nodes of `kwire.wire`; CRC32C. `batch` verifies the checksums.

Nothing is decompressed or verified here. Sources: "Record Batch" and "Message sets" in Kafka's documentation. CRC32C
uses google-crc32c if it is installed, otherwise a table.
"""

from __future__ import annotations

from functools import cache
from struct import Struct as Packed
from typing import Any, NamedTuple

import msgspec

from ..errors import DecodeError
from ..wire import INT8, INT32, INT64, VARINT, VARLONG, Array, Bytes, Field, Node, String, Struct
from .compression import name_of


class RecordHeader(NamedTuple):
    """A header of a record. Names may repeat; the value may be None."""

    key: str
    value: bytes | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, in any magic.

    `timestamp` is in milliseconds since 1970; -1 if there is none (magic 0). In a batch with `LogAppendTime` it is the
    broker's timestamp, and `create_timestamp` is the producer's, if it was stored. `attributes` are those of the
    record; magic 2 defines none. Only magic 2 has `headers`.
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
