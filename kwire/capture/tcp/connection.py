"""A captured TCP connection: its segments become a sequence of data and gaps in each direction.

A hole becomes a gap when the other side has acknowledged it and a waiting period is over (packets may be captured out
of order), when buffers take too much memory, and at the end. Data that acknowledges unseen bytes of the other side
waits for them, so that a response never precedes its request. Without a SYN, a stream starts with a gap of unknown
size.

Source: RFC 9293 (TCP). A capture shows both endpoints and may lack packets, so no segment is refused here as an
endpoint refuses it (section 3.10.7): what does not fit is buffered, or is a gap.

This is the reference; the native engine has the same methods (`tcp_connections.pxi`).
"""

from __future__ import annotations

import msgspec

from ..packets.tcp_segment import ACK, FIN, RST, SYN, Segment
from .stream_reassembly import MASK, WINDOW, HalfConnection, StreamSegment

# Waiting periods in packets of the connection, and in nanoseconds: captures of several queues or interfaces are
# more out of order than the network, while waiting delays each message after a hole.
PATIENCE = 1024  # for a hole
PATIENCE_TO_BEGIN = 32  # for the first bytes, and for a side that may not have been captured
PATIENCE_TIME = 10_000_000_000
WITH_TIME = 1 / 16  # this fraction of the packets suffices once the time has passed too


class Portion(msgspec.Struct, frozen=True, gc=False):
    """The next bytes of one side's stream; `offset` is their position in it."""

    connection: TcpConnection
    side: int
    offset: int
    nanoseconds: int | None
    data: bytes


