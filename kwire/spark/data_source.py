"""`spark.read.format("kwire")`: the data source, over `kwire.arrow`; and the stages of `read_captures`."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, Unpack
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    In,
    InputPartition,
)

from ..arrow.batch_reader import Reading
from ..arrow.connection_decoder import ConnectionDecoder, regions_of
from ..arrow.connection_windows import WHOLE, Region, Windows, windows_of
from ..arrow.packet_groups_and_pieces import neighbours
from ..arrow.packet_scan import SCHEMA, Split, scan
from ..arrow.read_options_and_splits import (
    COLUMN,
    BadOption,
    File,
    Options,
    ReadOptions,
    Unit,
    capture_of,
    column_folder,
    find_files,
    packed,
    share_of,
)
from ..errors import KwireError, without_password
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
    """Return the Arrow type of a Spark type; raise BadOption if no column of kwire has this type.

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
    """Return the `pyarrow.Schema` of a Spark schema; raise the exceptions of `to_arrow`."""
    return pa.schema(list(to_arrow(type_)))


def _checked(nullable: bool, type_: Any, name: str) -> Any:
    if not nullable:
        raise BadOption("schema", None, f"{name} may be null in any row; leave NOT NULL out")
    return to_arrow(type_, name)


PATHS = "path", "paths"  # Spark passes a single path in the first option, several paths as JSON in the second
# For a table created with CREATE TABLE, Spark passes these too, and each option a second time.
OF_TABLE = "provider"
OF_TABLES = OF_TABLE, "collation", "comment", "external", "is_managed_location", "location", "owner"
# When such a table is read, Spark no longer has its options; the schema in Spark's catalog has them as metadata.
KEPT = "kwire.options"
SECOND = "option."
NOTHING = "__HIVE_DEFAULT_PARTITION__"  # in the name of a partition folder


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
    """Data source of captures, one row per frame. For its options see `kwire.arrow.read_options_and_splits.Options`."""

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
        columns = to_spark(Reading(options).schema)
        for name in folder_columns(paths, options):
            columns.add(name, spark.StringType())
        if OF_TABLE in self.options:
            columns.fields[0].metadata = {KEPT: json.dumps(_given(self.options))}
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
        self.schema: Any = schema
        self.paths: Sequence[str] = paths
        folders = {name for name in folder_columns(paths, options) if name in schema.names}
        self.folders: tuple[str, ...] = tuple(name for name in schema.names if name in folders)
        self.columns: Any = pa.schema([field for field in schema if field.name not in folders])
        reading_of(options, self.columns)  # raises an error now if options contradict each other

    def partitions(self) -> list[InputPartition]:
        """Distribute the files to tasks; files that are added later are not read."""
        with in_one_line():
            return [Part(units) for units in reading_of(self.options, self.columns).divide(self.paths)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Without partitions, Spark passes an object of another class."""
        if not isinstance(partition, Part):
            return
        reading = reading_of(self.options, self.columns)
        with in_one_line():
            yield from self._batches(reading, partition.units)

    def _batches(self, reading: Reading, units: Sequence[Unit]) -> Iterator[Any]:
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
        for one in filters:
            self.options: Options = narrowed(self.options, one)
        return filters


def narrowed(options: Options, one: Filter) -> Options:
    """Return options that exclude only what a filter excludes; frames without an api are included, as with `apis`."""
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
    """Return a read with a schema, or with the options' columns if it is None; tasks of a worker share it.

    Building the trees of all versions is expensive. Workers run garbage collection after every task; freezing exempts
    the existing objects.
    """
    default = Reading(options)
    reading = default if schema is None or default.schema.equals(schema) else Reading(options, schema)
    gc.freeze()
    return reading


def options_of(options: Mapping[str, Any]) -> Options:
    """Return the options, without the paths and without options that Spark adds for tables."""
    return Options.parse({name: value for name, value in _given(options).items() if name not in PATHS})


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options given by the user, without options that Spark adds for tables."""
    return {name: value for name, value in options.items() if name not in OF_TABLES and not name.startswith(SECOND)}


def folder_values(path: str) -> dict[str, str | None]:
    """Return the partition columns and values in the folder names of a file, as in Hive.

    >>> folder_values("lake/dt=2026-11-01/tap=a%20b/1.pcap")
    {'dt': '2026-11-01', 'tap': 'a b'}
    """
    found = map(COLUMN.fullmatch, path.split("/")[:-1])
    return {one[1]: None if one[2] == NOTHING else unquote(one[2]) for one in found if one}


def folder_columns(paths: Sequence[str], options: Options) -> list[str]:
    """Return the column names of folders below the paths, like Spark's file sources.

    With `recursiveFileLookup` the list is empty. The first folder of each level determines the names: the driver lists
    no other folders.
    """
    if options.recursive_file_lookup:
        return []
    names: list[str] = []
    for path in paths:
        folder: str | None = path
        while folder and (folder := column_folder(folder)):
            names += list(folder_values(f"{folder.rstrip('/')}/"))[-1:]
    known = set(Reading(options).schema.names)
    if clash := known.intersection(names):
        hint = "recursiveFileLookup=true reads the files without such columns"
        raise BadOption("path", paths[0], f"folders are named as the column {', '.join(sorted(clash))}", hint)
    return list(dict.fromkeys(names))


def paths_of(options: Mapping[str, Any]) -> list[str]:
    """Return the paths; raise BadOption if there are none."""
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if "path" not in options:
        hint = "spark.read.format('kwire').load(PATH), or CREATE TABLE ... USING kwire OPTIONS (path 'PATH')"
        raise BadOption("path", None, "there is none", hint)
    return [options["path"]]


PACKETS, REGIONS = "kwire_packets", "kwire_regions"
WINDOWS = "kwire.windows"  # the name of an option
ORDER = ["capture", "connection", "kind", "first", "last", "path", "place"]


def read_captures(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    partitions: int | None = None,
    **options: Unpack[ReadOptions],
) -> DataFrame:
    """Read captures of any size: rotated, damaged, or from several sniffers.

    Files of one capture are read as one: a connection continues from file to file in order of time, regardless of the
    names of the files; packets that are in two files are used once. Files that are not captures are read as by
    `format("kwire")`, each in one task.

    Args:
        spark: the session, which may be a Spark Connect session.
        paths: files, folders and globs, also as URIs.
        partitions: the number of partitions for the shuffle of connections; by default `spark.sql.shuffle.partitions`.
        options: options of the data source, with the same names or in snake case. `capture` is a regular expression
            that is searched in the path of a file; its first group names the capture, by default the folder of the file
            does. With `long_connections`, several tasks decode one connection: see
            `kwire.arrow.read_options_and_splits.Options`.

    Returns:
        A DataFrame with the columns of `format("kwire")` and `capture`. `path` is the file in which a frame ends.
        Reading is lazy, except that `long_connections` immediately reads a megabyte of each byte range.

    Raises:
        BadOption: an option is unknown or has an invalid value. When the DataFrame is read, also if a path does not
            exist.

    Example:
        >>> frames = read_captures(spark, "s3a://taps/2026-11-*/", capture=r"/(tap\\d+)-")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): text_of(value) for name, value in options.items()}
    parsed, named = Options.parse(given), [paths] if isinstance(paths, str) else list(paths)
    windows = windows_in(spark, named, given)
    return frames_of(packets_of(spark, named, given, windows, partitions), parsed, windows)


def windows_in(spark: Any, paths: Sequence[str], given: Mapping[str, Any]) -> Windows:
    """Return the windows of long connections if `long_connections` is set; for the arguments see `read_captures`."""
    options = Options.parse(given)
    if not options.long_connections:
        return WHOLE
    spark.dataSource.register(RegionSource)
    found = spark.read.format(REGIONS).options(**given).load(list(paths)).toArrow()
    sizes = {file.path: file.size for file in find_files(paths, options)}
    return windows_of(map(Region.load, found[0].to_pylist()), sizes)


def packets_of(
    spark: Any, paths: Sequence[str], given: Mapping[str, Any], windows: Windows, partitions: int | None = None
) -> DataFrame:
    """Return the packets of captures, adjacent for each connection; for the arguments see `read_captures`."""
    spark.dataSource.register(PacketSource)
    options = {**given, WINDOWS: windows.dump()} if windows else given
    packets = spark.read.format(PACKETS).options(**options).load(list(paths))
    keys = ORDER[:2]
    shuffled = packets.repartition(*keys) if partitions is None else packets.repartition(partitions, *keys)
    return shuffled.sortWithinPartitions(*ORDER)


def frames_of(packets: DataFrame, options: Options, windows: Windows) -> DataFrame:
    """Return the frames of packets from `packets_of`, with the given windows."""
    schema = ConnectionDecoder(Reading(options)).schema

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        return ConnectionDecoder(reading_of(options, None), windows).read(batches)

    return packets.mapInArrow(decode, to_spark(schema))


def text_of(value: Any) -> str:
    """Return the value of an option as text for Spark."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class Ranges(InputPartition):  # type: ignore[misc]
    """The byte ranges that one task reads."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(None)
        self.splits = splits


class PacketSource(DataSource):  # type: ignore[misc]
    """Data source of the packets of captures by connection, as rows of `kwire.arrow.packet_scan`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return PACKETS

    def schema(self) -> Any:
        """Return the columns."""
        return to_spark(SCHEMA)

    def reader(self, schema: Any) -> PacketReader:
        """Return the reader of packets."""
        given = dict(self.options)
        windows = Windows.load(given.pop(WINDOWS, ""))
        return PacketReader(options_of(given), paths_of(given), windows)


class PacketReader(DataSourceReader):  # type: ignore[misc]
    """Reads packets.

    Args:
        options: the options of the read.
        paths: files, folders and globs.
        windows: the windows of long connections.
    """

    def __init__(self, options: Options, paths: Sequence[str], windows: Windows = WHOLE) -> None:
        self.options: Options = options
        self.paths: Sequence[str] = paths
        self.windows: Windows = windows

    def partitions(self) -> list[InputPartition]:
        """Divide files into byte ranges, based only on their names and sizes."""
        files = [file for file in find_files(self.paths, self.options) if file.size]
        most, cost = share_of(files, self.options), self.options.open_cost_in_bytes
        pattern, near = self.options.capture, neighbours([file.path for file in files])
        splits = [split for file in files for split in splits_of(file, most, pattern, near[file.path])]
        return [Ranges(some) for some in packed(splits, most, cost)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Without partitions, Spark passes an object of another class."""
        if isinstance(partition, Ranges):
            for split in partition.splits:
                yield from scan(split, self.options, self.windows)


class RegionSource(PacketSource):
    """Data source of the frame boundaries of connections, found by `kwire.arrow.connection_decoder`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return REGIONS

    def schema(self) -> Any:
        """Return the column."""
        return "region string"

    def reader(self, schema: Any) -> RegionReader:
        """Return the reader of frame boundaries."""
        return RegionReader(options_of(self.options), paths_of(self.options))


class RegionReader(PacketReader):
    """Finds frame boundaries of connections."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield rows."""
        if isinstance(partition, Ranges):
            catalog = catalog_for(self.options.profile or None, self.options.release or None)
            for split in partition.splits:
                yield from ((region.dump(),) for region in regions_of(split, catalog))


def splits_of(file: File, most: int, pattern: str, neighbour: str = "") -> list[Split]:
    """Divide a file into byte ranges of at most `most` bytes.

    For a compressed file without blocks, the first range is the whole file.

    >>> [split[1:4] for split in splits_of(File("/in/tap1-7.pcap", 100, 0), 60, "(tap[0-9]+)-")]
    [(0, 60, 'tap1'), (60, 100, 'tap1')]
    """
    capture, size = capture_of(without_password(file.path), pattern), file.size
    return [Split(file.path, start, min(size, start + most), capture, neighbour) for start in range(0, size, most)]
