"""Groups the packets in a part of a capture by connection, in bulk; orders and joins pieces of a capture.

The native engine reads records and the link, IP and TCP headers, but does not decode payloads. To order pieces: where a
record from one piece ends in the next piece, another record must start. Pieces inside one long packet cannot be ordered
this way; they are ordered by name, or by modification time if that suits the other pieces better.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import SEEK_END, SEEK_SET, BytesIO
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from ..capture.files import open_file
from ..capture.packets.header_layouts import layouts_for, link_layout
from ..capture.packets.packet import FIRST_INTERFACES, LONGEST, SECOND, Interface, Packet
from ..capture.packets.packet_headers import parse_segment
from ..capture.packets.pcap import FILE_HEADER, MAGICS, NEAR, RECORD_HEADER, PcapReader
from ..capture.packets.pcapng import KINDS, LEAST, STARTS, PcapngReader
from ..capture.packets.pcapng_blocks import BLOCKS, ENHANCED_PACKET
from ..capture.packets.segment import Segment, reverse_key
from ..capture.portions import PORTION
from ..native import ENGINE

if ENGINE == "native":
    from ..native import PacketGroups

IPV4_FIRST = 0x45
IPV6_HEADER = 40
SHORTEST = RECORD_HEADER + 64  # record of a packet that Ethernet may have padded
ENHANCED = 20  # bytes of an enhanced packet block before its time


class Group(NamedTuple):
    """Packets of one connection, in the order of the file.

    Attributes:
        key: the connection: the smaller of the keys of its two directions.
        first, last: the earliest and the latest time, in nanoseconds, without isolated outliers.
        offsets, sizes: the positions of their records in the file, and their sizes, as 64-bit integers.
        packets: the records.
    """

    key: bytes
    first: int
    last: int
    offsets: bytes
    sizes: bytes
    packets: bytes


def connection_key(key: bytes) -> bytes:
    """Return the key that both directions of a connection share."""
    return min(key, reverse_key(key))


def times_in_line(times: Any, before: int | None = None) -> Any:
    """Replace times that decrease, or that jump and return, so that a damaged time does not misplace a packet.

    The packets of a file are in order of time. The first and the last time are replaced by their neighbours, because
    nothing confirms them.

    Args:
        times: the times of consecutive records, in nanoseconds.
        before: the time of the record before them, if known.
    """
    if before is not None:
        known = times_in_line(np.concatenate([[before], np.maximum(times, before)]))
        return known[1:]
    if len(times) < 3:
        return np.full(len(times), min(times))
    one, two, three = times[:-2], times[1:-1], times[2:]
    middle = np.maximum(np.minimum(one, two), np.minimum(np.maximum(one, two), three))  # the median of each three
    return np.concatenate([middle[:1], middle, middle[-1:]])


class Window:
    """Groups the packets in the memory of a reader by connection. Without the native engine it groups none.

    Args:
        reader: the reader.

    Attributes:
        lost: the number of packets of the last `groups` that are not TCP segments, by reason.
        count: the number of its records; 0 if the reader must read records one by one.
        last: the time of the last record in nanoseconds, unless it is an outlier.
    """

    def __init__(self, reader: PcapReader | PcapngReader) -> None:
        self._reader = reader
        self._described: tuple[str, tuple[Interface, ...]] | None = None  # byte order, interfaces
        self._groups: Any = PacketGroups(NEAR, isinstance(reader, PcapngReader)) if ENGINE == "native" else None
        self.lost: Counter[str] = Counter()
        self.count = 0
        self.last: int | None = None

    @property
    def is_bulk(self) -> bool:
        """Whether records are read in bulk, except unusual ones."""
        return self._groups is not None

    def groups(self, stop: int, before: int | None = None) -> Iterator[Group]:
        """Read the records up to the first one that is unusual or not followed by another record.

        Args:
            stop: the position in the file from which on records are not needed.
            before: the time of the previous record in nanoseconds, if known.

        Yields:
            The packets of each connection.
        """
        reader, groups, cursor = self._reader, self._groups, self._reader.cursor
        self.count, self.last = 0, before
        self.lost.clear()
        if groups is None or reader.is_skipping or not reader.interfaces:
            return
        interfaces = tuple(reader.interfaces[:FIRST_INTERFACES])
        if self._described != (reader.order, interfaces):
            self._described = reader.order, interfaces
            groups.describe(reader.order == ">", [link_layout(one) for one in interfaces])
        passed, is_pcap = cursor.offset - cursor.pos, isinstance(reader, PcapReader)
        seconds = reader.state[-1] if is_pcap else None
        self.count = groups.read(cursor.data, cursor.pos, stop - passed, seconds, self._key)
        if not self.count:
            return
        cursor.pos = groups.end
        if isinstance(reader, PcapReader):
            reader.note_time(groups.seconds)
        times = times_in_line(np.frombuffer(groups.times(), np.int64), before)
        self.last = int(times[-1])
        for key, *others in groups.take(times.tobytes(), passed):
            yield Group(connection_key(key), *others)

    def _key(self, data: bytes, interface: int, length: int) -> bytes | None:
        """Return the key of a packet in an unusual layout; None if it is not a TCP segment."""
        segment = parse_segment(Packet(None, self._reader.interfaces[interface].link, data, length))
        if isinstance(segment, Segment):
            return segment.key
        self.lost[segment] += 1
        return None


def family_of(path: str) -> str:
    """Return the common part of the names of a capture's pieces.

    >>> family_of("/in/a.pcap.ab") == family_of("/in/a.pcap.aa"), family_of("007.pcap"), family_of("dump.bin")
    (True, '#.pcap', 'dump.bin')
    """
    return re.sub(r"(?<=\.)[a-z]{2}$|(?<=/x)[a-z]{2}$", "@", re.sub(r"\d+", "#", path))


def neighbours(paths: Sequence[str]) -> dict[str, str]:
    """Return for each file the next one of its family (for the last file the first); an empty string without one.

    >>> neighbours(["/in/1.pcap", "/in/2.pcap", "/in/dump"])
    {'/in/1.pcap': '/in/2.pcap', '/in/2.pcap': '/in/1.pcap', '/in/dump': ''}
    """
    families: dict[str, list[str]] = {}
    for path in paths:
        families.setdefault(family_of(path), []).append(path)
    found = dict.fromkeys(paths, "")
    for family in families.values():
        if len(family) > 1:
            found |= dict(zip(family, [*family[1:], family[0]], strict=True))
    return found


class Loose(NamedTuple):
    """A piece that is not yet ordered.

    Attributes:
        number: its position by name.
        changed: its modification time.
        size: its size in bytes.
        head, tail: its first and last bytes, which may overlap.
    """

    number: int
    changed: int
    size: int
    head: bytes
    tail: bytes


class End(NamedTuple):
    """The end of a piece: how many bytes of its last record are in the next piece, or which part of a header it has.

    `time` is the median time of its records in nanoseconds, if it has any; `odd` counts records that no other record
    follows, or that do not contain an IP packet of their length.
    """

    missing: int
    part: bytes
    time: int | None
    odd: int = 0


class Grammar:
    """The format of a capture's records.

    Attributes:
        least: the size of a record header in bytes.
        start: the position of the first record in the file.
    """

    least: int
    start: int

    def record(self, data: bytes, place: int) -> tuple[int, int | None] | None:
        """Return the length of a record in bytes, and its time; None if no record starts there."""
        raise NotImplementedError

    def starts(self, data: bytes) -> Iterator[int]:
        """Yield positions at which records may start."""
        raise NotImplementedError

    def is_usual(self, data: bytes, place: int) -> bool:
        """Whether a record seems to contain an IP packet of its length."""
        return True

    def end(self, data: bytes, place: int | None) -> End:
        """Return the end of a piece; `place` is the position of its first record, if known."""
        times, size, odd = list[int](), len(data), 0
        places = self.starts(data)
        place = next(places, None) if place is None else place
        while place is not None:
            if size - place < self.least:
                return End(max(0, place - size), data[place:], _median(times), odd)
            found = self.record(data, place)
            if found is None:
                odd += 1
                place = next((one for one in places if one > place), None)
            else:
                odd += not self.is_usual(data, place)
                times += [] if found[1] is None else [found[1]]
                place += found[0]
        return End(0, b"", _median(times), odd)

    def after(self, end: End, piece: Loose) -> End | None:
        """Return the end of a piece that follows a given end; None if the piece cannot follow it."""
        data, place = end.part + piece.head, end.missing
        size = len(end.part) + piece.size
        if place >= size:
            return End(place - size, b"", None)
        if len(data) - place >= self.least and self.record(data, place) is None:
            return None
        found = self.end(data, place)
        return found if piece.size == len(piece.head) else self.end(piece.tail, None)._replace(odd=found.odd)


class Records(Grammar):
    """Records of pcap.

    Args:
        head: the first bytes of the file.
        earliest, latest: the range of valid times of packets, in nanoseconds.
    """

    least, start = RECORD_HEADER, FILE_HEADER

    def __init__(self, head: bytes, earliest: int, latest: int) -> None:
        order, self._tick = MAGICS[head[:4]]
        self._unpack = Struct(order + "IIII").unpack_from
        self._range = range(earliest, latest + 1)
        self._layouts = layouts_for(Struct(order + "I").unpack_from(head, 20)[0] & 0xFFFF)
        first, last = (max(0, time // SECOND >> 16) for time in (earliest, latest))
        halves = [Struct(order + "I").pack(half << 16) for half in range(first, last + 1)]
        upper = slice(2, 4) if order == "<" else slice(0, 2)
        wanted = b"(?:" + b"|".join(re.escape(half[upper]) for half in halves) + b")"
        self._pattern = re.compile(b"(?=" + (b".." + wanted if order == "<" else wanted) + b")", re.DOTALL)

    def record(self, data: bytes, place: int) -> tuple[int, int | None] | None:
        """See `Grammar.record`."""
        seconds, ticks, captured, length = self._unpack(data, place)
        time = seconds * SECOND + ticks * self._tick
        is_one = time in self._range and ticks * self._tick < SECOND and 0 < captured <= length <= LONGEST
        return (RECORD_HEADER + captured, time) if is_one else None

    def is_usual(self, data: bytes, place: int) -> bool:
        """See `Grammar.is_usual`."""
        length = self._unpack(data, place)[3] + RECORD_HEADER
        for layout in self._layouts:
            is_four = layout.first == IPV4_FIRST
            start = place + layout.ip - (0 if is_four else IPV6_HEADER)
            ip = data[start : start + 6]
            if len(ip) < 6 or ip[0] >> 4 == layout.first >> 4:
                total = int.from_bytes(ip[2:4] if is_four else ip[4:6], "big")
                return len(ip) < 6 or total == length - layout.ip or length < SHORTEST
        return not self._layouts

    def starts(self, data: bytes) -> Iterator[int]:
        """See `Grammar.starts`."""
        places = (match.start() for match in self._pattern.finditer(data))
        return (one for one in places if one + RECORD_HEADER <= len(data) and self.record(data, one) is not None)


class Sections(Grammar):
    """Blocks of pcapng; for the arguments see `Records`."""

    least, start = LEAST, 0

    def __init__(self, head: bytes, earliest: int, latest: int) -> None:
        reader = PcapngReader(iter([head]))
        next((packet for packet in reader if isinstance(packet, Packet)), None)
        self._order, self._interfaces = reader.order, reader.interfaces
        self._range = range(earliest, latest + 1)

    def record(self, data: bytes, place: int) -> tuple[int, int | None] | None:
        """See `Grammar.record`."""
        kind, size = Struct(self._order + "II").unpack_from(data, place)
        if size < LEAST or size % 4 or size > LONGEST or kind not in KINDS | set(BLOCKS):
            return None
        if len(data) >= place + size and data[place + size - 4 : place + size] != data[place + 4 : place + 8]:
            return None
        if kind != ENHANCED_PACKET or len(data) < place + ENHANCED:
            return size, None
        number, high, low = Struct(self._order + "III").unpack_from(data, place + 8)
        if number >= len(self._interfaces):
            return None
        time = self._interfaces[number].nanoseconds(high << 32 | low)
        return (size, time) if time in self._range else None

    def starts(self, data: bytes) -> Iterator[int]:
        """See `Grammar.starts`."""
        places = (match.start() for match in STARTS[self._order].finditer(data))
        found = ((one, self.record(data, one)) for one in places if one + LEAST <= len(data))
        return (one for one, record in found if record is not None and record[1] is not None)


def _median(times: list[int]) -> int | None:
    return sorted(times)[len(times) // 2] if times else None


def in_order(first: Loose, others: Sequence[Loose], grammar: Grammar) -> list[int]:
    """Return the numbers of pieces in order: the piece with the file header, then the others.

    The list is empty if the others have no records.
    """
    times = {piece.number: grammar.end(piece.head, None).time for piece in others}
    if all(time is None for time in times.values()):
        return []
    by_name = sorted(others, key=lambda piece: piece.number)
    by_change = sorted(others, key=lambda piece: (piece.changed, piece.number))
    named = [by_name, by_change, *(_found(first, start, times, grammar) for start in (by_name, by_change))]
    best = min(named, key=lambda order: _breaks(first, order, times, grammar))
    return [first.number, *(piece.number for piece in best)]


def _breaks(first: Loose, order: Sequence[Loose], times: dict[int, int | None], grammar: Grammar) -> int:
    """Count the positions at which a piece continues neither the previous record nor an earlier one."""
    count, end = 0, grammar.end(first.head, grammar.start)
    for piece in order:
        following = grammar.after(end, piece)
        end = following or grammar.end(piece.tail, None)
        count += end.odd + (following is None)
    timed = [time for piece in order if (time := times[piece.number]) is not None]
    return count + bool(end.missing or end.part) + sum(one > other for one, other in pairwise(timed))


def _found(first: Loose, start: Sequence[Loose], times: dict[int, int | None], grammar: Grammar) -> list[Loose]:
    """Sort pieces by their records; pieces without records stay in the given order."""
    left = sorted(start, key=lambda piece: (times[piece.number] is None, times[piece.number] or 0))
    order, end = list[Loose](), grammar.end(first.head, grammar.start)
    while left:
        following = _following(end, left, times, grammar)
        piece, end = following or (left[0], grammar.end(left[0].tail, None))
        left.remove(piece)
        order.append(piece)
    return order


def _following(
    end: End, left: Sequence[Loose], times: dict[int, int | None], grammar: Grammar
) -> tuple[Loose, End] | None:
    """Return the piece that follows an end, and the end of this piece; None if damage makes this impossible.

    The result is the earliest piece with a complete record header, or one whose only header starts in the previous
    piece.
    """
    earliest = next((piece for piece in left if times[piece.number] is not None), None)
    near = [piece for piece in left if piece is earliest or times[piece.number] is None]
    fits = [(piece, after) for piece in near if (after := grammar.after(end, piece)) is not None]
    timed = [(after.odd, after.time, piece, after) for piece, after in fits if after.time is not None]
    if timed:
        return min(timed, key=lambda one: one[:2])[2:]
    inner = [(piece, after) for piece, after in fits if times[piece.number] is None]

    def goes_on(one: tuple[Loose, End]) -> bool:
        ends = (grammar.after(one[1], piece) for piece in near if piece is not one[0])
        return any(found is not None and found.time is not None for found in ends)

    return max(inner, key=lambda one: (goes_on(one), one[0].size), default=None)


class Piece(NamedTuple):
    """A file or a part of it from `start` on, its size in bytes, and its modification time in nanoseconds since 1970;
    or `data` in memory."""

    path: str
    size: int
    changed: int = 0
    start: int = 0
    data: bytes = b""


class Pieces:
    """Concatenated files that are read as one."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces: tuple[Piece, ...] = tuple(pieces)
        self.stops: list[int] = list(accumulate(piece.size for piece in pieces))
        self._place = 0
        self._open: tuple[int, BinaryIO] | None = None

    def __enter__(self) -> BinaryIO:
        return cast(BinaryIO, self)

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open[1].close()

    def seek(self, place: int, whence: int = SEEK_SET) -> int:
        """Move to a position; return the new position."""
        self._place = place + (self.stops[-1] if whence == SEEK_END else 0)
        return self._place

    def read(self, count: int) -> bytes:
        """Read `count` bytes, or all bytes up to the end."""
        parts = list[bytes]()
        for index, stop in enumerate(self.stops):
            if count > 0 and self._place < stop:
                stream = self._file(index)
                stream.seek(self._place - stop + self.pieces[index].size + self.pieces[index].start)
                parts.append(stream.read(min(count, stop - self._place)))
                self._place += len(parts[-1])
                count -= len(parts[-1])
        return b"".join(parts)

    def _file(self, index: int) -> BinaryIO:
        if self._open is None or self._open[0] != index:
            self.__exit__()
            piece = self.pieces[index]
            self._open = index, BytesIO(piece.data) if piece.data else open_file(piece.path, PORTION)
        return self._open[1]


class Extent(NamedTuple):
    """The bytes by which a file has grown, which are read as a file of their own.

    Attributes:
        start, stop: the byte range; both are ends of records.
        header: the file header that precedes the bytes.
        frames: the key of raw frames, whose start and end may be in other ranges; empty for a capture.
        is_end: whether the file has stopped growing.
    """

    start: int
    stop: int
    header: bytes = b""
    frames: bytes = b""
    is_end: bool = False

    @property
    def size(self) -> int:
        """The size with the header, in bytes."""
        return len(self.header) + self.stop - self.start

    @property
    def shift(self) -> int:
        """The number that makes a position in these bytes a position in the file."""
        return self.start - len(self.header)

    def opened(self, path: str) -> Pieces:
        """Open the bytes of a file."""
        head = [Piece(path, len(self.header), data=self.header)] if self.header else []
        return Pieces([*head, Piece(path, self.stop - self.start, start=self.start)])
