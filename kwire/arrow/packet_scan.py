"""Reads the packets in any byte range of a capture file, grouped by connection.

A range starts at the first position where consecutive records seem to start. This may be wrong, for example inside a
packet that contains a capture. Therefore each range also determines where the next range starts, and reads on until its
records equal those of the next range. It yields wrong records of the next range as VOID, and the records that the next
range lacks. All ranges together then give exactly what one reader of the whole file gives. Captures divided by
`split -b` are read with the piece that has the header: pieces are in one folder, and their names differ in a number, or
in two letters at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from io import SEEK_END
from itertools import chain, islice
from struct import pack, unpack, unpack_from
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.msgpack import encode
from msgspec.structs import replace

from ..capture.compressed_files import COMPRESSIONS, unpack_input
from ..capture.files import list_folder, open_file
from ..capture.packets.capture_formats import CAPTURES
from ..capture.packets.damage import DamagedBytes
from ..capture.packets.packet import SECOND, Packet
from ..capture.packets.packet_headers import parse_segment
from ..capture.packets.pcap import DAY, FILE_HEADER, RECORD_HEADER, PcapReader
from ..capture.packets.pcapng import PcapngReader
from ..capture.packets.segment import Segment
from ..capture.portions import PORTION, WINDOW, read_portions, read_range
from ..capture.seekable_compressed_files import CompressedBlocks, find_blocks
from ..errors import DumpError
from ..protocol.headers import Apis
from ..spec.catalog import catalog_for
from .connection_windows import WHOLE, Windows
from .frame_scan import FrameRanges, Part
from .packet_groups_and_pieces import (
    Extent,
    Group,
    Loose,
    Piece,
    Pieces,
    Records,
    Sections,
    Window,
    connection_key,
    family_of,
    in_order,
    times_in_line,
)
from .read_options_and_splits import PCAP, RAW, Options, kind_of

MOST_SORTED = 512  # maximum number of pieces that are ordered by time; more pieces are ordered by name
# The kinds of rows, in the order in which they must be read.
VOID, PACKETS, DAMAGE, LOST, BROKEN, FILE, ENTRY, FRAMES, LATE = range(9)
SCHEMA = pa.schema(
    [
        ("capture", pa.string()),
        ("connection", pa.binary()),
        ("kind", pa.int8()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("path", pa.string()),
        ("place", pa.int64()),
        ("head", pa.binary()),
        ("offsets", pa.binary()),
        ("packets", pa.binary()),
        ("problem", pa.string()),
    ]
)
PLAIN = Options()
GROWN = b"grown "  # begins the key of raw frames of a file that grows
SEGMENTS = "TCP segments"  # counted too, to report a file without any
LITTLE = 1 << 16  # packets are read in bulk if more bytes are in memory
ENDLESS = 1 << 62
STEPS = 256  # packets that are read one by one before bulk reading is tried again
Reader = PcapReader | PcapngReader


def capture_kind(head: bytes) -> str:
    """Return the kind of a capture from its first bytes; an empty string if they are not a header."""
    return next((kind for kind, (magics, _) in CAPTURES.items() if head[:4] in magics), "")


def is_compressed(head: bytes) -> bool:
    """Whether a file is compressed, judging by its first bytes."""
    return any(head.startswith(magic) for magic, _ in COMPRESSIONS.values())


def pieces_of(path: str) -> tuple[Piece, ...]:
    """Return the pieces of the capture to which a file belongs, in order; an empty tuple if the file is not a piece."""
    entries = [one for one in list_folder(path.rpartition("/")[0] or ".") if not one.is_folder and one.size]
    family = family_of(path)
    files = tuple(Piece(one.path, one.size, one.changed) for one in entries if family_of(one.path) == family)
    return next((pieces for pieces in _captures_of(files) if path in {one.path for one in pieces}), ())


@lru_cache(maxsize=64)
def _captures_of(files: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], ...]:
    """Return the captures among files of one family that are divided into pieces."""
    runs, loose = list[list[Piece]](), list[Piece]()
    for piece in files:
        head = head_of(piece.path, 4)
        if is_compressed(head):
            continue
        if capture_kind(head):
            runs.append([piece])
        else:
            (runs[-1] if runs else loose).append(piece)
    if runs:
        runs[0] += loose
    return tuple(found for run in runs if len(run) > 1 and (found := _ordered(run)))


def _ordered(run: Sequence[Piece]) -> tuple[Piece, ...]:
    """Sort pieces; the one with the file header is first.

    Return an empty tuple if no packet follows the header or no other piece has records.
    """
    first, *others = run
    head = _beginning(first, others)
    if not head:
        return ()
    if len(others) > MOST_SORTED:
        return tuple(run)
    times = [time for piece in run if (time := _first_time(head, piece.path)) is not None]
    if not times:
        return ()
    kind = Records if capture_kind(head) == PCAP else Sections
    grammar = kind(head, min(times) - DAY * SECOND, max(times) + DAY * SECOND)
    loose = [_loose(number, piece) for number, piece in enumerate(run)]
    return tuple(run[number] for number in in_order(loose[0], loose[1:], grammar))


def _beginning(first: Piece, others: Sequence[Piece]) -> bytes:
    """Return the first bytes of a capture, up to its first packet at least; empty if no piece continues the header."""
    head = head_of(first.path, PORTION)
    for more in chain([b""], (head_of(piece.path, PORTION) for piece in others[:MOST_SORTED])):
        reader = CAPTURES[capture_kind(head)][1](iter([head + more]), first.path, looks_ahead=True)
        with suppress(DumpError):
            items = islice(reader, 1) if more else reader  # only the first record proves that a piece continues it
            if any(isinstance(item, Packet) for item in items):
                return head + more
    return b""


def _loose(number: int, piece: Piece) -> Loose:
    with open_file(piece.path, PORTION) as stream:
        head = stream.read(PORTION)
        stream.seek(max(0, piece.size - PORTION))
        return Loose(number, piece.changed, piece.size, head, stream.read(PORTION))


def _first_time(head: bytes, path: str) -> int | None:
    """Return the time of the first record in a piece; None if there is none."""
    reader = placed(head, iter([head_of(path, PORTION)]), path, FILE_HEADER)
    if not reader.synchronise():
        return None
    packet = next((one for one in reader if isinstance(one, Packet)), None)
    return None if packet is None else packet.nanoseconds


def placed(head: bytes, portions: Any, path: str, start: int) -> Reader:
    """Return a reader that starts in the middle of a capture.

    Args:
        head: the first bytes of the file, including its first packet.
        portions: the bytes of the file from `start` on.
        path: the name of the file.
        start: a position in the file.
    """
    first = CAPTURES[capture_kind(head)][1](iter([head]), path)
    next((packet for packet in first if isinstance(packet, Packet)), None)
    if isinstance(first, PcapngReader):
        blocks = PcapngReader(portions, path, start, looks_ahead=True)
        blocks.begin_section(first.order, first.interfaces)
        return blocks
    records = PcapReader(chain([head[:FILE_HEADER]], portions), path, start - FILE_HEADER, looks_ahead=True)
    records.begin()
    records.note_time(first.state[-1])
    return records


def head_of(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file."""
    with open_file(path, count) as stream:
        return stream.read(count)


