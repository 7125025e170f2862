"""Scans captures in several processes: each decodes byte ranges, and the rows come in the order of the files.

pyarrow and numpy (the extra `arrow`) are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from ..codecs.columns.read_columns import need_libraries
from .read_captures import Paths, build_reading, name_paths
from .scan_fragments import FRAGMENT, ScanFragment

if TYPE_CHECKING:
    from polars import LazyFrame

    from .read_keywords import ReadOptions

WORTH_WORKERS = 128 << 20  # bytes of files; a worker takes half a second of processor time to start


def scan(
    paths: Paths,
    *,
    filter: Any = None,
    threads: int | None = None,
    **options: Unpack[ReadOptions],
) -> CaptureScan:
    """Plan a scan of captures; nothing is read yet, except the list of files.

    Args:
        paths: one or several files, folders and globs.
        filter: a `pyarrow.compute.Expression` about columns of `read`, also about those that are not selected. `apis`
            and `direction` are cheaper, since what they exclude is not decoded.
        threads: how many processes decode. By default one, and for files of 128 MB and more together as many as there
            are processors. Large pcap and pcapng files are divided; other files are read whole, each by one process.
        options: the options of `read`: `columns` selects columns, and with `body="none"` no body is decoded.

    Raises: see `read`.

    >>> from pyarrow.compute import field
    >>> rows = scan("fixtures/dumps/kafka-3.9-zk.pcap", columns=["api_name"], filter=field("direction") == "request")
    >>> rows.count_rows(), rows.schema.names
    (57, ['api_name', '_corrupt_record', '_error'])
    """
    need_libraries()
    from .find_files import find_files
    from .ranges.range_tasks import RowChoice

    reading, chosen = build_reading(options), RowChoice()
    if filter is not None:
        kept = tuple(reading.schema.names)
        options["columns"] = [*kept, *(name for name in _header_columns() if name not in kept)]
        reading, chosen = build_reading(options), RowChoice(filter, kept)
    files = find_files(name_paths(paths), reading.options)
    if threads is None:
        is_large = sum(file.size for file in files) >= WORTH_WORKERS
        threads = (os.cpu_count() or 1) if is_large else 1
    return CaptureScan(files, reading, chosen, threads)


def _header_columns() -> list[str]:
    from .rows.row_schema import CORRUPT, MESSAGE, METADATA, TYPES

    return [name for name in TYPES if name not in (MESSAGE, METADATA, CORRUPT)]


class CaptureScan:
    """A planned scan, which can be read several times. polars, DuckDB and pyarrow take it as a stream of Arrow.

    Attributes:
        schema: the `pyarrow.Schema` of the rows.
        threads: how many processes decode.
    """

    def __init__(self, files: Sequence[Any], reading: Any, chosen: Any, threads: int) -> None:
        if threads < 1:
            raise ValueError(f"threads={threads}: at least one is needed")
        self._files, self._reading, self._chosen = files, reading, chosen
        self.threads: int = threads
        self.schema: Any = chosen.schema_of(reading.schema)

    def __iter__(self) -> Iterator[Any]:
        """Yield `pyarrow.RecordBatch`es. Ending the iteration early ends the processes."""
        from .input_splits import InputSplit

        if self.threads > 1:
            return self._read_in_workers()
        splits = (InputSplit(file.path, weight=file.size) for file in self._files if file.size)
        return self._chosen.batches(self._new_reading().read(splits))  # type: ignore[no-any-return]

    def _new_reading(self) -> Any:
        from .batch_reader import BatchReader

        return BatchReader(self._reading.options)

    def _read_in_workers(self) -> Iterator[Any]:
        from pyarrow import ipc, memory_map

        from ..runtime.worker_pool import WorkerPool
        from .ranges.range_tasks import plan_tasks

        with WorkerPool(self.threads) as workers:
            for result in workers.run(plan_tasks(self._files, self._new_reading(), self._chosen, self.threads)):
                with memory_map(str(result.path)) as rows:
                    yield from ipc.open_stream(rows)
                result.path.unlink()

    def fragments(self, size: int = FRAGMENT) -> Iterator[ScanFragment]:
        """Divide the scan into parts that are read alone, such as by Ray or Dask; together they have its rows.

        Finding them reads all packets once, without decoding bodies.

        Args:
            size: the size of a range of a large pcap or pcapng file in bytes; other files are not divided.

        >>> fragments = list(scan("fixtures/dumps/kafka-3.9-zk.pcap", body="none").fragments(20_000))
        >>> [fragment.read().num_rows for fragment in fragments]
        [65, 48, 1]
        """
        from .ranges.range_tasks import divide_files

        reading = self._new_reading()
        for part in divide_files(self._files, reading, size):
            yield ScanFragment(reading.options, self._chosen, part)

    if not TYPE_CHECKING:  # for type checkers, it would have every attribute

        def __getattr__(self, name: str) -> Any:
            readers = "lazy() returns a polars.LazyFrame, reader() a pyarrow.RecordBatchReader"
            raise AttributeError(f"a scan has no {name!r}; {readers}", name=name, obj=self)

    def lazy(self) -> LazyFrame:
        """Return a `polars.LazyFrame`, which reads only the columns that a query uses: without `message`, no body.

        Raises:
            MissingExtra: polars is not installed.
        """
        from .polars_source import lazy_frame

        return lazy_frame(self)

    def select(self, columns: Sequence[str]) -> CaptureScan:
        """Return the scan with these columns only, and those of faults; what other columns need is not decoded."""
        if self._chosen.columns:
            chosen = self._chosen._replace(columns=tuple(columns))
            return CaptureScan(self._files, self._reading, chosen, self.threads)
        reading = type(self._reading)(replace(self._reading.options, columns=tuple(columns)))
        return CaptureScan(self._files, reading, self._chosen, self.threads)

    def reader(self) -> Any:
        """Return a `pyarrow.RecordBatchReader`."""
        from pyarrow import RecordBatchReader

        return RecordBatchReader.from_batches(self.schema, iter(self))

    def read_all(self) -> Any:
        """Return all rows as a `pyarrow.Table`."""
        return self.reader().read_all()

    def count_rows(self) -> int:
        """Return the number of rows."""
        return sum(batch.num_rows for batch in self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows by Arrow's PyCapsule interface."""
        return self.reader().__arrow_c_stream__(requested_schema)
