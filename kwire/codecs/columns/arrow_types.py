"""The Arrow types of wire types, and of the fields of a struct in several versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from .. import wire

TAGS = "unknown_tags"
Wanted = Mapping[str, Any] | None  # the selected fields of a struct, each with its selection; None means all
_NUMBERS = {"b": pa.int8(), "h": pa.int16(), "i": pa.int32(), "q": pa.int64(), "H": pa.int32(), "I": pa.int64()}
_OTHERS = {
    wire.Boolean: pa.bool_(),
    wire.Bytes: pa.binary(),
    wire.Float64: pa.float64(),
    wire.Records: pa.binary(),
    wire.String: pa.string(),
    wire.Uuid: pa.binary(),
}


def scalar_type(node: Any) -> Any:
    """Return the type of a scalar node. Raises TypeError for an unknown class."""
    arrow_type = _NUMBERS.get(node.struct.format[-1:]) if type(node) is wire.Integer else _OTHERS.get(type(node))
    if arrow_type is None:
        raise TypeError(f"no Arrow type is known for {type(node).__name__}")
    return arrow_type


def arrow_type(nodes: Sequence[Any], wanted: Wanted = None) -> Any:
    """Return the type of the selected part of corresponding nodes in several versions."""
    inner, struct, is_array = wire.content_of(nodes[0])
    if struct is None:
        type_ = scalar_type(inner)
    else:
        type_ = pa.struct(list(field_types([wire.content_of(node).node for node in nodes], wanted).items()))
    return pa.list_(type_) if is_array else type_


def field_types(nodes: Sequence[wire.Struct], wanted: Wanted = None) -> dict[str, Any]:
    """Return the types of the selected fields of a struct by name."""
    return {
        name: arrow_type(there, None if wanted is None else wanted[name])
        for name, there in fields_of(nodes).items()
        if wanted is None or name in wanted
    }


def fields_of(nodes: Sequence[wire.Struct]) -> dict[str, list[Any]]:
    """Return the nodes of a struct's fields by name, in the order of the spec; `unknown_tags` is the last one."""
    types: dict[str, list[Any]] = {name: [] for node in nodes[:1] for name in names_of(node)}
    for node in nodes:
        for field in node.all_fields:
            types[field.name].append(field.subcon)
        if node.tagged is not None:
            types[TAGS].append(wire.Bytes(nullable=True))
    return {name: there for name, there in types.items() if there}


def names_of(node: wire.Struct) -> tuple[str, ...]:
    """Return the names of a struct's fields in all versions, in the order of the spec; `unknown_tags` is the last
    one.
    """
    names: tuple[str, ...] = node.message_class.__struct_fields__
    return names


def is_long(type_: Any) -> bool:
    """Whether values of a type have no maximum size."""
    return bool(pa.types.is_nested(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_))
