"""What columns must hold, made of decoded messages the slow way: one dictionary a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kwire
from kwire.codecs import wire


def plain(node: Any, value: Any) -> Any:
    """Turn a decoded value into what `to_pylist` gives of it."""
    if value is None:
        return None
    if isinstance(node, wire.Array):
        return [plain(node.element, item) for item in value]
    if (struct := wire.content_of(node).struct) is not None:
        return members(struct, value)
    return value


def members(node: wire.Struct, value: Any) -> dict[str, Any]:
    """Turn a struct into its fields by name, in the order of the spec."""
    nodes = {str(field.name): field.subcon for field in node.all_fields}
    found = {name: plain(nodes[name], getattr(value, name)) for name in value.__struct_fields__ if name in nodes}
    return found | ({"unknown_tags": value.unknown_tags} if node.tagged is not None else {})


def expected(codec: kwire.Codec, path: str, bodies: list[bytes]) -> list[dict[str, Any]]:
    """Return the rows of all columns, arrays of enclosing levels too."""
    rows: list[dict[str, Any]] = []
    names = [segment.removesuffix("[]") for segment in path.split(".")] if path else []
    for index, body in enumerate(bodies):
        message = codec.decode(body)
        rows += _rows(codec.schema, message, names, "message", {"body_index": index})
    return rows


def _rows(node: Any, value: Any, names: list[str], level: str, outer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not names:
        yield outer | (members(node, value) if isinstance(node, wire.Struct) else {level: plain(node, value)})
        return
    own = {f"{level}_{name}": item for name, item in members(node, value).items() if name != names[0]}
    inner = next(field.subcon for field in node.all_fields if field.name == names[0])
    values = getattr(value, names[0])
    if not isinstance(inner, wire.Array):
        values = () if values is None else (values,)
    for item in values or ():
        yield from _rows(wire.content_of(inner).node, item, names[1:], names[0], outer | own)
