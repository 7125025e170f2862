"""What was collected becomes columns side by side: the fields of the rows, and those of the levels around them, repeated.

Repeating may make much of little, so that it is done for a part of the rows at a time, as much as may be in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from .. import wire
from .arrays import conform, evenly, from_numpy, offsets_of
from .collected import Column, Items, Sparse, Table
from .plan import Choice, Level, Plan

OFTEN = 8  # rows of one text, from which on it is repeated by multiplication


class Ready(Column):
    """A column that is an Arrow array already."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def array(self, count: int) -> Any:
        """Return it."""
        return self.values


class Assembly:
    """The columns of what was collected of some bodies.

    Args:
        plan: what is wanted.
        messages: what was collected of the messages.
        bodies: which bodies they are from.
        max_bytes: how much may come of repeating, at a time.
    """

    def __init__(self, plan: Plan, messages: Table, bodies: list[int], max_bytes: int) -> None:
        self.plan, self.max_bytes = plan, max_bytes
        self.bodies = np.array(bodies, np.int64)
        self.tables, self.counts = [messages], [len(bodies)]
        bounds: list[Any] = []  # for each row of a level, where its rows in the level below begin; and where they end
        for level in plan.levels[1:]:
            lengths, table = below(self.tables[-1], level, self.counts[-1])
            bounds.append(np.concatenate([[0], np.cumsum(lengths)]))
            self.tables.append(table)
            self.counts.append(int(bounds[-1][-1]))
        self.starts = [np.arange(self.counts[-1] + 1)]  # for each row of a level, where the rows wanted begin
        for above in reversed(bounds):
            self.starts.insert(0, self.starts[0][above])

    def batches(self) -> Iterator[Any]:
        """Yield all rows as record batches, of any size but for what is repeated."""
        columns = [self._column(choice) for choice in self.plan.choices]
        for start, stop in self._portions(columns):
            times = [np.diff(np.clip(starts, start, stop)) for starts in self.starts]
            arrays = [
                column.slice(start, stop - start)
                if choice.level == len(self.counts) - 1
                else repeated(column, times[max(choice.level, 0)])
                for choice, column in zip(self.plan.choices, columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.plan.schema)

    def _column(self, choice: Choice) -> Any:
        """Return a column of its level, as many as that has rows."""
        if choice.level < 0:
            return pa.array(self.bodies)
        table, count = self.tables[choice.level], self.counts[choice.level]
        wanted = choice.type.value_type if pa.types.is_dictionary(choice.type) else choice.type
        if choice.field not in table.fields:
            values = pa.nulls(count, wanted)
        else:
            values = conform(table.column(choice.field, count), wanted)
        return values if wanted is choice.type else values.dictionary_encode()

    def _portions(self, columns: list[Any]) -> Iterator[tuple[int, int]]:
        """Yield from where to where the rows are put together at a time."""
        rows, weights = self.counts[-1], np.zeros(self.counts[-1], np.int64)
        for choice, column in zip(self.plan.choices, columns, strict=True):
            if 0 <= choice.level < len(self.counts) - 1 and is_long(column.type):
                sizes, times = sizes_of(column), np.diff(self.starts[choice.level])
                if int((sizes * times).sum()) > self.max_bytes // len(columns):
                    weights += np.repeat(sizes, times)
        ends = np.cumsum(weights)
        start = 0
        while start < rows:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + self.max_bytes, "right")))
            yield start, stop
            start = stop


def below(table: Table, level: Level, count: int) -> tuple[Any, Table]:
    """Go one level down: return how many rows there are in each of this one, and what was collected of them."""
    column = table.fields.get(level.name)
    if column is None:  # a field of other versions
        return np.zeros(count, np.int64), Table()
    if isinstance(level.nodes[0], wire.Struct):
        return rows_of(column, count)
    lists = table.column(level.name, count)
    lengths = np.diff(np.frombuffer(lists.buffers()[1], np.int32, count + 1))
    elements = Table()
    elements.fields[level.name] = Ready(lists.values)
    return lengths, elements


def rows_of(column: Any, count: int) -> tuple[Any, Table]:
    """Return how many structs a column has in each of so many rows, and what was collected of them."""
    if isinstance(column, Sparse):
        lengths = np.zeros(count, np.int64)
        lengths[column.rows], table = rows_of(column.there, len(column.rows))
        return lengths, table
    if isinstance(column, Items):
        assert isinstance(column.elements, Table)
        return np.maximum(column.lengths(count), 0), column.elements
    return np.ones(count, np.int64), column


def is_long(type_: Any) -> bool:
    """Say whether values of a type may take any number of bytes."""
    return bool(pa.types.is_nested(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_))


def sizes_of(column: Any) -> Any:
    """Return how many bytes each value takes."""
    if pa.types.is_nested(column.type):
        return np.fromiter((column.slice(row, 1).nbytes for row in range(len(column))), np.int64, len(column))
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64)
    return np.diff(np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset))


def repeated(values: Any, times: Any) -> Any:
    """Return each value as often as `times` says."""
    count = int(times.sum())
    if values.null_count == len(values):
        return pa.nulls(count, values.type)
    if pa.types.is_integer(values.type) and not values.null_count:
        return from_numpy(np.repeat(values.to_numpy(), times), values.type)
    is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    if is_text and count >= OFTEN * len(values):
        return _repeated_texts(values, times, count)
    return values.take(pa.array(np.repeat(np.arange(len(values)), times)))


def _repeated_texts(values: Any, times: Any, count: int) -> Any:
    texts = values.cast(pa.binary()).to_pylist()
    data = b"".join([text * often for text, often in zip(texts, times.tolist(), strict=True) if text])
    lengths = np.array([-1 if text is None else len(text) for text in texts], np.int64)
    if (lengths == lengths[0]).all() and lengths[0] >= 0:
        buffers = [None, evenly(count, int(lengths[0]))]
    else:
        buffers = list(offsets_of(np.repeat(lengths, times)))
    return pa.Array.from_buffers(values.type, count, [*buffers, pa.py_buffer(data)])
