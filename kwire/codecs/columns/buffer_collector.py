"""Collects rows natively: the engine writes values to the buffers of Arrow arrays, without an object per value."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from .. import wire
from ..native import ENGINE
from ..native.node_table import node_table
from .arrow_types import TAGS, Wanted, names_of, scalar_type
from .column import Column, EnclosingColumn
from .column_plan import ColumnPlan

SKIP = -1
DESCEND = -2
SHAPES = {wire.Integer: "fixed", wire.Float64: "fixed", wire.Boolean: "bits"}


if TYPE_CHECKING or ENGINE == "native":
    from ..native import ColumnTable, NodeTable, Repeat, pack_bits


class BufferCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: the columns, of this version or of all.

    Raises:
        NoTable: the tree has a node that the native engine does not support.
    """

    def __init__(self, schema: wire.Struct, plan: ColumnPlan) -> None:
        self._plan = plan
        self._layout = _ColumnLayout(schema, plan)
        self._table = ColumnTable(*self._layout.arguments(len(plan.levels)))
        self.add_bodies = self._table.feed
        self.add_message = self._table.feed_message

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""
        rows, memories, taken = self._table.take()
        levels = [_RowCounts(memory) for memory in memories]
        last = len(levels)
        columns: list[Column] = []
        for choice, column_index in zip(self._plan.choices, self._layout.places, strict=True):
            level = max(choice.level, 0)
            count = rows if level == last else levels[level].count
            array = pa.nulls(count, choice.plain_type) if column_index is None else self._array(column_index, taken)
            if level == last:
                columns.append(Column(array, choice))
                continue
            column = _BufferColumn(array, choice, levels[level])
            if (
                column_index is not None
                and not choice.is_dictionary
                and not self._layout.columns[column_index].children
            ):
                column.repeated = self._layout.columns[column_index], taken[column_index]
            columns.append(column)
        return rows, columns

    def _array(self, at: int, taken: list[Any]) -> Any:
        """Return a column and its children as an Arrow array that shares their memory."""
        column = self._layout.columns[at]
        rows, valid, ends, data = taken[at]
        children = [self._array(child, taken) for child in column.children]
        if column.layout == "list":
            buffers = [ends]
            type_ = pa.list_(children[0].type)
        elif column.layout == "record":
            names = zip(column.names, children, strict=True)
            buffers = []
            type_ = pa.struct([(name, child.type) for name, child in names])
        else:
            return _build_flat_array(column, rows, valid, ends, data)
        return pa.Array.from_buffers(type_, rows, [_pack_valid(valid), *map(pa.py_buffer, buffers)], children=children)


