"""Decodes connections from rows of packets, which `packet_scan` creates and a shuffle groups by connection.

The rows of a connection are adjacent and ordered by time; their packets may come from several files. Packets that are
in several overlapping files are used once.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain, groupby
from operator import itemgetter
from struct import unpack
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec.msgpack import decode

from ..capture.frame_extractor import FrameExtractor
from ..capture.kafka.captured_frames import fault_item
from ..capture.packets.packet import Packet
from ..capture.packets.packet_headers import NOT_TCP, parse_segment
from ..capture.packets.pcap import MAGICS, PcapReader
from ..capture.packets.pcapng import PcapngReader
from ..capture.packets.segment import Segment
from ..capture.tcp.stream_reassembly import sequence_distance
from ..errors import DecodeError, DumpError
from ..protocol.framing import BrokenDump, CutRecord, Damaged, LateFile, LostPackets
from ..spec.catalog import Catalog
from .batch_reader import Reading
from .connection_windows import (
    BEHIND,
    LEAST_SHARE,
    NEAR,
    REGION,
    WHOLE,
    WITHIN,
    BoundaryState,
    Found,
    Region,
    Span,
    Windows,
    check,
    found_in,
    go_on,
    rest_of,
)
from .frame_rows import Pairing, Row
from .frame_scan import Entry, broken_cuts, fragments_of, read_frames
from .packet_scan import (
    BROKEN,
    DAMAGE,
    ENDLESS,
    ENTRY,
    FILE,
    LATE,
    LOST,
    PACKETS,
    SEGMENTS,
    VOID,
    Split,
    head_of,
    is_compressed,
    pieces_around,
    scan,
)
from .read_options_and_splits import Unit

CAPTURE = "capture"  # the column with the name of the capture
SHORT, MOST_SHORT = 1 << 20, 1 << 12  # maximum bytes of a short connection, and bytes that are read together
REMEMBERED, RECENT = 1 << 16, 16 << 20  # packets and bytes that are searched for a duplicate of a packet


class Chunk(NamedTuple):
    """A row of `packet_scan.SCHEMA`."""

    capture: str
    connection: bytes
    kind: int
    first: int
    last: int
    path: str
    place: int
    head: bytes
    offsets: bytes
    packets: bytes
    problem: str

    @property
    def places(self) -> tuple[int, ...]:
        """The positions of the packet records in the file."""
        return unpack(f"<{len(self.offsets) // 8}q", self.offsets)

    @property
    def what(self) -> bytes | tuple[str, int]:
        """The identity of a record at its place in the file: its header; for damage, the problem and the length."""
        return self.head or (self.problem, len(self.packets))

    def reader(self) -> PcapReader | PcapngReader:
        """Return a reader for the packets."""
        return _reader(self.head, self.packets, self.path)


def _reader(head: bytes, packets: bytes, path: str) -> PcapReader | PcapngReader:
    kind = _Records if head[:4] in MAGICS else PcapngReader
    return kind(iter([head + packets]), path)


class _Records(PcapReader):
    """Reads records at verified positions, without searching for damage."""

    def _is_record(self, seconds: int, ticks: int, captured: int, size: int) -> bool:
        return self.cursor.fill(size)


class ConnectionDecoder:
    """Decodes rows of packets to rows of frames.

    Args:
        reading: creates the rows of frames.
        windows: the windows of long connections, as passed to `scan`.

    Attributes:
        schema: the schema of the batches: the columns of the reading, and the name of the capture.
    """

    def __init__(self, reading: Reading, windows: Windows = WHOLE) -> None:
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
                voids.update((chunk.path, chunk.what, place) for place in chunk.places)
            elif chunk.kind == PACKETS:
                yield from _Feeder(reading, pairing, voids).feed(chain([chunk], rows))
            elif chunk.kind == ENTRY:
                yield from self._frames(chain([chunk], rows))
            elif chunk.kind == LOST:
                path = chunk.path
                lost[chunk.problem] += chunk.place
            else:
                reading.builder.begin(chunk.path)
                yield from self._other(chunk, voids, pairing)
        if faults := list(_lost(path, lost)):
            reading.builder.begin(path)
            pairing.add_batch([fault_item(fault) for fault in faults])
        yield

    def _frames(self, rows: Iterator[Chunk]) -> Iterator[None]:
        """Read a range of raw frames; yield periodically."""
        reading, options = self._reading, self._reading.options
        following = _Ahead(rows)
        entries = list[Entry]()
        while (chunk := following.following) is not None and chunk.kind == ENTRY:
            entries.append(decode(chunk.head, type=Entry))
            path = chunk.path
            following.take()
        entry = min(entries)
        reading.builder.begin(path)
        pairing = Pairing(reading.apis, reading.builder.rows)
        broken = entry.broken
        if broken is None:
            pieces = ((chunk.place, chunk.packets) for chunk in iter(following.take, None))
            broken = yield from read_frames(entry, pieces, pairing, options)
            entry = entry._replace(place=broken or 0)
        if broken is not None:
            start, stop = fragments_of(entry, broken, options.max_corrupt_bytes)
            for cuts in broken_cuts(path, start, stop, broken, entry.state.least, options):
                pairing.raw(cuts)
                yield
        for _ in rows:
            pass  # the range is after the last frame

    def _window(self, rows: Iterator[Chunk], span: Span) -> Iterator[None]:
        """Pass the frames of a window of a connection to the builder; yield periodically."""
        reading, chunks = self._reading, _Ahead(rows)
        voids = Counter[Any]()
        while (chunk := chunks.following) is not None and chunk.kind == VOID:
            chunks.take()
            voids.update((chunk.path, chunk.what, place) for place in chunk.places)
        feeder = _Feeder(reading, Pairing(reading.apis, reading.builder.rows), voids)
        ordered = _Ahead(in_file_order(iter(chunks.take, None)))
        yield from feeder.feed_window(ordered, span, self._windows)

    def _other(self, chunk: Chunk, voids: Counter[Any], pairing: Pairing) -> Iterator[None]:
        """Read a file that is not a capture, or report the errors in a capture."""
        if chunk.kind == FILE:
            yield from self._reading.rows_of(Unit(chunk.path))
        elif not _is_void(chunk, chunk.place, voids):
            pairing.add_batch([fault_item(_fault(chunk), chunk.packets, chunk.place)])


class _Short:
    """Collects connections with few, adjacent packets in one file, and reads them together as one capture."""

    def __init__(self, reading: Reading) -> None:
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
            if not is_one or sum(len(one.packets) for one in taken) > SHORT:
                return taken
        packets = (one.packets for one in in_file_order(taken))
        self._kept.setdefault((taken[0].path, taken[0].head), []).extend(packets)
        self._count += 1
        self._size += sum(len(one.packets) for one in taken)
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
            for batch in streams.receive(_reader(head, b"".join(packets), path)):
                pairing.add_batch(batch)
                yield
            pairing.add_batch(streams.finish())
            yield


class _Ahead:
    """An iterator of chunks that gives access to the next one."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks
        self.following: Chunk | None = next(chunks, None)

    def take(self) -> Chunk | None:
        """Remove and return the next chunk."""
        taken, self.following = self.following, next(self._chunks, None) if self.following is not None else None
        return taken


