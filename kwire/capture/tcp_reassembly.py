"""Reassembles TCP connections: captured segments become, per direction, a sequence of portions of data and gaps.

A hole is given up as a gap when the other side has acknowledged it and patience is spent (packets may have been
captured out of order), when waiting takes too much memory, and at the end. Bytes that acknowledge others not seen
yet wait for those too, so that an answer never comes before its question. Where no SYN was seen, a stream begins
with a gap of unknown size. Knows one connection; which segments are its own, `tcp_connections` knows.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..native.states import ConnectionState
from .link_layers import ACK, FIN, RST, SYN, Segment, end_text
from .tcp_stream import MASK, WINDOW, Half, StreamSegment

# How many packets of the connection, and nanoseconds: captures of several queues or interfaces are out of order by more
# than the network is, while each message behind a hole comes as much later.
PATIENCE = 1024  # for a hole
PATIENCE_TO_BEGIN = 32  # for the first bytes, and for a side that may not have been captured
PATIENCE_TIME = 10_000_000_000
WITH_TIME = 1 / 16  # of the packets for a hole are enough when that time has passed


class Portion(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream, the next in order; `offset` is their place in it."""

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None
    data: bytes


class Gap(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that were not captured; `count` is None where nothing tells how many."""

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None
    count: int | None


class Unseen(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that are waited for no longer, though they may still come: the portion that follows
    acknowledges them."""

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None


class Finished(msgspec.Struct, frozen=True, gc=False):
    """Both sides of a connection have sent their FIN, and all bytes before that were given out."""

    connection: Connection


class Ended(msgspec.Struct, frozen=True, gc=False):
    """There will be nothing more of a connection."""

    connection: Connection


Event = Portion | Gap | Unseen | Finished | Ended


class Connection(ConnectionState):
    """A connection.

    Attributes:
        number: from 0, in the order of first packets.
        ends: address and port of side 0 and of side 1, as text.
        opener: the side that sent the SYN; None if that was not seen.
        closed: whether both sides have finished, or one has reset it.
        calm: whether nothing waits, both streams have begun, and no gap must be told.
        last: nanoseconds of its newest packet, but for mere acknowledgements.
        newest: the number, among all, of its newest packet that was not just the next in order.
        packets: how many of those it had.
        unseen: of each side, the offset for which `Unseen` was told last.
    """

    __slots__ = ("unseen",)
    halves: tuple[Half, Half]

    def __init__(self, number: int, key: bytes) -> None:
        self.unseen = -1, -1
        one, other = self.halves = Half(0), Half(1)
        one.peer, other.peer = other, one
        one.connection = other.connection = self

    def release(self) -> None:
        """Let the halves be freed at once: cycles wait for the garbage collector, which takes half the time then."""
        nothing: Any = None
        for half in self.halves:
            half.peer = half.connection = half.frames = nothing

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends as `ip:port`, side 0 first."""
        return end_text(self.key, 0), end_text(self.key, 1)

    @property
    def is_closing(self) -> bool:
        """Whether a side has finished, or has reset it."""
        return self.closed or any(half.end is not None for half in self.halves)

    @property
    def held(self) -> int:
        """The memory that waiting bytes take."""
        return self.halves[0].held + self.halves[1].held

    def feed(self, half: Half, segment: Segment) -> list[Event]:
        """Take a segment of one side; returns what can be given out now."""
        open_before = not self.is_finished
        events = self._take(half, segment)
        if open_before and self.is_finished:
            events.append(Finished(self))
        return events

    @property
    def is_finished(self) -> bool:
        """Whether all of both streams was given out, up to their FINs."""
        return self.halves[0].finished and self.halves[1].finished

    def _take(self, half: Half, segment: Segment) -> list[Event]:
        self._note(half, segment)
        self.packets += 1
        now, count = segment.nanoseconds, len(segment.payload)
        if segment.flags & RST and not count and not segment.missing:  # its sequence number may be zero
            self.closed = True
            return self.settle(now)
        need = segment.acknowledgement if segment.flags & ACK else None
        start = half.hear((segment.sequence + bool(segment.flags & SYN)) & MASK)
        if count:
            half.put(StreamSegment(0, count, segment.payload, now, need, self.packets), start)
        if segment.missing:
            half.put(StreamSegment(0, segment.missing, None, now, need, self.packets), start + count)
        if not segment.flags & RST and start - half.position <= WINDOW:
            half.sent = max(half.sent, start + count + segment.missing)
        if segment.flags & FIN and half.end is None:
            half.end = start + count + segment.missing
            half.advance(0)
        self.closed |= bool(segment.flags & RST) or (half.end is not None and half.peer.end is not None)
        return self.settle(now)

    def _note(self, half: Half, segment: Segment) -> None:
        """Learn from a segment's flags and numbers where the streams begin, and what has arrived."""
        half.opened |= bool(segment.flags & SYN)
        if segment.flags & SYN and not half.begun:
            half.begin((segment.sequence + 1) & MASK)
            self.opener = 1 - half.side if segment.flags & ACK else half.side
        if not segment.flags & ACK or segment.flags & RST:  # what a RST acknowledges, nobody needs to have received
            return
        # A SYN's answer acknowledges the SYN alone; and before its own first byte nobody has received any.
        if not half.peer.begun and (segment.flags & SYN or segment.sequence == half.first):
            half.peer.begin(segment.acknowledgement)
        half.peer.acknowledge(segment.acknowledgement)

    def settle(self, now: int | None, *, idle: bool = False) -> list[Event]:
        """Give out what is ready, and what has waited too long; `idle`: no packet has come for a while."""
        one, other = self.halves
        if not one.pieces and not other.pieces and not one.late and not other.late:
            self.calm = one.begun and other.begun
            return []
        events = self._released()
        while overdue := [half for half in self.halves if self._is_overdue(half, now, idle)]:
            for half in overdue:
                self._excuse(half)
            events += self._released(is_over=idle)
        self.calm = not any(half.pieces or not half.begun or half.late for half in self.halves)
        return events

    def _is_overdue(self, half: Half, now: int | None, idle: bool) -> bool:
        """Whether patience is spent for what bytes of one side wait for."""
        if not half.pieces:
            return False
        first = half.pieces[0]
        passed = self.packets - first.packet
        patience = PATIENCE if half.hole() or half.peer.hole() else PATIENCE_TO_BEGIN
        if half.begun and half.owed() < half.hole():
            # What was not acknowledged may still come; but where nothing is acknowledged, that says nothing.
            return half.acked is None and passed > patience
        late = now is not None and first.nanoseconds is not None and now - first.nanoseconds > PATIENCE_TIME
        return passed > patience or (late and (idle or passed > PATIENCE * WITH_TIME))

    def _excuse(self, half: Half) -> None:
        """Wait no longer for what the first waiting bytes of one side wait for."""
        for one in (half, half.peer):
            if not one.begun:
                one.begin_late()
        half.excuse((half.sequence or 0) + half.hole() & MASK)
        half.peer.excuse(half.pieces[0].need)

    def force(self, *, is_over: bool = False) -> list[Event]:
        """Give out what waits, whatever it waits for; `is_over`: no packet will come any more."""
        events: list[Event] = []
        while held := self.held:
            for half in self.halves:
                if half.pieces:
                    self._excuse(half)
            events += self._released(is_over=is_over)
            for half in self.halves:
                if self.held == held and half.pieces:  # numbers that fit nothing
                    self._gap(half, half.hole(), half.pieces[0].nanoseconds, events)
                    half.pieces[0].need = None
        return events

    def finish(self) -> list[Event]:
        """Give out everything that is left, and what is known to be missing at the end."""
        one, other = self.halves
        if self.calm and one.finished and other.finished:
            return []
        events = self.force(is_over=True)
        for half in self.halves:
            missing = half.missing()
            if missing > 0:
                self._gap(half, missing, self.last, events)
        return events

    def _released(self, *, is_over: bool = False) -> list[Event]:
        """Give out what is ready; if `is_over`, for what is missing will not come, a gap behind all that was captured
        of one side is told before the bytes of the other that acknowledge it, as an answer its lost question."""
        events: list[Event] = []
        while True:
            for half in self.halves:
                hole = half.given_up()
                if hole:
                    self._gap(half, hole, half.pieces[0].nanoseconds, events)
            ready = [half for half in self.halves if half.ready()]
            if not ready and is_over:
                self._tell_ends(events)
            ready = ready or [half for half in self.halves if half.is_excused()]
            if not ready:
                return events
            half = min(ready, key=lambda half: half.pieces[0].nanoseconds or 0)
            if half.late:
                self._gap(half, 0, half.pieces[0].nanoseconds, events)
            self._tell_unseen(half, events)
            piece = half.release()
            if piece.data is None:
                events.append(Gap(self, half.side, piece.start, piece.nanoseconds, piece.stop - piece.start))
            else:
                events.append(Portion(self, half.side, piece.start, piece.nanoseconds, piece.data))

    def _tell_ends(self, events: list[Event]) -> None:
        for half in self.halves:
            if count := half.given_up_end():
                self._gap(half, count, self.last, events)

    def _tell_unseen(self, half: Half, events: list[Event]) -> None:
        """Tell, once, if the next bytes of a side acknowledge others that were not given out; one may be a FIN."""
        piece, peer = half.pieces[0], half.peer
        if piece.need is None or peer.has_passed(piece.need - 1) or self.unseen[peer.side] == peer.position:
            return
        self.unseen = (peer.position, self.unseen[1]) if peer.side == 0 else (self.unseen[0], peer.position)
        events.append(Unseen(self, peer.side, peer.position, piece.nanoseconds))

    def _gap(self, half: Half, count: int, now: int | None, events: list[Event]) -> None:
        """Step over bytes that will not come; those before the first one seen come first, if there may be any."""
        if half.late:
            half.late = False
            events.append(Gap(self, half.side, 0, now, None))
        if count:
            events.append(Gap(self, half.side, half.position, now, count))
            half.advance(count)
