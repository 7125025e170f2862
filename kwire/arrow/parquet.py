"""Writes the frames of captures to one Parquet file. Without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from .read_captures import Paths, read, schema

if TYPE_CHECKING:
    from .read_options import ReadOptions

PARQUET = "frames.parquet"


class Written(NamedTuple):
    """The file, the number of frames, and how many of them could not be decoded."""

    file: Path
    frames: int
    corrupt: int


def write_parquet(paths: Paths, folder: str | Path, **options: Unpack[ReadOptions]) -> Written:
    """Write captures to the file `frames.parquet` in a folder. The file appears once it is complete.

    Args:
        paths: files, folders and globs.
        folder: the folder; it is created if necessary.
        options: the options of `kwire.arrow.read`.

    Raises:
        FileExistsError: the file already exists.
        Others as `kwire.arrow.read`.
    """
    from pyarrow.parquet import ParquetWriter

    file = Path(folder) / PARQUET
    if file.exists():
        raise FileExistsError(17, "it is there already", str(file))
    frames = corrupt = 0
    batches = read(paths, **options)  # raises errors before anything is written
    columns = schema(**options)
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".begun")
    try:
        with ParquetWriter(begun, columns) as writer:
            for batch in batches:
                writer.write_batch(batch)
                frames += batch.num_rows
                corrupt += _corrupt(batch)
        begun.rename(file)
    finally:
        begun.unlink(missing_ok=True)
    return Written(file, frames, corrupt)


def _corrupt(batch: Any) -> int:
    """Return the number of frames with errors in a batch."""
    import pyarrow.compute as pc

    from .rows.row_faults import NOT_CORRUPT

    codes = pc.struct_field(batch.column("_error"), "code")
    counted = {row["values"]: row["counts"] for row in pc.value_counts(codes).to_pylist()}
    return sum(count for code, count in counted.items() if code is not None and code not in NOT_CORRUPT)
