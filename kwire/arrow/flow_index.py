"""An index of a pcap file: the byte ranges of each connection, from the headers of all packets.

Processes thousands of packets at a time with numpy; does not read payloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..capture.link_layers import ACK, LEAST_TCP, NAMED, NOT_TCP, SYN, TCP, Layout, Segment, layouts_for, segment_of
from ..capture.pcap import FILE_HEADER, LONGEST, NEAR, RECORD_HEADER, SECOND, USUAL, Packet, PcapReader

CUT = USUAL + RECORD_HEADER  # bytes of an incomplete last record
WINDOW = 8 << 20  # bytes of the file per step
MOST_FLOWS = 1 << 18
MOST_ODD, FEW = 8, 1000  # at most one packet in so many, and a few more, may have an unusual layout
IPV4_FIRST = 0x45
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Flow:
    """The packets of one port pair, from a first to a last one. After a long pause, a SYN starts another flow.

    Attributes:
        first, last: the start of its first and the end of its last packet, in bytes from the start of the file.
        packets: the number of packets of all flows before the first.
        size: bytes of its packets.
        key: the connection key of its first packet.
        earlier: the previous flow of the same ports.
    """

    __slots__ = ("earlier", "first", "key", "last", "packets", "size")

    def __init__(self, first: int, packets: int, key: bytes, earlier: Flow | None) -> None:
        self.first: int = first
        self.packets: int = packets
        self.key: bytes = key
        self.earlier: Flow | None = earlier
        self.last: int = 0
        self.size: int = 0


def flows_of(path: str, pause: int) -> list[Flow]:
    """Return the flows of a pcap file, in the order of their first packets.

    Args:
        path: the file.
        pause: bytes of the file after which a SYN starts another flow.

    Returns:
        The flows; empty if many packets have an unusual layout or are damaged, or if there are too many flows.
    """
    found, newest, count = list[Flow](), dict[int, Flow](), 0
    with Path(path).open("rb") as stream:
        head = stream.read(FILE_HEADER)
        if len(head) < FILE_HEADER:
            return []
        reader = PcapReader(iter([head]))
        next(reader, None)  # there is no packet, but the reader has parsed the file header now
        layouts = layouts_for(reader.link)
        for window in _windows(stream, reader.order) if layouts else ():
            if window is None or not _is_sane(window, reader.order):
                return []
            keys = _Keys(window, reader.link, layouts)
            if not keys.are_plain or len(newest) > MOST_FLOWS:
                return []
            for number, index, last, size in keys.groups():
                flow = newest.get(number)
                first = window.base + int(window.places[index])
                if flow is None or (first - flow.last >= pause and keys.is_opening(index)):
                    flow = newest[number] = Flow(first, count + index, keys.key(index), flow)
                    found.append(flow)
                flow.last = window.base + int(window.ends[last])
                flow.size += size
            count += len(window.places)
    return sorted(found, key=lambda flow: flow.first)


class _Window(NamedTuple):
    """A part of the file: complete records, their positions in `data`, and the position of `data` in the file."""

    base: int
    data: bytes
    places: Any
    ends: Any


def _windows(stream: BinaryIO, order: str) -> Iterator[_Window | None]:
    """Yield the file, window by window; None after a damaged record."""
    base, data = FILE_HEADER, b""
    while more := stream.read(WINDOW):
        data += more
        places = _places(data, Struct(order + "I").unpack_from)
        pos = after = places.pop()
        if pos > len(data):
            pos = places.pop()
        if places:
            yield _Window(base, data, np.array(places), np.array([*places[1:], pos]))
        if after - pos > LONGEST + RECORD_HEADER:  # no packet is that long
            yield None
        base, data = base + pos, data[pos:]
    if len(data) > CUT:  # more than the start of a packet
        yield None


def _is_sane(window: _Window, order: str) -> bool:
    """Whether all headers are valid for consecutive packets; otherwise the reader has to search for the next one."""
    places, data = window.places, np.frombuffer(window.data, np.uint8)
    seconds, ticks, captured, length = (_uint32(data, places + 4 * index, order) for index in range(4))
    is_near = np.abs(np.diff(seconds)) <= NEAR
    return bool(is_near.all() and (ticks < SECOND).all() and (captured <= np.minimum(length, LONGEST)).all())


def _uint32(data: Any, places: Any, order: str) -> Any:
    offsets = range(4) if order == "<" else range(3, -1, -1)
    return sum(data[places + offset].astype(np.int64) << 8 * index for index, offset in enumerate(offsets))


def _places(data: bytes, length: Callable[[bytes, int], tuple[int]]) -> list[int]:
    """Return where records start in the data, followed by where the next one would, possibly after the end."""
    places, pos = list[int](), 0
    add = places.append
    with suppress(StructError):  # at the end; a check per record takes longer than everything else
        while True:
            add(pos)
            pos += RECORD_HEADER + length(data, pos + 8)[0]
    return places


class _Keys:
    """The flow of each packet of a window as a number, a hash of its endpoints; 0 without TCP."""

    def __init__(self, window: _Window, link: int, layouts: list[Layout]) -> None:
        self.window, self.link = window, link
        self._numbers = np.zeros(len(window.places), np.uint64)
        self._tcp = np.zeros(len(window.places), np.int64)  # position of the TCP header in the record
        self._addresses: dict[int, int] = {}  # address length, by that position
        data = np.frombuffer(window.data, np.uint8)
        for layout in layouts:
            self._take(layout, data)
        self.are_plain = self._take_others()

    def _take(self, layout: Layout, data: Any) -> None:
        """Process the packets of one layout."""
        lengths = self.window.ends - self.window.places
        indices = np.flatnonzero((lengths >= layout.tcp + LEAST_TCP) & (self._tcp == 0))
        good = _are_plain(layout, self.link, data, self.window.places[indices], lengths[indices])
        indices = indices[good]
        size = 4 if layout.first == IPV4_FIRST else 16
        self._addresses[layout.tcp] = size
        self._numbers[indices] = _numbers(data, self.window.places[indices] + layout.tcp - 2 * size, size)
        self._tcp[indices] = layout.tcp

    def _take_others(self) -> bool:
        """Process packets of other layouts; False if there are too many, or they may be damaged."""
        odd = np.flatnonzero(self._tcp == 0).tolist()
        if len(odd) > FEW + len(self._tcp) // MOST_ODD:
            return False
        for index in odd:
            segment = self._segment(index)
            if isinstance(segment, Segment):
                key = np.frombuffer(segment.key, np.uint8)
                self._numbers[index] = _numbers(key, np.zeros(1, np.int64), (len(key) - 4) // 2)[0]
            elif segment != NOT_TCP:
                return False
        return True

    def _segment(self, index: int) -> Segment | str:
        window = self.window
        data = window.data[int(window.places[index]) + RECORD_HEADER : int(window.ends[index])]
        return segment_of(Packet(None, self.link, data, len(data)))

    def groups(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield for each flow its number, the indexes of its first and last packet here, and the total size."""
        there = np.flatnonzero(self._numbers)
        numbers, lengths = self._numbers[there], (self.window.ends - self.window.places)[there]
        flows, firsts, which = np.unique(numbers, return_index=True, return_inverse=True)
        lasts = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        sizes = np.bincount(which, lengths).astype(np.int64)
        columns = flows, there[firsts], there[lasts], sizes
        yield from zip(*(column.tolist() for column in columns), strict=True)

    def is_opening(self, index: int) -> bool:
        """Whether a packet opens a connection."""
        segment = self._segment(index)
        return isinstance(segment, Segment) and segment.flags & (SYN | ACK) == SYN

    def key(self, index: int) -> bytes:
        """Return the connection key of a packet."""
        tcp = int(self._tcp[index])
        if tcp:
            start = int(self.window.places[index]) + tcp
            return self.window.data[start - 2 * self._addresses[tcp] : start + 4]
        segment = self._segment(index)
        assert isinstance(segment, Segment)
        return segment.key


