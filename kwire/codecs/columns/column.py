"""A column of collected values, and one of an enclosing level, whose values are repeated for the rows below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa

from .arrow_types import is_long
from .column_plan import ChosenColumn


class Column:
    """A column of the row level.

    Args:
        array: the collected values.
        choice: the name and type of the column.
    """

    def __init__(self, array: Any, choice: ChosenColumn) -> None:
        values = conform_array(array, choice.plain_type)
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

    def __init__(self, array: Any, choice: ChosenColumn, ends: Sequence[int]) -> None:
        super().__init__(array, choice)
        self.ends = ends

    def rows(self, start: int, stop: int) -> Any:
        """Return the values repeated for the rows from `start` to `stop`."""
        return self.array.take(self.index(start, stop))

    def index(self, start: int, stop: int) -> Any:
        """Return the index of the value in each row."""
        first = bisect_right(self.ends, start)
        indices: list[int] = []
        while len(indices) < stop - start:
            indices += [first] * (min(self.ends[first], stop) - max(self.ends[first - 1] if first else 0, start))
            first += 1
        return pa.array(indices, pa.int64())

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


def conform_array(array: Any, type_: Any) -> Any:
    """Return an array converted to a type with more fields, which are null."""
    if array.type.equals(type_):
        return array
    validity = array.buffers()[0]
    if pa.types.is_list(type_):
        values = conform_array(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), array.buffers()[:2], children=[values])
    children = [
        conform_array(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else pa.nulls(len(array), field.type)
        for field in type_
    ]
    return pa.Array.from_buffers(type_, len(array), [validity], children=children)
