"""What is made of our tree to be measured beside it: construct's own classes, and classes for msgpack."""

from __future__ import annotations

from typing import Any

import construct
import msgspec

from kwire.codecs import wire


def construct_of(node: Any) -> Any:
    """Return construct's own classes, as one would write them down: no null rule, no tagged fields."""
    if isinstance(node, wire.Struct):
        parts = [field.name / construct_of(field.subcon) for field in node.fields]
        return construct.Struct(*parts, *([construct.Const(b"\0")] if node.tagged is not None else []))
    if isinstance(node, wire.Array):
        return construct.PrefixedArray(_length(node.length), construct_of(node.element))
    if isinstance(node, wire.String):
        return construct.Prefixed(_length(node.length), construct.GreedyString("utf8"))
    if isinstance(node, wire.Bytes):
        return construct.Prefixed(_length(node.length), construct.GreedyBytes)
    if isinstance(node, wire.Uuid):
        return construct.Bytes(16)
    if isinstance(node, wire.Boolean):
        return construct.Flag
    return _number(node) if isinstance(node, wire.Integer) else construct.Float64b


def _length(node: Any) -> Any:
    if node is wire.COMPACT_LENGTH:
        return construct.ExprAdapter(construct.VarInt, lambda obj, _: obj - 1, lambda obj, _: obj + 1)
    return _number(node)


def _number(node: wire.Integer) -> Any:
    return construct.FormatField(">", node.struct.format[-1:].replace("i", "l").replace("I", "L"))


def array_like(node: Any) -> Any:
    """Return the type whose msgpack is an array of the values."""
    if isinstance(node, wire.NullableStruct):
        return array_like(node.subcon) | None
    if isinstance(node, wire.Array):
        return tuple[array_like(node.element), ...] | None  # type: ignore[misc]
    if not isinstance(node, wire.Struct):
        kinds = {wire.String: str | None, wire.Boolean: bool, wire.Float64: float}
        return kinds.get(type(node), int if isinstance(node, wire.Integer) else bytes | None)
    if not hasattr(node, "array_like"):
        named = [(field.name, array_like(field.subcon)) for field in node.all_fields]
        name = node.message_class.__name__
        node.array_like = msgspec.defstruct(name, named, array_like=True, frozen=True, gc=False)
    return node.array_like


def as_array_like(node: Any, value: Any) -> Any:
    """Return a value of ours as one of that type."""
    if value is None:
        return None
    if isinstance(node, wire.NullableStruct):
        return as_array_like(node.subcon, value)
    if isinstance(node, wire.Array):
        return tuple(as_array_like(node.element, item) for item in value)
    if isinstance(node, wire.Struct):
        return array_like(node)(*(as_array_like(f.subcon, getattr(value, f.name)) for f in node.all_fields))
    return value
