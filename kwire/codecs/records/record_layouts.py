"""Byte layouts of batches, records and messages, as structs and as nodes of `kwire.codecs.wire`.

A record of magic 2: size varint, attributes int8, timestamp delta varlong, offset delta varint, key, value, headers;
key and value: length varint, bytes; headers: count varint, then name and value of each.
Sources: "Record Batch" and "Message sets" in Kafka's documentation.
"""

from __future__ import annotations

from struct import Struct as Packed
from typing import NamedTuple

from ..wire import INT8, INT32, INT64, VARINT, VARLONG, Array, Bytes, Field, Node, String, Struct
from .record import RecordHeader

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
COMPRESSION = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
_SHORT = Bytes(VARINT, nullable=True)
_LONG = Bytes(INT32, nullable=True)


def magic_at(data: bytes | bytearray, start: int = 0) -> int:
    """Return the magic of the batch that starts at `start`, an int8.

    >>> magic_at(bytes(16) + b"\\xff")
    -1
    """
    return int.from_bytes(data[start + 16 : start + UP_TO_MAGIC], "big", signed=True)


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


def _make_fields(**nodes: Node) -> list[Field]:
    return [Field(name, node, json_name=name, default=None) for name, node in nodes.items()]


_HEADER = Struct(RecordHeader, _make_fields(key=String(VARINT, longest=2**31 - 1), value=_SHORT))


RECORD = Struct(
    RecordFields,
    _make_fields(
        attributes=INT8,
        timestamp_delta=VARLONG,
        offset_delta=VARINT,
        key=_SHORT,
        value=_SHORT,
        headers=Array(_HEADER, VARINT),
    ),
)


MESSAGES = {
    0: Struct(MessageFields, _make_fields(key=_LONG, value=_LONG)),
    1: Struct(MessageFields, _make_fields(timestamp=INT64, key=_LONG, value=_LONG)),
}
