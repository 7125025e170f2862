"""Writes the frames of captures to one Parquet file, and their records to another. Without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from .read_captures import Paths
from .read_records import records
from .scan_captures import scan

if TYPE_CHECKING:
    from .read_keywords import ReadOptions

PARQUET, RECORDS = "frames.parquet", "records.parquet"
GROUP_ROWS, GROUP_BYTES = 1 << 16, 64 << 20  # of a row group: rows, and bytes of their frames


class Written(NamedTuple):
    """The file, the number of its rows, and how many of them could not be decoded."""

    file: Path
    frames: int
    corrupt: int


def write_parquet(paths: Paths, folder: str | Path, *, threads: int = 1, **options: Unpack[ReadOptions]) -> Written:
    """Write captures to the file `frames.parquet` in a folder. The file appears once it is complete.

    Args:
        paths: files, folders and globs.
        folder: the folder; it is created if necessary.
        threads: how many processes decode, as for `scan`; the file is the same.
        options: the options of `kwire.arrow.read`.

    Raises:
        FileExistsError: the file already exists.
        Others as `kwire.arrow.read`.
    """
    file = _unused(Path(folder) / PARQUET)
    frames = corrupt = 0
    batches = scan(paths, threads=threads, **options)  # raises errors before anything is written
    with _begun(file) as begun, _writer(begun, batches.schema) as writer:
        for group in _row_groups(batches):
            writer.write_table(group, row_group_size=group.num_rows)
            frames += group.num_rows
            corrupt += _corrupt(group)
    return Written(file, frames, corrupt)


def write_records(paths: Paths, folder: str | Path, *, registry: str = "", **options: Unpack[ReadOptions]) -> Written:
    """Write the records of captures and logs to the file `records.parquet` in a folder, as `write_parquet` does.

    Args:
        paths, folder: as for `write_parquet`.
        registry, options: those of `kwire.arrow.records`.

    Returns:
        The file, the number of rows, and how many of them are bytes that could not be read.

    Raises:
        FileExistsError: the file already exists.
        Others as `kwire.arrow.records`.
    """
    file = _unused(Path(folder) / RECORDS)
    rows = corrupt = 0
    batches = records(paths, registry=registry, **options)
    with _begun(file) as begun, _writer(begun, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            corrupt += batch.num_rows - batch.column("_error").null_count
    return Written(file, rows, corrupt)


def _unused(file: Path) -> Path:
    if file.exists():
        raise FileExistsError(17, "it is there already", str(file))
    return file


@contextmanager
def _begun(file: Path) -> Iterator[Path]:
    """Yield the path under which a file is written; it gets its name once it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".begun")
    try:
        yield begun
        begun.rename(file)
    finally:
        begun.unlink(missing_ok=True)


def _writer(file: Path, schema: Any) -> Any:
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(file, schema)


def _row_groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield tables that end at the same rows, however the rows are divided into batches."""
    import numpy as np
    from pyarrow import Table

    parts, rows, size = list[Any](), 0, 0
    for batch in batches:
        has_lengths = "length" in batch.schema.names
        lengths = batch.column("length").to_numpy(zero_copy_only=False) if has_lengths else np.zeros(batch.num_rows)
        sizes, start = np.concatenate([[0], np.cumsum(lengths)]), 0
        while start < batch.num_rows:
            full = int(np.searchsorted(sizes, sizes[start] + GROUP_BYTES - size))  # rows up to these bytes
            stop = min(batch.num_rows, start + GROUP_ROWS - rows, max(full, start + 1))
            parts.append(batch.slice(start, stop - start))
            rows += stop - start
            size += int(sizes[stop] - sizes[start])
            start = stop
            if rows >= GROUP_ROWS or size >= GROUP_BYTES:
                yield Table.from_batches(parts).combine_chunks()
                parts, rows, size = [], 0, 0
    if parts:
        yield Table.from_batches(parts).combine_chunks()


def _corrupt(table: Any) -> int:
    """Return the number of frames with errors in a table."""
    import pyarrow.compute as pc

    from .rows.row_faults import NOT_CORRUPT

    codes = pc.struct_field(table.column("_error"), "code")
    counted = {row["values"]: row["counts"] for row in pc.value_counts(codes).to_pylist()}
    return sum(count for code, count in counted.items() if code is not None and code not in NOT_CORRUPT)
