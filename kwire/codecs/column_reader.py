"""Reads many bodies into record batches of bounded size, and reports undecodable bodies.

The native interpreter writes values to the buffers of Arrow arrays, without a Python object per value; without it,
`column_plan` builds the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import msgspec
import pyarrow as pa

from .. import wire
from ..errors import BadBoolean, BadText, DecodeError, DefaultTag, NoColumns
from ..native import ENGINE
from ..native.table import NoTable, node_table
from ..spec import MessageSpec
from ..wire import Reader
from . import REFUSALS, fast_path
from .column_plan import (
    TAGS,
    Collector,
    Column,
    EnclosingColumn,
    ObjectCollector,
    Plan,
    Wanted,
    batches,
    halves,
    names_of,
    scalar_type,
    trees_of,
)
from .schema_tree import grow

if TYPE_CHECKING or ENGINE == "native":
    from ..native import ColumnTable, NodeTable, Repeat, pack_bits

SKIP, DESCEND = -1, -2
SHAPES = {wire.Integer: "fixed", wire.Float64: "fixed", wire.Boolean: "bits"}
MOST_BODIES = 1 << 14  # bodies per conversion
MOST_BATCH = 2**30  # bytes
ARENA = 16 << 20  # bytes
ENOUGH = 2 << 20  # bytes of bodies per conversion; more would exceed the cache of the processor
_UNFIT: tuple[type[Exception], ...] = (OverflowError, *REFUSALS)
_CONTENTS = (BadText, BadBoolean)  # faults inside a value, which are not found if the value is skipped


class BufferCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: the columns, of this version or of all.

    Raises:
        NoTable: the tree has a node that the native engine does not support.
    """

    def __init__(self, schema: wire.Struct, plan: Plan) -> None:
        self._plan, self._layout = plan, _Layout(schema, plan)
        self._table = ColumnTable(*self._layout.arguments(len(plan.levels)))
        self.add_bodies, self.add_message = self._table.feed, self._table.feed_message

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""
        rows, memories, taken = self._table.take()
        levels = [_Level(memory) for memory in memories]
        last = len(levels)
        columns: list[Column] = []
        for choice, place in zip(self._plan.choices, self._layout.places, strict=True):
            level = max(choice.level, 0)
            count = rows if level == last else levels[level].count
            array = pa.nulls(count, choice.plain_type) if place is None else self._array(place, taken)
            if level == last:
                columns.append(Column(array, choice))
                continue
            column = _BufferColumn(array, choice, levels[level])
            if place is not None and not choice.is_dictionary and not self._layout.columns[place].children:
                column.repeated = self._layout.columns[place], taken[place]
            columns.append(column)
        return rows, columns

    def _array(self, at: int, taken: list[Any]) -> Any:
        """Return a column and its children as an Arrow array that shares their memory."""
        column = self._layout.columns[at]
        rows, valid, ends, data = taken[at]
        children = [self._array(child, taken) for child in column.children]
        if column.layout == "list":
            buffers, type_ = [ends], pa.list_(children[0].type)
        elif column.layout == "record":
            names = zip(column.names, children, strict=True)
            buffers, type_ = [], pa.struct([(name, child.type) for name, child in names])
        else:
            return _flat_array(column, rows, valid, ends, data)
        return pa.Array.from_buffers(type_, rows, [_bits(valid), *map(pa.py_buffer, buffers)], children=children)


class _Level:
    """The number of rows for each row of an enclosing level."""

    def __init__(self, memory: Any) -> None:
        self.memory, self.count = memory, len(memoryview(memory)) // 8
        self._last: tuple[int, int, Repeat] | None = None

    def repeat(self, start: int, stop: int) -> Repeat:
        """Return the index that repeats values for a range of rows; all columns share it."""
        if self._last is None or self._last[:2] != (start, stop):
            self._last = start, stop, Repeat(self.memory, start, stop)
        return self._last[2]


class _BufferColumn(EnclosingColumn):
    """A column of an enclosing level; values that are not nested are repeated in native code."""

    def __init__(self, array: Any, choice: Any, level: _Level) -> None:
        Column.__init__(self, array, choice)
        self.level = level
        self.repeated: tuple[_Column, Any] | None = None

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
            return _flat_array(column, stop - start, valid, None, repeat.fixed(data, column.width))
        return _flat_array(column, stop - start, valid, *repeat.binary(ends, data))

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        if self.repeated is None:
            return super().size(start, stop)
        ends = self.repeated[1][2]
        return 0 if ends is None else self.level.repeat(start, stop).size(ends)


def _bits(valid: Any) -> Any:
    return None if valid is None else pa.py_buffer(pack_bits(valid))


def _flat_array(column: _Column, rows: int, valid: Any, ends: Any, data: Any) -> Any:
    """Return an Arrow array that uses memory of the native engine."""
    values = pa.py_buffer(pack_bits(data) if column.layout == "bits" else data)
    buffers = [_bits(valid), values] if ends is None else [_bits(valid), pa.py_buffer(ends), values]
    return pa.Array.from_buffers(column.type, rows, buffers)


