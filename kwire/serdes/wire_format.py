"""The frame that serializers put around a value: a zero byte, the id of the schema, for Protobuf which message.

Source: Confluent's "Wire format" (Schema Registry documentation); Apicurio's and Karapace's clients write the same.
"""

from __future__ import annotations

from typing import NamedTuple

from .schema_error import BAD_VALUE, SchemaError

MAGIC = 0
HEADER = 5  # bytes: magic, id as int32
MOST_INDEXES = 32  # messages nested in each other


class FramedValue(NamedTuple):
    """The id of a schema, and the bytes after it."""

    schema_id: int
    payload: bytes


def split_frame(data: bytes) -> FramedValue | None:
    """Return the id and payload of a framed value; None if it has no frame. Registries number schemas from 1.

    >>> split_frame(bytes.fromhex("00 00000007 0a"))
    FramedValue(schema_id=7, payload=b'\\n')
    >>> split_frame(b"text"), split_frame(bytes(8))
    (None, None)
    """
    if len(data) < HEADER or data[0] != MAGIC:
        return None
    schema_id = int.from_bytes(data[1:HEADER], "big", signed=True)
    return FramedValue(schema_id, data[HEADER:]) if schema_id > 0 else None


def split_message_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return which message of a Protobuf schema a payload is, and its bytes.

    The path starts with the index of a message in the file; each further index is that of a message nested in it. A
    count of 0 stands for the path `(0,)`.

    Raises:
        SchemaError: the indexes are not complete, or too many.

    >>> split_message_indexes(b"\\x00rest"), split_message_indexes(bytes([4, 2, 0, 9]))
    (((0,), b'rest'), ((1, 0), b'\\t'))
    """
    count, at = _read_varint(payload, 0)
    if count == 0:
        return (0,), payload[at:]
    if not 0 < count <= MOST_INDEXES:
        raise SchemaError(BAD_VALUE, f"{count} message indexes: 1 to {MOST_INDEXES} are possible")
    path = []
    for _ in range(count):
        index, at = _read_varint(payload, at)
        path.append(index)
    return tuple(path), payload[at:]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint of at most 32 bits; return it and the position after it."""
    value = 0
    for length, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << (7 * length)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + length + 1
    raise SchemaError(BAD_VALUE, "the message indexes are cut short")
