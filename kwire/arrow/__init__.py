"""Captures as Arrow record batches, one row a frame, for one machine: pyarrow, polars and DuckDB read them.

    >>> from kwire import arrow
    >>> batch = next(arrow.read("fixtures/dumps/kafka-3.9-zk.bin", apis="LeaderAndIsrRequest", body="struct"))
    >>> batch.schema.names[:4], batch["message"][0]["live_leaders"][0]["port"].as_py()
    (['path', 'offset', 'length', 'timestamp'], 19011)

Spark's data source is made of the same parts. Loads pyarrow and numpy (the extra `arrow`) when called.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..codecs.columns import need_libraries

__all__ = ["history", "read", "schema"]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(paths: Paths, **options: Any) -> Any:
    """Read captures.

    Args:
        paths: files, folders and globs, as text or as `pathlib.Path`; one or several.
        options: as of Spark's data source, by the same names or as Python writes them: `max_frame_bytes` is
            `maxFrameBytes`. `kwire.arrow.options.Options` has all of them.

    Returns:
        A `pyarrow.RecordBatchReader`: iterate over its batches, call `read_all` for a table, or give it to polars,
        DuckDB or pandas. The rows of a connection or of a file of raw frames are in their order. Nothing is read
        before it is asked for; where nothing matches, it has the schema and no rows.

    Raises:
        MissingExtra: pyarrow or numpy are not installed.
        BadOption: an option is not known or does not take such a value, or there is no such file.
        MalformedFrame: in the mode FAILFAST.
    """
    need_libraries()
    from pyarrow import RecordBatchReader

    from .files import find_files
    from .input_splits import Unit

    reading = _reading(options)
    names = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    files = find_files(names, reading.options)
    batches = reading.read(Unit(file.path, weight=file.size) for file in files if file.size)
    return RecordBatchReader.from_batches(reading.schema, batches)


def schema(**options: Any) -> Any:
    """Return the `pyarrow.Schema` of what `read` gives with such options; raises as it does."""
    need_libraries()
    return _reading(options).schema


def _reading(options: dict[str, Any]) -> Any:
    from .options import Options
    from .reader import Reading

    return Reading(Options.parse({name.replace("_", ""): value for name, value in options.items()}))


def history(paths: Paths, **options: Any) -> dict[str, Any]:
    """Return what became of the cluster that captures tell of, as `kwire.cluster` writes it down.

    Args:
        paths: files, folders and globs, all of one cluster.
        options: as of `read`, which files and how; not which columns.

    Returns:
        A `pyarrow.Table` of each name: `partition_states`, `brokers`, `offline_replicas`, `rack_violations`,
        `isr_shrinks`, `reassignments`, `metrics` (KIP-112), `conflicts`; and `sources`, what the others are made of:
        without rows nothing told of a cluster, and its column `note` says what the history cannot know, such as that
        no controller was captured.

    Raises:
        MixedClusters: the files name several cluster ids.
        As `read` otherwise.

    >>> tables = history("fixtures/dumps/kafka-3.9-zk.pcap")
    >>> sorted(set(zip(*tables["brokers"].select(["broker", "rack"]).to_pydict().values())))
    [(1, '/dc1/r1'), (2, '/dc1/r2'), (3, '/dc2/r1')]
    """
    need_libraries()
    from .history_tables import catalog_of, reading_options, tables_of

    return tables_of(read(paths, **reading_options(options)), catalog_of(options))
