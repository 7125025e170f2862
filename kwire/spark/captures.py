"""`read_captures`: captures of any size in two stages, packets by connection, then frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ..arrow.batch_reader import BatchReader
from ..arrow.find_files import find_files
from ..arrow.input_splits import pack_splits, share_of
from ..arrow.ranges.byte_ranges import ByteRange, splits_of
from ..arrow.ranges.connection_decoder import ConnectionDecoder
from ..arrow.ranges.connection_windows import WHOLE, Region, Windows, windows_of
from ..arrow.ranges.divided_captures import neighbours
from ..arrow.ranges.find_boundaries import regions_of
from ..arrow.ranges.packet_rows import SCHEMA
from ..arrow.ranges.packet_scan import scan
from ..arrow.read_keywords import ReadOptions
from ..arrow.read_options import Options
from ..schema.catalog import catalog_for
from .column_types import to_spark
from .data_source import reading_of
from .passed_options import options_of, paths_of, text_of

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
            `kwire.arrow.read_options.Options`.

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
    regions = spark.read.format(REGIONS).options(**given).load(list(paths)).toArrow()
    sizes = {file.path: file.size for file in find_files(paths, options)}
    return windows_of(map(Region.load, regions[0].to_pylist()), sizes)


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
    schema = ConnectionDecoder(BatchReader(options)).schema

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        return ConnectionDecoder(reading_of(options, None), windows).read(batches)

    return packets.mapInArrow(decode, to_spark(schema))


class RangePartition(InputPartition):  # type: ignore[misc]
    """The byte ranges that one task reads."""

    def __init__(self, splits: Sequence[ByteRange]) -> None:
        super().__init__(None)
        self.splits = splits


class PacketSource(DataSource):  # type: ignore[misc]
    """Data source of the packets of captures by connection, as rows of `kwire.arrow.ranges.packet_scan`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return PACKETS

    def schema(self) -> Any:
        """Return the columns."""
        return to_spark(SCHEMA)

    def reader(self, schema: Any) -> PacketSourceReader:
        """Return the reader of packets."""
        given = dict(self.options)
        windows = Windows.load(given.pop(WINDOWS, ""))
        return PacketSourceReader(options_of(given), paths_of(given), windows)


class PacketSourceReader(DataSourceReader):  # type: ignore[misc]
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
        size_limit = share_of(files, self.options)
        pattern = self.options.capture
        near = neighbours([file.path for file in files])
        splits = [split for file in files for split in splits_of(file, size_limit, pattern, near[file.path])]
        return [RangePartition(some) for some in pack_splits(splits, size_limit, self.options.open_cost_in_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Without partitions, Spark passes an object of another class."""
        if isinstance(partition, RangePartition):
            for split in partition.splits:
                yield from scan(split, self.options, self.windows)


class RegionSource(PacketSource):
    """Data source of the frame boundaries of connections, found by `kwire.arrow.ranges.connection_decoder`."""

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


class RegionReader(PacketSourceReader):
    """Finds frame boundaries of connections."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield rows."""
        if isinstance(partition, RangePartition):
            catalog = catalog_for(self.options.profile or None, self.options.release or None)
            for split in partition.splits:
                yield from ((region.dump(),) for region in regions_of(split, catalog))
