"""Decodes connections from rows of packets, which `packet_scan` creates and a shuffle groups by connection.

The rows of a connection are adjacent and ordered by time; their packets may come from several files. Packets that are
in several overlapping files are used once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from msgspec.msgpack import decode

from ...capture.frame_extractor import FrameExtractor
from ...capture.kafka.captured_frames import fault_item
from ...capture.packets.packet_headers import NOT_TCP
from ...errors import DecodeError, DumpError
from ...protocol.frames.stream_faults import BrokenDump, CutRecord, Damaged, LateFile, LostPackets
from ..batch_reader import BatchReader
from ..input_splits import InputSplit
from ..rows.frame_rows import Pairing
from .connection_windows import WHOLE, ConnectionWindow, Windows
from .packet_chunks import Ahead, Chunk, chunks_of, in_file_order, is_void, packet_reader
from .packet_feeder import PacketFeeder
from .packet_rows import BROKEN, DAMAGE, ENTRY, FILE, LATE, LOST, PACKETS, VOID
from .packet_walk import SEGMENTS
from .raw_frame_ranges import RangeEntry, read_fragments, read_frames

CAPTURE = "capture"  # the column with the name of the capture
SHORT, MOST_SHORT = 1 << 20, 1 << 12  # maximum bytes of a short connection, and bytes that are read together


class ConnectionDecoder:
    """Decodes rows of packets to rows of frames.

    Args:
        reading: creates the rows of frames.
        windows: the windows of long connections, as passed to `scan`.

    Attributes:
        schema: the schema of the batches: the columns of the reading, and the name of the capture.
    """

    def __init__(self, reading: BatchReader, windows: Windows = WHOLE) -> None:
        self.schema: Any = reading.schema.append(pa.field(CAPTURE, pa.string()))
        self._reading, self._windows = reading, windows

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Decode all connections.

        Args:
            batches: batches of `packet_scan.SCHEMA`, sorted by its columns, with all rows of each connection.

        Yields:
            Record batches.

        Raises:
            MalformedFrame: a frame is malformed, in the mode FAILFAST.
        """
        builder = self._reading.builder
        builder.clear()
        for capture, chunks in groupby(chunks_of(batches), itemgetter(0)):
            short = _Short(self._reading)
            for _, rows in groupby(chunks, itemgetter(1)):
                for _ in self._connection(rows, short):
                    yield from self.named(builder.ready(), capture)
            for _ in short.flush():
                yield from self.named(builder.ready(), capture)
            yield from self.named(builder.rest(), capture)

    def named(self, batches: Iterator[Any], capture: str) -> Iterator[Any]:
        """Add a column with the name of the capture to batches."""
        for batch in batches:
            names = pa.array([capture], pa.string()).take(pa.array([0] * batch.num_rows, pa.int8()))
            yield pa.RecordBatch.from_arrays([*batch.columns, names], schema=self.schema)

    def _connection(self, rows: Iterator[Chunk], short: _Short) -> Iterator[None]:
        """Pass the frames of a connection, or notes about a file, to the builder; yield periodically."""
        first = next(rows)
        span, rows = self._windows.span(first.capture, first.connection), chain([first], rows)
        if span is not None:
            yield from self._window(rows, span)
        elif begun := short.begun(rows):
            yield from self._whole(chain(begun, rows))
        else:
            yield from short.full()

    def _whole(self, rows: Iterator[Chunk]) -> Iterator[None]:
        """Pass the frames of a connection that is not short, or notes about a file, to the builder."""
        reading, voids, lost = self._reading, Counter[Any](), Counter[str]()
        pairing, path = Pairing(reading.apis, reading.builder.rows), ""
        for chunk in rows:
            if chunk.kind == VOID:
                voids.update((chunk.path, chunk.what, offset) for offset in chunk.places)
            elif chunk.kind == PACKETS:
                yield from PacketFeeder(reading, pairing, voids).feed(chain([chunk], rows))
            elif chunk.kind == ENTRY:
                yield from self._frames(chain([chunk], rows))
            elif chunk.kind == LOST:
                path = chunk.path
                lost[chunk.problem] += chunk.place
            else:
                reading.builder.begin(chunk.path)
                yield from self._other(chunk, voids, pairing)
        if faults := list(_report_lost(path, lost)):
            reading.builder.begin(path)
            pairing.add_batch([fault_item(fault) for fault in faults])
        yield

    def _frames(self, rows: Iterator[Chunk]) -> Iterator[None]:
        """Read a range of raw frames; yield periodically."""
        reading, options = self._reading, self._reading.options
        following = Ahead(rows)
        entries = list[RangeEntry]()
        while (chunk := following.following) is not None and chunk.kind == ENTRY:
            entries.append(decode(chunk.head, type=RangeEntry))
            path = chunk.path
            following.take()
        entry = min(entries)
        reading.builder.begin(path)
        pairing = Pairing(reading.apis, reading.builder.rows)
        end: RangeEntry | None = entry
        if entry.broken is None:
            pieces = ((chunk.place, chunk.packets) for chunk in iter(following.take, None))
            end = yield from read_frames(entry, pieces, pairing, options)
        for cuts in () if end is None else read_fragments(path, end, options):
            pairing.raw(cuts)
            yield
        for _ in rows:
            pass  # the range is after the last frame

    def _window(self, rows: Iterator[Chunk], span: ConnectionWindow) -> Iterator[None]:
        """Pass the frames of a window of a connection to the builder; yield periodically."""
        reading, chunks = self._reading, Ahead(rows)
        voids = Counter[Any]()
        while (chunk := chunks.following) is not None and chunk.kind == VOID:
            chunks.take()
            voids.update((chunk.path, chunk.what, offset) for offset in chunk.places)
        feeder = PacketFeeder(reading, Pairing(reading.apis, reading.builder.rows), voids)
        ordered = Ahead(in_file_order(iter(chunks.take, None)))
        yield from feeder.feed_window(ordered, span, self._windows)

    def _other(self, chunk: Chunk, voids: Counter[Any], pairing: Pairing) -> Iterator[None]:
        """Read a file that is not a capture, or report the errors in a capture."""
        if chunk.kind == FILE:
            yield from self._reading.rows_of(InputSplit(chunk.path))
        elif not is_void(chunk, chunk.place, voids):
            pairing.add_batch([fault_item(_fault(chunk), chunk.packets, chunk.place)])