class _Column(msgspec.Struct, gc=False):
    """A column filled by the native engine, and the type of its array."""

    layout: str
    type: Any = None
    width: int = 1
    nullable: bool = False
    children: list[int] = []
    names: list[str] = []
    next: int = SKIP


class _Layout:
    """Maps fields to columns.

    Attributes:
        columns: all columns, including children; the first is the index of the body.
        places: for each column of the plan, its index in `columns`; None if this version has no such field.
    """

    def __init__(self, schema: wire.Struct, plan: Plan) -> None:
        self.nodes, self.fields = node_table(schema)
        self._node_at = {id(row.source): at for at, row in enumerate(self.nodes)}
        self._field_at = {id(row.source): at for at, row in enumerate(self.fields) if row.source is not None}
        self.actions, self.unknown = [SKIP] * len(self.fields), [SKIP] * len(self.nodes)
        self.elements = SKIP
        self.columns = [_Column("fixed", pa.int64(), 8)]
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
            (one.layout, one.width, one.nullable, one.children[0] if one.children else SKIP, one.next)
            for one in self.columns
        ]
        nodes = NodeTable(self.nodes, self.fields)
        return nodes, rows, self.actions, self.unknown, self.elements, levels

    def member(self, struct: wire.Struct, name: str, wanted: Wanted, nullable: bool) -> int | None:
        """Add the column of a field of a struct; return its index, or None if this version does not have it."""
        if name == TAGS:
            if struct.tagged is None:
                return None
            at = self.unknown[self._node_at[id(struct)]] = self.column(_Column("binary", pa.binary(), nullable=True))
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
            at = self.column(_Column("list", nullable=nullable))
            self.columns[at].children = [self.add(inner, wanted, False)]
            return at
        if struct is not None:
            return self.record(struct, wanted, nullable)
        type_ = scalar_type(node)
        layout = SHAPES.get(type(node), "binary")
        width = type_.bit_width // 8 if layout == "fixed" else 1
        return self.column(_Column(layout, type_, width, nullable))

    def record(self, struct: wire.Struct, wanted: Wanted, nullable: bool) -> int:
        at = self.column(_Column("record", nullable=nullable))
        names = [name for name in names_of(struct) if wanted is None or name in wanted]
        members = [(name, self.member(struct, name, wanted and wanted[name], nullable)) for name in names]
        there = [(name, child) for name, child in members if child is not None]
        self.columns[at].names = [name for name, _ in there]
        self.columns[at].children = [child for _, child in there]
        for (_, one), (_, other) in pairwise(there):
            self.columns[one].next = other
        return at

    def column(self, column: _Column) -> int:
        self.columns.append(column)
        return len(self.columns) - 1


class BadBody(NamedTuple):
    """An undecodable body: its index, from 0, and the error."""

    body_index: int
    error: DecodeError


class Batch(NamedTuple):
    """A `pyarrow.RecordBatch`, and the undecodable bodies."""

    rows: Any
    errors: tuple[BadBody, ...]


