"""Containers: arrays, structs with their fields, nullable structs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

from ..errors import BadMarker, BadUnknownTags, DecodeError, NotInVersion, WrongType, excerpt
from .primitives import (
    COMPACT_LENGTH,
    INT8,
    INT32_LENGTH,
    UNSIGNED_VARINT,
    Boolean,
    Bytes,
    Float64,
    Integer,
    String,
    Uuid,
    int32,
    read_length,
    write_length,
)
from .streams import Node, Reader, Subconstruct, Writer
from .tagged_fields import TaggedFields, has_tags, is_default

# Elements that the fast path reads at a time where bytes are refused; the reference reads the block of the refused one.
BLOCK = 64


class Array(Node):
    """A count (int32, or compact), then the elements. Decodes to a tuple; any sequence is encoded."""

    def __init__(self, element: Node, length: Node = INT32_LENGTH, *, nullable: bool = False) -> None:
        super().__init__()
        self.element: Node = element
        self.length: Node = length
        self.nullable: bool = nullable
        self.least: int = length.least
        compact = "compact " if length is COMPACT_LENGTH else ""
        self.type_name = f"{compact}{'nullable ' if nullable else ''}array"
        self.count: _Count = _Count(self)

    def _parse(self, stream: Reader, context: Any, path: str) -> tuple[Any, ...] | None:
        count = stream.prefix(self.count)
        if count is None:
            return None
        if isinstance(self.element, Integer) and count >= BLOCK:
            numbers = stream.elements(self, count)
            if numbers is not None:
                return tuple(numbers)
        items: list[Any] = []
        try:
            while len(items) < count:
                stop = self._read_ahead(stream, items, count)
                for index in range(len(items), stop):
                    items.append(stream.child(index, self.element))
        except DecodeError as error:
            error.partial = items if error.partial is None else [*items, error.partial]
            raise
        return tuple(items)

    def _read_ahead(self, stream: Reader, items: list[Any], count: int) -> int:
        """Read elements by the fast path, up to the block that it refuses; return where this block ends."""
        if count - len(items) < BLOCK:
            return count
        while len(items) < count:
            stop = min(len(items) + BLOCK, count)
            block = stream.elements(self, stop - len(items))
            if block is None:
                return stop
            items += block
        return count

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is None:
            write_length(stream, self.length, None, nullable=self.nullable)
            return
        if isinstance(obj, str | bytes | bytearray) or not isinstance(obj, Sequence):
            self.wrong_type(stream, obj)
        write_length(stream, self.length, len(obj), nullable=self.nullable)
        for index, item in enumerate(obj):
            stream.child(index, self.element, item)


class _Count(Node):
    """The count that precedes an array's elements."""

    def __init__(self, array: Array) -> None:
        super().__init__()
        self.array = array
        self.type_name: str = array.type_name

    def _parse(self, stream: Reader, context: Any, path: str) -> int | None:
        array = self.array
        return read_length(stream, array.length, nullable=array.nullable, least=array.element.least)


class Field(Subconstruct):
    """A named part of a struct.

    `name` is the attribute, `json_name` the name in Kafka's JSON, `default` the value that is not written
    when the field is tagged, `docs` the spec's `about`, `subcon` the wire type.
    """

    def __init__(self, name: str, subcon: Node, *, json_name: str, default: Any, about: str = "") -> None:
        super().__init__(subcon)
        self.name: str = name
        self.docs = about
        self.json_name: str = json_name
        self.default: Any = default


class Absent(NamedTuple):
    """A field that the struct has at other versions only."""

    name: str
    json_name: str
    default: Any
    ignorable: bool
    first: int | None
    last: int | None


