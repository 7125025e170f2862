"""`read_captures`: captures of any size in two stages, packets by connection, then frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ..arrow.batch_reader import BatchReader
from ..arrow.find_files import InputFile
from ..arrow.input_splits import pack_splits, share_of
from ..arrow.ranges.byte_ranges import ByteRange, splits_of
from ..arrow.ranges.connection_decoder import ConnectionDecoder
from ..arrow.ranges.connection_windows import WHOLE, Region, Windows, windows_of
from ..arrow.ranges.divided_captures import neighbours
from ..arrow.ranges.find_boundaries import regions_of
from ..arrow.ranges.packet_rows import SCHEMA
from ..arrow.ranges.packet_scan import scan
from ..arrow.read_options import Options, ReadOptions
from ..schema.catalog import catalog_for
from .column_types import to_spark
from .passed_options import text_of
from .task_inputs import find_files_on_server, read_in_tasks
from .worker_readers import reading_of

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
        Files are found now and read later; `long_connections` reads a megabyte of each byte range now.

    Raises:
        BadOption: an option is unknown or has an invalid value, or a path does not exist.

    Example:
        >>> frames = read_captures(spark, "s3a://taps/2026-11-*/", capture=r"/(tap\\d+)-")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): text_of(value) for name, value in options.items()}
    parsed, named = Options.parse(given), [paths] if isinstance(paths, str) else list(paths)
    plan = plan_reading(spark, named, parsed)
    return frames_of(packets_of(spark, plan, parsed, partitions), parsed, plan.windows)


class ReadingPlan(NamedTuple):
    """What the tasks of a read do.

    Attributes:
        tasks: the byte ranges of each task.
        windows: the windows of long connections.
    """

    tasks: list[list[ByteRange]]
    windows: Windows


def plan_reading(spark: Any, paths: Sequence[str], options: Options) -> ReadingPlan:
    """Find files and divide them into tasks; with `long_connections`, search their frame boundaries in a job.

    Raises:
        BadOption: a path does not exist, or does not match `capture`.
    """
    files = find_files_on_server(spark, paths, options)
    tasks = divide_ranges(files, options)
    return ReadingPlan(tasks, _find_windows(spark, files, tasks, options) if options.long_connections else WHOLE)


def divide_ranges(files: Sequence[InputFile], options: Options) -> list[list[ByteRange]]:
    """Divide files into the byte ranges of each task, based only on their names and sizes."""
    files = [file for file in files if file.size]
    size_limit = share_of(files, options)
    near = neighbours([file.path for file in files])
    splits = [split for file in files for split in splits_of(file, size_limit, options.capture, near[file.path])]
    return pack_splits(splits, size_limit, options.open_cost_in_bytes)


def _find_windows(
    spark: Any, files: Sequence[InputFile], tasks: Sequence[Sequence[ByteRange]], options: Options
) -> Windows:
    """Find the windows of long connections: read a megabyte at both ends of each byte range."""

    def find(splits: Sequence[ByteRange]) -> Iterator[Any]:
        catalog = catalog_for(options.profile or None, options.release or None)
        texts = [region.dump() for split in splits for region in regions_of(split, catalog)]
        yield pa.record_batch({"region": pa.array(texts, pa.string())})

    regions = read_in_tasks(spark, tasks, find, "region string").collect()
    return windows_of((Region.load(row["region"]) for row in regions), {file.path: file.size for file in files})


def packets_of(spark: Any, plan: ReadingPlan, options: Options, partitions: int | None = None) -> DataFrame:
    """Return the packets of captures, adjacent for each connection; for the arguments see `read_captures`."""
    windows = plan.windows

    def read(splits: Sequence[ByteRange]) -> Iterator[Any]:
        for split in splits:
            yield from scan(split, options, windows)

    packets = read_in_tasks(spark, plan.tasks, read, to_spark(SCHEMA))
    keys = ORDER[:2]
    shuffled = packets.repartition(*keys) if partitions is None else packets.repartition(partitions, *keys)
    return shuffled.sortWithinPartitions(*ORDER)


def frames_of(packets: DataFrame, options: Options, windows: Windows) -> DataFrame:
    """Return the frames of packets from `packets_of`, with the given windows."""
    schema = ConnectionDecoder(BatchReader(options)).schema

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        return ConnectionDecoder(reading_of(options, None), windows).read(batches)

    return packets.mapInArrow(decode, to_spark(schema))
