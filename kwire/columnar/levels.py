"""What was read becomes columns side by side: the fields of the rows, and those of the levels around them again
and again.

Repeating may make much of little, so that it is done for a part of the rows at a time, as much as may be in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from .arrays import conform, evenly, from_numpy, nulls, offsets_of, to_bits
from .plan import Choice, Plan

OFTEN = 64  # rows of one text, from which on it is repeated by multiplication


class Assembly:
    """The columns of what was read of some bodies.

    Args:
        plan: what is wanted.
        messages: the columns of the messages.
        bodies: which bodies they are from.
        max_bytes: how much may come of repeating, at a time.
    """

    def __init__(self, plan: Plan, messages: dict[str, Any], bodies: list[int], max_bytes: int) -> None:
        self.plan, self.max_bytes = plan, max_bytes
        self.bodies = pa.array(np.array(bodies, np.int64))
        self.counts = [len(bodies)]
        self.fields = [messages]
        bounds: list[Any] = []  # for each row of a level, where its rows in the level below begin; and where they end
        for level in plan.levels[1:]:
            lengths, values = below(self.fields[-1].get(level.name), self.counts[-1])
            bounds.append(sums(lengths))
            self.counts.append(len(values))
            is_struct = pa.types.is_struct(values.type)
            names = [field.name for field in values.type] if is_struct else []
            fields = {name: values.field(index) for index, name in enumerate(names)}
            self.fields.append(fields if is_struct else {level.name: values})
        self.starts = bounds[-1:]  # for each row of a level, where the rows that are wanted begin
        for above in reversed(bounds[:-1]):
            self.starts.insert(0, self.starts[0][above])

    def batches(self) -> Iterator[Any]:
        """Yield all rows as record batches, of any size but for what is repeated."""
        rows = len(self.starts)
        columns = [(self._column(choice), min(max(choice.level, 0), rows)) for choice in self.plan.choices]
        for start, stop in self._portions(columns):
            times = [Times(differences(np.clip(starts, start, stop)), stop - start) for starts in self.starts]
            arrays = [
                times[level].repeat(column) if level < rows else column.slice(start, stop - start)
                for column, level in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.plan.schema)

    def _column(self, choice: Choice) -> Any:
        """Return a column of its level, as many as that has rows."""
        if choice.level < 0:
            return self.bodies
        column = self.fields[choice.level].get(choice.field)
        wanted = choice.type.value_type if pa.types.is_dictionary(choice.type) else choice.type
        values = pa.nulls(self.counts[choice.level], wanted) if column is None else conform(column, wanted)
        return values if wanted is choice.type else values.dictionary_encode()

    def _portions(self, columns: list[tuple[Any, int]]) -> Iterator[tuple[int, int]]:
        """Yield from where to where the rows are put together at a time; `columns` are those with their levels."""
        rows, most = self.counts[-1], 0
        each = [differences(starts) for starts in self.starts]
        long = [(column, each[level]) for column, level in columns if level < len(each) and is_long(column.type)]
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
    return differences(offsets), column.values  # nothing is in what is null


def sums(lengths: Any) -> Any:
    """Return where each begins, and where the last ends."""
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def differences(bounds: Any) -> Any:
    """Return how far each is from the next."""
    return bounds[1:] - bounds[:-1]


def is_long(type_: Any) -> bool:
    """Say whether values of a type may take any number of bytes."""
    return bool(pa.types.is_nested(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_))


def sizes_of(column: Any) -> Any:
    """Return how many bytes each value takes."""
    if pa.types.is_nested(column.type):
        return np.fromiter((column.slice(row, 1).nbytes for row in range(len(column))), np.int64, len(column))
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64)
    return differences(np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset))


class Times:
    """How often the rows of a level are repeated: of each its number, `count` together."""

    def __init__(self, each: Any, count: int) -> None:
        self.each, self.count = each, count

    @cached_property
    def rows(self) -> Any:
        """The row that is repeated, for each repetition."""
        return pa.array(np.repeat(np.arange(len(self.each)), self.each))

    def repeat(self, values: Any) -> Any:
        """Return each value as often as it is to be."""
        if values.null_count == len(values):
            return nulls(self.count) if pa.types.is_binary(values.type) else pa.nulls(self.count, values.type)
        if pa.types.is_integer(values.type) and not values.null_count:
            return from_numpy(np.repeat(values.to_numpy(), self.each), values.type)
        if pa.types.is_boolean(values.type) and not values.null_count:
            return to_bits(np.repeat(values.to_numpy(zero_copy_only=False), self.each))
        is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
        if is_text and self.count >= OFTEN * len(values):
            return self._texts(values)
        return values.take(self.rows)

    def _texts(self, values: Any) -> Any:
        texts = values.view(pa.binary()).to_pylist()
        lengths = {-1 if text is None else len(text) for text in texts}
        if len(set(texts)) == 1:
            data = texts[0] * self.count
        else:
            data = b"".join([text * often for text, often in zip(texts, self.each.tolist(), strict=True) if text])
        if len(lengths) == 1:
            buffers = [None, evenly(self.count, lengths.pop())]
        else:
            each = np.array([-1 if text is None else len(text) for text in texts], np.int64)
            buffers = list(offsets_of(np.repeat(each, self.each)))
        return pa.Array.from_buffers(values.type, self.count, [*buffers, pa.py_buffer(data)])
