"""Reads captures as Arrow record batches on one machine: frames, and the tables of clusters and of groups.

pyarrow and numpy (the extra `arrow`) are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..codecs.columns.read_columns import need_libraries

if TYPE_CHECKING:
    from .read_keywords import ReadOptions

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(paths: Paths, **options: Unpack[ReadOptions]) -> Any:
    """Read captures.

    Args:
        paths: one or several files, folders and globs, as text or `pathlib.Path`.
        options: the options of Spark's data source, also in snake case: `max_frame_bytes` for `maxFrameBytes`. See
            `kwire.arrow.read_options.Options`.

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

    from .find_files import find_files
    from .input_splits import InputSplit

    reading = build_reading(options)
    files = find_files(name_paths(paths), reading.options)
    batches = reading.read(InputSplit(file.path, weight=file.size) for file in files if file.size)
    return RecordBatchReader.from_batches(reading.schema, batches)


def name_paths(paths: Paths) -> list[str]:
    """Return paths as text."""
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def schema(**options: Unpack[ReadOptions]) -> Any:
    """Return the `pyarrow.Schema` of `read` with these options; raise the same exceptions."""
    need_libraries()
    return build_reading(options).schema


def build_reading(options: Mapping[str, Any]) -> Any:
    """Return the `BatchReader` of options in snake case or with Spark's names."""
    from .batch_reader import BatchReader
    from .read_options import Options

    return BatchReader(Options.parse({name.replace("_", ""): value for name, value in options.items()}))


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
    from .clusters.history_tables import reading_options, tables_of
    from .clusters.message_rows import catalog_of

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
    from .clusters.consumer_group_tables import GROUP_OPTIONS, groups_of
    from .clusters.message_rows import catalog_of

    return groups_of(_read(paths, {**options, **GROUP_OPTIONS}), catalog_of(options))
