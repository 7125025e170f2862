"""`spark.read.format("kwire")` and `spark.readStream.format("kwire")`: the data source, over `kwire.arrow`."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    In,
    InputPartition,
)

from ..arrow.errors import BadOption
from ..arrow.input_splits import Unit
from ..arrow.options import Options
from ..arrow.reader import Reading
from ..errors import MissingExtra
from ..spec.catalog import catalog_for

_PAIRS: tuple[tuple[Any, Any], ...] = (
    (pa.bool_(), spark.BooleanType),
    (pa.int8(), spark.ByteType),
    (pa.int16(), spark.ShortType),
    (pa.int32(), spark.IntegerType),
    (pa.int64(), spark.LongType),
    (pa.float64(), spark.DoubleType),
    (pa.string(), spark.StringType),
    (pa.binary(), spark.BinaryType),
    (pa.timestamp("us", "UTC"), spark.TimestampType),
)
_TO_SPARK = {arrow: kind() for arrow, kind in _PAIRS}
_TO_ARROW = {kind: arrow for arrow, kind in _PAIRS}


def to_spark(type_: Any) -> Any:
    """Return the type of Spark of an Arrow type, of a `pyarrow.Schema` too; every field is nullable.

    >>> to_spark(pa.schema([("isr", pa.list_(pa.int32()))])).simpleString()
    'struct<isr:array<int>>'
    """
    if isinstance(type_, pa.Schema) or pa.types.is_struct(type_):
        return spark.StructType([spark.StructField(field.name, to_spark(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return spark.ArrayType(to_spark(type_.value_type))
    return _TO_SPARK[type_]


def to_arrow(type_: Any, name: str = "") -> Any:
    """Return the Arrow type of a type of Spark; BadOption if no column of kwire's has it.

    >>> to_arrow(spark.ArrayType(spark.ShortType()))
    ListType(list<item: int16>)
    """
    if isinstance(type_, spark.StructType):
        return pa.struct([(field.name, _checked(field.nullable, field.dataType, field.name)) for field in type_.fields])
    if isinstance(type_, spark.ArrayType):
        return pa.list_(_checked(type_.containsNull, type_.elementType, name))
    found = _TO_ARROW.get(type(type_))
    if found is None:
        raise BadOption("schema", None, f"no column of kwire's is {type_.simpleString()}, as {name} is")
    return found


def schema_to_arrow(type_: Any) -> Any:
    """Return the `pyarrow.Schema` of a schema of Spark; raises as `to_arrow`."""
    return pa.schema(list(to_arrow(type_)))


def _checked(nullable: bool, type_: Any, name: str) -> Any:
    if not nullable:
        raise BadOption("schema", None, f"{name} may be null in any row; leave NOT NULL out")
    return to_arrow(type_, name)


PATHS = "path", "paths"  # of one path Spark makes the one, of several the other, as JSON


class KwireSource(DataSource):  # type: ignore[misc]
    """Captures as rows, one a frame. What options there are, `kwire.arrow.options.Options` says."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kwire"

    def schema(self) -> Any:
        """Return the columns that the options ask for."""
        return to_spark(Reading(options_of(self.options)).schema)

    def reader(self, schema: Any) -> KwireReader:
        """Return what reads these columns."""
        options = options_of(self.options)
        kind = PushingReader if options.pushdown else KwireReader
        return kind(options, schema_to_arrow(schema), paths_of(self.options))

    def streamReader(self, schema: Any) -> Any:  # noqa: N802
        """Return what reads these columns as files grow."""
        try:
            from .streaming import KwireStreamReader
        except ImportError:
            raise MissingExtra("readStream", "pyspark 4.2", "spark") from None
        return KwireStreamReader(options_of(self.options), schema_to_arrow(schema), paths_of(self.options))


class Part(InputPartition):  # type: ignore[misc]
    """What one task reads."""

    def __init__(self, units: Sequence[Unit]) -> None:
        super().__init__(None)
        self.units = units


class KwireReader(DataSourceReader):  # type: ignore[misc]
    """Reads captures.

    Args:
        options: of the reading.
        schema: the columns, as a `pyarrow.Schema`.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, schema: Any, paths: Sequence[str]) -> None:
        self.options: Options = options
        self.columns: Any = schema
        self.paths: Sequence[str] = paths
        reading_of(options, schema)  # says now what does not go together

    def partitions(self) -> list[InputPartition]:
        """Divide the files among tasks; those that come later are not read."""
        return [Part(units) for units in reading_of(self.options, self.columns).divide(self.paths)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Where there is nothing to divide, Spark asks for one part of its own."""
        if isinstance(partition, Part):
            yield from reading_of(self.options, self.columns).read(partition.units)


class PushingReader(KwireReader):
    """Reads captures, and decodes no frames of apis and directions that a query leaves out. A class of its own: while
    its setting is off, Spark reads nothing from readers that have this method."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Take note of filters; all are still to be applied."""
        for one in filters:
            self.options: Options = narrowed(self.options, one)
        return filters


def narrowed(options: Options, one: Filter) -> Options:
    """Return options that leave out no more than a filter does; what has no api passes, as it does by `apis`."""
    if not isinstance(one, EqualTo | In):
        return options
    values = (one.value,) if isinstance(one, EqualTo) else tuple(one.value)
    if one.attribute == ("api_name",) and not options.apis and values:
        known = catalog_for(options.profile or None, options.release or None)
        if all(f"{value}Request" in known and f"{value}Response" in known for value in values):
            return replace(options, apis=values)
    elif one.attribute == ("direction",) and options.direction == "auto" and values in (("request",), ("response",)):
        return replace(options, direction=values[0])
    return options


@lru_cache(maxsize=4)
def reading_of(options: Options, schema: Any) -> Reading:
    """Return a reading, one for all tasks of a worker: to make one, the trees of all versions are grown.

    A worker collects its garbage behind every task; what is there by now stays, and needs no looking at.
    """
    default = Reading(options)
    reading = default if default.schema.equals(schema) else Reading(options, schema)
    gc.freeze()
    return reading


def options_of(options: Mapping[str, Any]) -> Options:
    """Return the options, without the paths."""
    return Options.parse({name: value for name, value in options.items() if name not in PATHS})


def paths_of(options: Mapping[str, Any]) -> list[str]:
    """Return the paths; BadOption if there are none."""
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if "path" not in options:
        hint = "spark.read.format('kwire').load(PATH); CREATE TABLE ... USING kwire loses it: make a view"
        raise BadOption("path", None, "there is none", hint)
    return [options["path"]]
