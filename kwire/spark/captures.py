"""`read_captures`: captures of any size, whose connections continue from file to file.

The files of one sniffer follow each other in time. They are read in ranges: one task finds the states of connections at
the start of each range, others decode the ranges. Captures of several sniffers, compressed files, pieces of files, and
captures that one task would read too slowly, are read in two stages with a shuffle between them: packets by connection,
then frames.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Unpack

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from ..arrow.batch_reader import BatchReader
from ..arrow.find_files import InputFile
from ..arrow.input_splits import least_parts, pack_splits, share_of
from ..arrow.ranges.byte_ranges import ByteRange, splits_of
from ..arrow.ranges.connection_decoder import ConnectionDecoder
from ..arrow.ranges.connection_windows import WHOLE, Region, Windows, windows_of
from ..arrow.ranges.divided_captures import neighbours
from ..arrow.ranges.find_boundaries import regions_of
from ..arrow.ranges.packet_rows import SCHEMA
from ..arrow.ranges.packet_scan import scan
from ..arrow.ranges.range_tasks import divide_capture
from ..arrow.ranges.rotated_captures import FileSpan, RotatedCapture, find_rotated, span_of
from ..arrow.read_keywords import ReadOptions
from ..arrow.read_options import Options
from ..schema.catalog import catalog_for
from .column_types import to_spark
from .passed_options import text_of
from .task_inputs import collect_rows, find_files_on_server, read_in_tasks
from .worker_readers import reading_of

FASTER = 5  # how many times faster than decoding a first pass is
SPANS = pa.schema([("path", pa.string()), ("first", pa.int64()), ("last", pa.int64())])
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
        partitions: the number of partitions for the shuffle of connections, where there is one; by default
            `spark.sql.shuffle.partitions`.
        options: options of the data source, with the same names or in snake case. `capture` is a regular expression
            that is searched in the path of a file; its first group names the capture, by default the folder of the file
            does.

    Returns:
        A DataFrame with the columns of `format("kwire")` and `capture`. `path` is the file in which a frame ends.
        Files are found now, and their first and last packets; they are read later.

    Raises:
        BadOption: an option is unknown or has an invalid value, or a path does not exist.

    Example:
        >>> frames = read_captures(spark, "s3a://taps/2026-11-*/", capture=r"/(tap\\d+)-")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): text_of(value) for name, value in options.items()}
    parsed, named = Options.parse(given), [paths] if isinstance(paths, str) else list(paths)
    return plan_reading(spark, named, parsed).frames(parsed, partitions)


class ReadingPlan:
    """How captures are read: which in ranges, and the ranges of files whose packets are shuffled.

    Args:
        spark: the session.
        captures: the captures that are read in ranges.
        range_size: the size of a range in bytes.
        tasks: for files of other captures, and files that are not captures, the byte ranges of each task.
        windows: the windows of long connections in these files.
    """

    def __init__(
        self,
        spark: Any,
        captures: Sequence[RotatedCapture],
        range_size: int,
        tasks: Sequence[Sequence[ByteRange]],
        windows: Windows = WHOLE,
    ) -> None:
        self.captures: Sequence[RotatedCapture] = captures
        self.windows: Windows = windows
        self._spark, self._range_size, self._tasks = spark, range_size, tasks
        self._packets: DataFrame | None = None

    def persist(self, options: Options) -> None:
        """Keep the packets that are shuffled on disk, so that `frames` reads their files once."""
        if self._tasks:
            self._packets = self._shuffle_packets(options, None).persist(StorageLevel.DISK_ONLY)

    def unpersist(self) -> None:
        """Delete what `persist` keeps."""
        if self._packets is not None:
            self._packets.unpersist()

    def frames(self, options: Options, partitions: int | None = None) -> DataFrame:
        """Return the frames of all captures; for the arguments see `read_captures`."""
        parts = list[DataFrame]()
        if self.captures:
            ranges = find_ranges(self._spark, self.captures, options, self._range_size)
            parts.append(decode_ranges(ranges, options))
        if self._tasks or not parts:
            packets = self._packets or self._shuffle_packets(options, partitions)
            parts.append(decode_packets(packets, options, self.windows))
        return reduce(DataFrame.unionAll, parts)

    def _shuffle_packets(self, options: Options, partitions: int | None) -> DataFrame:
        """Return the packets of captures, adjacent for each connection."""
        windows = self.windows

        def read(splits: Sequence[ByteRange]) -> Iterator[Any]:
            for split in splits:
                yield from scan(split, options, windows)

        packets = read_in_tasks(self._spark, self._tasks, read, to_spark(SCHEMA))
        keys = ORDER[:2]
        shuffled = packets.repartition(*keys) if partitions is None else packets.repartition(partitions, *keys)
        return shuffled.sortWithinPartitions(*ORDER)


def plan_reading(spark: Any, paths: Sequence[str], options: Options) -> ReadingPlan:
    """Find files, and decide how they are read, from their names, sizes, first and last packets.

    Raises:
        BadOption: a path does not exist, or does not match `capture`.
    """
    files = [file for file in find_files_on_server(spark, paths, options) if file.size]
    size_limit = share_of(files, options)
    rotated, others = find_rotated(_find_spans(spark, files, options), options.capture)
    # One task does the first pass over a capture: it must not take longer than decoding all files on all cores.
    weight_limit = FASTER * sum(file.size for file in files) / _count_cores(spark, options)
    captures = [capture for capture in rotated if capture.weight <= weight_limit]
    others += [file for capture in rotated if capture.weight > weight_limit for file in capture.files]
    tasks = divide_ranges(others, options, size_limit)
    windows = _find_windows(spark, others, tasks, options) if options.long_connections else WHOLE
    return ReadingPlan(spark, captures, size_limit, tasks, windows)


def _find_spans(spark: Any, files: Sequence[InputFile], options: Options) -> list[FileSpan]:
    """Return when the packets of each file were captured."""

    def read(some: Sequence[InputFile]) -> Iterator[Any]:
        spans = [span_of(file, options) for file in some]
        rows = [{"path": span.file.path, "first": span.first, "last": span.last} for span in spans]
        yield pa.RecordBatch.from_pylist(rows, SPANS)

    by_path = {file.path: file for file in files}
    rows = collect_rows(spark, files, read, to_spark(SPANS))
    return [FileSpan(by_path[row["path"]], row["first"], row["last"]) for row in rows]


def _count_cores(spark: Any, options: Options) -> int:
    """Return the number of cores that decode; over Spark Connect, which does not tell it, that of partitions."""
    return least_parts(options) if is_remote() else int(spark.sparkContext.defaultParallelism)


def divide_ranges(files: Sequence[InputFile], options: Options, size_limit: int) -> list[list[ByteRange]]:
    """Divide files into the byte ranges of each task, based only on their names and sizes."""
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


def find_ranges(spark: Any, captures: Sequence[RotatedCapture], options: Options, size: int) -> DataFrame:
    """Return the ranges of captures: a task reads the packets of each capture once, but decodes no bodies.

    Only the ranges and the states of their connections travel: a few kilobytes for each range.
    """
    headers = Options(body="none", profile=options.profile, release=options.release, zookeeper=options.zookeeper)

    def find(capture: RotatedCapture) -> Iterator[Any]:
        paths = [file.path for file in capture.files]
        for part in divide_capture(paths, reading_of(headers, None), size):
            yield pa.record_batch(
                {"capture": pa.array([capture.name]), "part": pa.array([pickle.dumps(part)], pa.binary())}
            )

    parts = sum(-(-file.size // size) for capture in captures for file in capture.files)
    return read_in_tasks(spark, captures, find, "capture string, part binary").repartition(max(1, parts))


def decode_ranges(ranges: DataFrame, options: Options) -> DataFrame:
    """Return the frames of ranges from `find_ranges`."""

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        reading = reading_of(options, None)
        decoder = ConnectionDecoder(reading)
        for batch in batches:
            for row in batch.to_pylist():
                part = pickle.loads(row["part"])  # noqa: S301  # of another task
                yield from decoder.named(reading.read_part(part), row["capture"])

    return ranges.mapInArrow(decode, to_spark(ConnectionDecoder(BatchReader(options)).schema))


def decode_packets(packets: DataFrame, options: Options, windows: Windows) -> DataFrame:
    """Return the frames of shuffled packets, with the given windows."""

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        return ConnectionDecoder(reading_of(options, None), windows).read(batches)

    return packets.mapInArrow(decode, to_spark(ConnectionDecoder(BatchReader(options)).schema))
