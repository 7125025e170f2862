"""One direction of a TCP connection: data ordered by sequence number.

Bytes that came first win. Knows sequence numbers; knows neither time nor when to give up waiting.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Any

import msgspec

from ..native.states import StreamState

MASK = 0xFFFFFFFF
WINDOW = 1 << 30  # RFC 7323: no receiver allows more ahead of what it has
PIECE_COST = 160  # bytes of memory of a piece, without its data


class StreamSegment(msgspec.Struct, gc=False):
    """Bytes of the stream that wait to be given out; `data` is None for those that the capture cut off.

    `need` is what they acknowledge of the other side, `packet` the number of the packet that brought them.
    """

    start: int
    stop: int
    data: bytes | None
    nanoseconds: int | None
    need: int | None
    packet: int


_start = attrgetter("start")


def ahead(one: int, other: int) -> int:
    """How far one sequence number is ahead of another; negative if it is behind.

    >>> ahead(5, 0xFFFFFFFE), ahead(0xFFFFFFFE, 5)
    (7, -7)
    """
    return ((one - other + 0x80000000) & MASK) - 0x80000000


class Half(StreamState):
    """One side of a connection, as far as it was seen.

    Attributes:
        side: 0 or 1; `peer` is the other one, of the same `connection`.
        frames: of the fast path, `in_order`, once it is known that Kafka is spoken.
        begun: whether it is known where the stream begins. Until then, offsets count from the first sequence
            number heard of, and may be negative.
        first: the sequence number of the first byte, if a SYN told it; `opened`: whether it was this side's own.
        sequence: the sequence number of the next byte awaited, and `position` its offset in the stream.
        pieces: what waits, in order, without overlap; `held` is the memory it takes.
        acked: up to which sequence number the peer has it; `excused`: up to which nobody waits for it any more.
        end: the offset of the FIN, `finished` once that is reached; `sent` is the highest offset heard of.
        late: whether a gap of unknown size must still be told, because no SYN was seen.
    """

    __slots__ = ()
    peer: Half
    connection: Any
    pieces: list[StreamSegment]

    def begin(self, sequence: int) -> None:
        """Note the sequence number of the first byte."""
        if self.sequence is not None:
            self._shift(ahead(sequence, self.sequence))
        self.first = self.sequence = sequence
        self.begun = True
        self.advance(0)

    def begin_late(self) -> None:
        """Take what was seen first for the begin of the stream: no SYN will come."""
        start = self.pieces[0].start if self.pieces else 0
        if self.sequence is not None:
            self.sequence = (self.sequence + start) & MASK
            self._shift(start)
            self.late = True
            self.advance(0)

    def _shift(self, count: int) -> None:
        """Count offsets from another byte; what lies before it is dropped."""
        pieces, self.pieces, self.held, self.begun = self.pieces, [], 0, True
        for piece in pieces:
            self.put(piece, piece.start - count)
        self.sent -= count
        if self.end is not None:
            self.end -= count

    def hear(self, sequence: int) -> int:
        """Return the offset of a sequence number; the first one heard of is offset 0."""
        if self.sequence is None:
            self.sequence = sequence
        return self.position + ahead(sequence, self.sequence)

    def acknowledge(self, sequence: int) -> None:
        """Note what the peer has."""
        near = self.hear(sequence) - self.position <= WINDOW
        if near and (self.acked is None or ahead(sequence, self.acked) > 0):
            self.acked = sequence

    def put(self, new: StreamSegment, base: int) -> None:
        """Keep those bytes of a piece, which begins at `base`, that were not there before."""
        start, stop = base, base + new.stop - new.start
        if self.begun:
            start = max(start, self.position)
        pieces, index = self.pieces, bisect_right(self.pieces, start, key=_start)
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
        """Whether the next bytes are there, and those that they answer were given out."""
        return self._is_next() and (self.pieces[0].need is None or self.peer.has_passed(self.pieces[0].need))

    def is_excused(self) -> bool:
        """Whether the next bytes are there, and those that they answer are waited for no longer."""
        if not self._is_next():
            return False
        need, excused = self.pieces[0].need, self.peer.excused
        return need is None or (self.peer.begun and excused is not None and ahead(need, excused) <= 0)

    def _is_next(self) -> bool:
        return self.begun and bool(self.pieces) and self.pieces[0].start == self.position

    def has_passed(self, sequence: int) -> bool:
        """Whether all before a sequence number was given out."""
        return self.begun and self.sequence is not None and ahead(sequence, self.sequence) <= 0

    def excuse(self, sequence: int | None) -> None:
        """Wait no longer for what is before a sequence number."""
        if sequence is not None and (self.excused is None or ahead(sequence, self.excused) > 0):
            self.excused = sequence

    def release(self) -> StreamSegment:
        """Take out the next bytes."""
        piece = self.pieces.pop(0)
        self.held -= len(piece.data or b"") + PIECE_COST
        self.advance(piece.stop - piece.start)
        return piece

    def advance(self, count: int) -> None:
        """Move on in the stream; the FIN behind it takes a sequence number of its own."""
        assert self.sequence is not None
        self.position += count
        self.sequence = (self.sequence + count) & MASK
        if self.begun and self.end is not None and self.position >= self.end and not self.finished:
            self.finished = True
            self.sequence = (self.sequence + 1) & MASK

    def owed(self) -> int:
        """How many bytes the peer has that were not given out yet."""
        if self.acked is None or self.sequence is None:
            return 0
        return max(0, ahead(self.acked, self.sequence))

    def hole(self) -> int:
        """The size of the hole in front of what waits."""
        return self.pieces[0].start - self.position if self.begun and self.pieces else 0

    def given_up(self) -> int:
        """How much of the hole in front of what waits is waited for no longer."""
        hole = self.hole()
        if not hole or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(hole, ahead(self.excused, self.sequence)))

    def given_up_end(self) -> int:
        """How many bytes behind all that was captured are waited for no longer."""
        if self.pieces or not self.begun or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(self.missing(), ahead(self.excused, self.sequence)))

    def missing(self) -> int:
        """How many bytes were sent behind the last one given out, as far as anything told."""
        if self.end is not None:
            return self.end - self.position
        count = max(self.owed(), self.sent - self.position)
        return count if count > 1 else 0  # a single number may be a FIN that was not captured
