"""Reads captures as a stream: files are read as they arrive and grow, and connections continue from file to file.

`kwire.arrow.streams.growing_files` decides which bytes of which files a batch reads. Spark's state store contains
the state of each connection, so a checkpoint contains it as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.state import GroupStateTimeout

from ..arrow.find_files import InputFile, capture_of
from ..arrow.input_splits import pack_splits
from ..arrow.ranges.byte_ranges import ByteRange, splits_of
from ..arrow.ranges.connection_decoder import ConnectionDecoder
from ..arrow.ranges.packet_rows import GROWN, SCHEMA
from ..arrow.ranges.packet_scan import scan
from ..arrow.read_keywords import ReadOptions
from ..arrow.read_options import Options
from ..arrow.streams.connection_stream import decoded_batch
from ..arrow.streams.file_positions import Offset, offset_of, places_of
from ..arrow.streams.growing_files import GrowingFiles
from ..arrow.streams.raw_frame_stream import raw_batch
from ..errors import MissingExtra
from .captures import ORDER
from .column_types import to_spark
from .data_source import in_one_line
from .passed_options import options_of, paths_of, text_of
from .worker_readers import reading_of

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before PySpark 4.2
    SupportsTriggerAvailableNow = object

FORMAT = "kwire_arriving_packets"
NOTES = b"file ", b"frames "  # prefixes of the keys of rows without a connection
BATCH = "batch"


def stream_captures(spark: SparkSession, paths: str | Sequence[str], **options: Unpack[ReadOptions]) -> DataFrame:
    """Read captures as they arrive: return the frames of `read_captures` as a streaming DataFrame.

    A connection continues from file to file, from batch to batch, and after a restart. Captures (pcap, pcapng) and raw
    frames are read as they grow, up to the last complete record; other files, such as compressed captures, once they
    are complete. With the option `tailTimeout`, a file is at its end once it has not changed for this time, and
    incomplete data at its end is returned. A renamed file is not read again. With `lateFiles`, files wait for
    others that arrive late; a file that arrives later still is read too, and a row with the error `LATE_FILE` reports
    it. An incomplete frame, or a frame after lost packets, waits for more packets of its connection.

    Args:
        spark: the session.
        paths: files, folders and globs, also as URIs; globs may match nothing yet.
        options: see `read_captures`; `maxFilesPerTrigger` and `maxBytesPerTrigger` limit a batch.

    Returns:
        A streaming DataFrame with the columns of `read_captures`.

    Raises:
        BadOption: an option is unknown or has an invalid value.
        MissingExtra: Spark is older than 4.2.

    Example:
        >>> stream_captures(spark, "/captures", tailTimeout="60s").writeStream.format("parquet")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): text_of(value) for name, value in options.items()}
    parsed = Options.parse(given)
    if SupportsTriggerAvailableNow is object:
        raise MissingExtra("stream_captures", "pyspark 4.2", "spark")
    spark.dataSource.register(ArrivingPackets)
    names = json.dumps([paths] if isinstance(paths, str) else list(paths))
    packets = spark.readStream.format(FORMAT).options(**given).option("paths", names).load()
    schema = ConnectionDecoder(reading_of(parsed, None)).schema

    def decode(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        yield from _decode_connection(parsed, key, frames, state)

    timeout = GroupStateTimeout.NoTimeout  # with a processing-time timeout, Spark runs empty batches without end
    grouped = packets.groupBy(*ORDER[:2])
    decoded = grouped.applyInPandasWithState(decode, f"{BATCH} binary", "kept binary", "append", timeout)
    return decoded.mapInArrow(_unpack, to_spark(schema))


def _unpack(batches: Iterator[Any]) -> Iterator[Any]:
    for data in (value for batch in batches for value in batch.column(0).to_pylist()):
        yield from pa.ipc.open_stream(data)


def _decode_connection(options: Options, key: tuple[str, bytes], frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """Decode the packets of a connection in a batch; yield record batches as bytes in a pandas.DataFrame."""
    reading = reading_of(options, None)
    decoder = ConnectionDecoder(reading)
    capture, connection = key[0], bytes(key[1])
    tables = [pa.Table.from_pandas(frame, schema=SCHEMA, preserve_index=False) for frame in frames]
    rows = pa.concat_tables([SCHEMA.empty_table(), *tables]).sort_by([(name, "ascending") for name in ORDER])
    if connection.startswith(NOTES):
        batches = list(decoder.read(rows.to_batches()))
    else:
        (kept,) = state.get if state.exists else (None,)
        if connection.startswith(GROWN):
            decoded, after = raw_batch(reading, rows, kept)
        else:
            decoded, after = decoded_batch(reading, rows, connection, kept)
        batches = list(decoder.named(iter(decoded), capture))
        if after is not None:
            state.update((after,))
        elif state.exists:
            state.remove()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, decoder.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    if batches:
        yield pa.table({BATCH: [sink.getvalue().to_pybytes()]}).to_pandas()


class ArrivingPackets(DataSource):  # type: ignore[misc]
    """Data source of the packets of arriving captures, as rows of `kwire.arrow.ranges.packet_scan`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> Any:
        """Return the columns."""
        return to_spark(SCHEMA)

    def streamReader(self, schema: Any) -> ArrivalReader:  # noqa: N802
        """Return the reader of the packets."""
        return ArrivalReader(options_of(self.options), paths_of(self.options))


class RangePartition(InputPartition):  # type: ignore[misc]
    """The byte ranges that one task reads."""

    def __init__(self, splits: Sequence[ByteRange]) -> None:
        super().__init__(None)
        self.splits = splits


class ArrivalReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads the packets of files, each once; a thin layer over `kwire.arrow.streams.growing_files`. Needs PySpark
    4.2, which passes the start of a batch.

    Args:
        options: the options of the read.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, paths: Sequence[str]) -> None:
        self.options: Options = options
        self._growing = GrowingFiles(paths, options)
        self._sizes: dict[str, int] | None = None

    def __reduce__(self) -> Any:
        """Pickle the arguments only, not the state of files."""
        return type(self), (self.options, self._growing.paths)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of a batch from the options; Spark accepts only one of two limits."""
        files, count = self.options.max_files_per_trigger, self.options.max_bytes_per_trigger
        if not files and not count:
            return ReadAllAvailable()
        return ReadMaxBytes(count) if count else ReadMaxFiles(files)

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new query: nothing has been read."""
        with in_one_line():
            self._growing.files()  # raises now if there is no such path
        return offset_of({})

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: data that arrives later is not read."""
        self._sizes = {path: file.size for path, file in self._growing.files().items()}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return the end offset of a batch that starts at an offset."""
        is_limited = not isinstance(limit, ReadAllAvailable)
        with in_one_line():
            places = places_of(start)
            after = self._growing.latest(places, time.time(), self._sizes, is_limited=is_limited)
        return start if after == places else offset_of(after)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Divide the data between two offsets into byte ranges; a renamed file is found by its content."""
        options, splits = self.options, list[ByteRange]()
        with in_one_line():
            for path, size, extent, is_late in self._growing.ranges(places_of(start), places_of(end)):
                size_limit = options.max_partition_bytes
                if extent is not None and extent.frames:
                    splits.append(ByteRange(path, 0, size, capture_of(path, options.capture), extent=extent))
                else:
                    parts = splits_of(InputFile(path, size, 0), size_limit, options.capture)
                    splits += [split._replace(extent=extent, is_late=is_late and not split.start) for split in parts]
        return [
            RangePartition(some)
            for some in pack_splits(splits, options.max_partition_bytes, options.open_cost_in_bytes)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches."""
        if isinstance(partition, RangePartition):
            for split in partition.splits:
                yield from scan(split, self.options)
