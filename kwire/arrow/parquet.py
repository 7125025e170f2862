"""Captures as one Parquet file, written batch by batch; polars, DuckDB and Spark read it.

Knows where to write and what to count; does not interpret the batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import read, schema
from .errors import NOT_CORRUPT

NAME = "frames.parquet"


class Written(NamedTuple):
    """The result: the file, the number of frames, and how many of them could not be decoded."""

    file: Path
    frames: int
    corrupt: int


def write(paths: str | Sequence[str], folder: str | Path, **options: Any) -> Written:
    """Write captures to the file `frames.parquet` in a folder. The file appears only when it is complete.

    Args:
        paths: files, folders and globs.
        folder: created if it does not exist.
        options: those of `kwire.arrow.read`.

    Raises:
        FileExistsError: the file already exists.
        As `kwire.arrow.read`.
    """
    file = Path(folder) / NAME
    if file.exists():
        raise FileExistsError(17, "it is there already", str(file))
    frames = corrupt = 0
    batches = read(paths, **options)  # raises before anything is written
    columns = schema(**options)
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".begun")
    try:
        with pq.ParquetWriter(begun, columns) as writer:
            for batch in batches:
                writer.write_batch(batch)
                frames += batch.num_rows
                corrupt += _corrupt(batch)
        begun.rename(file)
    finally:
        begun.unlink(missing_ok=True)
    return Written(file, frames, corrupt)


def _corrupt(batch: Any) -> int:
    """Count the frames with errors."""
    codes = pc.struct_field(batch.column("_error"), "code")
    counted = {row["values"]: row["counts"] for row in pc.value_counts(codes).to_pylist()}
    return sum(count for code, count in counted.items() if code is not None and code not in NOT_CORRUPT)
