"""Kafka's wire types as construct classes, which parse and build values.

A node has no versions: `kwire.codecs.schema_tree` decides whether a field is compact, nullable or tagged when it builds
the tree. Source: "Protocol Primitive Types" and KIP-482.
"""

from .primitives import BOOLEAN, Boolean, Bytes, COMPACT_LENGTH, FLOAT64, Float64, INT16, INT16_LENGTH, INT32, INT32_LENGTH, INT64, INT8, Integer, Node, Reader, Records, String, UINT16, UINT32, UNSIGNED_VARINT, UUID, UnsignedVarint, Uuid, VARINT, VARLONG, Varint, Writer, bytes_of
from .structs import Absent, Array, Content, Field, NullableStruct, Struct, TaggedFields, UnknownNode, content_of, join_tags, split_tags

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