def _are_plain(layout: Layout, link: int, data: Any, places: Any, lengths: Any) -> Any:
    """Return a mask of the records that have a layout and valid headers."""
    is_four = layout.first == IPV4_FIRST
    start = layout.ip if is_four else layout.ip - 40
    good = data[places + start] == layout.first
    if link in NAMED:
        name = places + RECORD_HEADER + NAMED[link][1]
        good &= (data[name] == layout.name[0]) & (data[name + 1] == layout.name[1])
    header = data[places + layout.tcp + 12].astype(np.int64) >> 4 << 2
    size = places + start + (2 if is_four else 4)
    total = (data[size].astype(np.int64) << 8) + data[size + 1] - (20 if is_four else 0)
    good &= data[places + start + (9 if is_four else 6)] == TCP
    if is_four:
        good &= (data[places + start + 6] & 0x3F | data[places + start + 7]) == 0  # no fragment
    return good & (header >= LEAST_TCP) & (header <= total) & (layout.tcp + header <= lengths)


def _numbers(data: Any, keys: Any, size: int) -> Any:
    """Hash keys to numbers, equal for both directions; they start at these positions, with addresses of this size."""
    one, other = (_end(data, keys + end * size, size, keys + 2 * size + 2 * end) for end in (0, 1))
    number = (one + other) * _PRIME ^ one * other
    return (number ^ number >> np.uint64(29)) | np.uint64(1)


def _end(data: Any, address: Any, size: int, port: Any) -> Any:
    number = np.zeros(len(address), np.uint64)
    for place in (*(address + offset for offset in range(size)), port, port + 1):
        number = number * _PRIME + data[place] + np.uint64(1)
    return number ^ number >> np.uint64(31)
