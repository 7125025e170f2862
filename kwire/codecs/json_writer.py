"""Converts messages to the JSON form of Kafka's generated converters, without loss.

Unlike in Kafka's form, records are base64 instead of an empty string, and unknown tagged fields are listed in
`_unknownTags` as [{"tag": 99, "data": base64}].
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from ..schema.sensitive_fields import HIDDEN, Hidden
from . import wire
from .wire.tagged_fields import is_default

UNKNOWN_TAGS = "_unknownTags"
SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
JsonWriter = Callable[[Any], Any]


def to_json(node: wire.Node, value: Any) -> Any:
    """Convert a decoded value of a node to plain JSON values (dict, list, str, int, float, bool, None)."""
    write = json_writer(node)
    return value if write is None else write(value)


@singledispatch
def json_writer(node: wire.Node) -> JsonWriter | None:
    """Return the function that applies `to_json` to a node, for repeated use; None if values need no conversion."""
    raise TypeError(f"no JSON form is written for {type(node).__name__}")


@json_writer.register(wire.Boolean | wire.Integer)
def _write_leaf(node: wire.Node) -> None:
    return None


@json_writer.register
def _write_float64(node: wire.Float64) -> JsonWriter:
    return _write_float


def _write_float(value: Any) -> Any:
    if math.isfinite(value):
        return value
    return next(name for name, special in SPECIAL_FLOATS.items() if repr(special) == repr(value))


@json_writer.register
def _write_string(node: wire.String) -> JsonWriter:
    return _write_text


def _write_text(value: Any) -> Any:
    return {HIDDEN: value.size} if type(value) is Hidden else value


@json_writer.register(wire.Bytes)
def _write_bytes(node: wire.Bytes) -> JsonWriter:
    return _write_base64


def _write_base64(value: Any) -> Any:
    if type(value) is Hidden:
        return {HIDDEN: value.size}
    return None if value is None else base64.b64encode(value).decode()


@json_writer.register
def _write_uuid(node: wire.Uuid) -> JsonWriter:
    return uuid_text


@json_writer.register
def _write_array(node: wire.Array) -> JsonWriter:
    element = json_writer(node.element)

    def write(value: Any) -> Any:
        if value is None:
            return None
        return list(value) if element is None else [element(item) for item in value]

    return write


@json_writer.register
def _write_nullable_struct(node: wire.NullableStruct) -> JsonWriter:
    struct = json_writer(node.subcon)
    assert struct is not None
    return lambda value: None if value is None else struct(value)


@json_writer.register
def _write_struct(node: wire.Struct) -> JsonWriter:
    fields = [(field.json_name, str(field.name), json_writer(field.subcon)) for field in node.fields]
    tagged = [
        (field.json_name, str(field.name), json_writer(field.subcon), field.default)
        for field in (node.tagged.fields.values() if node.tagged else ())
    ]

    def write(value: Any) -> dict[str, Any]:
        members = {}
        for name, attribute, inner in fields:
            field_value = getattr(value, attribute)
            members[name] = field_value if inner is None else inner(field_value)
        for name, attribute, inner, default in tagged:
            field_value = getattr(value, attribute)
            if not is_default(field_value, default):
                members[name] = field_value if inner is None else inner(field_value)
        if value.unknown_tags:
            members[UNKNOWN_TAGS] = write_unknown_tags(value.unknown_tags)
        return members

    return write


def write_unknown_tags(raw: bytes | None) -> list[dict[str, Any]]:
    """Return the unknown tags of a struct as [{"tag": number, "data": base64}]."""
    return [{"tag": tag, "data": base64.b64encode(data).decode()} for tag, data in wire.split_tags(raw)]


def uuid_text(value: bytes) -> str:
    """Format a uuid as Kafka does: 22 characters of base64url.

    >>> uuid_text(bytes(16))
    'AAAAAAAAAAAAAAAAAAAAAA'
    """
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
