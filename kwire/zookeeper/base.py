"""The base of all znode values: conversion to JSON objects and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, get_args

import msgspec

from ..errors import NotInVersion, WrongType, ZnodeError

# what msgspec says: a problem, and a place inside the value
_MSGSPEC_ERROR = re.compile(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or an object inside one. A field that there is not is None.

    `unknown` has the members that kwire does not know, and known ones that are null. `order` has the keys as
    they stood, where that differs from `ORDERS`: other releases wrote the same version in another order.
    """

    ORDERS: ClassVar[dict[Any, str]] = {}
    unknown: dict[str, Any] = {}
    order: tuple[str, ...] = ()


class Place:
    """Where in a node's JSON we are; makes the errors."""

    def __init__(self, znode: str, json_path: str = "$") -> None:
        self.znode: str = znode
        self.json_path: str = json_path

    def child(self, segment: str) -> Place:
        """Return the place of a part: `.name` or `[0]`."""
        return Place(self.znode, self.json_path + segment)

    def refuse(self, problem: str) -> NoReturn:
        """Raise the error for this place."""
        raise ZnodeError(problem, znode=self.znode, json_path=self.json_path)


def read_node(kind: type[Node], members: Any, place: Place) -> Node:
    """Make a node of a JSON object. Raises ZnodeError."""
    if not isinstance(members, dict):
        place.refuse("an object is needed")
    keys = _keys(kind, members.get("version"))
    values = {info.name: _member(info, members, keys, place) for info in _fields(kind)}
    known = {info.encode_name for info in _fields(kind) if info.required or values[info.name] is not None}
    unknown = {key: member for key, member in members.items() if key not in known}
    usual = dict.fromkeys((*(key for key in keys if key in members), *unknown))
    return kind(**values, unknown=unknown, order=() if tuple(members) == tuple(usual) else tuple(members))


def members_of(node: Node) -> dict[str, Any]:
    """Return a node as a JSON object, its keys in the order in which they are written. Raises EncodeError."""
    members = dict(node.unknown)
    keys = _keys(type(node), getattr(node, "version", None))
    for info in _fields(type(node)):
        value = getattr(node, info.name)
        if value is None and not info.required:
            continue
        if info.encode_name not in (*keys, *node.order):
            if value == _default(info):
                continue
            _refuse_loss(node, info, value)
        members[info.encode_name] = _plain(node, info, value)
    return {key: members[key] for key in dict.fromkeys((*node.order, *keys, *members)) if key in members}


def _member(info: msgspec.structs.FieldInfo, members: dict[str, Any], keys: list[str], place: Place) -> Any:
    """Return a field's value; what is not there is None where the version has it, else the default."""
    key, optional = info.encode_name, type(None) in get_args(info.type)
    if members.get(key) is not None:
        return _value(info.type, members[key], place.child(f".{key}"))
    if key in members and not optional:
        place.child(f".{key}").refuse("null is not allowed here")
    if key not in members and (info.required or (key in keys and not optional)):
        place.refuse(f"{key!r} is missing")
    return None if key in keys or key in members else _default(info)


def _value(kind: Any, value: Any, place: Place) -> Any:
    inner = _node_in(kind)
    if inner is not None:
        if not isinstance(value, list):
            place.refuse("an array is needed")
        return tuple(read_node(inner, item, place.child(f"[{index}]")) for index, item in enumerate(value))
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        match = _MSGSPEC_ERROR.fullmatch(str(error))
        assert match is not None
        place.child(match[3] or "").refuse(f"{'in a key, ' if match[2] else ''}{match[1][:1].lower()}{match[1][1:]}")


def _plain(node: Node, info: msgspec.structs.FieldInfo, value: Any) -> Any:
    if _node_in(info.type) is not None:
        return [members_of(item) for item in value]
    try:
        msgspec.convert(value, info.type, str_keys=True)
    except msgspec.ValidationError as error:
        _refuse(WrongType, node, info, need=str(error).partition(",")[0].removeprefix("Expected "), found=repr(value))
    return value


def _refuse_loss(node: Node, info: msgspec.structs.FieldInfo, value: Any) -> NoReturn:
    first = next(version for version, text in node.ORDERS.items() if info.encode_name in text.split())
    _refuse(NotInVersion, node, info, found=repr(value)[:60], first=first)


def _refuse(kind: Any, node: Node, info: msgspec.structs.FieldInfo, **facts: Any) -> NoReturn:
    where = {"message": type(node).__name__, "version": getattr(node, "version", None)}
    raise kind(segments=[info.encode_name], **where, **facts)


def _keys(kind: type[Node], version: Any) -> list[str]:
    """Return the keys that a version has, in order; of an unknown version those of the newest."""
    orders = kind.ORDERS
    known = isinstance(version, int | str | None) and version in orders
    return (orders[version] if known else list(orders.values())[-1]).split()


def _fields(kind: type[Node]) -> Iterator[msgspec.structs.FieldInfo]:
    return (info for info in msgspec.structs.fields(kind) if info.name not in Node.__struct_fields__)


def _default(info: msgspec.structs.FieldInfo) -> Any:
    return info.default_factory() if callable(info.default_factory) else info.default


def _node_in(kind: Any) -> type[Node] | None:
    """Return the class of nodes that a type is a tuple of."""
    first = next(iter(get_args(kind)), None)
    return first if isinstance(first, type) and issubclass(first, Node) else None
