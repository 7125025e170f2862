"""Reads rotated captures as a stream: files are read as they arrive, and connections continue from file to file.

A file is identified by its size and its first and last bytes, not by its name. Spark's state store, and therefore the
checkpoint, contains the state of each connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.streaming.state import GroupStateTimeout

from ..arrow.connection_decoder import ConnectionDecoder
from ..arrow.connection_stream import decoded_batch
from ..arrow.growing_files import LostData
from ..arrow.packet_scan import SCHEMA, Split, scan
from ..arrow.read_options_and_splits import BadOption, File, Options, find_files, packed
from .data_source import ORDER, LimitedReader, Ranges, options_of, paths_of, reading_of, splits_of, text_of, to_spark
from .pipeline_and_lake import source_of

FORMAT = "kwire_arriving_packets"
VERSION = 1
NOTES = b"file ", b"frames "  # prefixes of the keys of rows without a connection
BATCH = "batch"
Offset = dict[str, Any]


def stream_captures(spark: Any, paths: str | Sequence[str], **options: Any) -> DataFrame:
    """Read captures as they arrive: return the frames of `read_captures` as a streaming DataFrame.

    A connection continues from file to file, from batch to batch, and after a restart. Files must be complete when they
    appear (`mv`, or `tcpdump -z`), unless the option `tailTimeout` is set: a file is then complete once it has not
    changed for this time. A renamed file is not read again. Packets may arrive one file late. An incomplete frame, or a
    frame after lost packets, waits for more packets of its connection.

    Args:
        spark: the session.
        paths: files, folders and globs, also as URIs; globs may match nothing yet.
        options: see `read_captures`; `maxFilesPerTrigger` and `maxBytesPerTrigger` limit a batch.

    Returns:
        A streaming DataFrame with the columns of `read_captures`.

    Raises:
        BadOption: an option is unknown, has an invalid value or has no effect here, such as `maxFileAge`.

    Example:
        >>> stream_captures(spark, "/captures", tailTimeout="60s").writeStream.format("parquet")  # doctest: +SKIP
    """
    given = {name.replace("_", ""): text_of(value) for name, value in options.items()}
    parsed = Options.parse(given)
    if parsed.max_file_age != Options().max_file_age:
        raise BadOption("maxFileAge", problem="stream_captures forgets no file", hint="leave it out")
    spark.dataSource.register(ArrivingPackets)
    names = json.dumps([paths] if isinstance(paths, str) else list(paths))
    packets = spark.readStream.format(FORMAT).options(**given).option("paths", names).load()
    schema = ConnectionDecoder(reading_of(parsed, None)).schema

    def decode(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        yield from _decoded(parsed, key, frames, state)

    timeout = GroupStateTimeout.NoTimeout  # with a processing-time timeout, Spark runs empty batches without end
    grouped = packets.groupBy(*ORDER[:2])
    found = grouped.applyInPandasWithState(decode, f"{BATCH} binary", "kept binary", "append", timeout)
    return found.mapInArrow(_unpack, to_spark(schema))


def _unpack(batches: Iterator[Any]) -> Iterator[Any]:
    for data in (value for batch in batches for value in batch.column(0).to_pylist()):
        yield from pa.ipc.open_stream(data)


def _decoded(options: Options, key: tuple[str, bytes], frames: Iterator[Any], state: Any) -> Iterator[Any]:
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
        found, after = decoded_batch(reading, rows, connection, kept)
        batches = list(decoder.named(iter(found), capture))
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
    """Data source of the packets of arriving captures, as rows of `kwire.arrow.packet_scan`."""

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


class ArrivalReader(LimitedReader):
    """Reads the packets of files, each file once. An offset contains all files so far: identity -> path and size.

    Args:
        options: the options of the read.
        paths: files, folders and globs.
    """

    def __init__(self, options: Options, paths: Sequence[str]) -> None:
        super().__init__(options)
        self.paths: Sequence[str] = paths
        self._known: dict[File, str] = {}
        self._end: frozenset[str] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new query: nothing has been read."""
        return {"version": VERSION, "files": {}}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: files that arrive later are not read."""
        self._end = frozenset(self._there())

    def latestOffset(self, start: Offset, limit: Any = None) -> Offset:  # noqa: N802
        """Return an offset that adds new files to those of the start, within the limits of a batch.

        Raises:
            LostData: a file has grown since it was read, unless the option `failOnDataLoss` allows reading it again.
        """
        options, before = self.options, dict(start["files"])
        files, room = dict(before), options.max_bytes_per_trigger or 1 << 62
        most = options.max_files_per_trigger or 1 << 62
        for identity, file in sorted(self._there().items(), key=lambda one: (one[1].changed, one[1].path)):
            is_full = len(files) - len(before) >= most or (len(files) > len(before) and file.size > room)
            is_late = self._end is not None and identity not in self._end
            if identity in files or is_full or is_late or not self._is_whole(file):
                continue
            self._check(file, before)
            files[identity] = [file.path, file.size]
            room -= file.size
        return {"version": VERSION, "files": files}

    def _there(self) -> dict[str, File]:
        """Return the existing files, by identity."""
        files = [file for file in find_files(self.paths, self.options, may_come=True) if file.size]
        known = self._known
        self._known = {file: known.get(file) or source_of(file.path, file.size).identity for file in files}
        return {identity: file for file, identity in self._known.items()}

    def _is_whole(self, file: File) -> bool:
        timeout = self.options.tail_timeout
        return timeout is None or time.time() - file.changed / 1e9 >= timeout

    def _check(self, file: File, before: Mapping[str, Any]) -> None:
        """Raise LostData if a file was read before it was complete."""
        for identity, (path, size) in before.items():
            if path != file.path or size >= file.size or not self.options.fail_on_data_loss:
                continue
            if source_of(path, size).identity == identity:
                problem = f"it has {file.size} bytes now, and {size} were read: it had not been whole"
                raise LostData(path, size, problem)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Divide the files between two offsets into byte ranges; a renamed file is found by its identity.

        Raises:
            LostData: a file no longer exists, unless the option `failOnDataLoss` allows it.
        """
        options, there = self.options, self._there()
        splits: list[Split] = []
        for identity, (path, size) in end["files"].items():
            if identity in start["files"]:
                continue
            if identity in there:
                splits += splits_of(there[identity], options.max_partition_bytes, options.capture)
            elif options.fail_on_data_loss:
                raise LostData(path, size, "it is not there any more, and was not read yet")
        return [Ranges(some) for some in packed(splits, options.max_partition_bytes, options.open_cost_in_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield record batches."""
        if isinstance(partition, Ranges):
            for split in partition.splits:
                yield from scan(split, self.options)
