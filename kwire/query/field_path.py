"""Paths to fields of messages (--fields), at any depth: `topics[].name`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..codecs.field_search import field_locations
from ..codecs.message_codec import Codec
from ..protocol import Request, Response, Result
from ..schema.message_spec import FieldSpec, MessageSpec, StructSpec
from .frame_properties import PROPERTIES, Property

Steps = tuple[tuple[str, int | None], ...]  # names of attributes; for arrays the index of one element, or None for all
_KINDS = {"string": "text", "bool": "boolean", "uuid": "uuid", "bytes": "bytes", "records": "bytes"}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path to fields: `topics[].partitions[0].error_code`, or a property such as `latency`.

    Attributes:
        text: the path as given.
        steps: names of attributes, each with an index, or None for all elements.
    """

    text: str
    steps: Steps

    @property
    def property(self) -> Property | None:
        """The property of a frame that the path names; a path that begins with a dot names a field."""
        return PROPERTIES.get(self.steps[0][0]) if len(self.steps) == 1 and self.text[0] != "." else None

    def values(self, result: Result) -> Iterator[Any]:
        """Yield all values at this path in a frame, including the message inside an envelope."""
        if self.property is not None:
            value = self.property.read(result)
            if value is not None:
                yield value
        elif isinstance(result, Request | Response):
            for steps in _find_matching(result.codec, self.steps):
                yield from _read_values(result.message, steps)
            if isinstance(result.inside, Request | Response):
                yield from self.values(result.inside)

    def fields(self, spec: MessageSpec) -> Iterator[FieldSpec]:
        """Yield the fields of a message that match the path, in all its versions."""
        names = tuple(name for name, _ in self.steps)
        yield from (member for path, member in fields_of(spec.struct) if path[-len(names) :] == names)


@lru_cache(maxsize=4096)
def _find_matching(codec: Codec, steps: Steps) -> tuple[Steps, ...]:
    """Return the fields of a codec that match a path, each as steps from the message."""
    names = tuple(name for name, _ in steps)
    matching: dict[Steps, None] = {}
    for path in field_locations(codec):
        parts = tuple(path.split("."))
        for end in range(len(names), len(parts) + 1):
            if parts[end - len(names) : end] == names:
                matching[(*((part, None) for part in parts[: end - len(names)]), *steps)] = None
    return tuple(matching)


def _read_values(value: Any, steps: Steps) -> Iterator[Any]:
    """Yield the values that are these steps away from a value."""
    if not steps:
        yield value
        return
    name, index = steps[0]
    rest = steps[1:]
    member = getattr(value, name, None)
    if not isinstance(member, tuple | list):
        if member is not None or not rest:
            yield from _read_values(member, rest)
        return
    for element in member if index is None else member[index : index + 1]:
        yield from _read_values(element, rest)


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