class StreamGap(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that were not captured; `count` is None if the number is unknown."""

    connection: TcpConnection
    side: int
    offset: int
    nanoseconds: int | None
    count: int | None


class Unseen(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that may still arrive but are no longer waited for.

    The data that follows them acknowledges them.
    """

    connection: TcpConnection
    side: int
    offset: int
    nanoseconds: int | None


class Finished(msgspec.Struct, frozen=True, gc=False):
    """Both sides have sent a FIN, and all data before it was returned."""

    connection: TcpConnection


class Ended(msgspec.Struct, frozen=True, gc=False):
    """The last event of a connection."""

    connection: TcpConnection


Event = Portion | StreamGap | Unseen | Finished | Ended


class TcpConnection:
    """A TCP connection; `key` is the key of its first segment.

    Attributes:
        number: the number of the connection, from 0, in the order of first packets.
        opener: the side that sent the SYN; None if it was not captured.
        closed: whether both sides have finished, or one side has reset the connection.
        calm: whether nothing is buffered, both streams have started, and no gap must be reported.
        last: the time of the newest packet in nanoseconds, without pure acknowledgements.
        newest: the number, among all packets, of the newest packet that was not the next in order.
        packets: the number of such packets.
        unseen: for each side, the offset of the last `Unseen` event.
    """

    def __init__(self, number: int, key: bytes) -> None:
        self.number: int = number
        self.key: bytes = key
        self.opener: int | None = None
        self.closed: bool = False
        self.calm: bool = False
        self.last: int | None = None
        self.newest: int = 0
        self.packets: int = 0
        self.unseen: tuple[int, int] = (-1, -1)
        first, second = HalfConnection(0, self), HalfConnection(1, self)
        first.peer, second.peer = second, first
        self.halves: tuple[HalfConnection, HalfConnection] = (first, second)

    def release(self) -> None:
        """Break reference cycles, so that both halves are freed immediately instead of by the garbage collector."""
        for half in self.halves:
            half.__dict__.clear()

    @property
    def is_closing(self) -> bool:
        """Whether a side has sent FIN or RST."""
        return self.closed or any(half.end is not None for half in self.halves)

    @property
    def held(self) -> int:
        """The memory of buffered bytes."""
        return self.halves[0].held + self.halves[1].held

    def feed(self, half: HalfConnection, segment: Segment) -> list[Event]:
        """Process a segment of one side; return the events that are ready."""
        open_before = not self.is_finished
        events = self._take(half, segment)
        if open_before and self.is_finished:
            events.append(Finished(self))
        return events

    @property
    def is_finished(self) -> bool:
        """Whether all data of both streams up to their FINs was returned."""
        return self.halves[0].finished and self.halves[1].finished

    def _take(self, half: HalfConnection, segment: Segment) -> list[Event]:
        self._note_sequences(half, segment)
        self.packets += 1
        now = segment.nanoseconds
        count = len(segment.payload)
        # 1. RST (section 3.5.3). That of an endpoint without the connection has sequence number 0 (section 3.5.2), so
        # the number tells nothing.
        if segment.flags & RST and not count and not segment.missing:
            self.closed = True
            return self.settle(now)
        # 2. The segment's text, after its SYN, which takes one sequence number (section 3.4).
        need = segment.acknowledgement if segment.flags & ACK else None
        start = half.offset_of((segment.sequence + bool(segment.flags & SYN)) & MASK)
        if count:
            half.put(StreamSegment(0, count, segment.payload, now, need, self.packets), start)
        if segment.missing:
            half.put(StreamSegment(0, segment.missing, None, now, need, self.packets), start + count)
        if not segment.flags & RST and start - half.position <= WINDOW:
            half.sent = max(half.sent, start + count + segment.missing)
        # 3. FIN (section 3.6): the stream ends after the text; the other direction may go on (half-closed).
        if segment.flags & FIN and half.end is None:
            half.end = start + count + segment.missing
            half.advance(0)
        self.closed |= bool(segment.flags & RST) or (half.end is not None and half.peer.end is not None)
        return self.settle(now)

    def _note_sequences(self, half: HalfConnection, segment: Segment) -> None:
        """Update the state of both streams from the flags and the sequence and acknowledgement numbers of a segment."""
        half.opened |= bool(segment.flags & SYN)
        if segment.flags & SYN and not half.begun:
            half.begin((segment.sequence + 1) & MASK)
            self.opener = 1 - half.side if segment.flags & ACK else half.side
        if not segment.flags & ACK or segment.flags & RST:  # the acknowledgement number of a RST proves nothing
            return
        # A SYN-ACK acknowledges only the SYN, and no side acknowledges data before its own first byte.
        if not half.peer.begun and (segment.flags & SYN or segment.sequence == half.first):
            half.peer.begin(segment.acknowledgement)
        half.peer.acknowledge(segment.acknowledgement)

    def settle(self, now: int | None, *, idle: bool = False) -> list[Event]:
        """Return the events that are ready or overdue; `idle` means that no packet has come for a while."""
        first, second = self.halves
        if not first.pieces and not second.pieces and not first.late and not second.late:
            self.calm = first.begun and second.begun
            return []
        events = self._release()
        while overdue := [half for half in self.halves if self._is_overdue(half, now, idle)]:
            self._give_up(overdue, events, is_over=idle)
        self.calm = not any(half.pieces or not half.begun or half.late for half in self.halves)
        return events

    def _is_overdue(self, half: HalfConnection, now: int | None, idle: bool) -> bool:
        """Whether the waiting period of one side's buffered bytes is over."""
        if not half.pieces:
            return False
        first = half.pieces[0]
        passed = self.packets - first.packet
        patience = PATIENCE if half.hole() or half.peer.hole() else PATIENCE_TO_BEGIN
        if half.begun and half.owed() < half.hole():
            # Unacknowledged bytes may still arrive; but if nothing is ever acknowledged, this means nothing.
            return half.acked is None and passed > patience
        late = now is not None and first.nanoseconds is not None and now - first.nanoseconds > PATIENCE_TIME
        return passed > patience or (late and (idle or passed > PATIENCE * WITH_TIME))

    def _excuse(self, half: HalfConnection) -> None:
        """Stop waiting for the data that the first buffered bytes of one side acknowledge."""
        for direction in (half, half.peer):
            if not direction.begun:
                direction.begin_late()
        half.excuse((half.sequence or 0) + half.hole() & MASK)
        half.peer.excuse(half.pieces[0].need)

    def force(self, *, is_over: bool = False) -> list[Event]:
        """Return all buffered data as events; `is_over` means that no more packets will come."""
        events: list[Event] = []
        while self.held:
            self._give_up([half for half in self.halves if half.pieces], events, is_over=is_over)
        return events

    def _give_up(self, waiting: list[HalfConnection], events: list[Event], *, is_over: bool) -> None:
        """Stop waiting for what comes before the first buffered bytes of some sides, and return what is then ready."""
        buffered = self.held
        for half in waiting:
            self._excuse(half)
        events += self._release(is_over=is_over)
        for half in waiting:
            if self.held == buffered:  # sequence numbers are inconsistent: no bytes will be what these acknowledge
                self._report_gap(half, half.hole(), half.pieces[0].nanoseconds, events)
                half.pieces[0].need = None

    def finish(self) -> list[Event]:
        """Return all remaining events, including the gaps that are known at the end."""
        if self.calm and self.is_finished:
            return []
        events = self.force(is_over=True)
        for half in self.halves:
            missing = half.missing()
            if missing > 0:
                self._report_gap(half, missing, self.last, events)
        return events

    def _release(self, *, is_over: bool = False) -> list[Event]:
        """Return the events that are ready.

        With `is_over`, a gap after all captured bytes of one side is reported before the data of the other side that
        acknowledges it, so that a lost request precedes its response.
        """
        events: list[Event] = []
        while True:
            for half in self.halves:
                hole = half.given_up()
                if hole:
                    self._report_gap(half, hole, half.pieces[0].nanoseconds, events)
            ready = [half for half in self.halves if half.ready()]
            if not ready and is_over:
                self._report_gaps_at_end(events)
            ready = ready or [half for half in self.halves if half.is_excused()]
            if not ready:
                return events
            half = min(ready, key=lambda half: half.pieces[0].nanoseconds or 0)
            if half.late:
                self._report_gap(half, 0, half.pieces[0].nanoseconds, events)
            self._report_unseen(half, events)
            piece = half.release()
            if piece.data is None:
                events.append(StreamGap(self, half.side, piece.start, piece.nanoseconds, piece.stop - piece.start))
            else:
                events.append(Portion(self, half.side, piece.start, piece.nanoseconds, piece.data))

    def _report_gaps_at_end(self, events: list[Event]) -> None:
        for half in self.halves:
            if count := half.given_up_end():
                self._report_gap(half, count, self.last, events)

    def _report_unseen(self, half: HalfConnection, events: list[Event]) -> None:
        """Report once that the next bytes of a side acknowledge data that was not returned.

        One of the acknowledged bytes may be a FIN.
        """
        piece = half.pieces[0]
        peer = half.peer
        if piece.need is None or peer.has_passed(piece.need - 1) or self.unseen[peer.side] == peer.position:
            return
        self.unseen = (peer.position, self.unseen[1]) if peer.side == 0 else (self.unseen[0], peer.position)
        events.append(Unseen(self, peer.side, peer.position, piece.nanoseconds))

    def _report_gap(self, half: HalfConnection, count: int, now: int | None, events: list[Event]) -> None:
        """Skip bytes that will not arrive; buffered bytes from before the first captured byte come first, if any."""
        if half.late:
            half.late = False
            events.append(StreamGap(self, half.side, 0, now, None))
        if count:
            events.append(StreamGap(self, half.side, half.position, now, count))
            half.advance(count)
