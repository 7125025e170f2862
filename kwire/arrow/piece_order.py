"""Puts the pieces of a capture that was cut at bytes into their order, by what is in them.

A record that a piece begins ends in the next one: where it ends, another record has to begin. Pieces in the middle of
one long packet have no place of their own: they follow each other by their names, or by when they were written if that
fits the other pieces better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from ..capture.link_layers import layouts_for
from ..capture.pcap import FILE_HEADER, LONGEST, MAGICS, RECORD_HEADER, SECOND, Packet
from ..capture.pcapng import BLOCKS, ENHANCED_PACKET, KINDS, LEAST, STARTS, PcapngReader
from .packet_windows import IPV4_FIRST

IPV6_HEADER = 40
SHORTEST = RECORD_HEADER + 64  # bytes of a record whose packet Ethernet may have padded
ENHANCED = 20  # bytes of an enhanced packet block up to its time


class Loose(NamedTuple):
    """A piece whose place is to be found.

    Attributes:
        number: its place by name.
        changed: when it was written.
        size: in bytes.
        head, tail: its first and last bytes, which may overlap.
    """

    number: int
    changed: int
    size: int
    head: bytes
    tail: bytes


class End(NamedTuple):
    """Where a piece ends: bytes that its last record has in the next one, or the part of a header that it has.

    `time` is the median of the times of its records in nanoseconds, if it has some; `odd` counts records that others do
    not follow, or that hold no IP packet of their length.
    """

    missing: int
    part: bytes
    time: int | None
    odd: int = 0


class Grammar:
    """The format of the records of a capture.

    Attributes:
        least: bytes of a header.
        start: where the first record of the file is.
    """

    least: int
    start: int

    def record(self, data: bytes, place: int) -> tuple[int, int | None] | None:
        """Return the length of a record in bytes, and its time; None if none begins there."""
        raise NotImplementedError

    def starts(self, data: bytes) -> Iterator[int]:
        """Yield positions at which records may begin."""
        raise NotImplementedError

    def is_usual(self, data: bytes, place: int) -> bool:
        """Whether a record seems to contain an IP packet of its length."""
        return True

    def end(self, data: bytes, place: int | None) -> End:
        """Return the end of a piece, whose first record begins at a place if it is known."""
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
        """Return where a piece ends that follows an end; None if it cannot follow there."""
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
        earliest, latest: times that its packets may have, in nanoseconds.
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
        """As `Grammar.record`."""
        seconds, ticks, captured, length = self._unpack(data, place)
        time = seconds * SECOND + ticks * self._tick
        is_one = time in self._range and ticks * self._tick < SECOND and 0 < captured <= length <= LONGEST
        return (RECORD_HEADER + captured, time) if is_one else None

    def is_usual(self, data: bytes, place: int) -> bool:
        """As `Grammar.is_usual`."""
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
        """As `Grammar.starts`."""
        places = (match.start() for match in self._pattern.finditer(data))
        return (one for one in places if one + RECORD_HEADER <= len(data) and self.record(data, one) is not None)


class Sections(Grammar):
    """Blocks of pcapng; arguments as of `Records`."""

    least, start = LEAST, 0

    def __init__(self, head: bytes, earliest: int, latest: int) -> None:
        reader = PcapngReader(iter([head]))
        next((packet for packet in reader if isinstance(packet, Packet)), None)
        self._order, self._interfaces = reader.order, reader.interfaces
        self._range = range(earliest, latest + 1)

    def record(self, data: bytes, place: int) -> tuple[int, int | None] | None:
        """As `Grammar.record`."""
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
        """As `Grammar.starts`."""
        places = (match.start() for match in STARTS[self._order].finditer(data))
        found = ((one, self.record(data, one)) for one in places if one + LEAST <= len(data))
        return (one for one, record in found if record is not None and record[1] is not None)


def _median(times: list[int]) -> int | None:
    return sorted(times)[len(times) // 2] if times else None


def in_order(first: Loose, others: Sequence[Loose], grammar: Grammar) -> list[int]:
    """Return the numbers of pieces in their order: the one with the header of the file, and the others; nothing if the
    others have no records."""
    times = {piece.number: grammar.end(piece.head, None).time for piece in others}
    if all(time is None for time in times.values()):
        return []
    by_name = sorted(others, key=lambda piece: piece.number)
    by_change = sorted(others, key=lambda piece: (piece.changed, piece.number))
    named = [by_name, by_change, *(_found(first, start, times, grammar) for start in (by_name, by_change))]
    best = min(named, key=lambda order: _breaks(first, order, times, grammar))
    return [first.number, *(piece.number for piece in best)]


def _breaks(first: Loose, order: Sequence[Loose], times: dict[int, int | None], grammar: Grammar) -> int:
    """Count the positions at which a record does not continue the one before, or an earlier one."""
    count, end = 0, grammar.end(first.head, grammar.start)
    for piece in order:
        following = grammar.after(end, piece)
        end = following or grammar.end(piece.tail, None)
        count += end.odd + (following is None)
    timed = [time for piece in order if (time := times[piece.number]) is not None]
    return count + bool(end.missing or end.part) + sum(one > other for one, other in pairwise(timed))


def _found(first: Loose, start: Sequence[Loose], times: dict[int, int | None], grammar: Grammar) -> list[Loose]:
    """Put pieces in order by their records; those without one stay in the order in which they are given."""
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
    """Return the piece that follows an end, and its end; None if damage hides which.

    It is the earliest of those with a record of their own, or one whose only header is cut by its begin.
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