class Split(NamedTuple):
    """A byte range of a file, and the capture to which the file belongs.

    `neighbour` is another file that may be a piece of the same capture; empty if there is none. With `extent`, it is a
    range of these bytes. `is_late` is whether a stream has read files with later packets before.
    """

    path: str
    start: int
    stop: int
    capture: str
    neighbour: str = ""
    extent: Extent | None = None
    is_late: bool = False

    @property
    def weight(self) -> int:
        """The size of the range in bytes."""
        return self.stop - self.start


class Record(NamedTuple):
    """The record of a packet: its position, the file header that is needed to read it, its capture time, and its
    bytes.
    """

    offset: int
    head: bytes
    nanoseconds: int | None
    key: bytes
    data: bytes


Item = Record | DamagedBytes


class Rows:
    """Builds the rows of `SCHEMA` for one split.

    Args:
        split: the split.
        windows: the windows of long connections; the rows treat each window as a separate connection.

    Attributes:
        lost: the number of packets that are not TCP segments, by reason, and the number of TCP segments.
        last: the time of the last packet, in nanoseconds.
    """

    def __init__(self, split: Split, windows: Windows = WHOLE) -> None:
        self.split = split
        self.windows = windows
        self.lost: Counter[str] = Counter()
        self.last: int | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._count = 0
        self._own = b"file " + split.path.encode()  # the key of rows without a connection
        self._shift = split.extent.shift if split.extent else 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since the start."""
        return not self._count

    def add_groups(self, groups: Iterable[Group], head: bytes) -> None:
        """Add the packets of groups."""
        for group in groups:
            if self.windows.has(self.split.capture, group.key):
                self._add_windows(group, head)
            else:
                self._add(group.key, PACKETS, group.first, group.last, head, group.offsets, group.packets)

    def _keys(self, key: bytes, place: int) -> list[tuple[bytes, int]]:
        """Return the keys of a packet's connection or windows; see `Windows.keys`."""
        return self.windows.keys(self.split.capture, key, self.split.path, place)

    def _add_windows(self, group: Group, head: bytes) -> None:
        """Add packets of a connection that is divided into windows."""
        count = len(group.offsets) // 8
        offsets, sizes = (unpack(f"<{count}q", numbers) for numbers in (group.offsets, group.sizes))
        if (keys := self._keys(group.key, offsets[0])) == self._keys(group.key, offsets[-1]):
            for key, _ in keys:
                self._add(key, PACKETS, group.first, group.last, head, group.offsets, group.packets)
            return
        parts: dict[tuple[bytes, int], tuple[list[int], list[bytes]]] = {}
        start = 0
        for place, size in zip(offsets, sizes, strict=True):
            for part in self._keys(group.key, place):
                places, records = parts.setdefault(part, ([], []))
                places.append(place)
                records.append(group.packets[start : start + size])
            start += size
        for (key, _), (places, records) in parts.items():
            self._add(key, PACKETS, group.first, group.last, head, _packed(*places), b"".join(records))

    def add_items(self, items: Sequence[Item], kind: int = PACKETS) -> None:
        """Add packets that were read one by one, or damage; with the `kind` VOID, revoke packets."""
        groups: dict[tuple[tuple[bytes, int], bytes], list[tuple[Record, int]]] = {}
        for item, time in zip(items, self._times(items, kind), strict=True):
            if isinstance(item, Record):
                for part in self._keys(item.key, item.offset):
                    groups.setdefault((part, item.head), []).append((item, time))
            else:
                code = DAMAGE if kind == PACKETS else VOID
                problem = f"{'cut' if item.is_cut else 'damaged'}:{item.problem}"
                self._add(self._own, code, 0, 0, b"", _packed(item.offset), item.data, problem)
        for ((key, _), head), timed in groups.items():
            records, times = zip(*timed, strict=True)
            data = b"" if kind == VOID else b"".join(record.data for record in records)
            self._add(key, kind, min(times), max(times), head, _packed(*(record.offset for record in records)), data)

    def _times(self, items: Sequence[Item], kind: int) -> list[int]:
        """Return the capture times of records; 0 for an item that is not a record or has no time."""
        times = [item.nanoseconds or 0 if isinstance(item, Record) else 0 for item in items]
        times = [max(-ENDLESS, min(time, ENDLESS)) for time in times]  # pcapng may contain any time
        there = [index for index, time in enumerate(times) if time]
        if kind == PACKETS and there:
            found = times_in_line(np.array([times[one] for one in there]), self.last).tolist()
            for index, time in zip(there, found, strict=True):
                times[index] = time
            self.last = found[-1]
        return times

    def add(self, kind: int, problem: str = "", offset: int = 0) -> None:
        """Add a note about the file."""
        self._add(self._own, kind, 0, 0, b"", _packed(offset), b"", problem)

    def add_frames(self, part: Part) -> None:
        """Add bytes of raw frames, or the entry of a range of raw frames."""
        key = b"frames %s %020d" % (self.split.path.encode(), part.range)
        kind, head = (FRAMES, b"") if part.entry is None else (ENTRY, encode(part.entry))
        self._add(key, kind, 0, 0, head, _packed(part.place), part.data)

    def add_grown(self, extent: Extent, place: int, data: bytes) -> None:
        """Add bytes of raw frames of a file that grows; at its end, an ENTRY without bytes."""
        self._add(GROWN + extent.frames, FRAMES if data else ENTRY, 0, 0, b"", _packed(place), data)

    def add_lost(self) -> None:
        """Add the counts of packets that could not be read."""
        for reason, count in sorted(self.lost.items()):
            if not count:
                continue
            self._add(self._own, LOST, 0, 0, b"", _packed(count), b"", reason)

    def _add(
        self,
        key: bytes,
        kind: int,
        first: int,
        last: int,
        head: bytes,
        offsets: bytes,
        packets: bytes,
        problem: str = "",
    ) -> None:
        split = self.split
        self._count += 1
        if self._shift and kind != LOST:
            offsets = (np.frombuffer(offsets, "<i8") + self._shift).tobytes()
        place = int.from_bytes(offsets[:8], "little", signed=True)
        row = split.capture, key, kind, first, last, split.path, place, head, offsets, packets, problem
        self._rows.append(row)

    def taken(self) -> Iterator[Any]:
        """Yield a batch of the rows collected so far."""
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _packed(*places: int) -> bytes:
    """Serialise positions for the column `offsets`."""
    return pack(f"<{len(places)}q", *places)


