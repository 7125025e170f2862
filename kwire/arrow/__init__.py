"""Reads captures as Arrow record batches, one row per frame, for pyarrow, polars or DuckDB on one machine.

    >>> from kwire import arrow
    >>> batch = next(arrow.read("fixtures/dumps/kafka-3.9-zk.bin", apis="LeaderAndIsrRequest", body="struct"))
    >>> batch.schema.names[:4], batch["message"][0]["live_leaders"][0]["port"].as_py()
    (['path', 'offset', 'length', 'timestamp'], 19011)

Spark's data source uses the same modules. pyarrow and numpy (the extra `arrow`) are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ..codecs import need_libraries

if TYPE_CHECKING:
    from .read_options_and_splits import ReadOptions

__all__ = ["consumer_groups", "history", "read", "schema", "write_parquet"]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
PARQUET = "frames.parquet"


def read(paths: Paths, **options: Unpack[ReadOptions]) -> Any:
    """Read captures.

    Args:
        paths: one or several files, folders and globs, as text or `pathlib.Path`.
        options: the options of Spark's data source, also in snake case: `max_frame_bytes` for `maxFrameBytes`. See
            `kwire.arrow.read_options_and_splits.Options`.

    Returns:
        A `pyarrow.RecordBatchReader`: iterate over its batches, call `read_all` for a table, or pass it to polars,
        DuckDB or pandas. Rows of one connection, or of one file of raw frames, are in order. Reading is lazy; without
        matching frames the reader has the schema and no rows.

    Raises:
        MissingExtra: pyarrow or numpy is not installed.
        BadOption: an option is unknown or has an invalid value, or a file does not exist.
        MalformedFrame: a frame is malformed, in the mode FAILFAST.
    """
    return _read(paths, options)


def _read(paths: Paths, options: Mapping[str, Any]) -> Any:
    need_libraries()
    from pyarrow import RecordBatchReader

    from .read_options_and_splits import Unit, find_files

    reading = _reading(options)
    files = find_files(_names(paths), reading.options)
    batches = reading.read(Unit(file.path, weight=file.size) for file in files if file.size)
    return RecordBatchReader.from_batches(reading.schema, batches)


def _names(paths: Paths) -> list[str]:
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def schema(**options: Unpack[ReadOptions]) -> Any:
    """Return the `pyarrow.Schema` of `read` with these options; raise the same exceptions."""
    need_libraries()
    return _reading(options).schema


def _reading(options: Mapping[str, Any]) -> Any:
    from .batch_reader import Reading
    from .read_options_and_splits import Options

    return Reading(Options.parse({name.replace("_", ""): value for name, value in options.items()}))


def history(paths: Paths, **options: Unpack[ReadOptions]) -> dict[str, Any]:
    """Return the history of a cluster from captures, as computed by `kwire.cluster`.

    Args:
        paths: files, folders and globs, all from one cluster: captures, frames, the metadata log, and znodes as JSON.
        options: the options of `read` that select files and specs, but not columns.

    Returns:
        A dict with a `pyarrow.Table` for each name: `partition_states`, `brokers`, `offline_replicas`,
        `rack_violations`, `isr_shrinks`, `reassignments`, `metrics` (KIP-112), `conflicts`; and `sources`, the messages
        from which the others are derived. It is empty if no message concerned the cluster; its column `note` lists
        what the history cannot contain, for example because no controller was captured.

    Raises:
        MixedClusters: the files contain several cluster ids.
        Others as `read`.

    >>> tables = history("fixtures/dumps/kafka-3.9-zk.pcap")
    >>> sorted(set(zip(*tables["brokers"].select(["broker", "rack"]).to_pydict().values())))
    [(1, '/dc1/r1'), (2, '/dc1/r2'), (3, '/dc2/r1')]
    """
    need_libraries()
    from .cluster_tables import catalog_of, reading_options, tables_of

    return tables_of(_read(paths, reading_options(options)), catalog_of(options))


def consumer_groups(paths: Paths, **options: Unpack[ReadOptions]) -> dict[str, Any]:
    """Return the consumer groups of a cluster from captures, as computed by `kwire.cluster.consumer_groups.tracker`.

    Args:
        paths: files, folders and globs, all from one cluster.
        options: the options of `read` that select files and specs, but not columns.

    Returns:
        A dict with a `pyarrow.Table` for `members` (the partitions of each member in each period, racks, lag, reads
        across racks) and for `partitions` (owners and committed offsets at the end).

    Raises: see `read`.

    >>> members = consumer_groups("fixtures/dumps/kafka-3.9-zk.pcap")["members"]
    >>> [row for row in members.select(["group", "lag"]).to_pylist() if row["group"] == "kcat-group"]
    [{'group': 'kcat-group', 'lag': 66}]
    """
    need_libraries()
    from .cluster_tables import GROUP_OPTIONS, catalog_of, groups_of

    return groups_of(_read(paths, {**options, **GROUP_OPTIONS}), catalog_of(options))


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

    from .frame_rows import NOT_CORRUPT

    codes = pc.struct_field(batch.column("_error"), "code")
    counted = {row["values"]: row["counts"] for row in pc.value_counts(codes).to_pylist()}
    return sum(count for code, count in counted.items() if code is not None and code not in NOT_CORRUPT)
