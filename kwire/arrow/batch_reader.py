"""Reads files to record batches; shared by `kwire.arrow` and Spark's data source.

The content of files never raises an error, except in the mode FAILFAST.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..capture.compressed_files import unpack_input
from ..capture.dump import Dump
from ..capture.files import open_file
from ..capture.frame_extractor import FrameExtractor
from ..capture.kafka.other_protocols import ZOOKEEPER
from ..capture.logs.log_batch import LogBytes
from ..capture.logs.mask_logs import has_secrets
from ..capture.open_dump import open_dump
from ..capture.portions import read_portions
from ..capture.ranges.capture_ranges import CaptureRange, open_range
from ..capture.tcp.connection_share import ConnectionShare
from ..capture.znode_files import read_znode_text
from ..errors import DumpError, ZnodeError
from ..protocol.frames.stream_faults import BrokenDump, NotKafka
from ..protocol.headers.apis import Apis
from ..schema.catalog import Catalog, catalog_for
from ..zookeeper import znodes_in
from .find_files import find_files
from .input_splits import RAW_FRAMES, InputSplit, divide
from .raw_frames import RawFrameWalker
from .read_options import AUTO, FRAMES, HEX, LOG, PCAP, Options
from .rows.arrow_batches import RowBatchBuilder
from .rows.frame_rows import Pairing, Row
from .rows.masked_rows import RowMasking
from .rows.range_pairing import RangePairing
from .rows.row_faults import PADDING, RowFault, fault_of
from .rows.row_schema import MESSAGE, columns_for
from .rows.selected_messages import bodies_for, chooser

MOST_KEPT, MOST_BYTES = 64, 64 << 20  # maximum number of stored replays, and of their bytes
JSON_FILE = ".json"  # in the names of files that may contain znodes
KINDS: dict[str, tuple[str, ...]] = {
    PCAP: ("pcap",),
    HEX: ("hex text",),
    LOG: ("a log segment", "a snapshot"),
}  # prefixes of `Dump.kind`


class BatchReader:
    """A read with fixed options.

    Args:
        options: the options of the read.
        schema: the selected columns as a `pyarrow.Schema`, where `message` may have only some fields; None for the
            columns from the options.

    Attributes:
        schema: the schema of the batches.
        apis: the known apis.
        builder: builds batches of rows.

    Raises:
        BadOption: options contradict each other, or the schema has unknown columns.
        UnknownMessage: an api, profile or release does not exist.
    """

    def __init__(self, options: Options, schema: Any = None) -> None:
        self.options = options
        self.catalog: Catalog = catalog_for(options.profile or None, options.release or None)
        self.columns: list[str] = columns_for(options, schema)
        bodies = bodies_for(options, self.catalog, schema) if MESSAGE in self.columns else None
        self.apis: Apis = Apis(self.catalog, chooser(options, self.catalog))
        masking = RowMasking(self.catalog) if options.mask_secrets else None
        self.builder: RowBatchBuilder = RowBatchBuilder(self.columns, bodies, options, masking)
        self.schema: Any = self.builder.schema

    def divide(self, paths: Sequence[str]) -> list[list[InputSplit]]:
        """Find files and divide them into input splits; see `find_files` and `divide`."""
        return divide(find_files(paths, self.options), self.options)

    def read(self, units: Iterable[InputSplit]) -> Iterator[Any]:
        """Read input splits. Only one read may run at a time.

        Yields:
            `pyarrow.RecordBatch`es.

        Raises:
            MalformedFrame: a frame is malformed, in the mode FAILFAST.
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

    def read_part(self, part: CaptureRange | InputSplit) -> Iterator[Any]:
        """Read a range of a capture, or an input split; for yields and errors see `read`."""
        return self.read_range(part) if isinstance(part, CaptureRange) else self.read([part])

    def read_range(self, part: CaptureRange) -> Iterator[Any]:
        """Read a range of a capture; for yields and errors see `read`."""
        builder = self.builder
        builder.clear()
        builder.begin(part.path)
        pairing = Pairing(self.apis, builder.rows)
        extractor = FrameExtractor(part.path, self.catalog, zookeeper=self.options.zookeeper)
        with open_range(part, extractor, RangePairing(self.apis, pairing)) as batches:
            for batch in batches:
                pairing.add_batch(batch)
                yield from builder.ready()
        yield from builder.rest()

    def rows_of(self, unit: InputSplit) -> Iterator[None]:
        """Pass the rows of an input split to the builder; yield periodically."""
        pairing = Pairing(self.apis, self.builder.rows)
        if self.options.dump_format == FRAMES:
            yield from self._add_raw_frames(unit, pairing)
        else:
            yield from self._whole(unit, pairing)

    def _raw(self, portions: Iterator[bytes], pairing: Pairing) -> Iterator[None]:
        options = self.options
        for cuts in RawFrameWalker(portions, 0, options.max_frame_bytes, options.max_corrupt_bytes).cuts():
            pairing.raw(cuts)
            yield

    def _add_raw_frames(self, unit: InputSplit, pairing: Pairing) -> Iterator[None]:
        """Read raw frames, compressed or not."""
        with open_file(unit.path) as stream:
            try:
                opened = unpack_input(read_portions(stream), unit.path)
            except DumpError as error:
                yield from self._add_unreadable(unit, error)
                return
            yield from self._raw(opened.portions(), pairing)

    def _whole(self, unit: InputSplit, pairing: Pairing) -> Iterator[None]:
        """Read a file of any format; an unknown format becomes fragments."""
        count = len(self.builder.rows)
        begun = False
        try:
            text = read_znode_text(unit.path) if JSON_FILE in unit.path and self.options.dump_format == AUTO else None
            if text is not None:
                yield from self._znodes(text, unit)
                return
            share, zookeeper = ConnectionShare(unit.part, unit.parts), self.options.zookeeper
            with open_dump(unit.path, catalog=self.catalog, share=share, zookeeper=zookeeper) as dump:
                self._check(dump, unit.path)
                if dump.kind == RAW_FRAMES or dump.kind.endswith(f" around {RAW_FRAMES}"):
                    yield from self._add_raw_frames(unit, pairing)
                    return
                for _ in self._add_dump(dump, pairing):
                    begun = begun or len(self.builder.rows) > count
                    yield
        except DumpError as error:
            if unit.part == 0:
                yield from self._broken(error) if begun else self._add_unreadable(unit, error)

    def _znodes(self, text: str, unit: InputSplit) -> Iterator[None]:
        """Pass znodes in JSON to the builder as one malformed row, whose text is kept with the option `zookeeper`."""
        try:
            znodes_in(text)
        except ZnodeError as error:
            raise DumpError(str(error), file=unit.path) from None
        if unit.part == 0:
            data = text.encode()
            fault = fault_of(NotKafka(len(data), found=f"{ZOOKEEPER}'s znodes"))
            data = data if self.options.zookeeper else b""
            self.builder.rows.append(Row(0, data, fault=fault))
            yield

    def _check(self, dump: Dump, path: str) -> None:
        wanted = self.options.dump_format
        if wanted != AUTO and not dump.kind.rpartition(" around ")[2].startswith(KINDS[wanted]):
            raise DumpError(f"this is {dump.kind}, not {wanted}", file=path, hint="dumpFormat=auto reads each as it is")

    def _add_dump(self, dump: Dump, pairing: Pairing) -> Iterator[None]:
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
        fault: RowFault | None
        if isinstance(item, LogBytes):
            data = item.data if isinstance(item.data, bytes) else b""
            padding = RowFault(PADDING, f"{item.count} bytes of zeros", None, None)
            fault = (fault_of(item.error) if item.error is not None else None) or padding
            position, fault = item.position, fault._replace(bytes=item.count)
        else:
            is_hidden = self.options.mask_secrets and has_secrets(item)
            data = bytes(len(item.header.data) if is_hidden else item.header.data)
            position = item.header.position
            fault = fault_of(item.faults[0]) if item.faults else None
        self.builder.rows.append(Row(position, data, fault=fault))

    def _broken(self, error: DumpError) -> Iterator[None]:
        """Pass the fault of a capture that cannot be read further to the builder."""
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        self.builder.rows.append(Row(error.offset or 0, b"", fault=fault))
        yield

    def _add_unreadable(self, unit: InputSplit, error: DumpError) -> Iterator[None]:
        """Pass an unreadable file to the builder as fragments."""
        if self.options.ignore_corrupt_files:
            return
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        offset = 0
        with open_file(unit.path) as stream:
            while piece := stream.read(self.options.max_corrupt_bytes):
                self.builder.rows.append(Row(offset, piece, fault=fault))
                offset += len(piece)
                yield