class _Short:
    """Collects connections with few, adjacent packets in one file, and reads them together as one capture."""

    def __init__(self, reading: BatchReader) -> None:
        self._reading = reading
        self._kept: dict[tuple[str, bytes], list[bytes]] = {}  # by path and file header
        self._count = self._size = 0

    def begun(self, rows: Iterator[Chunk]) -> list[Chunk]:
        """Store a connection if it is short; otherwise return the chunks that were taken from it."""
        taken = list[Chunk]()
        for chunk in rows:
            taken.append(chunk)
            first = taken[0]
            is_one = chunk.kind == PACKETS and (chunk.path, chunk.head) == (first.path, first.head)
            if not is_one or sum(len(taken_chunk.packets) for taken_chunk in taken) > SHORT:
                return taken
        packets = (taken_chunk.packets for taken_chunk in in_file_order(taken))
        self._kept.setdefault((taken[0].path, taken[0].head), []).extend(packets)
        self._count += 1
        self._size += sum(len(taken_chunk.packets) for taken_chunk in taken)
        return []

    def full(self) -> Iterator[None]:
        """Read the stored connections if they exceed the limit; yield periodically."""
        if self._count >= MOST_SHORT or self._size >= SHORT * 8:
            yield from self.flush()

    def flush(self) -> Iterator[None]:
        """Read the stored connections; yield periodically."""
        kept, self._kept, self._count, self._size = self._kept, {}, 0, 0
        for (path, head), packets in kept.items():
            reading, builder = self._reading, self._reading.builder
            builder.begin(path)
            streams = FrameExtractor(path, reading.catalog, zookeeper=reading.options.zookeeper)
            pairing = Pairing(reading.apis, builder.rows)
            for batch in streams.receive(packet_reader(head, b"".join(packets), path)):
                pairing.add_batch(batch)
                yield
            pairing.add_batch(streams.finish())
            yield


def _report_lost(path: str, counts: Counter[str]) -> Iterator[DecodeError]:
    """Yield errors for the unreadable packets of a file, and another one if no packet could be read."""
    others, segments = counts.pop(NOT_TCP, 0), counts.pop(SEGMENTS, 0)
    losses = [(reason, count) for reason, count in sorted(counts.items()) if count]
    yield from (LostPackets(count, found=reason) for reason, count in losses)
    if others and not segments and not losses:
        problem = f"none of its packets carries TCP: {others} were looked at"
        yield BrokenDump(found=str(DumpError(problem, file=path)), offset=0)


def _fault(chunk: Chunk) -> DecodeError:
    if chunk.kind == BROKEN:
        return BrokenDump(found=chunk.problem, offset=chunk.place)
    if chunk.kind == LATE:
        return LateFile(0)
    assert chunk.kind == DAMAGE
    how, _, problem = chunk.problem.partition(":")
    kind = CutRecord if how == "cut" else Damaged
    return kind(len(chunk.packets), found=problem, offset=chunk.place)
