"""Reads byte ranges of captures, or whole files, in worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from ...capture.files import open_file
from ...capture.frame_extractor import FrameExtractor
from ...capture.ranges.capture_ranges import CaptureRange, capture_class, find_ranges
from ...errors import DumpError
from ...runtime.worker_pool import PoolTask
from ..batch_reader import BatchReader
from ..find_files import InputFile
from ..input_splits import InputSplit
from ..read_options import AUTO, PCAP, Options
from ..rows.range_pairing import RangePairing

LEAST_RANGE, MOST_RANGE = 2 << 20, 16 << 20  # bytes of a range; smaller ones cost more to start than they take
RANGES_PER_WORKER = 8  # so that all workers end at about the same time


class RowChoice(NamedTuple):
    """Which rows and columns are kept of those that were read.

    Attributes:
        filter: a `pyarrow.compute.Expression`; None for all rows.
        columns: the names of the columns; empty for all.
    """

    filter: Any = None
    columns: tuple[str, ...] = ()

    def schema_of(self, schema: Any) -> Any:
        """Return the schema of the kept columns."""
        return pa.schema([schema.field(name) for name in self.columns]) if self.columns else schema

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches of the kept rows and columns."""
        for batch in batches:
            table = pa.Table.from_batches([batch])
            table = table if self.filter is None else table.filter(self.filter)
            yield from (table.select(self.columns) if self.columns else table).to_batches()


def plan_tasks(
    files: Sequence[InputFile], reading: BatchReader, chosen: RowChoice, workers: int, size: int = 0
) -> Iterator[PoolTask]:
    """Yield the tasks that read files, in order; a task is yielded as soon as its states are known.

    Args:
        files: the files.
        reading: the columns and options of the read.
        chosen: which rows and columns are kept.
        workers: the number of processes; with one, files are not divided.
        size: the size of a range in bytes; 0 for one that suits the files.
    """
    total = sum(file.size for file in files)
    size = size or min(MOST_RANGE, max(LEAST_RANGE, total // (workers * RANGES_PER_WORKER)))
    for file in files:
        if not file.size:
            continue
        if workers > 1 and file.size > size and is_divisible(file.path, reading.options):
            for part in divide_capture([file.path], reading, size):
                function = read_range if isinstance(part, CaptureRange) else read_file
                yield PoolTask(function, (reading.options, chosen, part))
        else:
            yield PoolTask(read_file, (reading.options, chosen, InputSplit(file.path)))


def divide_capture(paths: Sequence[str], reading: BatchReader, size: int) -> Iterator[CaptureRange | InputSplit]:
    """Yield the ranges of a capture as soon as their states are known; whole files if nothing in them can be read.

    Args:
        paths: the files of the capture in order of time, see `find_ranges`.
        reading: the columns and options of the read.
        size: the size of a range in bytes.
    """
    extractor = FrameExtractor(paths[0], reading.catalog, zookeeper=reading.options.zookeeper)
    try:
        yield from find_ranges(paths, extractor, RangePairing(reading.apis), size)
    except DumpError:  # no range has rows: the files are reported
        yield from map(InputSplit, paths)


def is_divisible(path: str, options: Options) -> bool:
    """Whether a file is a capture that is not compressed."""
    if options.dump_format not in (AUTO, PCAP):
        return False
    try:
        with open_file(path) as stream:
            return capture_class(stream.read(4)) is not None
    except OSError:  # reported when it is read
        return False


def read_range(options: Options, chosen: RowChoice, part: CaptureRange, file: BinaryIO) -> None:
    """Write the rows of a range as a stream of Arrow."""
    reading = BatchReader(options)
    _write(reading.schema, chosen, reading.read_range(part), file)


def read_file(options: Options, chosen: RowChoice, split: InputSplit, file: BinaryIO) -> None:
    """Write the rows of a file as a stream of Arrow."""
    reading = BatchReader(options)
    _write(reading.schema, chosen, reading.read([split]), file)


def _write(schema: Any, chosen: RowChoice, batches: Iterator[Any], file: BinaryIO) -> None:
    with pa.ipc.new_stream(file, chosen.schema_of(schema)) as writer:
        for batch in chosen.batches(batches):
            writer.write_batch(batch)
