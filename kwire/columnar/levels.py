"""What was collected becomes columns side by side: the fields of the rows, and those of the levels around them again
and again.

Repeating may make much of little, so that it is done for a part of the rows at a time, as much as may be in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from .arrays import conform, evenly, from_numpy, offsets_of, to_bits
from .collected import Table
from .plan import Choice, Plan

OFTEN = 8  # rows of one text, from which on it is repeated by multiplication


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
        self.bodies = pa.array(np.array(bodies, np.int64))
        self.counts = [len(bodies)]
        self.fields = [{name: messages.column(name, len(bodies)) for name in messages.fields}]
        bounds: list[Any] = []  # for each row of a level, where its rows in the level below begin; and where they end
        for level in plan.levels[1:]:
            lengths, values = below(self.fields[-1].get(level.name), self.counts[-1])
            bounds.append(np.concatenate([[0], np.cumsum(lengths)]))
            self.counts.append(len(values))
            is_struct = pa.types.is_struct(values.type)
            names = [field.name for field in values.type] if is_struct else []
            self.fields.append({name: values.field(name) for name in names} if is_struct else {level.name: values})
        self.starts = bounds[-1:]  # for each row of a level, where the rows that are wanted begin
        for above in reversed(bounds[:-1]):
            self.starts.insert(0, self.starts[0][above])

    def batches(self) -> Iterator[Any]:
        """Yield all rows as record batches, of any size but for what is repeated."""
        columns = [self._column(choice) for choice in self.plan.choices]
        for start, stop in self._portions(columns):
            times = [np.diff(np.clip(starts, start, stop)) for starts in self.starts]
            arrays = [
                repeated(column, times[max(choice.level, 0)], stop - start)
                if self._is_outer(choice)
                else column.slice(start, stop - start)
                for choice, column in zip(self.plan.choices, columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.plan.schema)

    def _is_outer(self, choice: Choice) -> bool:
        return max(choice.level, 0) < len(self.starts)

    def _column(self, choice: Choice) -> Any:
        """Return a column of its level, as many as that has rows."""
        if choice.level < 0:
            return self.bodies
        column = self.fields[choice.level].get(choice.field)
        wanted = choice.type.value_type if pa.types.is_dictionary(choice.type) else choice.type
        values = pa.nulls(self.counts[choice.level], wanted) if column is None else conform(column, wanted)
        return values if wanted is choice.type else values.dictionary_encode()

    def _portions(self, columns: list[Any]) -> Iterator[tuple[int, int]]:
        """Yield from where to where the rows are put together at a time."""
        rows, most = self.counts[-1], 0
        long = [
            (column, np.diff(self.starts[choice.level]))
            for choice, column in zip(self.plan.choices, columns, strict=True)
            if self._is_outer(choice) and is_long(column.type)
        ]
        for column, times in long:
            at_most = column.get_total_buffer_size() * int(times.max(initial=0))
            most += at_most if at_most < self.max_bytes // len(columns) else int(sizes_of(column) @ times)
        if most <= self.max_bytes:
            yield from [(0, rows)] if rows else []
            return
        ends, start = np.cumsum(sum(np.repeat(sizes_of(column), times) for column, times in long)), 0
        while start < rows:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + self.max_bytes, "right")))
            yield start, stop
            start = stop


def below(column: Any, count: int) -> tuple[Any, Any]:
    """Go one level down: return how many rows there are in each of this one, and what they hold."""
    if column is None:  # a field of other versions
        return np.zeros(count, np.int64), pa.nulls(0)
    if pa.types.is_struct(column.type):
        return column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64), column.drop_null()
    offsets = np.frombuffer(column.buffers()[1], np.int32, count + 1, 4 * column.offset)
    return np.diff(offsets), column.flatten()


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


def repeated(values: Any, times: Any, count: int) -> Any:
    """Return each value as often as `times` says, `count` together."""
    if values.null_count == len(values):
        return pa.nulls(count, values.type)
    if pa.types.is_integer(values.type) and not values.null_count:
        return from_numpy(np.repeat(values.to_numpy(), times), values.type)
    if pa.types.is_boolean(values.type) and not values.null_count:
        return to_bits(np.repeat(values.to_numpy(zero_copy_only=False), times))
    is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    if is_text and count >= OFTEN * len(values):
        return _repeated_texts(values, times, count)
    return values.take(pa.array(np.repeat(np.arange(len(values)), times)))


def _repeated_texts(values: Any, times: Any, count: int) -> Any:
    texts = values.view(pa.binary()).to_pylist()
    if len(set(texts)) == 1:
        data = texts[0] * count
    else:
        data = b"".join([text * often for text, often in zip(texts, times.tolist(), strict=True) if text])
    lengths = {-1 if text is None else len(text) for text in texts}
    if len(lengths) == 1:
        buffers = [None, evenly(count, lengths.pop())]
    else:
        each = np.array([-1 if text is None else len(text) for text in texts], np.int64)
        buffers = list(offsets_of(np.repeat(each, times)))
    return pa.Array.from_buffers(values.type, count, [*buffers, pa.py_buffer(data)])