class Walk:
    """Reads the records of a capture from a position on.

    Args:
        reader: a reader at that position.
        rows: receives packets that are not TCP segments.
    """

    def __init__(self, reader: Reader, rows: Rows) -> None:
        self.reader: Reader = reader
        self.rows: Rows = rows
        self.is_over = False
        self._window = Window(reader)

    def begin(self) -> None:
        """Read the header of the file."""
        if isinstance(self.reader, PcapReader):
            self.reader.begin()

    @property
    def place(self) -> int:
        """The position of the next record, after damage that is being yielded."""
        return int(self.reader.state[1])

    def step(self) -> list[Item]:
        """Return the next record; an empty list if it has no TCP segment or there is no record."""
        try:
            packet = next(self.reader)
        except StopIteration:
            self.is_over = True
            return []
        if isinstance(packet, DamagedBytes):
            return [packet]
        segment = parse_segment(packet)
        if isinstance(segment, Segment):
            self.rows.lost[SEGMENTS] += 1
            return [_record(self.reader, packet, segment)]
        self.rows.lost[segment] += 1
        return []

    def read_to(self, stop: int) -> Iterator[Any]:
        """Read all records that begin before a position; yield batches."""
        while not self.is_over and self.place < stop:
            if not self._read_window(stop):
                self._read_steps(stop)
            yield from self.rows.taken()

    def _read_steps(self, stop: int) -> None:
        items, size, left = list[Item](), 0, STEPS if self._window.is_bulk else ENDLESS
        try:
            while left and size < WINDOW and not self.is_over and self.place < stop:
                found = self.step()
                items += found
                size += sum(len(item.data) for item in found)
                left -= 1
        finally:
            self.rows.add_items(items)

    def _read_window(self, stop: int) -> bool:
        """Read the records in memory in bulk; return False if this is impossible."""
        cursor, window, rows = self.reader.cursor, self._window, self.rows
        if cursor.left < LITTLE:
            cursor.fill(cursor.left + 1)
        rows.add_groups(window.groups(stop, rows.last), self.reader.header)
        rows.last = window.last
        rows.lost += window.lost
        rows.lost[SEGMENTS] += window.count - window.lost.total()
        return bool(window.count)


