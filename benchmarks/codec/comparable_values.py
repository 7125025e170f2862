"""What messages of different implementations hold, made so plain that it can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from kwire.codecs import wire


def plain(value: Any) -> Any:
    """Return a value without what an implementation has made of it: enums, times, UUIDs."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    return None if value == bytes(16) else value


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in a tree of objects, each as plain as it can be."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    else:
        yield plain(value)


def our_leaves(node: Any, value: Any) -> Iterator[Any]:
    """Yield the values of a message that its version has."""
    if isinstance(node, wire.Struct):
        for field in node.all_fields:
            yield from our_leaves(field.subcon, getattr(value, field.name))
    elif isinstance(node, wire.Array) and value is not None:
        for item in value:
            yield from our_leaves(node.element, item)
    elif isinstance(node, wire.NullableStruct) and value is not None:
        yield from our_leaves(node.subcon, value)
    else:
        yield plain(value)


def alike(node: Any, ours: Any, theirs: Any) -> bool:
    """Compare messages by the names of fields, where theirs has the name: kafka-python has given others to a few."""
    if isinstance(node, wire.Struct):
        names = [field for field in node.all_fields if hasattr(theirs, field.name)]
        return all(alike(f.subcon, getattr(ours, f.name), getattr(theirs, f.name)) for f in names)
    if isinstance(node, wire.Array) and ours is not None:
        return len(ours) == len(theirs) and all(map(alike, [node.element] * len(ours), ours, theirs))
    if isinstance(node, wire.NullableStruct) and ours is not None:
        return alike(node.subcon, ours, theirs)
    return isinstance(theirs, set) or bool(plain(ours) == plain(theirs))  # a set: of the bits in a number
