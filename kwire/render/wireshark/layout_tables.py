"""The tables of the dissector for Wireshark: enums, filter fields, structs and messages, one a line.

A struct has a line, which equal structs share: its fields in wire order, each as the number of its filter field, a mark
for what the dissector must note, and a code for its type on the wire; `~` if tagged fields follow, which begin with
their tag: `7(12) 8@c 9%2 ~ 0:11{4`. The codes are those that `dissector.lua` reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import singledispatchmethod
from typing import NamedTuple

from ...codecs import wire
from ...codecs.message_codec import Codec, codec_of
from ...codecs.wire.lengths import COMPACT_LENGTH
from ...codecs.wire.varints import UNSIGNED_VARINT
from ...protocol.headers.header_versions import header_version_for
from ...protocol.message_summary import is_topic_field
from ...query.frame_context import GROUP_FIELDS
from ...schema.catalog import Catalog
from ...schema.enums import kind, kind_of
from ...schema.spec_layers import WIRE_TYPES

TOPIC, TOPIC_ID, GROUP, ERROR = "@#$%"  # marks
SIGNED, LONG, UNSIGNED = "int32", "int64", "uint32"
NO_KIND = "-"


class FilterField(NamedTuple):
    """A field for filters: its path from the message, Wireshark's type of it, and the kind of its numbers or `-`."""

    path: str
    type: str
    kind: str = NO_KIND