def _record(reader: Reader, packet: Packet, segment: Segment) -> Record:
    """Return the record of the packet that was just read."""
    data, stop = reader.cursor.data, reader.cursor.pos
    if isinstance(reader, PcapReader):
        size = RECORD_HEADER + len(packet.data)
    else:  # a block ends with its length
        (size,) = unpack_from(reader.order + "I", data, stop - 4)
    head, record = reader.split_off(data[stop - size : stop])
    return Record(reader.cursor.offset - size, head, packet.nanoseconds, connection_key(segment.key), record)


def scan(split: Split, options: Options = PLAIN, windows: Windows = WHOLE) -> Iterator[Any]:
    """Read a split.

    Args:
        split: the range; all ranges of a file except the last have the same size.
        options: the options of the read; they affect only raw frames.
        windows: the windows of long connections.

    Yields:
        Record batches of `SCHEMA`: packets of a connection; VOID, packets that other splits yield by mistake; DAMAGE,
        bytes that are not a packet; LOST, counts of packets that are not segments, by reason, and the count of
        segments; BROKEN, the position from which on a file cannot be read; FILE, a file that is not a capture and must
        be read as a whole; ENTRY and FRAMES, the entries of ranges of raw frames, and their bytes; LATE, a late file.

    Raises:
        OSError: the file cannot be read.
    """
    if split.is_late:
        (late := Rows(split)).add(LATE)
        yield from late.taken()
    if split.extent is not None and split.extent.frames:
        yield from _grown(split, split.extent)
    elif split.extent is not None:
        yield from _scanned(split.extent.opened(split.path), Rows(split, windows), options)
    elif found := pieces_around(split):
        pieces, split = found
        yield from _scanned(Pieces(pieces), Rows(split, windows), options)
    else:
        yield from _scanned(open_file(split.path, PORTION), Rows(split, windows), options)


