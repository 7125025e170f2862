"""Twins of trees: they read the same bytes to structs that msgspec writes as Kafka's JSON form, as they are.

A twin reads what its tree reads, and refuses more: a float, whose special values JSON lacks. It knows each struct at
one version, each field under its JSON name; a tagged field that holds its default is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from .. import wire
from .writing import UNKNOWN_TAGS

_LEAVES = wire.Integer, wire.Boolean, wire.Uuid, wire.String, wire.Bytes, wire.Records
_UNKNOWN = f'"{UNKNOWN_TAGS}":'.encode()  # inside of a text, quotes have a backslash
_BASE64URL = str.maketrans("+/", "-_", "=")
_SHARED = range(-5, 257)  # of these numbers there is but one object each
_encode = msgspec.json.Encoder().encode


class NoTwin(TypeError):
    """A tree with something in it that msgspec does not write as Kafka does."""


class Twin(NamedTuple):
    """The twin of a tree: the tree to read bytes with, and what makes text of a message that it has read, or None
    of one that must be read and written in the general way."""

    schema: wire.Struct
    text: Callable[[Any], str | None]


def twin_of(schema: wire.Struct) -> Twin:
    """Make the twin of a tree. Raises NoTwin if it can have none.

    >>> import kwire
    >>> twin = twin_of(kwire.codec("ControlledShutdownRequest", 1).schema)
    >>> twin.text(twin.schema.parse(bytes.fromhex("00000003")))
    '{"brokerId":3}'
    """
    uuids = _uuid_names(schema)
    return Twin(_struct(schema), _writer(uuids))


def _writer(uuids: frozenset[str]) -> Callable[[Any], str | None]:
    """Return what writes messages; `uuids` are the names of fields that Kafka writes as base64url."""
    names = "|".join(map(re.escape, sorted(uuids)))
    find = re.compile(rf'"(?:{names})":(?:"[^"]+"|\[[^\]]+\])').sub if uuids else None

    def text(message: Any) -> str | None:
        raw = _encode(message)
        if _UNKNOWN in raw:
            return None
        return raw.decode() if find is None else find(_base64url, raw.decode())

    return text


def _base64url(match: re.Match[str]) -> str:
    return match[0].translate(_BASE64URL)


def _uuid_names(schema: wire.Struct) -> frozenset[str]:
    """Return the JSON names of fields with uuids; raises NoTwin if a field of the same name holds something else."""
    kinds: dict[str, set[bool]] = {}
    for name, node in _leaves(schema):
        kinds.setdefault(name, set()).add(type(node) is wire.Uuid)
    if any(len(kind) > 1 for name, kind in kinds.items()):
        raise NoTwin(schema.message_class.__name__)
    return frozenset(name for name, kind in kinds.items() if True in kind)


def _leaves(struct: wire.Struct) -> Iterator[tuple[str, Any]]:
    for field in struct.all_fields:
        node: Any = field.subcon
        node = node.element if type(node) is wire.Array else node
        node = node.subcon if type(node) is wire.NullableStruct else node
        yield field.json_name, node
        if type(node) is wire.Struct:
            yield from _leaves(node)


def _node(node: Any) -> Any:
    kind = type(node)
    if kind in _LEAVES:
        return node
    if kind is wire.Array:
        return wire.Array(_node(node.element), node.length, nullable=node.nullable)
    if kind is wire.NullableStruct:
        return wire.NullableStruct(_struct(node.subcon), tagged=node.marker is wire.UNSIGNED_VARINT)
    if kind is wire.Struct:
        return _struct(node)
    raise NoTwin(kind.__name__)


def _struct(node: wire.Struct) -> wire.Struct:
    fields = [_field(field, _node(field.subcon), field.default) for field in node.fields]
    tagged = {}
    for tag, field in (node.tagged.fields if node.tagged else {}).items():
        inner = _node(field.subcon)
        tagged[tag] = _field(field, inner, _default(inner, field.default))
    section = None if node.tagged is None else wire.TaggedFields(tagged, node.tagged.foreign)
    return wire.Struct(_class_for(node, fields, list(tagged.values())), fields, section)


def _field(field: wire.Field, node: Any, default: Any) -> wire.Field:
    return wire.Field(str(field.name), node, json_name=field.json_name, default=default)


def _class_for(node: wire.Struct, fields: list[wire.Field], tagged: list[wire.Field]) -> type[msgspec.Struct]:
    """Make the class of a struct at a version; what is left out when written has a default, and nothing else."""
    members: list[Any] = [(field.name, Any) for field in fields]
    members += [(field.name, Any, field.default) for field in tagged]
    members.append(("unknown_tags", Any, None))
    names = {field.name: field.json_name for field in (*fields, *tagged)} | {"unknown_tags": UNKNOWN_TAGS}
    name = node.message_class.__name__
    return msgspec.defstruct(name, members, frozen=True, gc=False, omit_defaults=True, rename=names)


class _Number(int):
    """A default that is an object of its own."""


def _default(node: Any, default: Any) -> Any:
    """Return a default as the twin has it. msgspec leaves out that very object, and none that equals it."""
    if type(default) is int and default not in _SHARED:
        return _Number(default)
    if type(node) is wire.Struct:
        return _twin_value(node, default)
    if default in (None, "", b"", ()) or isinstance(default, bool | int | bytes | str):
        return default
    raise NoTwin(f"the default {default!r}")


def _twin_value(node: wire.Struct, value: Any) -> Any:
    """Turn a message of a tree into one of its twin; tagged fields have their defaults."""
    held = {}
    for field in node.fields:
        inner = getattr(value, str(field.name))
        held[str(field.name)] = _twin_value(field.subcon, inner) if type(field.subcon) is wire.Struct else inner
    return node.message_class(**held)