def _until(chunks: _Ahead, part: int, span: Span, windows: Windows) -> Iterator[Chunk]:
    """Yield chunks up to the first one in a given part of a window."""
    while (chunk := chunks.following) is not None and windows.part(span, chunk.path, chunk.place) < part:
        chunks.take()
        yield chunk


def _comparable(row: Row) -> Any:
    """Return the fields of a row that must be equal."""
    return *row[:5], id(row[5]), *row[6:8], str(row[8])


def _drop(row: Row) -> None:
    """Discard a row, because another window yields it."""


def _lost(path: str, counts: Counter[str]) -> Iterator[DecodeError]:
    """Yield errors for the unreadable packets of a file, and another one if no packet could be read."""
    others, segments = counts.pop(NOT_TCP, 0), counts.pop(SEGMENTS, 0)
    found = [(reason, count) for reason, count in sorted(counts.items()) if count]
    yield from (LostPackets(count, found=reason) for reason, count in found)
    if others and not segments and not found:
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


def chunks_of(batches: Iterable[Any]) -> Iterator[Chunk]:
    """Yield the rows of record batches."""
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns[:-2]]
        for index, values in enumerate(zip(*columns, strict=True)):
            yield Chunk(*values, *(column[index].as_py() for column in batch.columns[-2:]))


