"""Paths to fields of messages (--where, --fields), at any depth: `topics[].name`.

What is not on the wire is absent: a tagged field with its default has no value, although the message object has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..codecs import wire
from ..codecs.message_codec import Codec
from ..codecs.wire.tagged_fields import is_default
from ..protocol import Request, Response
from ..schema.message_spec import FieldSpec, MessageSpec, StructSpec
from .frame_properties import OF_OPTIONS, PROPERTIES, Property

Steps = tuple[tuple[str, int | None], ...]  # names of attributes; for arrays the index of one element, or None for all
_KINDS = {"string": "text", "bool": "boolean", "uuid": "uuid", "bytes": "bytes", "records": "bytes"}
_ON_WIRE = object()
RECORD_PARTS = ("key.", "key[", "value.", "value[")  # no message has a struct with one of these names


class WireStep(NamedTuple):
    """A step to a field of a struct; a field with the value `default` is not on the wire."""

    name: str
    element: int | None  # the index of one element of an array
    default: Any


class FieldSite(NamedTuple):
    """A field of a message at one version that a path names: the steps to it, and what it is."""

    steps: tuple[WireStep, ...]
    field: wire.Field
    owner: str  # the name of the struct that contains it

    @property
    def has_index(self) -> bool:
        """Whether the path names single elements of arrays."""
        return any(step.element is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path to fields: `topics[].partitions[0].error_code`, or a property such as `latency`.

    Attributes:
        text: the path as given.
        steps: names of attributes, each with an index, or None for all elements.
        is_whole: arrays are values, too: `exists(topics)` holds for an empty array.
    """

    text: str
    steps: Steps
    is_whole: bool = False

    @property
    def name(self) -> str:
        """The name of a property that the path may mean; empty for a path of several steps or with a leading dot."""
        return self.steps[0][0] if len(self.steps) == 1 and self.text[0] != "." else ""

    @property
    def part(self) -> str:
        """`key` or `value` if the path leads into a record's key or value that a schema decodes; otherwise empty."""
        return self.steps[0][0] if len(self.steps) > 1 and self.text.startswith(RECORD_PARTS) else ""

    @property
    def property(self) -> Property | None:
        """The property of a frame that the path names; a path that begins with a dot names a field."""
        return PROPERTIES.get(self.name) or OF_OPTIONS.get(self.name)

    def sites(self, codec: Codec) -> tuple[FieldSite, ...]:
        """Return the fields of a message at one version that match the path."""
        return _find_sites(codec, self.steps)

    def sited_values(self, codec: Codec, message: Any) -> Iterator[tuple[FieldSite, Any]]:
        """Yield all values on the wire at this path in a message, each with its field."""
        for site in self.sites(codec):
            for value in _read_values(message, site.steps, self.is_whole):
                yield site, value

    def values(self, result: Any) -> Iterator[Any]:
        """Yield all values of fields at this path in a frame, including the message inside an envelope."""
        if isinstance(result, Request | Response):
            for _, value in self.sited_values(result.codec, result.message):
                yield value
            yield from self.values(result.inside)

    def fields(self, spec: MessageSpec) -> Iterator[FieldSpec]:
        """Yield the fields of a message that match the path, in all its versions."""
        names = tuple(name for name, _ in self.steps)
        yield from (member for path, member in fields_of(spec.struct) if path[-len(names) :] == names)


@lru_cache(maxsize=4096)
def _find_sites(codec: Codec, steps: Steps) -> tuple[FieldSite, ...]:
    return tuple(_walk(codec.schema, (), steps))


def _walk(struct: wire.Struct, above: tuple[WireStep, ...], steps: Steps) -> Iterator[FieldSite]:
    """Yield the fields of a struct and of the structs inside it whose path ends with the names of `steps`."""
    names = tuple(name for name, _ in steps)
    tagged = struct.tagged.fields.values() if struct.tagged else ()
    for field in struct.all_fields:
        default = field.default if any(field is candidate for candidate in tagged) else _ON_WIRE
        path = (*above, WireStep(str(field.name), None, default))
        if tuple(step.name for step in path[-len(names) :]) == names:
            last = zip(path[-len(names) :], steps, strict=True)
            indexed = tuple(step._replace(element=index) for step, (_, index) in last)
            yield FieldSite((*path[: -len(names)], *indexed), field, struct.message_class.__name__)
        inner = wire.content_of(field.subcon).struct
        if inner is not None:
            yield from _walk(inner, path, steps)


def _read_values(value: Any, steps: tuple[WireStep, ...], is_whole: bool) -> Iterator[Any]:
    """Yield the values that are these steps away from a value."""
    if not steps:
        yield value
        return
    name, index, default = steps[0]
    rest = steps[1:]
    member = getattr(value, name, None)
    if default is not _ON_WIRE and is_default(member, default):
        return
    if not isinstance(member, tuple | list) or (is_whole and not rest and index is None):
        if member is not None or not rest:
            yield from _read_values(member, rest, is_whole)
        return
    for element in member if index is None else member[index : index + 1]:
        yield from _read_values(element, rest, is_whole)


def fields_of(struct: StructSpec, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldSpec]]:
    """Yield all fields of a struct and of the structs inside it, with their paths of attributes."""
    for member in struct.fields:
        path = (*above, member.attribute)
        yield path, member
        if member.struct is not None:
            yield from fields_of(member.struct, path)


def kind_name(member: FieldSpec) -> str:
    """Return the kind of a field's values: number, text, boolean, uuid, bytes or struct."""
    if member.struct is not None:
        return "struct"
    return _KINDS.get(member.element, "number")