class Struct(Node):
    """Fields in sequence; in flexible versions tagged fields follow (KIP-482)."""

    type_name = "struct"

    def __init__(
        self,
        message_class: type[Any],
        fields: Sequence[Field],
        tagged: TaggedFields | None = None,
        absent: Sequence[Absent] = (),
    ) -> None:
        super().__init__()
        self.message_class: type[Any] = message_class
        self.fields: tuple[Field, ...] = tuple(fields)
        self.tagged: TaggedFields | None = tagged
        self.absent: tuple[Absent, ...] = tuple(absent)

    @property
    def least(self) -> int:  # type: ignore[override]
        """The fewest bytes of one struct."""
        least: int = sum(field.subcon.least for field in self.fields)
        return least + (self.tagged is not None)

    @property
    def all_fields(self) -> tuple[Field, ...]:
        """The fields in wire order, then the tagged ones by tag."""
        return self.fields + (tuple(self.tagged.fields.values()) if self.tagged else ())

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        values: dict[str, Any] = {}
        depth = len(stream.path)
        try:
            for field in self.fields:
                values[field.name] = stream.child(field.name, field.subcon)
            if self.tagged is not None:
                self.tagged.read_into(values, stream)
        except DecodeError as error:
            if error.partial is not None and len(error.segments) > depth:
                values[str(error.segments[depth])] = error.partial
            error.partial = values
            raise
        return self.message_class(**values)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if type(obj) is not self.message_class:
            stream.refuse(WrongType, **self._mismatch(obj))
        for absent in self.absent:
            if not absent.ignorable and not is_default(getattr(obj, absent.name), absent.default):
                stream.path.append(absent.name)
                found = excerpt(getattr(obj, absent.name), 60)
                stream.refuse(NotInVersion, found=found, first=absent.first, last=absent.last)
        for field in self.fields:
            stream.child(field.name, field.subcon, getattr(obj, field.name))
        if self.tagged is not None:
            self.tagged.write_from(obj, stream)
        elif has_tags(getattr(obj, "unknown_tags", None)):
            stream.refuse(BadUnknownTags, found="this version has no tagged fields")

    def _mismatch(self, obj: Any) -> dict[str, str]:
        """Return the facts of a value of another class; that may have the same name, and come of other specs."""
        cls = type(obj)
        facts = {"need": f"a {self.message_class.__qualname__}", "found": f"{cls.__name__} {excerpt(obj, 60)}"}
        if cls.__name__ == self.message_class.__name__:
            facts["found"] = f"{excerpt(obj, 60)} of other specs ({cls.__qualname__})"
            facts["hint"] = "make the message with the classes of this codec's catalog: catalog.messages"
        return facts


class NullableStruct(Node):
    """A marker, then the struct if there is one: int8 -1 or 1; in a tagged field an unsigned varint 0 or 1.

    Source: KIP-893. Kafka reads any negative int8 as null, and any other marker as present.
    """

    least: int = 1
    nullable: bool = True

    def __init__(self, subcon: Struct, *, tagged: bool = False) -> None:
        super().__init__()
        self.subcon = subcon
        self.marker: Node = UNSIGNED_VARINT if tagged else INT8
        self.null = 0 if tagged else -1
        self.type_name = "nullable struct"

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        start = stream.pos
        marker = int32(stream.prefix(self.marker))
        if marker not in (self.null, 1):
            stream.fault(BadMarker, start, found=marker, raw=stream.data[start : stream.pos])
        return None if marker <= self.null else self.subcon._parse(stream, context, path)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.marker._build(self.null if obj is None else 1, stream, context, path)
        if obj is not None:
            self.subcon._build(obj, stream, context, path)


class UnknownNode(TypeError):
    """A node whose type is not handled by a walk of the tree."""


class Content(NamedTuple):
    """The node of the content, or of each element if it `is_array`; also as `struct` if it is a struct."""

    node: Any
    struct: Struct | None = None
    is_array: bool = False


@singledispatch
def content_of(node: Node) -> Content:
    """Return what a node holds. Raises UnknownNode."""
    raise UnknownNode(f"{type(node).__name__} is not a supported node type")


@content_of.register(Boolean | Bytes | Float64 | Integer | String | Uuid)
def _(node: Node) -> Content:
    return Content(node)


@content_of.register
def _(node: Struct) -> Content:
    return Content(node, node)


@content_of.register
def _(node: NullableStruct) -> Content:
    return Content(node.subcon, node.subcon)


@content_of.register
def _(node: Array) -> Content:
    content = content_of(node.element)
    if content.is_array:
        raise UnknownNode("an array of arrays is not a supported node type")
    return Content(content.node, content.struct, True)