class Columns:
    """Reads bodies of one message at one version into columns; created by `kwire.columns`.

    A row is an element of the array at `path`. Its fields are columns with their names. Fields of enclosing levels are
    repeated, prefixed with the name of their array or struct: `topics_name`, or `message_cluster_id` for the message
    itself. `body_index` is the index of the body, from 0. Arrays become lists, structs in them structs, and uuids 16
    bytes of binary; unknown tagged fields are binary in `unknown_tags`, unchanged.

    By default, all columns are included except arrays of enclosing levels. Other fields are skipped by their lengths.
    Batches are built from up to 2 MiB of bodies, so reading is fast for many bodies per call.

    Attributes:
        schema: the `pyarrow.Schema` of all batches.
    """

    def __init__(
        self,
        spec: MessageSpec,
        version: int,
        path: str,
        columns: Sequence[str] | None,
        *,
        union: bool = False,
        dictionary: bool = False,
        max_rows: int = 4096,
        max_bytes: int = 8 << 20,
    ) -> None:
        self.name: str = spec.name
        self.version: int = version
        options = {"union": union, "dictionary": dictionary, "max_rows": max_rows, "max_bytes": max_bytes}
        self._made_by = partial(Columns, **options), (spec, version, path, columns)  # type: ignore[arg-type]
        self._tree = grow(spec, version)
        self._plan = Plan(trees_of(spec) if union else [self._tree], path, columns, dictionary=dictionary)
        self.schema: Any = self._plan.schema
        self._most_rows, self._most_bytes = max(max_rows, 1), min(max(max_bytes, 1), MOST_BATCH)
        self._title = f"{self.name} v{self.version}: columns"
        self._idle: list[Collector] = []
        bytearray(ARENA)  # freeing a large block makes glibc keep the memory of later batches,
        # which would otherwise be returned and mapped again each time: three quarters of the time

    def __repr__(self) -> str:
        return f"<kwire columns of {self.name} v{self.version}: {', '.join(self.schema.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_by

    def read(self, bodies: Iterable[Any]) -> Iterator[Batch]:
        """Read bodies.

        Args:
            bodies: the bytes of each body, without size and header; or a pyarrow array of binary. None is skipped.

        Yields:
            Batches, with rows in the order of the bodies, each with the undecodable bodies before its end. An
            undecodable body gives no rows and does not affect others.
        """
        try:
            collector = self._idle.pop()  # another thread may read at the same time
        except IndexError:
            collector = self._collector()
        try:
            yield from self._read(collector, bodies)
        finally:
            self._idle.append(collector)

    def _collector(self) -> Collector:
        if ENGINE == "native":
            try:
                return BufferCollector(self._tree, self._plan)
            except NoTable:  # a node class from outside kwire
                pass
        return ObjectCollector(self._tree, self._plan, fast_path(self._tree, self._title).decode)

    def _read(self, collector: Collector, bodies: Iterable[Any]) -> Iterator[Batch]:
        enough = min(self._most_bytes, ENOUGH)
        if is_small(bodies, enough):  # the loop below would take two fifths of the time for Heartbeat bodies
            if bodies:
                yield from self._batches(collector, bodies, list(range(len(bodies))))
            return
        some: list[bytes] = []
        numbers: list[int] = []
        size = 0
        for number, body in enumerate(bodies):
            data = body if type(body) is bytes else as_bytes(body)
            if data is None:
                continue
            if size and len(data) >= enough:  # a body that fills Arrow's offsets becomes a batch of its own
                yield from self._batches(collector, some, numbers)
                some, numbers, size = [], [], 0
            some.append(data)
            numbers.append(number)
            size += len(data)
            if size >= enough or len(some) == MOST_BODIES:
                yield from self._batches(collector, some, numbers)
                some, numbers, size = [], [], 0
        if some:
            yield from self._batches(collector, some, numbers)

    def _add(self, collector: Collector, bodies: list[bytes], numbers: list[int]) -> list[BadBody]:
        """Add the rows of bodies; return the undecodable bodies."""
        bad: list[BadBody] = []
        index = collector.add_bodies(bodies, numbers, 0)
        while index < len(bodies):
            message = self._accepted(bodies[index])
            try:
                if message is not None:
                    collector.add_message(message, numbers[index])
            except _UNFIT:  # more values than an array can hold; text that is not UTF-8
                message = None
            if message is None:
                bad.append(BadBody(numbers[index], self.explain(bodies[index])))
            index = collector.add_bodies(bodies, numbers, index + 1)
        return bad

    def _accepted(self, data: bytes) -> Any:
        """Return a body re-encoded by the reference path; None if the selected fields cannot be decoded."""
        reader = Reader(data, salvage=True)
        try:
            message = self._tree._parse(reader, None, "")
            reader.finish()
        except DecodeError:
            return None
        harmless = all(
            type(fault) is DefaultTag or (type(fault) in _CONTENTS and not is_wanted(self._plan.wanted, fault.segments))
            for fault in reader.faults
        )
        return message if harmless else None

    def _batches(self, collector: Collector, bodies: list[bytes], numbers: list[int]) -> Iterator[Batch]:
        """Yield the columns of some bodies as batches. Errors are in the first batch."""
        try:
            errors = tuple(self._add(collector, bodies, numbers))
        finally:
            rows, columns = collector.take()  # also clears the collector for its next user
        for batch in batches(self._plan, rows, columns, self._most_bytes):
            for piece in self._pieces(batch):
                yield Batch(piece, errors)
                errors = ()
        if errors:
            yield Batch(pa.RecordBatch.from_pylist([], schema=self.schema), errors)

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """Split a batch into pieces within the limits."""
        for start in range(0, batch.num_rows, self._most_rows):
            yield from halves(batch.slice(start, self._most_rows), self._most_bytes)

    def explain(self, body: bytes) -> DecodeError:
        """Return the error of a body from the reference path."""
        reader = Reader(body)
        reader.message, reader.version = self.name, self.version
        try:
            self._tree._parse(reader, None, "")
            reader.finish()
            reader.refuse(NoColumns, 0, found=len(body))
        except DecodeError as error:
            return error.with_traceback(None)


def is_wanted(wanted: Wanted, segments: Sequence[str | int]) -> bool:
    """Whether a field is selected or inside a selected field."""
    for name in segments:
        if wanted is None:
            return True
        if isinstance(name, str):
            if name not in wanted:
                return False
            wanted = wanted[name]
    return True


def is_small(bodies: Iterable[Any], most: int) -> TypeGuard[list[bytes]]:
    """Whether the bodies are a list of bytes that fits in one batch."""
    return (
        type(bodies) is list
        and len(bodies) <= MOST_BODIES
        and set(map(type, bodies)) <= {bytes}
        and sum(map(len, bodies)) <= most
    )


def as_bytes(body: Any) -> bytes | None:
    """Return a body as bytes; it may be a value of a pyarrow array."""
    data = body.as_py() if hasattr(body, "as_py") else body
    return None if data is None else bytes(data)
