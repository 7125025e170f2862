"""Kafka's wire types as construct classes: bytes to values and back, side by side.

Knows bytes, knows no JSON and no versions: whether something is compact, nullable or tagged was
decided when the tree was grown (`kwire.codecs.schema_tree`). Source: "Protocol Primitive Types" and KIP-482.
"""

from .contents import Content, UnknownNode, content_of
from .primitives import (
    BOOLEAN,
    COMPACT_LENGTH,
    FLOAT64,
    INT8,
    INT16,
    INT16_LENGTH,
    INT32,
    INT32_LENGTH,
    INT64,
    UINT16,
    UINT32,
    UNSIGNED_VARINT,
    UUID,
    VARINT,
    VARLONG,
    Boolean,
    Float64,
    Integer,
    UnsignedVarint,
    Uuid,
    Varint,
)
from .streams import Node, Reader, Writer, bytes_of
from .strings import Bytes, Records, String
from .structs import Absent, Array, Field, NullableStruct, Struct
from .tagged_fields import TaggedFields, join_tags, split_tags

__all__ = [
    "BOOLEAN",
    "COMPACT_LENGTH",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT16_LENGTH",
    "INT32",
    "INT32_LENGTH",
    "INT64",
    "UINT16",
    "UINT32",
    "UNSIGNED_VARINT",
    "UUID",
    "VARINT",
    "VARLONG",
    "Absent",
    "Array",
    "Boolean",
    "Bytes",
    "Content",
    "Field",
    "Float64",
    "Integer",
    "Node",
    "NullableStruct",
    "Reader",
    "Records",
    "String",
    "Struct",
    "TaggedFields",
    "UnknownNode",
    "UnsignedVarint",
    "Uuid",
    "Varint",
    "Writer",
    "bytes_of",
    "content_of",
    "join_tags",
    "split_tags",
]
