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
    """Return the Spark type of an Arrow type or `pyarrow.Schema`; every field is nullable.

    >>> to_spark(pa.schema([("isr", pa.list_(pa.int32()))])).simpleString()
    'struct<isr:array<int>>'
    """
    if isinstance(type_, pa.Schema) or pa.types.is_struct(type_):
        return spark.StructType([spark.StructField(field.name, to_spark(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return spark.ArrayType(to_spark(type_.value_type))
    return _TO_SPARK[type_]


def to_arrow(type_: Any, name: str = "") -> Any:
    """Return the Arrow type of a Spark type; BadOption if no column of kwire has it.

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
    """Return the `pyarrow.Schema` of a Spark schema; raises as `to_arrow`."""
    return pa.schema(list(to_arrow(type_)))


def _checked(nullable: bool, type_: Any, name: str) -> Any:
    if not nullable:
        raise BadOption("schema", None, f"{name} may be null in any row; leave NOT NULL out")
    return to_arrow(type_, name)


PATHS = "path", "paths"  # Spark passes one path as the first, several as JSON in the second


class KwireSource(DataSource):  # type: ignore[misc]
    """Data source of captures, one row per frame. For its options see `kwire.arrow.options.Options`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kwire"

    def schema(self) -> Any:
        """Return the columns for the options."""
        return to_spark(Reading(options_of(self.options)).schema)

    def reader(self, schema: Any) -> KwireReader:
        """Return the reader of these columns."""
        options = options_of(self.options)
        kind = PushingReader if options.pushdown else KwireReader
        return kind(options, schema_to_arrow(schema), paths_of(self.options))

    def streamReader(self, schema: Any) -> Any:  # noqa: N802
        """Return the streaming reader of these columns."""
        try:
            from .streaming import KwireStreamReader
        except ImportError:
            raise MissingExtra("readStream", "pyspark 4.2", "spark") from None
        return KwireStreamReader(options_of(self.options), schema_to_arrow(schema), paths_of(self.options))


class Part(InputPartition):  # type: ignore[misc]
    """The input of one task."""

    def __init__(self, units: Sequence[Unit]) -> None:
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
        self.columns: Any = schema
        self.paths: Sequence[str] = paths
        reading_of(options, schema)  # raises now for contradictory options

    def partitions(self) -> list[InputPartition]:
        """Distribute the files to tasks; files that are added later are not read."""
        return [Part(units) for units in reading_of(self.options, self.columns).divide(self.paths)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Without partitions, Spark passes one of its own."""
        if isinstance(partition, Part):
            yield from reading_of(self.options, self.columns).read(partition.units)


class PushingReader(KwireReader):
    """A reader that does not decode frames of apis and directions that a query filters out. It is a separate class,
    because Spark rejects readers with this method while its setting is off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Use the filters to read less; Spark still has to apply all of them."""
        for one in filters:
            self.options: Options = narrowed(self.options, one)
        return filters


def narrowed(options: Options, one: Filter) -> Options:
    """Return options that exclude only what a filter excludes; frames without api are included, as with `apis`."""
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
    """Return a read of a schema, or of the options' own if None, shared by all tasks of a worker.

    Building the trees of all versions is expensive. Workers run garbage collection after every task;
    freezing exempts the objects that exist now.
    """
    default = Reading(options)
    reading = default if schema is None or default.schema.equals(schema) else Reading(options, schema)
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
