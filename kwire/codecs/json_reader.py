"""Converts the JSON form of Kafka's generated converters to messages. Errors have the path in JSON names."""

from __future__ import annotations

import base64
import binascii
from functools import singledispatch
from typing import Any, NoReturn

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
from ..schema.field_names import camel_case
from ..schema.former_field_names import FORMER_NAMES
from ..schema.sensitive_fields import HIDDEN, SECRET_FIELDS
from . import wire
from .json_writer import SPECIAL_FLOATS, UNKNOWN_TAGS

_SECRETS = {"".join(word.title() for word in name.split("_")) for name in SECRET_FIELDS}
_SECRETS = {camel_case(name) for name in _SECRETS} | {"value"}  # never shown in errors


class JsonPosition:
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
        is_secret = next((segment for segment in reversed(self.path) if isinstance(segment, str)), "") in _SECRETS
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
def from_json(node: wire.Node, value: Any, position: JsonPosition) -> Any:
    """Convert a JSON value to a value of a node. Raises EncodeError with the path in JSON names."""
    raise TypeError(f"no JSON form is written for {type(node).__name__}")


@from_json.register
def _read_integer(node: wire.Integer, value: Any, position: JsonPosition) -> Any:
    if not isinstance(value, int) or isinstance(value, bool) or not node.low <= value <= node.high:
        position.wrong(f"an integer from {node.low} to {node.high}", value)
    return value


@from_json.register
def _read_float64(node: wire.Float64, value: Any, position: JsonPosition) -> Any:
    if isinstance(value, str) and value in SPECIAL_FLOATS:
        return SPECIAL_FLOATS[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        position.wrong("a number", value)
    try:
        return float(value)
    except OverflowError:
        position.wrong("a number that a float64 can hold", value)


@from_json.register
def _read_boolean(node: wire.Boolean, value: Any, position: JsonPosition) -> Any:
    if not isinstance(value, bool):
        position.wrong("true or false", value)
    return value


@from_json.register
def _read_uuid(node: wire.Uuid, value: Any, position: JsonPosition) -> Any:
    raw = _read_base64(value, position, altchars=b"-_") if isinstance(value, str) else b""
    if len(raw) != 16:
        position.wrong("a uuid of 22 characters in base64url", value)
    return raw


@from_json.register
def _read_string(node: wire.String, value: Any, position: JsonPosition) -> Any:
    if value is None:
        return _read_null(node, position)
    if not isinstance(value, str):
        position.wrong("a string", value)
    return value


@from_json.register(wire.Bytes)
def _read_bytes(node: wire.Bytes, value: Any, position: JsonPosition) -> Any:
    if value is None:
        return _read_null(node, position)
    return _read_base64(value, position)


@from_json.register
def _read_array(node: wire.Array, value: Any, position: JsonPosition) -> Any:
    if value is None:
        return _read_null(node, position)
    if not isinstance(value, list | tuple):
        position.wrong("an array", value)
    return tuple(position.child(index, node.element, item) for index, item in enumerate(value))


@from_json.register
def _read_nullable_struct(node: wire.NullableStruct, value: Any, position: JsonPosition) -> Any:
    return None if value is None else from_json(node.subcon, value, position)


@from_json.register
def _read_struct(node: wire.Struct, value: Any, position: JsonPosition) -> Any:
    if not isinstance(value, dict):
        position.wrong("an object", value)
    members = _rename_members(node, value, position)
    _check_names(node, members, position)
    values: dict[str, Any] = {}
    tagged = node.tagged.fields.values() if node.tagged else ()
    for field in node.all_fields:
        if field.json_name in members:
            values[field.name] = position.child(field.json_name, field.subcon, members[field.json_name])
        elif field not in tagged and not position.defaults:
            position.path.append(field.json_name)
            position.refuse(MissingField)
    if UNKNOWN_TAGS in members:
        values["unknown_tags"] = read_unknown_tags(members[UNKNOWN_TAGS], position)
    return node.message_class(**values)


def _rename_members(node: wire.Struct, members: dict[str, Any], position: JsonPosition) -> dict[str, Any]:
    """Rename members with former names. A name that now belongs to another field means that field."""
    struct = node.message_class.__name__
    owner = struct if struct == position.message else f"{position.message}.{struct}"
    known = {field.json_name for field in node.all_fields}
    renamed = {}
    for name, value in members.items():
        now = name if name in known else FORMER_NAMES.get((owner, name), name)
        renamed[now if now in known and now not in members else name] = value
    return renamed


def _check_names(node: wire.Struct, members: dict[str, Any], position: JsonPosition) -> None:
    known = {field.json_name for field in node.all_fields} | {UNKNOWN_TAGS}
    for name in members:
        if name not in known:
            position.path.append(name)
            elsewhere = [absent for absent in node.absent if absent.json_name == name]
            first = elsewhere[0] if elsewhere else None
            hint = version_hint(first.first, first.last, position.version) if first else suggestion(str(name), known)
            position.refuse(UnknownField, hint=hint)


def read_unknown_tags(value: Any, position: JsonPosition | None = None) -> bytes | None:
    """Convert [{"tag": number, "data": base64}] to raw bytes; None if it is empty. Raises EncodeError."""
    position = position or JsonPosition()
    position.path.append(UNKNOWN_TAGS)
    if not isinstance(value, list) or not all(isinstance(e, dict) and e.keys() == {"tag", "data"} for e in value):
        position.wrong('an array of {"tag": number, "data": base64}', value)
    for entry in value:
        if not isinstance(entry["tag"], int) or isinstance(entry["tag"], bool) or entry["tag"] < 0:
            position.wrong("a tag number", entry["tag"])
    tags = wire.join_tags((entry["tag"], _read_base64(entry["data"], position)) for entry in value)
    position.path.pop()
    return tags


def _read_null(node: Any, position: JsonPosition) -> None:
    if not node.nullable:
        position.refuse(NullNotWritable, found=None)


def _read_base64(value: Any, position: JsonPosition, altchars: bytes | None = None) -> bytes:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), altchars=altchars, validate=True)
    except (TypeError, ValueError, binascii.Error):
        position.wrong("base64", value)
