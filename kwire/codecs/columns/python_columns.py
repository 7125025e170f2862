"""Builds columns from decoded messages (the fallback), and record batches with repeated outer levels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Protocol

import pyarrow as pa

from ... import wire
from .plan import TAGS, Choice, Plan, is_long


class Column:
    """A column of the row level.

    Args:
        array: the collected values.
        choice: its name and type.
    """

    def __init__(self, array: Any, choice: Choice) -> None:
        values = conform(array, choice.plain_type)
        self.array: Any = values.dictionary_encode() if choice.is_dictionary else values

    def rows(self, start: int, stop: int) -> Any:
        """Return the values of the rows from `start` to `stop`."""
        return self.array.slice(start, stop - start)

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        return 0


class EnclosingColumn(Column):
    """A column of an enclosing level, with each value stored once.

    Args:
        array, choice: as for `Column`.
        ends: the cumulative number of rows after each value.
    """

    def __init__(self, array: Any, choice: Choice, ends: Sequence[int]) -> None:
        super().__init__(array, choice)
        self.ends = ends

    def rows(self, start: int, stop: int) -> Any:
        """Return the values repeated for the rows from `start` to `stop`."""
        return self.array.take(self.index(start, stop))

    def index(self, start: int, stop: int) -> Any:
        """Return the index of the value in each row."""
        first = bisect_right(self.ends, start)
        found: list[int] = []
        while len(found) < stop - start:
            found += [first] * (min(self.ends[first], stop) - max(self.ends[first - 1] if first else 0, start))
            first += 1
        return pa.array(found, pa.int64())

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        return self._size_before(stop) - self._size_before(start) if is_long(self.array.type) else 0

    def _size_before(self, row: int) -> int:
        at = bisect_right(self.ends, row)
        if at == 0:
            return row * self._sizes[0] if row else 0
        inside = row - self.ends[at - 1]
        return self._sums[at - 1] + (inside * self._sizes[at] if inside else 0)

    @cached_property
    def _sizes(self) -> list[int]:
        return [self.array.slice(index, 1).nbytes for index in range(len(self.array))]

    @cached_property
    def _sums(self) -> list[int]:
        counts = [stop - start for start, stop in pairwise([0, *self.ends])]
        return list(accumulate(size * count for size, count in zip(self._sizes, counts, strict=True)))


class Collector(Protocol):
    """Collects the rows of bodies, from bytes (`reader.BufferCollector`) or from messages."""

    def add_bodies(self, bodies: list[bytes], numbers: list[int], start: int) -> int:
        """Append the rows of bodies, from the body `start` on.

        Args:
            bodies: all of them.
            numbers: the number of each, for the column `body_index`.
            start: the index of the first body to add.

        Returns:
            The index of the body that was not accepted, and has added no rows; or the number of bodies.
        """

    def add_message(self, message: Any, number: int) -> None:
        """Append the rows of a decoded message."""

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""


def batches(plan: Plan, rows: int, columns: Sequence[Column], most: int) -> Iterator[Any]:
    """Build record batches from columns.

    Args:
        plan: contains their schema.
        rows: the number of rows.
        columns: the columns of the plan.
        most: the largest size of repeated values in a batch, in bytes; a single row may be larger.

    Yields:
        `pyarrow.RecordBatch`es.
    """
    start = 0
    while start < rows:
        stop = _stop(columns, start, rows, most)
        arrays = [column.rows(start, stop) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
        start = stop


def _stop(columns: Sequence[Column], start: int, rows: int, most: int) -> int:
    """Return where a batch that starts at a row must end."""
    if sum(column.size(start, rows) for column in columns) <= most:
        return rows
    low, high = start + 1, rows
    while low < high:
        middle = (low + high + 1) // 2
        if sum(column.size(start, middle) for column in columns) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def conform(array: Any, type_: Any) -> Any:
    """Return an array as a type with more fields, which are null."""
    if array.type.equals(type_):
        return array
    validity = array.buffers()[0]
    if pa.types.is_list(type_):
        values = conform(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), array.buffers()[:2], children=[values])
    children = [
        conform(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else pa.nulls(len(array), field.type)
        for field in type_
    ]
    return pa.Array.from_buffers(type_, len(array), [validity], children=children)


def halves(batch: Any, most: int) -> Iterator[Any]:
    """Divide a batch in halves until each has at most so many bytes, or one row."""
    if batch.num_rows <= 1 or batch.get_total_buffer_size() <= most or batch.nbytes <= most:
        yield batch
        return
    half = batch.num_rows // 2
    yield from halves(batch.slice(0, half), most)
    yield from halves(batch.slice(half), most)


class ObjectCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: the columns, of this version or of all.
        decode: decodes a body.
    """

    def __init__(self, schema: wire.Struct, plan: Plan, decode: Callable[[bytes], Any]) -> None:
        self._plan, self._decode = plan, decode
        self._known = _known_fields(schema, plan)
        self._begin()

    def _begin(self) -> None:
        self._values: list[list[Any]] = [[] for _ in self._plan.choices]
        self._ends: list[list[int]] = [[] for _ in self._plan.levels]
        self.rows: int = 0

    def add_bodies(self, bodies: list[bytes], numbers: list[int], start: int) -> int:
        """Append the rows of bodies, as `Collector.add_bodies`."""
        for index in range(start, len(bodies)):
            try:
                message = self._decode(bodies[index])
            except Exception:  # of any kind: the reference path finds the reason
                return index
            self.add_message(message, numbers[index])
        return len(bodies)

    def add_message(self, message: Any, number: int) -> None:
        """Append the rows of a decoded message."""
        self._level(0, message)
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level < 0:
                values.append(number)

    def _level(self, depth: int, value: Any) -> None:
        """Append a row of a level, and all rows below it."""
        levels = self._plan.levels
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level == depth and choice.field in self._known[depth]:
                values.append(plain(getattr(value, choice.field) if hasattr(value, "__struct_fields__") else value))
        if depth == len(levels) - 1:
            self.rows += 1
        elif levels[depth + 1].name in self._known[depth]:
            below = getattr(value, levels[depth + 1].name)
            for item in below if isinstance(below, tuple) else () if below is None else (below,):
                self._level(depth + 1, item)
        self._ends[depth].append(self.rows)

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""
        columns: list[Column] = []
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            level = max(choice.level, 0)
            ends = self._ends[level]
            array = pa.array(values if len(values) == len(ends) else [None] * len(ends), choice.plain_type)
            is_last = level == len(self._plan.levels) - 1
            columns.append(Column(array, choice) if is_last else EnclosingColumn(array, choice, ends))
        rows = self.rows
        self._begin()
        return rows, columns


def _known_fields(schema: wire.Struct, plan: Plan) -> list[set[str]]:
    """Return the fields that this version has, by level of the plan."""
    known: list[set[str]] = []
    nodes: list[Any] = [schema]
    for depth, level in enumerate(plan.levels):
        names = level._replace(nodes=nodes).fields if nodes else {}
        known.append(set(names))
        below = plan.levels[depth + 1].name if depth + 1 < len(plan.levels) else TAGS
        nodes = [wire.content_of(node).node for node in names.get(below, [])] if below != TAGS else []
    return known


def plain(value: Any) -> Any:
    """Convert a value of a message for pyarrow."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    names: tuple[str, ...] = getattr(value, "__struct_fields__", ())
    return {name: plain(getattr(value, name)) for name in names} if names else value
