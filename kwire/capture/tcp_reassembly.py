"""Reassembles TCP connections: captured segments become a sequence of data and gaps in each direction.

A hole becomes a gap when the other side has acknowledged it and a waiting period is over (packets may be captured out
of order), when buffers take too much memory, and at the end. Data that acknowledges unseen bytes of the other side
waits for them, so that a response never precedes its request. Without a SYN, a stream starts with a gap of unknown
size. If segments overlap, the first one takes precedence.

A `Connection` is one connection; the `Reassembler` assigns segments to connections and bounds their memory. A reused
port pair is a new connection. Closed connections are dropped after a short time; if there are too many connections,
those that have been idle longest are dropped. A `Share` selects the connections that one of several processes reads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ..native import ConnectionState, ReassemblerState, StreamState
from .link_layers import ACK, FIN, RST, SYN, Segment, end_text, turned

MASK = 0xFFFFFFFF
WINDOW = 1 << 30  # RFC 7323: no receiver accepts more in advance
PIECE_COST = 160  # bytes of memory of a buffered segment, without its data
_start = attrgetter("start")
# Waiting periods in packets of the connection, and in nanoseconds: captures of several queues or interfaces are
# more out of order than the network, while waiting delays each message after a hole.
PATIENCE = 1024  # for a hole
PATIENCE_TO_BEGIN = 32  # for the first bytes, and for a side that may not have been captured
PATIENCE_TIME = 10_000_000_000
WITH_TIME = 1 / 16  # this fraction of the packets suffices once the time has passed too


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


def ahead(one: int, other: int) -> int:
    """Return the distance between two sequence numbers; negative if the first one is earlier.

    >>> ahead(5, 0xFFFFFFFE), ahead(0xFFFFFFFE, 5)
    (7, -7)
    """
    return ((one - other + 0x80000000) & MASK) - 0x80000000


class Half(StreamState):
    """State of one direction of a connection.

    Attributes:
        side: 0 or 1; `peer` is the other direction of the same `connection`.
        frames: the state of the fast path (`in_order`), once the connection is known to be Kafka's.
        begun: whether the start of the stream is known. Until then, offsets count from the first captured sequence
            number, and may be negative.
        first: the sequence number of the first byte, if a SYN was captured; `opened`: whether it was this side's SYN.
        sequence: the sequence number of the next expected byte; `position` is its offset in the stream.
        pieces: buffered segments in order, without overlap; `held` is their memory.
        acked: the sequence number that the peer has acknowledged; `excused`: the one up to which waiting has ended.
        end: the offset of the FIN; `finished` is set when it is reached; `sent` is the highest captured offset.
        late: whether a gap of unknown size must still be reported, because no SYN was captured.
    """

    __slots__ = ()
    peer: Half
    connection: Any
    pieces: list[StreamSegment]

    def begin(self, sequence: int) -> None:
        """Set the sequence number of the first byte."""
        if self.sequence is not None:
            self._shift(ahead(sequence, self.sequence))
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
        pieces, self.pieces, self.held, self.begun = self.pieces, [], 0, True
        for piece in pieces:
            self.put(piece, piece.start - count)
        self.sent -= count
        if self.end is not None:
            self.end -= count

    def offset_of(self, sequence: int) -> int:
        """Return the offset of a sequence number; the first one seen has offset 0."""
        if self.sequence is None:
            self.sequence = sequence
        return self.position + ahead(sequence, self.sequence)

    def acknowledge(self, sequence: int) -> None:
        """Record a sequence number that the peer has acknowledged."""
        near = self.offset_of(sequence) - self.position <= WINDOW
        if near and (self.acked is None or ahead(sequence, self.acked) > 0):
            self.acked = sequence

    def put(self, new: StreamSegment, base: int) -> None:
        """Buffer the new bytes of a segment that starts at `base`."""
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
        """Whether the next bytes have arrived, and the data that they acknowledge was returned."""
        return self._is_next() and (self.pieces[0].need is None or self.peer.has_passed(self.pieces[0].need))

    def is_excused(self) -> bool:
        """Whether the next bytes have arrived, and waiting for the data that they acknowledge has ended."""
        if not self._is_next():
            return False
        need, excused = self.pieces[0].need, self.peer.excused
        return need is None or (self.peer.begun and excused is not None and ahead(need, excused) <= 0)

    def _is_next(self) -> bool:
        return self.begun and bool(self.pieces) and self.pieces[0].start == self.position

    def has_passed(self, sequence: int) -> bool:
        """Whether all bytes before a sequence number were returned."""
        return self.begun and self.sequence is not None and ahead(sequence, self.sequence) <= 0

    def excuse(self, sequence: int | None) -> None:
        """Stop waiting for bytes before a sequence number."""
        if sequence is not None and (self.excused is None or ahead(sequence, self.excused) > 0):
            self.excused = sequence

    def release(self) -> StreamSegment:
        """Remove and return the next bytes."""
        piece = self.pieces.pop(0)
        self.held -= len(piece.data or b"") + PIECE_COST
        self.advance(piece.stop - piece.start)
        return piece

    def advance(self, count: int) -> None:
        """Advance in the stream; a FIN takes one sequence number."""
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
        return max(0, ahead(self.acked, self.sequence))

    def hole(self) -> int:
        """The size of the hole before the first buffered segment."""
        return self.pieces[0].start - self.position if self.begun and self.pieces else 0

    def given_up(self) -> int:
        """The number of bytes in that hole that are no longer waited for."""
        hole = self.hole()
        if not hole or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(hole, ahead(self.excused, self.sequence)))

    def given_up_end(self) -> int:
        """The number of bytes after the last captured one that are no longer waited for."""
        if self.pieces or not self.begun or self.sequence is None or self.excused is None:
            return 0
        return max(0, min(self.missing(), ahead(self.excused, self.sequence)))

    def missing(self) -> int:
        """The number of bytes that were sent after the last returned one, as far as known."""
        if self.end is not None:
            return self.end - self.position
        count = max(self.owed(), self.sent - self.position)
        return count if count > 1 else 0  # a single number may be a FIN that was not captured


class Portion(msgspec.Struct, frozen=True, gc=False):
    """The next bytes of one side's stream; `offset` is their position in it."""

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None
    data: bytes


