"""Orders the files of a capture that was divided by `split -b`.

Where a record from one file ends in the next file, another record must start. Files inside one long packet cannot
be ordered this way; they are ordered by name, or by modification time if that suits the other files better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from ...capture.packets.header_layouts import layouts_for
from ...capture.packets.packet import LONGEST, SECOND, Packet
from ...capture.packets.pcap import FILE_HEADER, MAGICS, RECORD_HEADER
from ...capture.packets.pcapng import KINDS, LEAST, STARTS, PcapngReader
from ...capture.packets.pcapng_blocks import BLOCKS, ENHANCED_PACKET

IPV4_FIRST = 0x45
IPV6_HEADER = 40
SHORTEST = RECORD_HEADER + 64  # record of a packet that Ethernet may have padded
ENHANCED = 20  # bytes of an enhanced packet block before its time


class UnorderedPiece(NamedTuple):
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


class PieceEnd(NamedTuple):
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

    def record(self, data: bytes, offset: int) -> tuple[int, int | None] | None:
        """Return the length of a record in bytes, and its time; None if no record starts there."""
        raise NotImplementedError

    def starts(self, data: bytes) -> Iterator[int]:
        """Yield positions at which records may start."""
        raise NotImplementedError

    def is_usual(self, data: bytes, offset: int) -> bool:
        """Whether a record seems to contain an IP packet of its length."""
        return True

    def end(self, data: bytes, offset: int | None) -> PieceEnd:
        """Return the end of a piece; `offset` is the position of its first record, if known."""
        times, size, odd = list[int](), len(data), 0
        places = self.starts(data)
        offset = next(places, None) if offset is None else offset
        while offset is not None:
            if size - offset < self.least:
                return PieceEnd(max(0, offset - size), data[offset:], _median(times), odd)
            record = self.record(data, offset)
            if record is None:
                odd += 1
                offset = next((following for following in places if following > offset), None)
            else:
                odd += not self.is_usual(data, offset)
                times += [] if record[1] is None else [record[1]]
                offset += record[0]
        return PieceEnd(0, b"", _median(times), odd)

    def after(self, end: PieceEnd, piece: UnorderedPiece) -> PieceEnd | None:
        """Return the end of a piece that follows a given end; None if the piece cannot follow it."""
        data, offset = end.part + piece.head, end.missing
        size = len(end.part) + piece.size
        if offset >= size:
            return PieceEnd(offset - size, b"", None)
        if len(data) - offset >= self.least and self.record(data, offset) is None:
            return None
        end_of_head = self.end(data, offset)
        return (
            end_of_head if piece.size == len(piece.head) else self.end(piece.tail, None)._replace(odd=end_of_head.odd)
        )


class PcapGrammar(Grammar):
    """Records of pcap.

    Args:
        head: the first bytes of the file.
        earliest, latest: the range of valid times of packets, in nanoseconds.
    """

    least: int = RECORD_HEADER
    start: int = FILE_HEADER

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

    def record(self, data: bytes, offset: int) -> tuple[int, int | None] | None:
        """See `Grammar.record`."""
        seconds, ticks, captured, length = self._unpack(data, offset)
        time = seconds * SECOND + ticks * self._tick
        is_one = time in self._range and ticks * self._tick < SECOND and 0 < captured <= length <= LONGEST
        return (RECORD_HEADER + captured, time) if is_one else None

    def is_usual(self, data: bytes, offset: int) -> bool:
        """See `Grammar.is_usual`."""
        length = self._unpack(data, offset)[3] + RECORD_HEADER
        for layout in self._layouts:
            is_four = layout.first == IPV4_FIRST
            start = offset + layout.ip - (0 if is_four else IPV6_HEADER)
            ip = data[start : start + 6]
            if len(ip) < 6 or ip[0] >> 4 == layout.first >> 4:
                total = int.from_bytes(ip[2:4] if is_four else ip[4:6], "big")
                return len(ip) < 6 or total == length - layout.ip or length < SHORTEST
        return not self._layouts

    def starts(self, data: bytes) -> Iterator[int]:
        """See `Grammar.starts`."""
        places = (match.start() for match in self._pattern.finditer(data))
        return (
            offset for offset in places if offset + RECORD_HEADER <= len(data) and self.record(data, offset) is not None
        )


class PcapngGrammar(Grammar):
    """Blocks of pcapng; for the arguments see `PcapGrammar`."""

    least: int = LEAST
    start: int = 0

    def __init__(self, head: bytes, earliest: int, latest: int) -> None:
        reader = PcapngReader(iter([head]))
        next((packet for packet in reader if isinstance(packet, Packet)), None)
        self._order, self._interfaces = reader.order, reader.interfaces
        self._range = range(earliest, latest + 1)

    def record(self, data: bytes, offset: int) -> tuple[int, int | None] | None:
        """See `Grammar.record`."""
        kind, size = Struct(self._order + "II").unpack_from(data, offset)
        if size < LEAST or size % 4 or size > LONGEST or kind not in KINDS | set(BLOCKS):
            return None
        if len(data) >= offset + size and data[offset + size - 4 : offset + size] != data[offset + 4 : offset + 8]:
            return None
        if kind != ENHANCED_PACKET or len(data) < offset + ENHANCED:
            return size, None
        number, high, low = Struct(self._order + "III").unpack_from(data, offset + 8)
        if number >= len(self._interfaces):
            return None
        time = self._interfaces[number].nanoseconds(high << 32 | low)
        return (size, time) if time in self._range else None

    def starts(self, data: bytes) -> Iterator[int]:
        """See `Grammar.starts`."""
        places = (match.start() for match in STARTS[self._order].finditer(data))
        records = ((offset, self.record(data, offset)) for offset in places if offset + LEAST <= len(data))
        return (offset for offset, record in records if record is not None and record[1] is not None)


def _median(times: list[int]) -> int | None:
    return sorted(times)[len(times) // 2] if times else None


def order_pieces(first: UnorderedPiece, others: Sequence[UnorderedPiece], grammar: Grammar) -> list[int]:
    """Return the numbers of pieces in order: the piece with the file header, then the others.

    The list is empty if the others have no records.
    """
    times = {piece.number: grammar.end(piece.head, None).time for piece in others}
    if all(time is None for time in times.values()):
        return []
    by_name = sorted(others, key=lambda piece: piece.number)
    by_change = sorted(others, key=lambda piece: (piece.changed, piece.number))
    named = [by_name, by_change, *(_sort_pieces(first, start, times, grammar) for start in (by_name, by_change))]
    best = min(named, key=lambda order: _count_faults(first, order, times, grammar))
    return [first.number, *(piece.number for piece in best)]


def _count_faults(
    first: UnorderedPiece, order: Sequence[UnorderedPiece], times: dict[int, int | None], grammar: Grammar
) -> int:
    """Count the signs that an order is wrong: pieces that continue no record, odd records, an unfinished last record,
    and times that go back.
    """
    count, end = 0, grammar.end(first.head, grammar.start)
    for piece in order:
        following = grammar.after(end, piece)
        end = following or grammar.end(piece.tail, None)
        count += end.odd + (following is None)
    timed = [time for piece in order if (time := times[piece.number]) is not None]
    return count + bool(end.missing or end.part) + sum(earlier > other for earlier, other in pairwise(timed))


def _sort_pieces(
    first: UnorderedPiece, start: Sequence[UnorderedPiece], times: dict[int, int | None], grammar: Grammar
) -> list[UnorderedPiece]:
    """Sort pieces by their records; pieces without records stay in the given order."""
    left = sorted(start, key=lambda piece: (times[piece.number] is None, times[piece.number] or 0))
    order, end = list[UnorderedPiece](), grammar.end(first.head, grammar.start)
    while left:
        following = _following(end, left, times, grammar)
        piece, end = following or (left[0], grammar.end(left[0].tail, None))
        left.remove(piece)
        order.append(piece)
    return order


def _following(
    end: PieceEnd, left: Sequence[UnorderedPiece], times: dict[int, int | None], grammar: Grammar
) -> tuple[UnorderedPiece, PieceEnd] | None:
    """Return the piece that follows an end, and the end of this piece; None if damage makes this impossible.

    The result is the earliest piece with a complete record header, or one whose only header starts in the previous
    piece.
    """
    earliest = next((piece for piece in left if times[piece.number] is not None), None)
    near = [piece for piece in left if piece is earliest or times[piece.number] is None]
    fits = [(piece, after) for piece in near if (after := grammar.after(end, piece)) is not None]
    timed = [(after.odd, after.time, piece, after) for piece, after in fits if after.time is not None]
    if timed:
        return min(timed, key=lambda candidate: candidate[:2])[2:]
    inner = [(piece, after) for piece, after in fits if times[piece.number] is None]

    def goes_on(candidate: tuple[UnorderedPiece, PieceEnd]) -> bool:
        ends = (grammar.after(candidate[1], piece) for piece in near if piece is not candidate[0])
        return any(continuation is not None and continuation.time is not None for continuation in ends)

    return max(inner, key=lambda candidate: (goes_on(candidate), candidate[0].size), default=None)
