"""Converts messages to Kafka's JSON form. One walk over the tree builds a function for each node."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from ... import wire
from ...sensitive_fields import HIDDEN, Hidden
from ...wire.tagged_fields import is_default

UNKNOWN_TAGS = "_unknownTags"
SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

JsonWriter = Callable[[Any], Any]


def to_json(node: wire.Node, value: Any) -> Any:
    """Turn a decoded value of a node into plain JSON values (dict, list, str, int, float, bool, None)."""
    write = json_writer(node)
    return value if write is None else write(value)


@singledispatch
def json_writer(node: wire.Node) -> JsonWriter | None:
    """Return what does `to_json` for a node, to be kept for many values; None where a value is plain already."""
    raise TypeError(f"no JSON form is written for {type(node).__name__}")


@json_writer.register(wire.Boolean | wire.Integer)
def _(node: wire.Node) -> None:
    return None


@json_writer.register
def _(node: wire.Float64) -> JsonWriter:
    return _float


def _float(value: Any) -> Any:
    if math.isfinite(value):
        return value
    return next(name for name, special in SPECIAL_FLOATS.items() if repr(special) == repr(value))


@json_writer.register
def _(node: wire.String) -> JsonWriter:
    return _text


def _text(value: Any) -> Any:
    return {HIDDEN: value.size} if type(value) is Hidden else value


@json_writer.register(wire.Bytes)
def _(node: wire.Bytes) -> JsonWriter:
    return _bytes


def _bytes(value: Any) -> Any:
    if type(value) is Hidden:
        return {HIDDEN: value.size}
    return None if value is None else base64.b64encode(value).decode()


@json_writer.register
def _(node: wire.Uuid) -> JsonWriter:
    return uuid_text


@json_writer.register
def _(node: wire.Array) -> JsonWriter:
    element = json_writer(node.element)

    def write(value: Any) -> Any:
        if value is None:
            return None
        return list(value) if element is None else [element(item) for item in value]

    return write


@json_writer.register
def _(node: wire.NullableStruct) -> JsonWriter:
    struct = json_writer(node.subcon)
    assert struct is not None
    return lambda value: None if value is None else struct(value)


@json_writer.register
def _(node: wire.Struct) -> JsonWriter:
    fields = [(field.json_name, str(field.name), json_writer(field.subcon)) for field in node.fields]
    tagged = [
        (field.json_name, str(field.name), json_writer(field.subcon), field.default)
        for field in (node.tagged.fields.values() if node.tagged else ())
    ]

    def write(value: Any) -> dict[str, Any]:
        members = {}
        for name, attribute, inner in fields:
            held = getattr(value, attribute)
            members[name] = held if inner is None else inner(held)
        for name, attribute, inner, default in tagged:
            held = getattr(value, attribute)
            if not is_default(held, default):
                members[name] = held if inner is None else inner(held)
        if value.unknown_tags:
            members[UNKNOWN_TAGS] = unknown_tags_json(value.unknown_tags)
        return members

    return write


def unknown_tags_json(raw: bytes | None) -> list[dict[str, Any]]:
    """Return a struct's unknown tags as [{"tag": number, "data": base64}]."""
    return [{"tag": tag, "data": base64.b64encode(data).decode()} for tag, data in wire.split_tags(raw)]


def uuid_text(value: bytes) -> str:
    """Write a uuid as Kafka does: 22 characters of base64url.

    >>> uuid_text(bytes(16))
    'AAAAAAAAAAAAAAAAAAAAAA'
    """
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
