"""Converts messages to and from the JSON form of Kafka's generated converters, without loss.

One traversal of the tree in each direction. Unlike in Kafka's form, records are base64 instead of an empty string, and
unknown tagged fields are listed in `_unknownTags` as [{"tag": 99, "data": base64}].
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any, NoReturn

from .. import wire
from ..errors import (
    EncodeError,
    HiddenValue,
    MissingField,
    NullNotWritable,
    UnknownField,
    WrongType,
    excerpt,
    suggestion,
    version_hint,
)
from ..names import FORMER_NAMES, camel_case
from ..schema.sensitive_fields import HIDDEN, SECRET_FIELDS, Hidden
from ..wire.structs import is_default

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
    """Return the unknown tags of a struct as [{"tag": number, "data": base64}]."""
    return [{"tag": tag, "data": base64.b64encode(data).decode()} for tag, data in wire.split_tags(raw)]


def uuid_text(value: bytes) -> str:
    """Format a uuid as Kafka does: 22 characters of base64url.

    >>> uuid_text(bytes(16))
    'AAAAAAAAAAAAAAAAAAAAAA'
    """
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


_SECRETS = {"".join(word.title() for word in name.split("_")) for name in SECRET_FIELDS}
_SECRETS = {camel_case(name) for name in _SECRETS} | {"value"}  # never shown in errors


class Place:
    """The position in the JSON, for errors. `defaults` is whether missing fields get their defaults."""

    def __init__(self, message: str | None = None, version: int | None = None, *, defaults: bool = False) -> None:
        self.message: str | None = message
        self.version: int | None = version
        self.defaults: bool = defaults
        self.path: list[str | int] = []

    def refuse(self, kind: type[EncodeError], **facts: Any) -> NoReturn:
        """Raise an error with the path in JSON names."""
        raise kind(segments=self.path, message=self.message, version=self.version, **facts)

    def wrong(self, need: str, value: Any) -> NoReturn:
        """Raise the error for a value of a wrong kind."""
        is_secret = next((one for one in reversed(self.path) if isinstance(one, str)), "") in _SECRETS
        self.refuse(WrongType, need=need, found="this value" if is_secret else excerpt(value))

    def child(self, segment: str | int, node: wire.Node, value: Any) -> Any:
        """Convert one member or element at its name or index."""
        self.path.append(segment)
        if isinstance(value, dict) and HIDDEN in value:
            self.refuse(HiddenValue)
        result = from_json(node, value, self)
        self.path.pop()
        return result


@singledispatch
def from_json(node: wire.Node, value: Any, place: Place) -> Any:
    """Convert a JSON value to a value of a node. Raises EncodeError with the path in JSON names."""
    raise TypeError(f"no JSON form is written for {type(node).__name__}")


@from_json.register
def _(node: wire.Integer, value: Any, place: Place) -> Any:
    if not isinstance(value, int) or isinstance(value, bool) or not node.low <= value <= node.high:
        place.wrong(f"an integer from {node.low} to {node.high}", value)
    return value


@from_json.register
def _(node: wire.Float64, value: Any, place: Place) -> Any:
    if isinstance(value, str) and value in SPECIAL_FLOATS:
        return SPECIAL_FLOATS[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        place.wrong("a number", value)
    try:
        return float(value)
    except OverflowError:
        place.wrong("a number that a float64 can hold", value)


@from_json.register
def _(node: wire.Boolean, value: Any, place: Place) -> Any:
    if not isinstance(value, bool):
        place.wrong("true or false", value)
    return value


@from_json.register
def _(node: wire.Uuid, value: Any, place: Place) -> Any:
    raw = _base64(value, place, altchars=b"-_") if isinstance(value, str) else b""
    if len(raw) != 16:
        place.wrong("a uuid of 22 characters in base64url", value)
    return raw


@from_json.register
def _(node: wire.String, value: Any, place: Place) -> Any:
    if value is None:
        return _null(node, place)
    if not isinstance(value, str):
        place.wrong("a string", value)
    return value


@from_json.register(wire.Bytes)
def _(node: wire.Bytes, value: Any, place: Place) -> Any:
    if value is None:
        return _null(node, place)
    return _base64(value, place)


@from_json.register
def _(node: wire.Array, value: Any, place: Place) -> Any:
    if value is None:
        return _null(node, place)
    if not isinstance(value, list | tuple):
        place.wrong("an array", value)
    return tuple(place.child(index, node.element, item) for index, item in enumerate(value))


@from_json.register
def _(node: wire.NullableStruct, value: Any, place: Place) -> Any:
    return None if value is None else from_json(node.subcon, value, place)


@from_json.register
def _(node: wire.Struct, value: Any, place: Place) -> Any:
    if not isinstance(value, dict):
        place.wrong("an object", value)
    members = _renamed(node, value, place)
    _check_names(node, members, place)
    values: dict[str, Any] = {}
    tagged = node.tagged.fields.values() if node.tagged else ()
    for field in node.all_fields:
        if field.json_name in members:
            values[field.name] = place.child(field.json_name, field.subcon, members[field.json_name])
        elif field not in tagged and not place.defaults:
            place.path.append(field.json_name)
            place.refuse(MissingField)
    if UNKNOWN_TAGS in members:
        values["unknown_tags"] = unknown_tags(members[UNKNOWN_TAGS], place)
    return node.message_class(**values)


def _renamed(node: wire.Struct, members: dict[str, Any], place: Place) -> dict[str, Any]:
    """Rename members with former names. A name that now belongs to another field means that field."""
    struct = node.message_class.__name__
    owner = struct if struct == place.message else f"{place.message}.{struct}"
    known = {field.json_name for field in node.all_fields}
    renamed = {}
    for name, value in members.items():
        now = name if name in known else FORMER_NAMES.get((owner, name), name)
        renamed[now if now in known and now not in members else name] = value
    return renamed


def _check_names(node: wire.Struct, members: dict[str, Any], place: Place) -> None:
    known = {field.json_name for field in node.all_fields} | {UNKNOWN_TAGS}
    for name in members:
        if name not in known:
            place.path.append(name)
            elsewhere = [absent for absent in node.absent if absent.json_name == name]
            first = elsewhere[0] if elsewhere else None
            hint = version_hint(first.first, first.last, place.version) if first else suggestion(name, known)
            place.refuse(UnknownField, hint=hint)


def unknown_tags(value: Any, place: Place | None = None) -> bytes | None:
    """Convert [{"tag": number, "data": base64}] to raw bytes; None if it is empty. Raises EncodeError."""
    place = place or Place()
    place.path.append(UNKNOWN_TAGS)
    if not isinstance(value, list) or not all(isinstance(e, dict) and e.keys() == {"tag", "data"} for e in value):
        place.wrong('an array of {"tag": number, "data": base64}', value)
    for entry in value:
        if not isinstance(entry["tag"], int) or isinstance(entry["tag"], bool) or entry["tag"] < 0:
            place.wrong("a tag number", entry["tag"])
    tags = wire.join_tags((entry["tag"], _base64(entry["data"], place)) for entry in value)
    place.path.pop()
    return tags


def _null(node: Any, place: Place) -> None:
    if not node.nullable:
        place.refuse(NullNotWritable, found=None)


def _base64(value: Any, place: Place, altchars: bytes | None = None) -> bytes:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), altchars=altchars, validate=True)
    except (TypeError, ValueError, binascii.Error):
        place.wrong("base64", value)


__all__ = [
    "UNKNOWN_TAGS",
    "JsonWriter",
    "Place",
    "from_json",
    "json_writer",
    "to_json",
    "unknown_tags",
    "unknown_tags_json",
    "uuid_text",
]
