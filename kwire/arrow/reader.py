"""Reads files to record batches; shared by `kwire.arrow` and Spark's data source.

The content of files never raises an error, except in the mode FAILFAST.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..capture.record_cursor import portions_of
from ..capture.sharding import Share
from ..errors import DumpError
from ..input import Dump, open_dump
from ..input.compressed import unpacked
from ..input.file_systems import open_file
from ..logs import LogBytes
from ..protocol.api_registry import Apis
from ..protocol.fragments import BrokenDump
from ..spec.catalog import catalog_for
from .batch_builder import MESSAGE, Builder
from .errors import PADDING, Fault, fault_of
from .files import find_files
from .frame_rows import Pairing
from .incremental_capture import Replay, Replays
from .input_splits import RAW, Unit, divide
from .options import AUTO, FRAMES, HEX, LOG, PCAP, Options
from .raw_frames import Walker
from .raw_ranges import ENDLESS, broken_cuts
from .selection import bodies_for, chooser, columns_for

KINDS = {PCAP: ("pcap",), HEX: ("hex text",), LOG: ("a log segment", "a snapshot")}  # prefixes of `Dump.kind`


class Reading:
    """A read with fixed options.

    Args:
        options: the options of the read.
        schema: the selected columns as a `pyarrow.Schema`, `message` possibly with some of its fields; None for the
            columns from the options.

    Attributes:
        schema: the schema of the batches.
        apis: what is known of frames.
        builder: makes batches of rows.

    Raises:
        BadOption: options contradict each other, or the schema has unknown columns.
        UnknownMessage: there is no such api, profile or release.
    """

    def __init__(self, options: Options, schema: Any = None) -> None:
        self.options = options
        self.catalog = catalog_for(options.profile or None, options.release or None)
        self.columns: list[str] = columns_for(options, schema)
        bodies = bodies_for(options, self.catalog, schema) if MESSAGE in self.columns else None
        self.apis: Apis = Apis(self.catalog, chooser(options, self.catalog))
        self.builder: Builder = Builder(self.columns, bodies, options)
        self.schema: Any = self.builder.schema
        self._replays = Replays()

    def divide(self, paths: Sequence[str]) -> list[list[Unit]]:
        """Find files and divide them; see `find_files` and `divide`."""
        return divide(find_files(paths, self.options), self.options, self.apis)

    def read(self, units: Iterable[Unit]) -> Iterator[Any]:
        """Read input splits; only one read at a time.

        Yields:
            `pyarrow.RecordBatch`es.

        Raises:
            MalformedFrame: in the mode FAILFAST.
            OSError: a file cannot be read.
        """
        builder, options = self.builder, self.options
        builder.clear()
        for unit in units:
            builder.begin(unit.path)
            try:
                for _ in self.rows_of(unit):
                    yield from builder.ready()
            except FileNotFoundError:
                if not options.ignore_missing_files:
                    raise
            except OSError:
                if not options.ignore_corrupt_files:
                    raise
            yield from builder.ready()
        yield from builder.rest()

    def rows_of(self, unit: Unit) -> Iterator[None]:
        """Pass the rows of an input split to the builder; yields periodically."""
        if unit.kind:
            yield from self._replayed(unit)
            return
        pairing = Pairing(self.apis, self.builder.rows.append)
        pairing.resume(unit.state)
        if unit.broken is not None:
            for cuts in broken_cuts(unit, self.options):
                pairing.raw(cuts)
                yield
        elif unit.stop is not None:
            with open_file(unit.path) as stream:
                stream.seek(unit.start)
                yield from self._raw(portions_of(stream, unit.stop - unit.start), unit, pairing)
        elif self.options.dump_format == FRAMES:
            yield from self._unpacked(unit, pairing)
        else:
            yield from self._whole(unit, pairing)

    def _replayed(self, unit: Unit) -> Iterator[None]:
        """Read a range of a growing capture."""
        with open_file(unit.path) as stream:
            replay = self._replays.take(stream, unit) or Replay(unit, self.catalog, self.apis)
            try:
                yield from replay.read(stream, unit, self.builder.rows.append)
            except DumpError as error:  # at the start, or after packets without frames
                if unit.part == 0:
                    yield from self._refused(unit, error, 0 if replay.is_new else unit.start)
        self._replays.keep(replay)

    def _raw(self, portions: Iterator[bytes], unit: Unit, pairing: Pairing) -> Iterator[None]:
        options = self.options
        least = unit.state.least
        walker = Walker(portions, unit.start, options.max_frame_bytes, options.max_corrupt_bytes, least)
        for cuts in walker.cuts():
            pairing.raw(cuts)
            yield

    def _unpacked(self, unit: Unit, pairing: Pairing) -> Iterator[None]:
        """Read raw frames, compressed or not."""
        with open_file(unit.path) as stream:
            try:
                opened = unpacked(portions_of(stream), unit.path)
            except DumpError as error:
                yield from self._refused(unit, error)
                return
            yield from self._raw(opened.portions(), unit, pairing)

    def _whole(self, unit: Unit, pairing: Pairing) -> Iterator[None]:
        """Read a file of any format; an unknown format is returned as fragments."""
        count = len(self.builder.rows)
        begun = False
        try:
            share, zookeeper = Share(unit.part, unit.parts), self.options.zookeeper
            with open_dump(unit.path, catalog=self.catalog, share=share, zookeeper=zookeeper) as dump:
                self._check(dump, unit.path)
                if dump.kind == RAW or dump.kind.endswith(f" around {RAW}"):
                    yield from self._unpacked(unit, pairing)
                    return
                for _ in self._dumped(dump, pairing):
                    begun = begun or len(self.builder.rows) > count
                    yield
        except DumpError as error:
            if unit.part == 0:
                yield from self._broken(error) if begun else self._refused(unit, error)

    def _check(self, dump: Dump, path: str) -> None:
        wanted = self.options.dump_format
        if wanted != AUTO and not dump.kind.rpartition(" around ")[2].startswith(KINDS[wanted]):
            raise DumpError(f"this is {dump.kind}, not {wanted}", file=path, hint="dumpFormat=auto reads each as it is")

    def _dumped(self, dump: Dump, pairing: Pairing) -> Iterator[None]:
        if dump.batches is not None:
            for item in dump.batches:
                self._log_item(item)
                yield
        elif dump.captured is not None:
            for batch in dump.captured:
                pairing.add_batch(batch)
                yield
        else:
            for frame in dump.frames:
                pairing.frame(frame)
                yield

    def _log_item(self, item: Any) -> None:
        """Pass a batch of a log, or bytes outside batches, to the builder."""
        fault: Fault | None
        if isinstance(item, LogBytes):
            data = item.data if isinstance(item.data, bytes) else b""
            padding = Fault(PADDING, f"{item.count} bytes of zeros", None, None)
            fault = (fault_of(item.error) if item.error is not None else None) or padding
            place, fault = item.position, fault._replace(bytes=item.count)
        else:
            data, place = bytes(item.header.data), item.header.position
            fault = fault_of(item.faults[0]) if item.faults else None
        self.builder.rows.append((place, data, None, None, None, None, None, None, fault))

    def _broken(self, error: DumpError) -> Iterator[None]:
        """Return the fault of a capture that cannot be read further."""
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        self.builder.rows.append((error.offset or 0, b"", None, None, None, None, None, None, fault))
        yield

    def _refused(self, unit: Unit, error: DumpError, offset: int = 0) -> Iterator[None]:
        """Return an unreadable file, or part of one, as fragments."""
        if self.options.ignore_corrupt_files:
            return
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        with open_file(unit.path) as stream:
            stream.seek(offset)
            while piece := stream.read(min(self.options.max_corrupt_bytes, (unit.stop or ENDLESS) - offset)):
                self.builder.rows.append((offset, piece, None, None, None, None, None, None, fault))
                offset += len(piece)
                yield
