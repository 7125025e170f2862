"""The layout of a message as a table, a grammar (BNF), Markdown or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..codecs.json_writer import to_json
from ..codecs.message_codec import Codec
from ..codecs.wire import Field, Struct, content_of
from ..protocol.headers.header_versions import header_version_for
from ..schema.spec_layers import WIRE_TYPES
from .colours import PLAIN, Style
from .value_text import value_text


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One field: `path` in attributes without indices, `depth` from 0, `type` as in traces, `tag` if it is tagged."""

    path: str
    depth: int
    name: str
    json_name: str
    type: str
    tag: int | None
    default: Any
    about: str


def rows(codec: Codec) -> list[LayoutRow]:
    """Return the fields of a message in wire order; the fields of a struct follow the field that contains it."""
    return list(_rows(codec.tree, "", 0))


def layout_table(codec: Codec, style: Style = PLAIN) -> Iterator[str]:
    """Yield the layout as a table: name and type, and below them the description of the field."""
    yield style.paint("title", heading(codec))
    for row in rows(codec):
        indent = "  " * (row.depth + 1)
        yield f"{indent}{style.paint('name', row.name)}  {style.paint('dim', row.type + _notes(row))}"
        width = max(style.width - len(indent) - 4, 30)
        yield from (f"{indent}    {line}" for line in textwrap.wrap(row.about, width))


def layout_bnf(codec: Codec) -> Iterator[str]:
    """Yield the layout as a grammar, in the style of Kafka's protocol guide, including tagged fields."""
    yield f"{codec.spec.api_name} {codec.spec.type} (Version: {codec.version}) => {_sequence(codec.tree)}"
    yield from _bnf(codec.tree, 1)


def layout_markdown(codec: Codec) -> Iterator[str]:
    """Yield the layout as a Markdown table."""
    yield f"### {heading(codec)}"
    yield ""
    yield "| field | type | tag | default | meaning |"
    yield "|---|---|---|---|---|"
    for row in rows(codec):
        name = f"{'&nbsp;&nbsp;' * row.depth}`{row.json_name}`"
        tag = "" if row.tag is None else str(row.tag)
        yield f"| {name} | {row.type} | {tag} | {_default(row)} | {row.about.replace('|', '&#124;')} |"


def layout_json(codec: Codec) -> dict[str, Any]:
    """Return the layout as plain JSON values."""
    spec = codec.spec
    members: dict[str, Any] = {"name": codec.name, "type": spec.type, "version": codec.version}
    if spec.api_key is not None:
        members["apiKey"] = spec.api_key
    members["validVersions"] = str(spec.versions)
    members["flexible"] = codec.tree.tagged is not None
    if spec.type in WIRE_TYPES:
        members["headerVersion"] = header_version_for(spec, codec.version)
    members["fields"] = _json_fields(codec.tree)
    return members


def heading(codec: Codec) -> str:
    """Describe a message in one line: `FetchRequest v17: api key 1, versions 0-18, flexible, header 2`."""
    spec = codec.spec
    parts = [] if spec.api_key is None else [f"{'api key' if spec.type in WIRE_TYPES else 'type'} {spec.api_key}"]
    parts += [f"versions {spec.versions}", "flexible" if codec.tree.tagged is not None else "not flexible"]
    if spec.type in WIRE_TYPES:
        version = header_version_for(spec, codec.version)
        parts.append("no header" if version is None else f"header {version}")
    if spec.latest_version_unstable and codec.version == spec.versions.last:
        parts.append("unstable")
    return f"{codec.name} v{codec.version}: {', '.join(parts)}"


def _rows(struct: Struct, path: str, depth: int) -> Iterator[LayoutRow]:
    for field, tag in _fields_with_tags(struct):
        here = f"{path}.{field.name}" if path else str(field.name)
        yield LayoutRow(
            here, depth, str(field.name), field.json_name, _type(field), tag, field.default, str(field.docs)
        )
        inner = content_of(field.subcon).struct
        if inner is not None:
            yield from _rows(inner, here, depth + 1)


def _fields_with_tags(struct: Struct) -> Iterator[tuple[Field, int | None]]:
    yield from ((field, None) for field in struct.fields)
    for tag, field in struct.tagged.fields.items() if struct.tagged else ():
        yield field, tag


def _type(field: Field) -> str:
    node, struct, is_array = content_of(field.subcon)
    of = node.type_name if struct is None else struct.message_class.__name__
    return f"{field.subcon.type_name} of {of}" if is_array else str(field.subcon.type_name)


def _notes(row: LayoutRow) -> str:
    tag = "" if row.tag is None else f", tag {row.tag}"
    default = _default(row)
    return f"{tag}, default {default}" if default else tag


def _default(row: LayoutRow) -> str:
    """Return a default as text if it is not the zero value of its type."""
    plain = row.default in (0, "", b"", (), False, bytes(16)) or (row.default is None and "records" in row.type)
    return "" if plain or hasattr(row.default, "unknown_tags") else value_text(row.default, row.type)


def _sequence(struct: Struct) -> str:
    names = [f"[{f.name}]" if content_of(f.subcon).is_array else str(f.name) for f in struct.fields]
    return " ".join([*names, "_tagged_fields"] if struct.tagged is not None else names)


def _bnf(struct: Struct, depth: int) -> Iterator[str]:
    for field, tag in _fields_with_tags(struct):
        inner = content_of(field.subcon).struct
        name = str(field.name) if tag is None else f"{field.name}<tag: {tag}>"
        yield f"{'  ' * depth}{name} => {_bnf_type(field) if inner is None else _sequence(inner)}"
        if inner is not None:
            yield from _bnf(inner, depth + 1)


def _bnf_type(field: Field) -> str:
    return str(content_of(field.subcon).node.type_name).upper().replace(" ", "_").replace("BOOL", "BOOLEAN")


def _json_fields(struct: Struct) -> list[dict[str, Any]]:
    return [_json_field(field, tag) for field, tag in _fields_with_tags(struct)]


def _json_field(field: Field, tag: int | None) -> dict[str, Any]:
    members: dict[str, Any] = {"name": field.json_name, "attribute": str(field.name), "type": _type(field)}
    members["nullable"] = field.subcon.nullable
    if tag is not None:
        members["tag"] = tag
    members["default"] = None if field.default is None else to_json(field.subcon, field.default)
    members["about"] = str(field.docs)
    inner = content_of(field.subcon).struct
    if inner is not None:
        members["fields"] = _json_fields(inner)
    return members
