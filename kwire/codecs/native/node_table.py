"""Lists the nodes of a construct tree as rows, which the native interpreter copies into its table.

It supports the classes of `kwire.codecs.wire`; a tree with a node of another class has no table, and is left
to the fallback.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from .. import wire


class NoTable(TypeError):
    """A tree with a node that the interpreter does not support."""


class NodeRow(NamedTuple):
    """A node.

    Attributes:
        kind: the node type, as in the interpreter's `KINDS`; for an integer, its format code in `struct`.
        width: the size of a fixed-size value in bytes; for a length prefix 2 or 4, or 0 if it is compact.
        nullable: whether the length may be that of null.
        is_records: whether bytes are record batches, which may be decoded as views.
        tagged_marker: whether this is a nullable struct in a tagged field, whose marker is a varint.
        child: the row of an array's element, or of a nullable struct's struct.
        least: the minimum size in bytes of what the length counts.
        longest: the maximum size of a string in bytes.
        first, size: the rows of a struct's fields, in wire order.
        tags: the number of following rows of tagged fields; -1 if the version is not flexible.
        absent: the number of rows after those, for fields of other versions.
        message_class: the class of a struct.
        foreign: tags of other versions of a struct, which are refused.
        source: the construct node.
    """

    kind: str
    width: int = 0
    nullable: bool = False
    is_records: bool = False
    tagged_marker: bool = False
    child: int = 0
    least: int = 1
    longest: int = 0
    first: int = 0
    size: int = 0
    tags: int = -1
    absent: int = 0
    message_class: Any = None
    foreign: frozenset[int] = frozenset()
    source: Any = None


class FieldRow(NamedTuple):
    """A field of a struct.

    Its node, its tag or -1, its attribute in the class, its default, its JSON key, and the construct field; the latter
    is None for a field of other versions.
    """

    node: int
    tag: int
    ignorable: bool
    name: str
    default: Any
    key: bytes
    message_class: Any
    source: wire.Field | None = None


def node_table(schema: wire.Node) -> tuple[list[NodeRow], list[FieldRow]]:
    """Return the nodes and fields of a tree; the root is the first node. Raises NoTable."""
    rows = _TableRows()
    rows.add(schema)
    return rows.nodes, rows.fields


class _TableRows:
    """The rows of one tree."""

    def __init__(self) -> None:
        self.nodes: list[NodeRow] = []
        self.fields: list[FieldRow] = []

    def add(self, node: Any) -> int:
        """Add a node and its descendants; return the row of the node."""
        at = len(self.nodes)
        self.nodes.append(NodeRow("?"))
        self.nodes[at] = self.row(node)._replace(source=node)
        return at

    def row(self, node: Any) -> NodeRow:
        kind = type(node)
        if kind is wire.Integer:
            return NodeRow(node.struct.format[-1], node.least)
        if kind in _FIXED:
            return NodeRow(_FIXED[kind], node.least)
        if kind is wire.String:
            return NodeRow("string", _width_of(node.length), node.nullable, longest=node.longest)
        if kind in (wire.Bytes, wire.Records):
            return NodeRow("bytes", _width_of(node.length), node.nullable, kind is wire.Records)
        if kind is wire.Array:
            child = self.add(node.element)
            return NodeRow("array", _width_of(node.length), node.nullable, child=child, least=node.element.least)
        if kind is wire.NullableStruct:
            tagged = node.marker is wire.UNSIGNED_VARINT
            return NodeRow("nullable struct", tagged_marker=tagged, child=self.add(node.subcon))
        if kind is wire.Struct:
            return self.struct(node)
        raise NoTable(kind.__name__)

    def struct(self, node: wire.Struct) -> NodeRow:
        tagged = node.tagged.fields if node.tagged else {}
        fields = [self.field(node, field, -1) for field in node.fields]
        fields += [self.field(node, field, tag) for tag, field in tagged.items()]
        fields += [
            FieldRow(0, -1, absent.ignorable, absent.name, absent.default, b"", node.message_class)
            for absent in node.absent
        ]
        first = len(self.fields)
        self.fields += fields
        return NodeRow(
            "struct",
            first=first,
            size=len(node.fields),
            tags=-1 if node.tagged is None else len(tagged),
            absent=len(node.absent),
            message_class=node.message_class,
            foreign=node.tagged.foreign if node.tagged else frozenset(),
        )

    def field(self, struct: wire.Struct, field: wire.Field, tag: int) -> FieldRow:
        key = b"," + msgspec.json.encode(field.json_name) + b":"
        name = str(field.name)
        row = self.add(field.subcon)
        return FieldRow(row, tag, False, name, field.default, key, struct.message_class, field)


_FIXED = {wire.Boolean: "boolean", wire.Float64: "float64", wire.Uuid: "uuid"}
_LENGTHS = {wire.COMPACT_LENGTH: 0, wire.INT16_LENGTH: 2, wire.INT32_LENGTH: 4}


def _width_of(length: wire.Node) -> int:
    """Return the number of bytes of a length prefix; 0 for a compact one. Raises NoTable."""
    for known, width in _LENGTHS.items():
        if length is known:
            return width
    raise NoTable(repr(length))
