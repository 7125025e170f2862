"""Builds the construct tree of a message at one version.

The only module that checks whether a field is present, nullable, tagged or compact in a version.
The resulting tree has no versions, only a byte layout.

`plan_of` finds fields of interest in a tree, by a plan that is created once per codec. The caller defines which fields
these are: topics, error codes, secrets, records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from .. import wire
from ..messages.classes import default_for, message_class
from ..spec import FieldSpec, MessageSpec, StructSpec

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


def grow(spec: MessageSpec, version: int) -> wire.Struct:
    """Build the tree of a message.

    Args:
        spec: the message.
        version: one of `spec.versions`.

    Returns:
        A construct: `grow(spec, version).parse(data)` returns a message, `.build(message)` returns bytes.
    """
    return _Growth(spec, version).struct(spec.struct)


class _Growth:
    """One message at one version."""

    def __init__(self, spec: MessageSpec, version: int) -> None:
        self.spec, self.version = spec, version
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


class HasTree(Protocol):
    """What has the name and the tree of a message: a codec."""

    name: str

    @property
    def schema(self) -> wire.Struct:
        """The construct tree."""


class Place(NamedTuple):
    """A field that is not a struct: the message, the struct that contains it, and the node of its value or elements."""

    message: str
    struct: wire.Struct
    field: wire.Field
    node: Any
    is_array: bool

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return str(self.field.name)

    @property
    def owner(self) -> str:
        """The name of the struct."""
        return str(self.struct.message_class.__name__)


class Step(NamedTuple):
    """A field of interest, or one that holds structs with such fields.

    Attributes:
        name: the name of the attribute.
        path: the path from the message, with dots, without indices.
        is_array: whether the field is an array.
        interest: the caller's value for the field; None for a struct with fields of interest.
        steps: the steps to the fields of its struct.
    """

    name: str
    path: str
    is_array: bool
    interest: Any = None
    steps: tuple[Step, ...] = ()


Interest = Callable[[Place], Any]  # None means not of interest


@lru_cache(maxsize=1024)
def plan_of(codec: HasTree, interest: Interest) -> tuple[Step, ...]:
    """Return the steps to the fields of interest in wire order; empty if there are none. Raises UnknownNode."""
    return tuple(_steps(codec.name, codec.schema, "", interest))


def _steps(message: str, struct: wire.Struct, above: str, interest: Interest) -> Iterator[Step]:
    for field in struct.all_fields:
        content, name = wire.content_of(field.subcon), str(field.name)
        if content.struct is not None:
            steps = tuple(_steps(message, content.struct, f"{above}{name}.", interest))
            if steps:
                yield Step(name, above + name, content.is_array, None, steps)
        else:
            value = interest(Place(message, struct, field, content.node, content.is_array))
            if value is not None:
                yield Step(name, above + name, content.is_array, value)


def found_in(steps: tuple[Step, ...], *values: Any) -> list[tuple[Step, tuple[Any, ...], Any]]:
    """Return the non-empty fields of interest, in order: step, structs from the message to the field's owner, value.

    Args:
        steps: a plan.
        values: the message.
    """
    found: list[tuple[Step, tuple[Any, ...], Any]] = []
    _find(steps, values, found)
    return found


def _find(steps: tuple[Step, ...], values: tuple[Any, ...], found: list[tuple[Step, tuple[Any, ...], Any]]) -> None:
    """Append to a list: a generator per struct, most of which find nothing, took 1.5 times as long."""
    for step in steps:
        held = getattr(values[-1], step.name)
        if not held:
            continue
        if not step.steps:
            found.append((step, values, held))
        elif step.is_array:
            for item in held:
                _find(step.steps, (*values, item), found)
        else:
            _find(step.steps, (*values, held), found)


def leaves(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the last steps of a plan: the fields of interest."""
    for step in steps:
        yield from leaves(step.steps) if step.steps else (step,)


@lru_cache(maxsize=256)
def places_in(codec: HasTree) -> dict[str, Place]:
    """Return the fields that are not structs, by their paths without indices."""
    return {step.path: step.interest for step in leaves(tuple(_steps(codec.name, codec.schema, "", _any)))}


def _any(place: Place) -> Place:
    return place
