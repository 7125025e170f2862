"""Structs with their fields, and nullable structs (KIP-893)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...errors import BadMarker, BadUnknownTags, DecodeError, NotInVersion, WrongType, excerpt
from ...schema.message_classes import constructor_of
from .construct_classes import Subconstruct
from .fixed_size import INT8
from .java_integers import wrap_int32
from .node import Node
from .reader import Reader
from .tagged_fields import TaggedFields, is_default
from .unknown_tags import has_tags
from .varints import UNSIGNED_VARINT
from .writer import Writer


class Field(Subconstruct):
    """A named part of a struct.

    `name` is the attribute, `json_name` the name in Kafka's JSON, `default` the value that is not written if the field
    is tagged, `docs` the `about` text of the spec, `subcon` the wire type.
    """

    def __init__(self, name: str, subcon: Node, *, json_name: str, default: Any, about: str = "") -> None:
        super().__init__(subcon)
        self.name: str = name
        self.docs = about
        self.json_name: str = json_name
        self.default: Any = default


class Absent(NamedTuple):
    """A field that the struct has only in other versions."""

    name: str
    json_name: str
    default: Any
    ignorable: bool
    first: int | None
    last: int | None


class Struct(Node):
    """A sequence of fields; in flexible versions, tagged fields follow (KIP-482)."""

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

    @cached_property
    def least(self) -> int:  # type: ignore[override]
        """The minimum size of a struct in bytes."""
        size: int = sum(field.subcon.least for field in self.fields)
        return size + (self.tagged is not None)

    @property
    def all_fields(self) -> tuple[Field, ...]:
        """The fields in wire order, followed by the tagged fields ordered by tag."""
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
        return constructor_of(self.message_class)(**values)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if type(obj) is not self.message_class:
            stream.refuse(WrongType, **self._mismatch(obj))
        for absent in self.absent:
            if not absent.ignorable and not is_default(getattr(obj, absent.name), absent.default):
                stream.path.append(absent.name)
                value_text = excerpt(getattr(obj, absent.name), 60)
                stream.refuse(NotInVersion, found=value_text, first=absent.first, last=absent.last)
        for field in self.fields:
            stream.child(field.name, field.subcon, getattr(obj, field.name))
        if self.tagged is not None:
            self.tagged.write_from(obj, stream)
        elif has_tags(getattr(obj, "unknown_tags", None)):
            stream.refuse(BadUnknownTags, found="this version has no tagged fields")

    def _mismatch(self, obj: Any) -> dict[str, str]:
        """Return the details for an error about a value of another class.

        The class may have the same name but come from other specs.
        """
        cls = type(obj)
        facts = {"need": f"a {self.message_class.__qualname__}", "found": f"{cls.__name__} {excerpt(obj, 60)}"}
        if cls.__name__ == self.message_class.__name__:
            facts["found"] = f"{excerpt(obj, 60)} of other specs ({cls.__qualname__})"
            facts["hint"] = "make the message with the classes of this codec's catalog: catalog.messages"
        return facts


class NullableStruct(Node):
    """A marker, followed by the struct if there is one: int8 -1 or 1; in a tagged field an unsigned varint 0 or 1.

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
        marker = wrap_int32(stream.prefix(self.marker))
        if marker not in (self.null, 1):
            stream.fault(BadMarker, start, found=marker, raw=stream.data[start : stream.pos])
        return None if marker <= self.null else self.subcon._parse(stream, context, path)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.marker._build(self.null if obj is None else 1, stream, context, path)
        if obj is not None:
            self.subcon._build(obj, stream, context, path)
