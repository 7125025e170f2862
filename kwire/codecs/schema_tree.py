"""Builds the construct tree of a message at one version.

The only module that checks whether a field is present, nullable, tagged or compact in a version. The resulting tree
has no versions, only a byte layout.
"""

from __future__ import annotations

from typing import Any

from ..schema.message_classes import default_for, message_class
from ..schema.message_spec import FieldSpec, MessageSpec, StructSpec
from . import wire

_SCALARS = {
    "bool": wire.BOOLEAN,
    "int8": wire.INT8,
    "int16": wire.INT16,
    "uint16": wire.UINT16,
    "int32": wire.INT32,
    "uint32": wire.UINT32,
    "int64": wire.INT64,
    "float64": wire.FLOAT64,
    "uuid": wire.UUID,
}


def grow_tree(spec: MessageSpec, version: int) -> wire.Struct:
    """Build the tree of a message.

    Args:
        spec: the message.
        version: one of `spec.versions`.

    Returns:
        A construct: `grow(spec, version).parse(data)` returns a message, `.build(message)` returns bytes.
    """
    return _TreeBuilder(spec, version).struct(spec.struct)


class _TreeBuilder:
    """One message at one version."""

    def __init__(self, spec: MessageSpec, version: int) -> None:
        self.spec = spec
        self.version = version
        self.flexible = version in spec.flexible_versions
        self.message_class: Any = message_class(spec)

    def struct(self, struct: StructSpec) -> wire.Struct:
        present = [f for f in struct.fields if self.version in f.versions]
        tagged = [f for f in present if self.version in f.tagged_versions]
        section = None
        if self.flexible:
            foreign = [f.tag for f in struct.fields if f.tag is not None and f not in tagged]
            section = wire.TaggedFields({f.tag: self.field(f) for f in tagged if f.tag is not None}, foreign)
        own = struct is self.spec.struct
        return wire.Struct(
            self.message_class if own else getattr(self.message_class, struct.name),
            [self.field(f) for f in present if f not in tagged],
            section,
            [self.absent(f) for f in struct.fields if f not in present],
        )

    def field(self, field: FieldSpec) -> wire.Field:
        default = default_for(field, self.message_class)
        return wire.Field(
            field.attribute, self.node(field), json_name=field.json_name, default=default, about=field.about
        )

    def absent(self, field: FieldSpec) -> wire.Absent:
        there = field.versions.meets(self.spec.versions)
        default = default_for(field, self.message_class)
        first, last = (there.first, there.last) if there else (None, None)
        return wire.Absent(field.attribute, field.json_name, default, field.ignorable, first, last)

    def node(self, field: FieldSpec) -> wire.Node:
        nullable = self.version in field.nullable_versions
        if not field.is_array:
            return self.element(field, nullable)
        length = wire.COMPACT_LENGTH if self.compact(field) else wire.INT32_LENGTH
        return wire.Array(self.element(field, False), length, nullable=nullable)

    def element(self, field: FieldSpec, nullable: bool) -> wire.Node:
        compact = self.compact(field)
        if field.struct is not None:
            struct = self.struct(field.struct)
            return wire.NullableStruct(struct, tagged=self.version in field.tagged_versions) if nullable else struct
        if field.element == "string":
            return wire.String(wire.COMPACT_LENGTH if compact else wire.INT16_LENGTH, nullable=nullable)
        if field.element in ("bytes", "records"):
            kind = wire.Bytes if field.element == "bytes" else wire.Records
            return kind(wire.COMPACT_LENGTH if compact else wire.INT32_LENGTH, nullable=nullable)
        return _SCALARS[field.element]

    def compact(self, field: FieldSpec) -> bool:
        return self.flexible and (field.flexible_versions is None or self.version in field.flexible_versions)