def _grown(split: Split, extent: Extent) -> Iterator[Any]:
    rows, place = Rows(split), split.start
    with extent.opened(split.path) as stream:
        stream.seek(place)
        for portion in read_portions(stream, split.stop - place):
            rows.add_grown(extent, place, portion)
            place += len(portion)
            yield from rows.taken()
    if extent.is_end:
        rows.add_grown(extent, place, b"")
        yield from rows.taken()


def pieces_around(split: Split) -> tuple[tuple[Piece, ...], Split] | None:
    """Return the pieces of the capture to which a file belongs, and the range in them; None for a whole capture."""
    if not split.neighbour:
        return None
    if capture_kind(head_of(split.path, 4)) and capture_kind(head_of(split.neighbour, 4)):
        return None
    pieces = pieces_of(split.path)
    if not pieces:
        return None
    base = sum(piece.size for piece in pieces[: [piece.path for piece in pieces].index(split.path)])
    return pieces, split._replace(path=pieces[0].path, start=base + split.start, stop=base + split.stop)


def _scanned(file: Any, rows: Rows, options: Options) -> Iterator[Any]:
    split = rows.split
    with file as stream:
        kind = capture_kind(stream.read(4))
        try:
            if kind:
                yield from _range(stream, kind, split, rows)
            elif split.weight < stream.seek(0, SEEK_END) and (blocks := find_blocks(stream, split.path)) is not None:
                yield from _blocks(blocks, split, rows)
            elif split.weight < stream.seek(0, SEEK_END) and kind_of(split.path, options) == RAW:
                yield from _frames(stream, split, rows, options)
            elif split.start == 0:
                yield from _whole(stream, rows)
        except DumpError as error:
            if rows.is_empty and split.start == 0 and split.extent is None:
                rows.add(FILE)
            elif split.start == 0:
                rows.add(BROKEN, str(error), error.offset or 0)
    rows.add_lost()
    yield from rows.taken()


def _whole(stream: BinaryIO, rows: Rows) -> Iterator[Any]:
    """Read a complete compressed capture; a file that is not a capture is left to the reader of all formats."""
    path = rows.split.path
    stream.seek(0)
    opened = unpack_input(read_portions(stream), path)
    kind = capture_kind(opened.head)
    if not kind:
        rows.add(FILE)
        return
    walk = Walk(CAPTURES[kind][1](_joined(opened.portions()), path, looks_ahead=True), rows)
    walk.begin()
    yield from walk.read_to(ENDLESS)


def _frames(stream: BinaryIO, split: Split, rows: Rows, options: Options) -> Iterator[Any]:
    apis = Apis(catalog_for(options.profile or None, options.release or None))
    for part in FrameRanges(stream, split.weight, options, apis).parts(split.start):
        rows.add_frames(part)
        yield from rows.taken()


def _range(stream: BinaryIO, kind: str, split: Split, rows: Rows) -> Iterator[Any]:
    walk = Walk(_placed(stream, kind, split.path, split.start, split.stop), rows)
    walk.begin()
    yield from walk.read_to(split.stop)
    if split.stop < stream.seek(0, 2):
        following = Walk(_placed(stream, kind, split.path, split.stop, split.stop), Rows(split))
        yield from _corrected(walk, following)


