"""`spark.read.format("kwire")`: the data source, over `kwire.arrow`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from ..arrow.batch_reader import BatchReader
from ..arrow.input_splits import InputSplit
from ..arrow.read_options import BadOption, Options
from ..errors import KwireError
from ..schema.catalog import catalog_for
from .column_types import schema_to_arrow, to_spark
from .folder_columns import folder_columns, folder_values
from .passed_options import OF_TABLE, options_of, paths_of, user_options
from .worker_readers import reading_of

try:
    from pyspark.sql.datasource import EqualTo, Filter, In
except ImportError:  # before PySpark 4.1, which calls no `pushFilters`
    EqualTo = Filter = In = type(None)

# When such a table is read, Spark no longer has its options; the schema in Spark's catalog has them as metadata.
KEPT = "kwire.options"


@contextmanager
def in_one_line() -> Iterator[None]:
    """Make Spark's error contain kwire's error without a traceback of this package: 11 lines for an unknown option.

    If this variable is set, the PySpark process that runs this code prints no traceback, and ends after an error.
    """
    try:
        yield
    except KwireError:
        main = getattr(sys.modules["__main__"], "__spec__", None)
        if main is not None and main.name.startswith("pyspark."):
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


class KwireSource(DataSource):  # type: ignore[misc]
    """Data source of captures, one row per frame. For its options see `kwire.arrow.read_options.Options`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kwire"

    def schema(self) -> Any:
        """Return the columns for the options, and string columns for partition folders such as `dt=2026-11-01`."""
        with in_one_line():
            return self._schema()

    def _schema(self) -> Any:
        options, paths = options_of(self.options), paths_of(self.options)
        columns = to_spark(BatchReader(options).schema)
        for name in folder_columns(paths, options):
            columns.add(name, spark.StringType())
        if OF_TABLE in self.options:
            columns.fields[0].metadata = {KEPT: json.dumps(user_options(self.options))}
        return columns

    def reader(self, schema: Any) -> KwireReader:
        """Return the reader for these columns."""
        given = self.options
        if not given and schema.fields and KEPT in schema.fields[0].metadata:
            given = json.loads(schema.fields[0].metadata[KEPT])
        with in_one_line():
            options = options_of(given)
            kind = PushingReader if options.pushdown else KwireReader
            return kind(options, schema_to_arrow(schema), paths_of(given))

    def streamReader(self, schema: Any) -> Any:  # noqa: N802
        """Return a reader that refuses to read."""
        return NoStream()


class NoStream(DataSourceStreamReader):  # type: ignore[misc]
    """Refuses to read a stream, of which a source cannot keep the state of connections. Spark hides what `streamReader`
    raises.
    """

    def _refuse(self, *_: Any) -> Any:
        with in_one_line():
            hint = "kwire.spark.stream_captures(spark, PATH) reads captures as they arrive and grow"
            raise BadOption("format", "kwire", "it has no streams", hint)

    initialOffset = latestOffset = partitions = read = _refuse  # noqa: N815


class SplitPartition(InputPartition):  # type: ignore[misc]
    """The input of one task."""

    def __init__(self, units: Sequence[InputSplit]) -> None:
        super().__init__(None)
        self.units = units


class KwireReader(DataSourceReader):  # type: ignore[misc]
    """Reads captures.

    Args:
        options: the options of the read.
        schema: the columns, as a `pyarrow.Schema`.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, schema: Any, paths: Sequence[str]) -> None:
        self.options: Options = options
        self.schema: Any = schema
        self.paths: Sequence[str] = paths
        folders = {name for name in folder_columns(paths, options) if name in schema.names}
        self.folders: tuple[str, ...] = tuple(name for name in schema.names if name in folders)
        self.columns: Any = pa.schema([field for field in schema if field.name not in folders])
        reading_of(options, self.columns)  # raises an error now if options contradict each other

    def partitions(self) -> list[InputPartition]:
        """Distribute the files to tasks; files that are added later are not read."""
        with in_one_line():
            return [SplitPartition(units) for units in reading_of(self.options, self.columns).divide(self.paths)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Without partitions, Spark passes an object of another class."""
        if not isinstance(partition, SplitPartition):
            return
        reading = reading_of(self.options, self.columns)
        with in_one_line():
            yield from self._batches(reading, partition.units)

    def _batches(self, reading: BatchReader, units: Sequence[InputSplit]) -> Iterator[Any]:
        if not self.folders:
            yield from reading.read(units)
            return
        for unit in units:
            values = folder_values(unit.path)
            for batch in reading.read([unit]):
                yield self._with_folders(batch, values)

    def _with_folders(self, batch: Any, values: Mapping[str, str | None]) -> Any:
        """Return a batch with the columns for the partition folders of its file."""
        columns = [
            pa.repeat(pa.scalar(values.get(field.name), field.type), len(batch))
            if field.name in self.folders
            else batch.column(field.name)
            for field in self.schema
        ]
        return pa.record_batch(columns, schema=self.schema)


class PushingReader(KwireReader):
    """A reader that skips frames whose api or direction a query excludes.

    This is a separate class, because Spark rejects readers with `pushFilters` while its setting is off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Use the filters to read less; Spark still has to apply all of them."""
        for condition in filters:
            self.options: Options = narrow_options(self.options, condition)
        return filters


def narrow_options(options: Options, condition: Filter) -> Options:
    """Return options that exclude only what a filter excludes; frames without an api are included, as with `apis`."""
    if not isinstance(condition, EqualTo | In):
        return options
    values = (condition.value,) if isinstance(condition, EqualTo) else tuple(condition.value)
    column = condition.attribute
    if column == ("api_name",) and not options.apis and values:
        known = catalog_for(options.profile or None, options.release or None)
        if all(f"{value}Request" in known and f"{value}Response" in known for value in values):
            return replace(options, apis=values)
    elif column == ("direction",) and options.direction == "auto" and values in (("request",), ("response",)):
        return replace(options, direction=values[0])
    return options