class Gap(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that were not captured; `count` is None if the number is unknown."""

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None
    count: int | None


class Unseen(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one side's stream that may still arrive but are no longer waited for.

    The data that follows them acknowledges them.
    """

    connection: Connection
    side: int
    offset: int
    nanoseconds: int | None


class Finished(msgspec.Struct, frozen=True, gc=False):
    """Both sides have sent a FIN, and all data before it was returned."""

    connection: Connection


class Ended(msgspec.Struct, frozen=True, gc=False):
    """The last event of a connection."""

    connection: Connection


Event = Portion | Gap | Unseen | Finished | Ended


class Connection(ConnectionState):
    """A TCP connection.

    Attributes:
        number: the number of the connection, from 0, in the order of first packets.
        ends: address and port of side 0 and of side 1, as text.
        opener: the side that sent the SYN; None if it was not captured.
        closed: whether both sides have finished, or one side has reset the connection.
        calm: whether nothing is buffered, both streams have started, and no gap must be reported.
        last: the time of the newest packet in nanoseconds, without pure acknowledgements.
        newest: the number, among all packets, of the newest packet that was not the next in order.
        packets: the number of such packets.
        unseen: for each side, the offset of the last `Unseen` event.
    """

    __slots__ = ()
    halves: tuple[Half, Half]

    @property
    def ends(self) -> tuple[str, str]:
        """Both endpoints as `ip:port`, side 0 first."""
        return end_text(self.key, 0), end_text(self.key, 1)

    @property
    def is_closing(self) -> bool:
        """Whether a side has sent FIN or RST."""
        return self.closed or any(half.end is not None for half in self.halves)

    @property
    def held(self) -> int:
        """The memory of buffered bytes."""
        return self.halves[0].held + self.halves[1].held

    def feed(self, half: Half, segment: Segment) -> list[Event]:
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

    def _take(self, half: Half, segment: Segment) -> list[Event]:
        self._note(half, segment)
        self.packets += 1
        now, count = segment.nanoseconds, len(segment.payload)
        if segment.flags & RST and not count and not segment.missing:  # its sequence number may be zero
            self.closed = True
            return self.settle(now)
        need = segment.acknowledgement if segment.flags & ACK else None
        start = half.offset_of((segment.sequence + bool(segment.flags & SYN)) & MASK)
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

    def _excuse(self, half: Half) -> None:
        """Stop waiting for the data that the first buffered bytes of one side acknowledge."""
        for one in (half, half.peer):
            if not one.begun:
                one.begin_late()
        half.excuse((half.sequence or 0) + half.hole() & MASK)
        half.peer.excuse(half.pieces[0].need)

    def force(self, *, is_over: bool = False) -> list[Event]:
        """Return all buffered data as events; `is_over` means that no more packets will come."""
        events: list[Event] = []
        while held := self.held:
            for half in self.halves:
                if half.pieces:
                    self._excuse(half)
            events += self._released(is_over=is_over)
            for half in self.halves:
                if self.held == held and half.pieces:  # sequence numbers are inconsistent
                    self._gap(half, half.hole(), half.pieces[0].nanoseconds, events)
                    half.pieces[0].need = None
        return events

    def finish(self) -> list[Event]:
        """Return all remaining events, including the gaps that are known at the end."""
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
        """Return the events that are ready.

        With `is_over`, a gap after all captured bytes of one side is reported before the data of the other side that
        acknowledges it, so that a lost request precedes its response.
        """
        events: list[Event] = []
        while True:
            for half in self.halves:
                hole = half.given_up()
                if hole:
                    self._gap(half, hole, half.pieces[0].nanoseconds, events)
            ready = [half for half in self.halves if half.ready()]
            if not ready and is_over:
                self._note_ends(events)
            ready = ready or [half for half in self.halves if half.is_excused()]
            if not ready:
                return events
            half = min(ready, key=lambda half: half.pieces[0].nanoseconds or 0)
            if half.late:
                self._gap(half, 0, half.pieces[0].nanoseconds, events)
            self._report_unseen(half, events)
            piece = half.release()
            if piece.data is None:
                events.append(Gap(self, half.side, piece.start, piece.nanoseconds, piece.stop - piece.start))
            else:
                events.append(Portion(self, half.side, piece.start, piece.nanoseconds, piece.data))

    def _note_ends(self, events: list[Event]) -> None:
        for half in self.halves:
            if count := half.given_up_end():
                self._gap(half, count, self.last, events)

    def _report_unseen(self, half: Half, events: list[Event]) -> None:
        """Report once that the next bytes of a side acknowledge data that was not returned.

        One of the acknowledged bytes may be a FIN.
        """
        piece, peer = half.pieces[0], half.peer
        if piece.need is None or peer.has_passed(piece.need - 1) or self.unseen[peer.side] == peer.position:
            return
        self.unseen = (peer.position, self.unseen[1]) if peer.side == 0 else (self.unseen[0], peer.position)
        events.append(Unseen(self, peer.side, peer.position, piece.nanoseconds))

    def _gap(self, half: Half, count: int, now: int | None, events: list[Event]) -> None:
        """Skip bytes that will not arrive; buffered bytes from before the first captured byte come first, if any."""
        if half.late:
            half.late = False
            events.append(Gap(self, half.side, 0, now, None))
        if count:
            events.append(Gap(self, half.side, half.position, now, count))
            half.advance(count)


EVERY = 256  # packets between two checks of all buffers
# Packets may be captured after the packet that closes the connection, out of order, even after a pause.
LINGER = 10_000_000_000  # nanoseconds, if WITH_TIME of the packets have arrived too
LINGER_PACKETS = 8 * EVERY
# A jump of sequence numbers beyond this, in both directions or after the end, is a new connection whose SYN was lost.
STRAY = 1 << 24
NOTHING: list[Event] = []


class Share(NamedTuple):
    """One of `parts` shares of all connections.

    `part` counts from 0; the first share also reports items that belong to no connection.
    """

    part: int = 0
    parts: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there are no other shares."""
        return self.parts == 1

    @property
    def reports_rest(self) -> bool:
        """Whether this share reports items that belong to no connection."""
        return self.part == 0

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of a segment of either direction.

        >>> key, other = bytes(8) + b"\\x23\\x84\\xc0\\x02", bytes(8) + b"\\xc0\\x02\\x23\\x84"
        >>> Share(0, 2).has(key), Share(1, 2).has(key), Share(1, 2).has(other), Share().has(key)
        (False, True, True, True)
        """
        ports = int.from_bytes(key[-4:-2], "big") + int.from_bytes(key[-2:], "big")
        # Clients use consecutive or even ports: Fibonacci hashing distributes them evenly.
        return (ports * 0x9E3779B1 >> 16 & 0xFFFF) % self.parts == self.part


ALL = Share()


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory limits: bytes buffered per connection and in total, and open connections."""

    waiting: int = 8 << 20
    all_waiting: int = 32 << 20
    connections: int = 16384


class Reassembler(ReassemblerState):
    """Reassembles TCP streams.

    Args:
        limits: the memory limits.

    Attributes:
        count, packets, read: connections, segments and stream bytes so far.
        known: streams by the key of their segments.
        open: connections by number; `stuck` are those with buffered segments, `closing` the closed ones, each with the
            time in nanoseconds and the count of segments when it closed.

    The fast path (`in_order`) does the same as `feed` for most segments, on the same connections.
    """

    connection_class, half_class = Connection, Half
    known: dict[bytes, Half]
    open: dict[int, Connection]
    stuck: dict[int, Connection]
    closing: dict[int, tuple[Connection, int | None, int]]

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits: Limits = limits or Limits()

    def feed(self, segment: Segment) -> list[Event]:
        """Process the next segment of the capture.

        Returns:
            The events that are ready, of any connection: the data of each direction has no overlap, and is complete
            except for reported gaps.
        """
        self.packets += 1
        self.read += len(segment.payload)
        events = self._take(segment)
        return events + self.look_around(segment.nanoseconds) if self.packets % EVERY == 0 else events

    def _take(self, segment: Segment) -> list[Event]:
        half = self.known.get(segment.key)
        if half is None or not self.is_next(half, segment):
            return self._carefully(half, segment)
        payload = segment.payload
        if not payload:
            return NOTHING
        half.connection.last = segment.nanoseconds
        position = half.position
        half.position = position + len(payload)
        half.sequence = (segment.sequence + len(payload)) & MASK
        return [Portion(half.connection, half.side, position, segment.nanoseconds, payload)]

    def is_next(self, half: Half, segment: Segment) -> bool:
        """Whether a segment is the next in order and acknowledges only data that was seen."""
        if not half.connection.calm or segment.flags & (SYN | FIN | RST | ACK) != ACK or segment.missing:
            return False
        behind = (segment.acknowledgement - (half.peer.sequence or 0)) & MASK
        return not (segment.payload and segment.sequence != half.sequence) and not 0 < behind < 0x80000000

    def _carefully(self, half: Half | None, segment: Segment) -> list[Event]:
        events: list[Event] = []
        if half is not None and _another(half, segment):
            events += self.end(half.connection)
            half = None
        half = half or self._begin(segment, events)
        connection = half.connection
        connection.last, connection.newest = segment.nanoseconds, self.packets
        events += connection.feed(half, segment)
        if connection.held > self.limits.waiting:
            events += connection.force()
        if connection.calm:
            self.stuck.pop(connection.number, None)
        else:
            self.stuck[connection.number] = connection
        if connection.closed and connection.number not in self.closing:
            self.closing[connection.number] = connection, segment.nanoseconds, self.packets
        return events

    def finish(self) -> Iterator[Event]:
        """End all connections, the oldest first."""
        for connection in list(self.open.values()):
            yield from self.end(connection)

    def _begin(self, segment: Segment, events: list[Event]) -> Half:
        if self.is_full:
            idle = sorted(self.open.values(), key=lambda connection: connection.last or 0)
            for connection in idle[: 1 + self.limits.connections // 16]:
                events += self.end(connection)
        half: Half = self.add(segment.key).halves[0]
        return half

    @property
    def is_full(self) -> bool:
        """Whether the limit of open connections is reached."""
        return len(self.open) >= self.limits.connections

    def end(self, connection: Connection) -> list[Event]:
        """Drop a connection."""
        events = [*connection.finish(), Ended(connection)]
        for key in (connection.key, turned(connection.key)):
            self.known.pop(key, None)
        for place in (self.open, self.stuck, self.closing):
            place.pop(connection.number, None)
        return events

    def look_around(self, now: int | None) -> list[Event]:
        """End overdue waiting periods and closed connections, and free memory above the limit. Called periodically.

        Args:
            now: nanoseconds since 1970.
        """
        events: list[Event] = []
        for connection in list(self.stuck.values()):
            if self.packets - connection.newest >= EVERY:
                events += connection.settle(now, idle=True)
        if sum(connection.held for connection in self.stuck.values()) > self.limits.all_waiting:
            for connection in list(self.stuck.values()):
                events += connection.force()
        for connection, since, packets in list(self.closing.values()):
            late = now is not None and since is not None and now - since > LINGER
            if self.packets - packets < LINGER_PACKETS * (WITH_TIME if late else 1):
                break  # the rest were closed later
            events += self.end(connection)
        return events


def _another(half: Half, segment: Segment) -> bool:
    """Whether a segment belongs to a later connection of the same port pair."""
    connection = half.connection
    if segment.flags & SYN:
        first = (segment.sequence + 1) & MASK
        if half.first is not None:
            again = connection.closed and not segment.flags & ACK and half.position > 0 and half.opened
            return half.first != first or again
        # Close to the sequence numbers seen so far: a SYN that was captured late.
        return half.begun or (half.sequence is not None and abs(ahead(first, half.sequence)) > WINDOW >> 8)
    if segment.flags & RST:
        return False
    if half.sequence is None:
        return connection.closed and half.peer.sequence is None
    distance = ahead(segment.sequence, half.sequence)
    if connection.closed:
        return distance > STRAY or (half.end is not None and half.position + distance > half.end + 1)
    return distance < -STRAY or distance > WINDOW or (distance > STRAY and _acknowledges_far(half.peer, segment))


def _acknowledges_far(peer: Half, segment: Segment) -> bool:
    if not segment.flags & ACK or peer.sequence is None:
        return False
    return abs(ahead(segment.acknowledgement, peer.sequence)) > STRAY