def _blocks(blocks: CompressedBlocks, split: Split, rows: Rows) -> Iterator[Any]:
    """Read the blocks of a compressed file that start in a range, at positions of `CompressedBlocks.position`."""
    start, stop = blocks.first(split.start), blocks.first(split.stop)
    if start >= stop:
        return
    head = _taken(blocks.portions(0), PORTION)
    kind = capture_kind(head)
    if not kind:
        if start == 0:
            rows.add(FILE)
        return
    base, (size, portions) = blocks.position(start), blocks.contents(start, stop)
    mine, rest = _Readable(_joined(portions)), _Readable(blocks.portions(stop) if stop < blocks.end else iter(()))
    own = _walk(head, kind, base, chain(mine, rest), rows)
    own.begin()
    yield from own.read_to(base + size)
    if mine.error is not None:
        rows.add(BROKEN, str(mine.error), start + (mine.error.offset or 0))
    elif stop < blocks.end and rest.error is None:
        rest.raises = True
        with suppress(DumpError):  # the next range reports it
            following = _walk(head, kind, base + size, blocks.portions(stop), Rows(split))
            yield from _corrected(own, following, blocks.position(stop) - base - size)


class _Readable:
    """Yields portions up to damage.

    Attributes:
        error: the damage that ended the portions.
        raises: whether the error is raised.
    """

    def __init__(self, portions: Iterator[bytes]) -> None:
        self._portions = portions
        self.error: DumpError | None = None
        self.raises = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._portions
        except DumpError as error:
            self.error = error
            if self.raises:
                raise


def _walk(head: bytes, kind: str, start: int, portions: Iterator[bytes], rows: Rows) -> Walk:
    """Return a walk from a position on in the decompressed content of a file."""
    path = rows.split.path
    if start == 0:
        return Walk(CAPTURES[kind][1](portions, path, looks_ahead=True), rows)
    if kind == PCAP and start < FILE_HEADER:
        portions, start = _skipped(portions, FILE_HEADER - start), FILE_HEADER
    reader = placed(head, portions, path, start)
    reader.synchronise()
    return Walk(reader, rows)


def _skipped(portions: Iterator[bytes], count: int) -> Iterator[bytes]:
    for portion in portions:
        yield portion[count:]
        count = max(0, count - len(portion))


def _taken(portions: Iterator[bytes], count: int) -> bytes:
    """Return the first `count` bytes of portions, or fewer before damage."""
    taken = b""
    with suppress(DumpError):
        while len(taken) < count and (portion := next(portions, b"")):
            taken += portion
    return taken


def _moved(item: Item, count: int) -> Item:
    """Return a record or damage with its position increased by `count`."""
    if isinstance(item, Record):
        return item._replace(offset=item.offset + count)
    return replace(item, offset=item.offset + count)


def _corrected(own: Walk, following: Walk, shift: int = 0) -> Iterator[Any]:
    """Read on until the records of the next split equal those read here; yield the differences.

    `shift` is the difference between the positions of records in the next split and here.
    """
    true, wrong = list[Item](), list[Item]()
    while own.reader.state != following.reader.state and not (own.is_over and following.is_over):
        here, there = (ENDLESS if walk.is_over else walk.place for walk in (own, following))
        if here <= there:
            true += own.step()
        if there <= here:
            wrong += following.step()
    own.rows.lost.subtract(following.rows.lost)
    shared = set(true) & set(wrong)
    own.rows.add_items([_moved(item, shift) for item in wrong if item not in shared], VOID)
    own.rows.add_items([item for item in true if item not in shared])
    yield from own.rows.taken()


def _placed(stream: BinaryIO, kind: str, path: str, start: int, stop: int) -> Reader:
    """Return a reader at the first record after a position."""
    if start == 0:
        return CAPTURES[kind][1](read_range(stream, 0, stop), path, looks_ahead=True)
    stream.seek(0)
    base = max(start, FILE_HEADER) if kind == PCAP else start
    reader = placed(stream.read(PORTION), read_range(stream, base, stop), path, base)
    reader.synchronise()
    return reader


def _joined(portions: Iterator[bytes]) -> Iterator[bytes]:
    """Join portions into larger ones, up to damage."""
    parts, size = list[bytes](), 0
    try:
        for portion in portions:
            parts.append(portion)
            size += len(portion)
            if size >= WINDOW:
                yield b"".join(parts)
                parts, size = [], 0
    except DumpError:
        yield b"".join(parts)
        raise
    yield b"".join(parts)
