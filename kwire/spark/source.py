"""`spark.read.format("kwire")`: the data source, a thin skin over `kwire.arrow`, whose options these are.

Three processes of Spark's use it: one asks for the schema, one divides the files, many read. What goes from one to
another is what pickle takes; none of them has a session.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, In, InputPartition

from ..arrow.errors import BadOption
from ..arrow.options import Options
from ..arrow.reading import Reading
from ..arrow.units import Unit
from ..catalog import catalog_for
from ..errors import MissingExtra
from .types import schema_to_arrow, to_spark

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
        self.options, self.columns, self.paths = options, schema, paths
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
            self.options = narrowed(self.options, one)
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
