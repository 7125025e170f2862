"""Error codes inside messages: where a message has them is found out once per codec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..codecs import Codec
from ..render.meaning import inner_struct
from ..values import kind, kind_of
from ..wire import Array, Struct


class _Part(NamedTuple):
    """A field that is an error code, or that holds some: `parts` of its struct, or of each of its elements."""

    name: str
    is_array: bool
    parts: tuple[_Part, ...]


class ErrorCodes:
    """Finds the error codes of messages.

    >>> import kwire
    >>> codec = kwire.codec("MetadataResponse", 0)
    >>> topic = kwire.messages.MetadataResponse.MetadataResponseTopic(error_code=3, name="t")
    >>> list(ErrorCodes().of(codec, kwire.messages.MetadataResponse(topics=(topic,))))
    [('topics.error_code', 3)]
    """

    def __init__(self) -> None:
        self._parts: dict[Codec, tuple[_Part, ...]] = {}

    def of(self, codec: Codec, message: Any) -> Iterator[tuple[str, int]]:
        """Yield (path without indices, code) for every error code of a message but 0, which says there is no error."""
        if codec not in self._parts:
            self._parts[codec] = _parts(codec.name, codec.schema)
        yield from _codes(self._parts[codec], message, "")


def _parts(message: str, struct: Struct) -> tuple[_Part, ...]:
    found = []
    for field in struct.all_fields:
        inner, is_array = inner_struct(field.subcon), isinstance(field.subcon, Array)
        if inner is not None:
            parts = _parts(message, inner)
            if parts:
                found.append(_Part(str(field.name), is_array, parts))
        elif kind_of(message, struct.message_class.__name__, field.json_name) is kind("ErrorCode"):
            found.append(_Part(str(field.name), is_array, ()))
    return tuple(found)


def _codes(parts: tuple[_Part, ...], value: Any, path: str) -> Iterator[tuple[str, int]]:
    for part in parts:
        held = getattr(value, part.name)
        for item in (held or ()) if part.is_array else (held,):
            if part.parts and item is not None:
                yield from _codes(part.parts, item, f"{path}{part.name}.")
            elif item and not part.parts:
                yield path + part.name, item