class _RowCounts:
    """The number of rows for each row of an enclosing level."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.count = len(memoryview(memory)) // 8
        self._last: tuple[int, int, Repeat] | None = None

    def repeat(self, start: int, stop: int) -> Repeat:
        """Return the index that repeats values for a range of rows; all columns share it."""
        if self._last is None or self._last[:2] != (start, stop):
            self._last = start, stop, Repeat(self.memory, start, stop)
        return self._last[2]


class _BufferColumn(EnclosingColumn):
    """A column of an enclosing level; values that are not nested are repeated in native code."""

    def __init__(self, array: Any, choice: Any, level: _RowCounts) -> None:
        Column.__init__(self, array, choice)
        self.level = level
        self.repeated: tuple[_RawColumn, Any] | None = None

    @cached_property
    def ends(self) -> Any:  # type: ignore[override]
        """The cumulative number of rows after each value."""
        return memoryview(self.level.memory).cast("q").tolist()

    def rows(self, start: int, stop: int) -> Any:
        """Return the values repeated for the rows from `start` to `stop`."""
        repeat = self.level.repeat(start, stop)
        if self.repeated is None:
            index = pa.Array.from_buffers(pa.int64(), stop - start, [None, pa.py_buffer(repeat.index())])
            return self.array.take(index)
        column, (_, valid, ends, data) = self.repeated
        valid = None if valid is None else repeat.fixed(valid, 1)
        if ends is None:
            return _build_flat_array(column, stop - start, valid, None, repeat.fixed(data, column.width))
        return _build_flat_array(column, stop - start, valid, *repeat.binary(ends, data))

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        if self.repeated is None:
            return super().size(start, stop)
        ends = self.repeated[1][2]
        return 0 if ends is None else self.level.repeat(start, stop).size(ends)


def _pack_valid(valid: Any) -> Any:
    return None if valid is None else pa.py_buffer(pack_bits(valid))


def _build_flat_array(column: _RawColumn, rows: int, valid: Any, ends: Any, data: Any) -> Any:
    """Return an Arrow array that uses memory of the native engine."""
    values = pa.py_buffer(pack_bits(data) if column.layout == "bits" else data)
    buffers = [_pack_valid(valid), values] if ends is None else [_pack_valid(valid), pa.py_buffer(ends), values]
    return pa.Array.from_buffers(column.type, rows, buffers)


class _RawColumn(msgspec.Struct, gc=False):
    """A column filled by the native engine, and the type of its array."""

    layout: str
    type: Any = None
    width: int = 1
    nullable: bool = False
    children: list[int] = []
    names: list[str] = []
    next: int = SKIP


class _ColumnLayout:
    """Maps fields to columns.

    Attributes:
        columns: all columns, including children; the first is the index of the body.
        places: for each column of the plan, its index in `columns`; None if this version has no such field.
    """

    def __init__(self, schema: wire.Struct, plan: ColumnPlan) -> None:
        self.nodes, self.fields = node_table(schema)
        self._node_at = {id(row.source): at for at, row in enumerate(self.nodes)}
        self._field_at = {id(row.source): at for at, row in enumerate(self.fields) if row.source is not None}
        self.actions = [SKIP] * len(self.fields)
        self.unknown = [SKIP] * len(self.nodes)
        self.elements = SKIP
        self.columns = [_RawColumn("fixed", pa.int64(), 8)]
        self.places: list[int | None] = [0 if choice.level < 0 else None for choice in plan.choices]
        node: Any = schema
        for depth in range(len(plan.levels)):
            wanted = {choice.field: at for at, choice in enumerate(plan.choices) if choice.level == depth}
            if not isinstance(node, wire.Struct):
                for at in wanted.values() if node is not None else ():
                    self.places[at] = self.elements = self.add(node, plan.choices[at].wanted, False)
                break
            for name, at in wanted.items():
                self.places[at] = self.member(node, name, plan.choices[at].wanted, False)
            below = plan.levels[depth + 1].name if depth + 1 < len(plan.levels) else None
            node = self.descend(node, below)

    def descend(self, struct: wire.Struct, name: str | None) -> Any:
        """Add the level of a field of a struct; return its node, or None if this version does not have it."""
        field = next((field for field in struct.all_fields if field.name == name), None)
        if field is None:
            return None
        self.actions[self._field_at[id(field)]] = DESCEND
        return wire.content_of(field.subcon).node

    def arguments(self, levels: int) -> tuple[Any, ...]:
        """Return the arguments for the native engine's table."""
        rows = [
            (column.layout, column.width, column.nullable, column.children[0] if column.children else SKIP, column.next)
            for column in self.columns
        ]
        nodes = NodeTable(self.nodes, self.fields)
        return nodes, rows, self.actions, self.unknown, self.elements, levels

    def member(self, struct: wire.Struct, name: str, wanted: Wanted, nullable: bool) -> int | None:
        """Add the column of a field of a struct; return its index, or None if this version does not have it."""
        if name == TAGS:
            if struct.tagged is None:
                return None
            at = self.unknown[self._node_at[id(struct)]] = self.column(_RawColumn("binary", pa.binary(), nullable=True))
            return at
        field = next((field for field in struct.all_fields if field.name == name), None)
        if field is None:
            return None
        at = self.actions[self._field_at[id(field)]] = self.add(field.subcon, wanted, nullable)
        return at

    def add(self, node: Any, wanted: Wanted, nullable: bool) -> int:
        """Add the column of a node and the columns of its children."""
        nullable = nullable or node.nullable
        inner, struct, is_array = wire.content_of(node)
        if is_array:
            at = self.column(_RawColumn("list", nullable=nullable))
            self.columns[at].children = [self.add(inner, wanted, False)]
            return at
        if struct is not None:
            return self.record(struct, wanted, nullable)
        type_ = scalar_type(node)
        layout = SHAPES.get(type(node), "binary")
        width = type_.bit_width // 8 if layout == "fixed" else 1
        return self.column(_RawColumn(layout, type_, width, nullable))

    def record(self, struct: wire.Struct, wanted: Wanted, nullable: bool) -> int:
        at = self.column(_RawColumn("record", nullable=nullable))
        names = [name for name in names_of(struct) if wanted is None or name in wanted]
        members = [(name, self.member(struct, name, wanted and wanted[name], nullable)) for name in names]
        members_there = [(name, child) for name, child in members if child is not None]
        self.columns[at].names = [name for name, _ in members_there]
        self.columns[at].children = [child for _, child in members_there]
        for (_, child), (_, next_child) in pairwise(members_there):
            self.columns[child].next = next_child
        return at

    def column(self, column: _RawColumn) -> int:
        self.columns.append(column)
        return len(self.columns) - 1