def in_file_order(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks that are sorted by time, but the chunks of each file in the order of their positions.

    Packets are not in order of time if the clock was set back, or if a file has packets of several interfaces. At most
    `RECENT` bytes are held to be sorted.
    """
    heaps: dict[str, list[tuple[int, int, Chunk]]] = {}
    paths, size = deque[str](), 0

    def first() -> Chunk:
        return heappop(heaps[paths.popleft()])[2]

    for number, chunk in enumerate(chunks):
        heappush(heaps.setdefault(chunk.path, []), (chunk.place, number, chunk))
        paths.append(chunk.path)
        size += len(chunk.packets)
        while size > RECENT:
            following = first()
            size -= len(following.packets)
            yield following
    while paths:
        yield first()


class _Feeder:
    """Sorts the packets of one connection and passes them to the extractor of its frames.

    Chunks of one file, and of consecutive files, are read unchanged. If chunks of several files overlap in time, or a
    chunk starts before the last packet that was read, packets are merged one by one, without duplicates.
    """

    def __init__(self, reading: Reading, pairing: Pairing, voids: Counter[Any]) -> None:
        self._reading, self._pairing, self._voids = reading, pairing, voids
        self._streams = FrameExtractor("", reading.catalog, zookeeper=reading.options.zookeeper)
        self._seen = Seen()
        self._recent: deque[Chunk] = deque()  # the newest chunks that were read unchanged
        self._path = ""

    def feed(self, chunks: Iterator[Chunk]) -> Iterator[None]:
        """Read all chunks, ordered by their first time, and end the connection; yield periodically."""
        yield from self._read(in_file_order(chunks))
        yield from self._finish()

    def feed_window(self, chunks: _Ahead, span: Span, windows: Windows) -> Iterator[None]:
        """Read the chunks of a window; only the last window ends the connection.

        Raises:
            DumpError: the window does not start or end with the expected state.
        """
        if span.begin is not None:
            sink, self._pairing.sink = self._pairing.sink, _drop
            yield from self._read(_until(chunks, WITHIN, span, windows))
            self._pairing.sink = sink
            go_on(self._streams, self._pairing, span)
        yield from self._read(_until(chunks, NEAR, span, windows))
        near = list(_until(chunks, BEHIND, span, windows))
        yield from self._read(iter(near))
        if span.end is None:
            yield from self._finish()
        elif self._rest(span) != span.end.rest:
            packets = chain.from_iterable(packets_in(chunk, {}) for chunk in iter(chunks.take, None))
            self._hand_over(span, near, packets, has_rest=windows.has_rest(span.end))
        while chunks.take() is not None:  # packets after the window are only needed if its end is uncertain
            pass

    def _rest(self, span: Span) -> BoundaryState | None:
        """Return the state of the connection, with positions relative to its start."""
        rest = rest_of(self._streams, self._pairing, span.connection)
        return rest if rest is None or span.begin is None else rest.moved(span.begin.shifts)

    def _hand_over(self, span: Span, near: Sequence[Chunk], behind: Iterator[Packet], *, has_rest: bool) -> None:
        """Continue as the next window does, until no data from before the cut is missing; leave later rows to it.

        Raises:
            DumpError: the next window yields different rows.
        """
        rows, cut = self._reading.builder.rows, span.end
        assert cut is not None
        count, others, ends = len(rows), list[Row](), self._pairing.ends(0)
        other = _Feeder(self._reading, Pairing(self._reading.apis, others.append), Counter())
        following = Span(span.connection, cut, None)
        for _ in other._read(iter(near)):
            pass
        others.clear()
        go_on(other._streams, other._pairing, following)
        rest = self._converge(span, other, following, behind)
        if rest is None and has_rest:
            for _ in chain(self._finish(), other._finish()):
                pass
        elif rest is None:
            check(cut, rest)
        found = list(rows.take(count))
        own = [row for row in found if row[3] == ends and row[0] < cut.rest.positions[bool(row[4])]]
        rows += own
        if Counter(map(_comparable, found)) - Counter(map(_comparable, own)) != Counter(map(_comparable, others)):
            check(cut, rest)

    def _converge(self, span: Span, other: _Feeder, following: Span, behind: Iterator[Packet]) -> BoundaryState | None:
        """Read packets in parallel with another reader until both states are equal; return the state, or None at the
        end.
        """
        for packet in behind:
            for feeder in (self, other):
                for _ in feeder._frames_of([packet]):
                    pass
            rest = self._rest(span)
            if rest is not None and rest == other._rest(following):
                return rest
        return None

    def _finish(self) -> Iterator[None]:
        self._pairing.add_batch(self._streams.finish())
        yield

    def _read(self, rows: Iterator[Chunk]) -> Iterator[None]:
        chunks = _Ahead(rows)
        while (chunk := chunks.take()) is not None:
            after = chunks.following
            overlaps = after is not None and after.path != chunk.path and after.first < chunk.last
            if overlaps or self._voids or self._comes_again(chunk):
                yield from self._merge(chunk, chunks)
            else:
                self._begin(chunk.path)
                yield from self._frames_of(chunk.reader())
                self._remember(chunk)

    def _frames_of(self, packets: Iterable[Any]) -> Iterator[None]:
        for batch in self._streams.receive(packets):
            self._pairing.add_batch(batch)
            yield

    def _begin(self, path: str) -> None:
        if path != self._path:
            self._path = path
            self._reading.builder.begin(path)

    def _remember(self, chunk: Chunk) -> None:
        recent = self._recent
        recent.append(chunk)
        while sum(len(one.packets) for one in recent) > RECENT:
            recent.popleft()

    def _comes_again(self, chunk: Chunk) -> bool:
        """Whether a chunk of another file seems to start with packets that were already read."""
        if self._path in ("", chunk.path):
            return False
        segment = next((one for one in map(parse_segment, packets_in(chunk, {})) if isinstance(one, Segment)), None)
        if segment is None:
            return False
        half = self._streams.reassembler.known.get(segment.key)
        return half is None or half.sequence is None or sequence_distance(segment.sequence, half.sequence) < 0

    def _merge(self, chunk: Chunk, chunks: _Ahead) -> Iterator[None]:
        """Read a chunk and all chunks that overlap it, in the order of their packets."""
        while self._recent:
            self._seen.add(self._recent.popleft())
        heap: list[_Open] = []
        _push(heap, _Open(chunk.first, 0, None, chunk, packets_in(chunk, self._voids)))
        number = 0
        while heap:
            while chunks.following is not None and chunks.following.first <= heap[0].time:
                number += 1
                other = chunks.take()
                assert other is not None
                _push(heap, _Open(other.first, number, None, other, packets_in(other, self._voids)))
            now = heappop(heap)
            _push(heap, now)
            assert now.packet is not None
            if self._seen.is_new(now.packet, now.chunk.path):
                self._begin(now.chunk.path)
                yield from self._frames_of(iter([now.packet]))


class _Open(NamedTuple):
    """A chunk that is being read: the time of its next packet, its number, the packet, and the packets after it."""

    time: int
    number: int
    packet: Packet | None
    chunk: Chunk
    others: Iterator[Packet]


def _push(heap: list[_Open], one: _Open) -> None:
    """Push a chunk back with its next packet, if there is one."""
    packet = next(one.others, None)
    if packet is not None:
        time = one.time if packet.nanoseconds is None else packet.nanoseconds
        heappush(heap, one._replace(time=time, packet=packet))


def packets_in(chunk: Chunk, voids: Any) -> Iterator[Packet]:
    """Yield the packets of a chunk except revoked ones."""
    places = chunk.places
    found = (packet for packet in chunk.reader() if isinstance(packet, Packet))
    for place, packet in zip(places, found, strict=True):
        if not _is_void(chunk, place, voids):
            yield packet


def _is_void(chunk: Chunk, place: int, voids: Any) -> bool:
    """Whether a range has revoked a packet of another range; each revocation applies to one packet."""
    if not voids or voids[chunk.path, chunk.what, place] <= 0:
        return False
    voids[chunk.path, chunk.what, place] -= 1
    return True


class Seen:
    """The newest packets by their segments, with the largest count in any one file."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Any, Counter[str]] = OrderedDict()

    def add(self, chunk: Chunk) -> None:
        """Record packets that were read."""
        for packet in packets_in(chunk, {}):
            self.is_new(packet, chunk.path)

    def is_new(self, packet: Packet, path: str) -> bool:
        """Record a packet; return whether no other file contained it before."""
        segment = parse_segment(packet)
        if not isinstance(segment, Segment):
            return True
        identity = segment.key, segment.sequence, segment.acknowledgement, segment.flags, segment.payload
        counts = self._counts.setdefault(hash(identity), Counter())
        self._counts.move_to_end(hash(identity))
        most = max(counts.values(), default=0)
        counts[path] += 1
        if len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        return counts[path] > most


def regions_of(split: Split, catalog: Catalog, most: int = REGION) -> Iterator[Region]:
    """Find frame boundaries of connections, at the start of a file and at the end of a byte range.

    Args:
        split: the byte range.
        catalog: the specs that identify requests.
        most: the number of bytes to search, at each position.

    Yields:
        The regions; for a file that is not a complete capture, a region whose packets may have any time.
    """
    if is_compressed(head_of(split.path, 4)) or pieces_around(split) is not None:
        yield Region(split.capture, split.path, 0, 0, ENDLESS, ())
        return
    size = min(most, (split.stop - split.start) // 2)
    for start, stop in ((split.start, split.start + size), (split.stop - size, split.stop)):
        if start and start == split.start:
            continue
        part = split._replace(start=start, stop=stop)
        chunks = [chunk for chunk in chunks_of(scan(part)) if chunk.kind in (PACKETS, VOID)]
        if chunks:
            first, last = min(chunk.first for chunk in chunks), max(chunk.last for chunk in chunks)
            is_sure = all(chunk.kind == PACKETS for chunk in chunks)
            found = tuple(_found(chunks, size // LEAST_SHARE if start else 0, catalog)) if is_sure else ()
            yield Region(split.capture, split.path, start, first, last, found)


def _found(chunks: Sequence[Chunk], least: int, catalog: Catalog) -> Iterator[Found]:
    """Yield frame boundaries of the connections with at least `least` bytes."""
    for key, some in groupby(sorted(chunks, key=itemgetter(1, 6)), itemgetter(1)):
        ordered = list(some)
        if sum(len(chunk.packets) for chunk in ordered) >= least:
            packets = (one for chunk in ordered for one in zip(chunk.places, packets_in(chunk, {}), strict=True))
            found = found_in(ordered[0].path, key, packets, catalog)
            if found is not None:
                yield found
