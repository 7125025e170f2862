"""Converts structs to and from the JSON of znodes; unknown members and the order of keys are kept.

Attributes have the names of the JSON in snake case; keys are read in any order. `ORDERS` has the order of keys for each
JSON version, as captured from the newest release that writes this version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, get_args

import msgspec

from ..errors import NotInVersion, WrongType, ZnodeError
from ..runtime.lazy_patterns import lazy_pattern

# msgspec's error text: a problem and a path in the value
_MSGSPEC_ERROR = lazy_pattern(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)


class ZnodeStruct(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or an object inside one. A missing field is None.

    `unknown` contains unknown members, and known members that are null. `order` has the original order of the keys if
    it differs from `ORDERS`: other releases wrote the same version in another order.
    """

    ORDERS: ClassVar[dict[Any, str]] = {}
    unknown: dict[str, Any] = {}
    order: tuple[str, ...] = ()


class ZnodePosition:
    """The current position in a node's JSON; raises errors with this position."""

    def __init__(self, znode: str, json_path: str = "$") -> None:
        self.znode: str = znode
        self.json_path: str = json_path

    def child(self, segment: str) -> ZnodePosition:
        """Return the position of a part: `.name` or `[0]`."""
        return ZnodePosition(self.znode, self.json_path + segment)

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error at this position."""
        raise ZnodeError(problem, znode=self.znode, json_path=self.json_path)


def read_node(kind: type[ZnodeStruct], members: Any, position: ZnodePosition) -> ZnodeStruct:
    """Create a node from a JSON object. Raises ZnodeError."""
    if not isinstance(members, dict):
        position.refuse("an object is needed")
    keys = _keys(kind, members.get("version"))
    values = {info.name: _member(info, members, keys, position) for info in _fields(kind)}
    known = {info.encode_name for info in _fields(kind) if info.required or values[info.name] is not None}
    unknown = {key: member for key, member in members.items() if key not in known}
    usual = dict.fromkeys((*(key for key in keys if key in members), *unknown))
    return kind(**values, unknown=unknown, order=() if tuple(members) == tuple(usual) else tuple(members))


def members_of(node: ZnodeStruct) -> dict[str, Any]:
    """Return a node as a JSON object with its keys in the order for writing. Raises EncodeError."""
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


def _member(info: msgspec.structs.FieldInfo, members: dict[str, Any], keys: list[str], position: ZnodePosition) -> Any:
    """Return the value of a field; a missing field is None if the version has it, otherwise the default."""
    key = info.encode_name
    optional = type(None) in get_args(info.type)
    if members.get(key) is not None:
        return _value(info.type, members[key], position.child(f".{key}"))
    if key in members and not optional:
        position.child(f".{key}").refuse("null is not allowed here")
    if key not in members and (info.required or (key in keys and not optional)):
        position.refuse(f"{key!r} is missing")
    return None if key in keys or key in members else _default(info)


def _value(kind: Any, value: Any, position: ZnodePosition) -> Any:
    inner = _node_in(kind)
    if inner is not None:
        if not isinstance(value, list):
            position.refuse("an array is needed")
        return tuple(read_node(inner, item, position.child(f"[{index}]")) for index, item in enumerate(value))
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        match = _MSGSPEC_ERROR.fullmatch(str(error))
        assert match is not None
        position.child(match[3] or "").refuse(f"{'in a key, ' if match[2] else ''}{match[1][:1].lower()}{match[1][1:]}")


def _plain(node: ZnodeStruct, info: msgspec.structs.FieldInfo, value: Any) -> Any:
    if _node_in(info.type) is not None:
        return [members_of(item) for item in value]
    try:
        msgspec.convert(value, info.type, str_keys=True)
    except msgspec.ValidationError as error:
        _refuse(WrongType, node, info, need=str(error).partition(",")[0].removeprefix("Expected "), found=repr(value))
    return value


def _refuse_loss(node: ZnodeStruct, info: msgspec.structs.FieldInfo, value: Any) -> NoReturn:
    first = next(version for version, text in node.ORDERS.items() if info.encode_name in text.split())
    _refuse(NotInVersion, node, info, found=repr(value)[:60], first=first)


def _refuse(kind: Any, node: ZnodeStruct, info: msgspec.structs.FieldInfo, **facts: Any) -> NoReturn:
    where = {"message": type(node).__name__, "version": getattr(node, "version", None)}
    raise kind(segments=[info.encode_name], **where, **facts)


def _keys(kind: type[ZnodeStruct], version: Any) -> list[str]:
    """Return the keys of a version, in order; for an unknown version, the keys of the newest version."""
    orders = kind.ORDERS
    known = isinstance(version, int | str | None) and version in orders
    return (orders[version] if known else list(orders.values())[-1]).split()


def _fields(kind: type[ZnodeStruct]) -> Iterator[msgspec.structs.FieldInfo]:
    return (info for info in msgspec.structs.fields(kind) if info.name not in ZnodeStruct.__struct_fields__)


def _default(info: msgspec.structs.FieldInfo) -> Any:
    return info.default_factory() if callable(info.default_factory) else info.default


def _node_in(kind: Any) -> type[ZnodeStruct] | None:
    """Return the node class in a tuple type; None for other types."""
    first = next(iter(get_args(kind)), None)
    return first if isinstance(first, type) and issubclass(first, ZnodeStruct) else None
