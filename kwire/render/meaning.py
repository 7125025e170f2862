"""What a number in a message means: the name that `kwire.values` has for it, found by its field."""

from __future__ import annotations

import re
from typing import Any

from ..codecs import Codec
from ..values import Value, kind_of
from ..wire import Array, NullableStruct, Struct

_INDEX = re.compile(r"\[\d+\]")


class Meaning:
    """Names for the numbers of one message, by the paths of its spans; asks for each field once.

    Args:
        codec: of the message; None knows no names.

    >>> import kwire
    >>> Meaning(kwire.codec("MetadataResponse", 1)).name("topics[3].error_code", 3)
    'UNKNOWN_TOPIC_OR_PARTITION'
    """

    def __init__(self, codec: Codec | None) -> None:
        self.codec = codec
        self._kinds: dict[str, type[Value] | None] = {}

    def name(self, path: str, value: Any) -> str:
        """Return the name of a number, or nothing where it has none."""
        if self.codec is None or not isinstance(value, int) or isinstance(value, bool):
            return ""
        if path == "header.request_api_key":
            return self.codec.spec.api_name
        field = _INDEX.sub("", path)
        if field not in self._kinds:
            self._kinds[field] = _kind(self.codec, field.split("."))
        return name_of(self._kinds[field], value)


def name_of(kind: type[Value] | None, value: Any) -> str:
    """Return a number's name in a kind of values, or nothing."""
    return (kind(value).name or "") if kind is not None else ""


def _kind(codec: Codec, names: list[str]) -> type[Value] | None:
    struct: Struct = codec.schema
    for depth, name in enumerate(names):
        field = next((field for field in struct.all_fields if field.name == name), None)
        if field is None:
            return None
        if depth == len(names) - 1:
            return kind_of(codec.name, struct.message_class.__name__, field.json_name)
        inner = inner_struct(field.subcon)
        if inner is None:
            return None
        struct = inner
    return None


def inner_struct(node: Any) -> Struct | None:
    """Return the struct that a field holds, or an array of them; None if it holds none."""
    if isinstance(node, Array):
        node = node.element
    if isinstance(node, NullableStruct):
        node = node.subcon
    return node if isinstance(node, Struct) else None
