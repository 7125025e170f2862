"""Kafka's wire types as construct classes, which parse and build values.

A node has no versions: `kwire.codecs.schema_tree` decides whether a field is compact, nullable or tagged when it builds
the tree. Source: "Protocol Primitive Types" and KIP-482.
"""

from .arrays import Array
from .content import Content, UnknownNode, content_of
from .fixed_size import (
    BOOLEAN,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UUID,
    Boolean,
    Float64,
    Integer,
    Uuid,
)
from .length_prefixed import Bytes, Records, String
from .lengths import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH
from .node import Node
from .reader import Reader, bytes_of
from .structs import Absent, Field, NullableStruct, Struct
from .tagged_fields import TaggedFields
from .unknown_tags import join_tags, split_tags
from .varints import UNSIGNED_VARINT, VARINT, VARLONG, UnsignedVarint, Varint
from .writer import Writer

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