class LayoutTables:
    """The tables of a catalog.

    Args:
        catalog: the specs.

    >>> from kwire.schema.catalog import catalog_for
    >>> [line[:22] for line in LayoutTables(catalog_for()).messages if line.startswith("12 ")]
    ['12 Heartbeat request 0', '12 Heartbeat response ']
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._fields: dict[FilterField, int] = {}
        self._structs: dict[str, int] = {}
        codecs = list(_codecs(catalog))
        self._types: dict[str, Counter[str]] = {}
        for codec in codecs:
            self._count_types(codec.tree, "")
        self.messages: list[str] = list(self._message_lines(codecs))

    def text(self) -> str:
        """Return the tables as Lua."""
        tables = {"ENUMS": self.enums(), "FIELDS": self.fields(), "STRUCTS": self._structs, "MESSAGES": self.messages}
        return "\n".join(f"local {name} = [==[\n{_join_lines(lines)}]==]\n" for name, lines in tables.items())

    def fields(self) -> Iterator[str]:
        """Yield the lines of filter fields."""
        for field in self._fields:
            path = field.path
            usual = self._types.get(path)
            if field.type != "struct" and usual is not None and usual.most_common(1)[0][0] != field.type:
                path = f"{path}_{field.type}"  # Wireshark refuses a name with two types
            yield f"{path} {field.type} {field.kind}"

    def enums(self) -> Iterator[str]:
        """Yield the lines of the enums that fields have: numbers and names."""
        for name in sorted({field.kind for field in self._fields} - {NO_KIND}):
            numbers = {int(member): member.name for member in kind(name)}
            yield f"{name} {' '.join(f'{number}={word}' for number, word in numbers.items())}"

    def _message_lines(self, codecs: Iterable[Codec]) -> Iterator[str]:
        versions: dict[tuple[int, str, str], list[str]] = {}
        for codec in codecs:
            spec = codec.spec
            header = header_version_for(spec, codec.version)
            struct = self._struct(codec, codec.tree, "")
            if header is not None and spec.api_key is not None:
                key = spec.api_key, spec.api_name, spec.type
                versions.setdefault(key, []).append(f"{codec.version}:{header}:{struct}")
        for (api_key, name, part), layouts in sorted(versions.items()):
            yield f"{api_key} {name} {part} {' '.join(layouts)}"

    def _struct(self, codec: Codec, struct: wire.Struct, above: str) -> int:
        """Return the number of a struct, from 1."""
        tokens = [self._field(codec, struct, field, above) for field in struct.fields]
        if struct.tagged is not None:
            tagged = struct.tagged.fields.items()
            tokens += ["~", *(f"{tag}:{self._field(codec, struct, field, above)}" for tag, field in tagged)]
        return self._structs.setdefault(" ".join(tokens), len(self._structs) + 1)

    def _field(self, codec: Codec, struct: wire.Struct, field: wire.Field, above: str) -> str:
        path = above + str(field.name)
        content = wire.content_of(field.subcon)
        code = self._code(field.subcon, codec, f"{path}.")
        owner = struct.message_class.__name__
        if content.struct is not None:
            number = self._fields.setdefault(FilterField(path, "struct"), len(self._fields) + 1)
            return f"{number}{code}"
        values = kind_of(codec.name, owner, field.json_name) if isinstance(content.node, wire.Integer) else None
        known = FilterField(path, _filter_type(content.node), values.__name__ if values else NO_KIND)
        number = self._fields.setdefault(known, len(self._fields) + 1)
        return f"{number}{_mark(owner, str(field.name), content.node, known)}{code}"

    @singledispatchmethod
    def _code(self, node: wire.Node, codec: Codec, path: str) -> str:
        """Return the code of a type on the wire."""
        return _code_of_scalar(node)

    @_code.register
    def _(self, node: wire.Array, codec: Codec, path: str) -> str:
        return ("{" if node.length is COMPACT_LENGTH else "[") + self._code(node.element, codec, path)

    @_code.register
    def _(self, node: wire.NullableStruct, codec: Codec, path: str) -> str:
        marker = "!" if node.marker is UNSIGNED_VARINT else "?"
        return f"{marker}{self._struct(codec, node.subcon, path)}"

    @_code.register
    def _(self, node: wire.Struct, codec: Codec, path: str) -> str:
        return f"({self._struct(codec, node, path)}"

    def _count_types(self, struct: wire.Struct, above: str) -> None:
        for field in struct.all_fields:
            content = wire.content_of(field.subcon)
            path = above + str(field.name)
            if content.struct is not None:
                self._count_types(content.struct, f"{path}.")
            else:
                self._types.setdefault(path, Counter())[_filter_type(content.node)] += 1


def _codecs(catalog: Catalog) -> Iterator[Codec]:
    for name, (type_name, _) in catalog.heads().items():
        spec = catalog.spec(name)
        if type_name in WIRE_TYPES and spec.versions.first is not None:
            yield from (codec_of(spec, version) for version in spec.versions)


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _filter_type(node: wire.Node) -> str:
    if isinstance(node, wire.Integer):
        letter = node.struct.format[-1]
        return {"q": LONG, "I": UNSIGNED}.get(letter, SIGNED)  # what fits in 32 bits has one type
    return _FILTER_TYPES[type(node)]


def _mark(owner: str, name: str, node: wire.Node, field: FilterField) -> str:
    if isinstance(node, wire.String):
        if is_topic_field(owner, name):
            return TOPIC
        return GROUP if name in GROUP_FIELDS else ""
    if isinstance(node, wire.Uuid):
        return TOPIC_ID if name == "topic_id" else ""
    return ERROR if field.kind == "ErrorCode" else ""


def _code_of_scalar(node: wire.Node) -> str:
    if isinstance(node, wire.Integer):
        return _INTEGERS[node.struct.format[-1]]
    if isinstance(node, wire.String | wire.Bytes):
        plain, compact = _LENGTH_PREFIXED[type(node)]
        return compact if node.length is COMPACT_LENGTH else plain
    return _FIXED[type(node)]


_FILTER_TYPES: dict[type[wire.Node], str] = {
    wire.Boolean: "bool",
    wire.Float64: "double",
    wire.Uuid: "string",
    wire.String: "string",
    wire.Bytes: "bytes",
    wire.Records: "bytes",
}
_FIXED: dict[type[wire.Node], str] = {wire.Boolean: "B", wire.Float64: "F", wire.Uuid: "G"}
_LENGTH_PREFIXED: dict[type[wire.Node], tuple[str, str]] = {
    wire.String: ("s", "c"),
    wire.Bytes: ("y", "z"),
    wire.Records: ("r", "q"),
}
_INTEGERS = {"b": "1", "h": "2", "i": "4", "q": "8", "H": "U", "I": "W"}
