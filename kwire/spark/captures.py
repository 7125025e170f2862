"""Captures in two stages with Spark's shuffle between them: packets by connection, then frames.

No task reads more than a byte range of a file, and the driver lists files; which connections go on from one range or
file to the next does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ..arrow.connection_decoder import ConnectionDecoder
from ..arrow.errors import BadOption
from ..arrow.input_splits import File, find_files, packed, share_of
from ..arrow.options import Options
from ..arrow.packet_scan import SCHEMA, Split, neighbours, scan
from ..arrow.reader import Reading
from ..errors import without_password
from .source import options_of, paths_of, reading_of, to_spark

PACKETS = "kwire_packets"
ORDER = ["capture", "connection", "kind", "first", "last", "path", "place"]
COMPRESSED = re.compile(r"\.(gz|zst|zstd)$", re.IGNORECASE)


def read_captures(
    spark: Any, paths: str | Sequence[str], *, partitions: int | None = None, **options: Any
) -> DataFrame:
    """Read captures of any size: rotated, damaged, of several sniffers.

    Files of one capture are read as one: a connection goes on from file to file, in the order of time, whatever their
    names are; packets that two of them have are taken once. Files that are no captures are read as
    `format("kwire")` reads them, each in one task.

    Args:
        spark: the session, of Spark Connect too.
        paths: files, folders and globs, also as URIs.
        partitions: into how many partitions connections are shuffled; `spark.sql.shuffle.partitions` unless given.
        options: of the data source, by the same names or as Python writes them. `capture` is a regular expression whose
            first group, found in the path of a file, names its capture; the folder of the file does unless given.

    Returns:
        A DataFrame with the columns of `format("kwire")` and `capture`. `path` is the file in which a frame ends.
        Nothing is read before it is asked for.

    Raises:
        BadOption: an option is not known or does not take such a value; once it is read, that there is no such path.

    Example:
        >>> frames = read_captures(spark, "s3a://taps/2026-11-*/", capture=r"/(tap\\d+)-")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): _text(value) for name, value in options.items()}
    parsed = Options.parse(given)
    return frames_of(packets_of(spark, paths, given, partitions), parsed)


def packets_of(
    spark: Any, paths: str | Sequence[str], given: Mapping[str, Any], partitions: int | None = None
) -> DataFrame:
    """Return the packets of captures, those of a connection behind each other; arguments as of `read_captures`."""
    spark.dataSource.register(PacketSource)
    packets = spark.read.format(PACKETS).options(**given).load([paths] if isinstance(paths, str) else list(paths))
    keys = ORDER[:2]
    shuffled = packets.repartition(*keys) if partitions is None else packets.repartition(partitions, *keys)
    return shuffled.sortWithinPartitions(*ORDER)


def frames_of(packets: DataFrame, options: Options) -> DataFrame:
    """Return the frames of packets that `packets_of` has given."""
    schema = ConnectionDecoder(Reading(options)).schema

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        return ConnectionDecoder(reading_of(options, None)).read(batches)

    return packets.mapInArrow(decode, to_spark(schema))


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class Ranges(InputPartition):  # type: ignore[misc]
    """The byte ranges that one task reads."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(None)
        self.splits = splits


class PacketSource(DataSource):  # type: ignore[misc]
    """The packets of captures by connection, as `kwire.arrow.packet_scan` gives them."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return PACKETS

    def schema(self) -> Any:
        """Return the columns."""
        return to_spark(SCHEMA)

    def reader(self, schema: Any) -> PacketReader:
        """Return what reads them."""
        return PacketReader(options_of(self.options), paths_of(self.options))


class PacketReader(DataSourceReader):  # type: ignore[misc]
    """Reads packets.

    Args:
        options: of the reading.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, paths: Sequence[str]) -> None:
        self.options: Options = options
        self.paths: Sequence[str] = paths

    def partitions(self) -> list[InputPartition]:
        """Divide files into byte ranges, by nothing but their names and sizes."""
        files = [file for file in find_files(self.paths, self.options) if file.size]
        most, cost = share_of(files, self.options), self.options.open_cost_in_bytes
        pattern, near = self.options.capture, neighbours([file.path for file in files])
        splits = [split for file in files for split in splits_of(file, most, pattern, near[file.path])]
        return [Ranges(some) for some in packed(splits, most, cost)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches. Where there is nothing to divide, Spark asks for one part of its own."""
        if isinstance(partition, Ranges):
            for split in partition.splits:
                yield from scan(split)


def splits_of(file: File, most: int, pattern: str, neighbour: str = "") -> list[Split]:
    """Divide a file into byte ranges of at most so many bytes; one that is compressed by its name stays whole.

    >>> [split[1:4] for split in splits_of(File("/in/tap1-7.pcap", 100, 0), 60, "(tap[0-9]+)-")]
    [(0, 60, 'tap1'), (60, 100, 'tap1')]
    """
    capture, size = capture_of(without_password(file.path), pattern), file.size
    step = size if COMPRESSED.search(file.path) else most
    return [Split(file.path, start, min(size, start + step), capture, neighbour) for start in range(0, size, step)]


def capture_of(path: str, pattern: str) -> str:
    """Return the capture that a file is a part of; raises BadOption if the pattern does not name one."""
    if not pattern:
        return path.rpartition("/")[0]
    match = re.search(pattern, path)
    if match is None or not match[1]:
        raise BadOption(
            "capture", pattern, f"its first group is not found in {path}", "pathGlobFilter leaves files out"
        )
    return match[1]
