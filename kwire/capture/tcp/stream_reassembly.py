"""Reassembles one direction of a TCP connection: order, retransmission and overlap of segments, holes.

Segments that arrive early are buffered; if segments overlap, the first one takes precedence, so that retransmitted
bytes (RFC 9293, section 3.8) count once. `connection` decides how long a hole is waited for.

This is the reference; the native engine has the same methods (`tcp_streams.pxi`).
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Any

import msgspec

MASK = 0xFFFFFFFF  # sequence numbers wrap around (RFC 9293, section 3.4)
WINDOW = 1 << 30  # no receiver accepts more in advance: 65,535 bytes, scaled by 2**14 at most (RFC 7323, section 2.3)
PIECE_COST = 160  # bytes of memory of a buffered segment, without its data
_start = attrgetter("start")


class StreamSegment(msgspec.Struct, gc=False):
    """Buffered bytes of the stream; `data` is None for bytes that the capture truncated.

    `need` is the sequence number of the other side that they acknowledge, `packet` the number of their packet.
    """

    start: int
    stop: int
    data: bytes | None
    nanoseconds: int | None
    need: int | None
    packet: int


def sequence_distance(sequence: int, other: int) -> int:
    """Return the distance between two sequence numbers modulo 2**32 (RFC 9293, section 3.4); negative if the first one
    is earlier.

    >>> sequence_distance(5, 0xFFFFFFFE), sequence_distance(0xFFFFFFFE, 5)
    (7, -7)
    """
    return ((sequence - other + 0x80000000) & MASK) - 0x80000000


class HalfConnection:
    """State of one direction of a connection.

    Attributes:
        side: 0 or 1; `peer` is the other direction of the same `connection`.
        begun: whether the start of the stream is known. Until then, offsets count from the first captured sequence
            number, and may be negative.
        first: the sequence number of the first byte, if a SYN was captured; `opened`: whether it was this side's SYN.
        sequence: the sequence number of the next expected byte; `position` is its offset in the stream.
        pieces: buffered segments in order, without overlap; `held` is their memory.
        acked: the sequence number that the peer has acknowledged; `excused`: the one up to which waiting has ended.
        end: the offset of the FIN; `finished` is set when it is reached; `sent` is the highest captured offset.
        late: whether a gap of unknown size must still be reported, because no SYN was captured.
    """

    peer: HalfConnection

    def __init__(self, side: int, connection: Any = None) -> None:
        self.side: int = side
        self.connection: Any = connection
        self.position: int = 0
        self.held: int = 0
        self.sent: int = 0
        self.pieces: list[StreamSegment] = []
        self.begun: bool = False
        self.late: bool = False
        self.finished: bool = False
        self.opened: bool = False
        self.sequence: int | None = None
        self.first: int | None = None
        self.acked: int | None = None
        self.excused: int | None = None
        self.end: int | None = None

    def begin(self, sequence: int) -> None:
        """Set the sequence number of the first byte."""
        if self.sequence is not None:
            self._shift(sequence_distance(sequence, self.sequence))
        self.first = self.sequence = sequence
        self.begun = True
        self.advance(0)

    def begin_late(self) -> None:
        """Treat the first captured byte as the start of the stream: no SYN will come."""
        start = self.pieces[0].start if self.pieces else 0
        if self.sequence is not None:
            self.sequence = (self.sequence + start) & MASK
            self._shift(start)
            self.late = True
            self.advance(0)

    def _shift(self, count: int) -> None:
        """Count offsets from another byte; drop the bytes before it."""
        pieces = self.pieces
        self.pieces = []
        self.held = 0
        self.begun = True
        for piece in pieces:
            self.put(piece, piece.start - count)
        self.sent -= count
        if self.end is not None:
            self.end -= count

    def offset_of(self, sequence: int) -> int:
        """Return the offset of a sequence number; the first one seen has offset 0."""
        if self.sequence is None:
            self.sequence = sequence
        return self.position + sequence_distance(sequence, self.sequence)

    def acknowledge(self, sequence: int) -> None:
        """Record a sequence number that the peer has acknowledged."""
        near = self.offset_of(sequence) - self.position <= WINDOW
        if near and (self.acked is None or sequence_distance(sequence, self.acked) > 0):
            self.acked = sequence

    def put(self, new: StreamSegment, base: int) -> None:
        """Buffer the new bytes of a segment that starts at `base`."""
        start = base
        stop = base + new.stop - new.start
        if self.begun:
            start = max(start, self.position)
        pieces = self.pieces
        index = bisect_right(self.pieces, start, key=_start)
        if index:
            start = max(start, pieces[index - 1].stop)
        while start < stop:
            room = min(stop, pieces[index].start) if index < len(pieces) else stop
            if room > start:
                part = None if new.data is None else new.data[start - base : room - base]
                pieces.insert(index, StreamSegment(start, room, part, new.nanoseconds, new.need, new.packet))
                self.held += len(part or b"") + PIECE_COST
                index += 1
            if index == len(pieces):
                break
            start = max(room, pieces[index].stop)
            index += 1

    def ready(self) -> bool:
        """Whether the next bytes have arrived, and the data that they acknowledge was returned."""
        return self._is_next() and (self.pieces[0].need is None or self.peer.has_passed(self.pieces[0].need))

    def is_excused(self) -> bool:
        """Whether the next bytes have arrived, and waiting for the data that they acknowledge has ended."""
        if not self._is_next():
            return False
        need = self.pieces[0].need
        excused = self.peer.excused
        return need is None or (self.peer.begun and excused is not None and sequence_distance(need, excused) <= 0)

    def _is_next(self) -> bool:
        return self.begun and bool(self.pieces) and self.pieces[0].start == self.position

    def has_passed(self, sequence: int) -> bool:
        """Whether all bytes before a sequence number were returned."""
        return self.begun and self.sequence is not None and sequence_distance(sequence, self.sequence) <= 0

    def excuse(self, sequence: int | None) -> None:
        """Stop waiting for bytes before a sequence number."""
        if sequence is not None and (self.excused is None or sequence_distance(sequence, self.excused) > 0):
            self.excused = sequence

    def release(self) -> StreamSegment:
        """Remove and return the next bytes."""
        piece = self.pieces.pop(0)
        self.held -= len(piece.data or b"") + PIECE_COST
        self.advance(piece.stop - piece.start)
        return piece

    def advance(self, count: int) -> None:
        """Advance in the stream; a FIN takes one sequence number (RFC 9293, section 3.4)."""
        assert self.sequence is not None
        self.position += count
        self.sequence = (self.sequence + count) & MASK
        if self.begun and self.end is not None and self.position >= self.end and not self.finished:
            self.finished = True
            self.sequence = (self.sequence + 1) & MASK

    def owed(self) -> int:
        """The number of bytes that the peer has acknowledged but that were not returned yet."""
        if self.acked is None or self.sequence is None:
            return 0
        return max(0, sequence_distance(self.acked, self.sequence))

    def hole(self) -> int:
        """The size of the hole before the first buffered segment."""
        return self.pieces[0].start - self.position if self.begun and self.pieces else 0

    def given_up(self) -> int:
        """The number of bytes in that hole that are no longer waited for."""
        hole = self.hole()
        if not hole or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(hole, sequence_distance(self.excused, self.sequence)))

    def given_up_end(self) -> int:
        """The number of bytes after the last captured one that are no longer waited for."""
        if self.pieces or not self.begun or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(self.missing(), sequence_distance(self.excused, self.sequence)))

    def missing(self) -> int:
        """The number of bytes that were sent after the last returned one, as far as known."""
        if self.end is not None:
            return self.end - self.position
        count = max(self.owed(), self.sent - self.position)
        return count if count > 1 else 0  # a single number may be a FIN that was not captured
