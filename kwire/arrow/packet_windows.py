"""Groups the packets of a stretch of a pcap file by connection, all at once with numpy.

Reads records and link, IP and TCP headers; does not decode payloads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple

import numpy as np

from ..capture.link_layers import LEAST_TCP, NAMED, TCP, Layout, Segment, layouts_for, segment_of, turned
from ..capture.pcap import LONGEST, NEAR, RECORD_HEADER, SECOND, Packet, PcapReader

IPV4_FIRST = 0x45
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Group(NamedTuple):
    """Packets of one connection, in the order of the file.

    Attributes:
        key: the connection: the lesser of the keys of its two directions.
        first, last: the earliest and the latest time, in nanoseconds; a single time out of line does not count.
        offsets: where their records begin in the file, as 64-bit integers.
        packets: the records.
    """

    key: bytes
    first: int
    last: int
    offsets: bytes
    packets: bytes


def connection_key(key: bytes) -> bytes:
    """Return the key that both directions of a connection share."""
    return min(key, turned(key))


def times_in_line(times: Any, before: int | None = None) -> Any:
    """Replace times that go back, or jump and come back, so that a damaged one misplaces nothing: a file has its
    packets in the order of time. The first and the last are those of their neighbours, for none confirms them.

    Args:
        times: of records that follow each other, in nanoseconds.
        before: that of the record before them, if it is known.
    """
    if before is not None:
        known = times_in_line(np.concatenate([[before], np.maximum(times, before)]))
        return known[1:]
    if len(times) < 3:
        return np.full(len(times), min(times))
    middle = np.sort(np.stack([times[:-2], times[1:-1], times[2:]]), axis=0)[1]
    return np.concatenate([middle[:1], middle, middle[-1:]])


class Window:
    """The records that a reader has in memory, as far as each is followed by another one and nothing is unusual.

    Args:
        reader: at a record.
        stop: where in the file records are of no interest any more.
        before: the time of the record before, in nanoseconds, if it is known.

    Attributes:
        count: how many records these are; 0 where a closer look is needed.
        end: where they end in the reader's data.
        seconds: the time of the last one.
        last: that time in nanoseconds, unless it is out of line.
        lost: how many packets are no TCP segments, by the reason.
    """

    def __init__(self, reader: PcapReader, stop: int, before: int | None = None) -> None:
        cursor = reader.cursor
        self._data, self._base, self._link = cursor.data, cursor.offset - cursor.pos, reader.link
        places = _places(cursor.data, cursor.pos, Struct(reader.order + "I").unpack_from)
        layouts = layouts_for(reader.link)
        self.count, self.end, self.seconds, self.last = 0, cursor.pos, None, before
        self.lost: Counter[str] = Counter()
        if not layouts or len(places) < 2 or not self._is_sane(places, reader, before):
            return
        self.count = min(len(places) - 1, int(np.searchsorted(places, stop - self._base)))
        self._places, self._ends = places[: self.count], places[1 : self.count + 1]
        self.end = int(places[self.count])
        if self.count:
            self.seconds, self.last = int(self._seconds[self.count - 1]), int(self._times[self.count - 1])
        self._numbers = np.zeros(self.count, np.uint64)
        self._tcp = np.zeros(self.count, np.int64)
        self._keys: dict[int, bytes] = {}  # of packets that are laid out otherwise
        self._sizes: dict[int, int] = {}  # of addresses, by where TCP begins
        for layout in layouts:
            self._take(layout)
        self._take_others()

    def _is_sane(self, places: Any, reader: PcapReader, time: int | None) -> bool:
        """Whether all headers may be those of packets that follow each other, as the reader would have them."""
        data = np.frombuffer(self._data, np.uint8)
        seconds, ticks, captured, length = (_uint32(data, places + 4 * index, reader.order) for index in range(4))
        before = reader.state[-1]
        is_near = (np.abs(np.diff(seconds)) <= NEAR).all() and (before is None or abs(seconds[0] - before) <= NEAR)
        self._lengths = length
        self._seconds, self._times = seconds, times_in_line(seconds * SECOND + ticks * reader.tick, time)
        sizes = (captured > 0) & (captured <= np.minimum(length, LONGEST))
        return bool(is_near and (ticks * reader.tick < SECOND).all() and sizes.all())

    def _take(self, layout: Layout) -> None:
        """Take the packets of one layout."""
        data, lengths = np.frombuffer(self._data, np.uint8), self._ends - self._places
        indices = np.flatnonzero((lengths >= layout.tcp + LEAST_TCP) & (self._tcp == 0))
        good = _are_plain(layout, self._link, data, self._places[indices], lengths[indices])
        indices = indices[good]
        size = 4 if layout.first == IPV4_FIRST else 16
        self._sizes[layout.tcp] = size
        self._numbers[indices] = _numbers(data, self._places[indices] + layout.tcp - 2 * size, size)
        self._tcp[indices] = layout.tcp

    def _take_others(self) -> None:
        """Take packets that are laid out otherwise."""
        for index in np.flatnonzero(self._tcp == 0).tolist():
            data = self._data[int(self._places[index]) + RECORD_HEADER : int(self._ends[index])]
            segment = segment_of(Packet(None, self._link, data, int(self._lengths[index])))
            if isinstance(segment, Segment):
                key = self._keys[index] = segment.key
                self._numbers[index] = _numbers(np.frombuffer(key, np.uint8), np.zeros(1, np.int64), len(key) // 2 - 2)[
                    0
                ]
            else:
                self.lost[segment] += 1

    def groups(self) -> Iterator[Group]:
        """Yield the packets of each connection."""
        there = np.flatnonzero(self._numbers)
        if not len(there):
            return
        order = there[np.argsort(self._numbers[there], kind="stable")]
        starts = np.append(0, np.flatnonzero(np.diff(self._numbers[order])) + 1)
        firsts, lasts = (one.reduceat(self._times[order], starts).tolist() for one in (np.minimum, np.maximum))
        places, ends = self._places[order], self._ends[order].tolist()
        offsets, begins = (places + self._base).astype("<i8").tobytes(), places.tolist()
        stops, keys, data = [*starts[1:].tolist(), len(order)], order[starts].tolist(), self._data
        for start, stop, index, first, last in zip(starts.tolist(), stops, keys, firsts, lasts, strict=True):
            packets = b"".join([data[begins[one] : ends[one]] for one in range(start, stop)])
            key = connection_key(self._key(index))
            yield Group(key, first, last, offsets[8 * start : 8 * stop], packets)

    def _key(self, index: int) -> bytes:
        """Return the key of a packet."""
        if index in self._keys:
            return self._keys[index]
        tcp = int(self._tcp[index])
        start = int(self._places[index]) + tcp
        return self._data[start - 2 * self._sizes[tcp] : start + 4]


def _uint32(data: Any, places: Any, order: str) -> Any:
    offsets = range(4) if order == "<" else range(3, -1, -1)
    return sum(data[places + offset].astype(np.int64) << 8 * index for index, offset in enumerate(offsets))


def _places(data: bytes, pos: int, length: Any) -> Any:
    """Return where records begin in the data, as far as their headers are there."""
    places, last = list[int](), len(data) - RECORD_HEADER
    add = places.append
    with suppress(StructError):  # the end; to ask for it at each record takes longer than all else
        while True:
            (size,) = length(data, pos + 8)
            add(pos)
            pos += RECORD_HEADER + size
    while places and places[-1] > last:
        places.pop()
    return np.array(places, np.int64)


def _are_plain(layout: Layout, link: int, data: Any, places: Any, lengths: Any) -> Any:
    """Say which records have a layout, and headers that may be."""
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
    """Mix keys to numbers, the same for either direction; they begin at these places, with addresses of this size."""
    one, other = (_end(data, keys + end * size, size, keys + 2 * size + 2 * end) for end in (0, 1))
    number = (one + other) * _PRIME ^ one * other
    return (number ^ number >> np.uint64(29)) | np.uint64(1)


def _end(data: Any, address: Any, size: int, port: Any) -> Any:
    number = np.zeros(len(address), np.uint64)
    for place in (*(address + offset for offset in range(size)), port, port + 1):
        number = number * _PRIME + data[place] + np.uint64(1)
    return number ^ number >> np.uint64(31)
