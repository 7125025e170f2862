"""Layouts, as two sides write them: the trees that kwire grows, and the schemas read off Kafka's jars.

A layout is {"flexible": bool, "fields": [{"snake", "type", "nullable", "compact", "tag", "element", "struct"}]},
tagged fields last; it is the raw form of `_layouts.jsonl`.
"""

from __future__ import annotations

from typing import Any

from kwire.codecs import wire
from kwire.schema.field_names import snake_case

Row = dict[str, Any]


def tree_layout(struct: wire.Struct) -> Row:
    fields = [tree_field(field) for field in struct.fields]
    for tag, field in struct.tagged.fields.items() if struct.tagged else ():
        fields.append({**tree_field(field), "tag": tag})
    return {"flexible": struct.tagged is not None, "fields": fields}


def tree_field(field: wire.Field) -> Row:
    return {"snake": snake_case(field.json_name[:1].upper() + field.json_name[1:]), **tree_type(field.subcon)}


def tree_type(node: Any) -> Row:
    nullable = getattr(node, "nullable", False)
    if isinstance(node, wire.NullableStruct):
        return {**tree_type(node.subcon), "nullable": True}
    if isinstance(node, wire.Struct):
        return {"type": "struct", "nullable": False, "struct": tree_layout(node)}
    if isinstance(node, wire.Array):
        element = tree_type(node.element)
        return {"type": "array", "compact": is_compact(node, wire.INT32), "nullable": nullable, "element": element}
    if isinstance(node, wire.String):
        return {"type": "string", "compact": is_compact(node, wire.INT16), "nullable": nullable}
    if isinstance(node, wire.Bytes):
        kind = "records" if isinstance(node, wire.Records) else "bytes"
        return {"type": kind, "compact": is_compact(node, wire.INT32), "nullable": nullable}
    return {"type": {"bool": "boolean"}.get(node.type_name, node.type_name), "compact": False, "nullable": False}


def is_compact(node: Any, old: wire.Node) -> bool:
    """Whether the length in front is compact; if it is not, it is the old one."""
    assert node.length in (wire.COMPACT_LENGTH, old)
    return node.length is wire.COMPACT_LENGTH


def raw_layout(layout: Row) -> Row:
    return {"flexible": layout["flexible"], "fields": [raw_field(field) for field in layout["fields"]]}


def raw_field(field: Row) -> Row:
    kept = {key: value for key, value in field.items() if key != "schemaClass"}
    if "struct" in kept:
        kept["struct"] = raw_layout(kept["struct"])
    if "element" in kept:
        kept["element"] = raw_field(kept["element"])
    return kept


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Say each place where two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        both = [(key, ours.get(key, "nothing"), theirs.get(key, "nothing")) for key in {**ours, **theirs}]
        return [line for key, one, other in both for line in differences(one, other, f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for at, (one, other) in pairs for line in differences(one, other, f"{path}[{at}]")]
    same = ours == theirs and type(ours) is type(theirs)
    return [] if same else [f"{path}: {ours!r} is {theirs!r} in Kafka"]
