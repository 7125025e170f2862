"""Builds Arrow record batches of bounded size from columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from .column import Column
from .column_plan import ColumnPlan


def build_batches(plan: ColumnPlan, rows: int, columns: Sequence[Column], max_bytes: int) -> Iterator[Any]:
    """Build record batches from columns.

    Args:
        plan: the plan with the schema of the batches.
        rows: the number of rows.
        columns: the columns of the plan.
        max_bytes: the maximum size of repeated values in a batch, in bytes; a single row may be larger.

    Yields:
        `pyarrow.RecordBatch`es.
    """
    start = 0
    while start < rows:
        stop = _find_stop(columns, start, rows, max_bytes)
        arrays = [column.rows(start, stop) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
        start = stop


def _find_stop(columns: Sequence[Column], start: int, rows: int, max_bytes: int) -> int:
    """Return the end of a batch that starts at a given row."""
    if sum(column.size(start, rows) for column in columns) <= max_bytes:
        return rows
    low = start + 1
    high = rows
    while low < high:
        middle = (low + high + 1) // 2
        if sum(column.size(start, middle) for column in columns) <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def halve_batch(batch: Any, max_bytes: int) -> Iterator[Any]:
    """Divide a batch in halves until each part has at most `max_bytes` bytes, or one row."""
    if batch.num_rows <= 1 or batch.get_total_buffer_size() <= max_bytes or batch.nbytes <= max_bytes:
        yield batch
        return
    half = batch.num_rows // 2
    yield from halve_batch(batch.slice(0, half), max_bytes)
    yield from halve_batch(batch.slice(half), max_bytes)
