"""`spark.readStream.format("kwire")`: streams growing captures, a thin layer over `kwire.arrow.growing_files`.

One process determines how far files can be read while the query runs; others read. Offsets contain the whole state for
a restart. Needs PySpark 4.2, which passes the start of a batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from ..arrow.growing_files import Growing, Offset, offset_of, places_of
from ..arrow.options import Options
from .source import Part, reading_of


class KwireStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads growing captures.

    Args:
        options: the options of the read.
        schema: the columns, as a `pyarrow.Schema`.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, schema: Any, paths: Sequence[str]) -> None:
        self.options: Options = options
        self.columns: Any = schema
        self._growing = Growing(paths, options, reading_of(options, schema).apis)
        self._sizes: dict[str, int] | None = None

    def __reduce__(self) -> Any:
        """Pickle the arguments only, not the state of files."""
        return type(self), (self.options, self.columns, self._growing.paths)

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new query: nothing was read."""
        self._growing.files()  # raises now if there is no such path
        return offset_of({})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of a batch from the options; Spark accepts only one of two limits."""
        files, count = self.options.max_files_per_trigger, self.options.max_bytes_per_trigger
        if not files and not count:
            return ReadAllAvailable()
        return ReadMaxBytes(count) if count else ReadMaxFiles(files)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: data that arrives later is not read."""
        self._sizes = {path: file.size for path, file in self._growing.files().items()}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return the end offset of a batch that starts at an offset."""
        is_limited = not isinstance(limit, ReadAllAvailable)
        places = self._growing.latest(places_of(start), time.time(), self._sizes, is_limited=is_limited)
        return offset_of(places)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Distribute the data between two offsets to tasks; repeated calls give the same rows."""
        return [Part(units) for units in self._growing.units(places_of(start), places_of(end))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches."""
        if isinstance(partition, Part):
            yield from reading_of(self.options, self.columns).read(partition.units)
