"""Tracks many TCP connections: assigns segments to connections, and bounds their memory.

A port pair that is used again is another connection. One that was closed is dropped soon after, and so is the one
that was idle for longest when there are too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..native.states import ReassemblerState
from .link_layers import ACK, FIN, RST, SYN, Segment, turned
from .tcp_reassembly import WITH_TIME, Connection, Ended, Event, Portion
from .tcp_stream import WINDOW, Half, ahead

EVERY = 256  # packets between two looks at all that waits
# Packets may be captured after the one that closes a connection, and out of order: also behind a pause of the traffic.
LINGER = 10_000_000_000  # nanoseconds, if WITH_TIME of the packets have come as well
LINGER_PACKETS = 8 * EVERY
# Numbers that jump by more than this, in both directions or after the end, are another connection's: its SYN was lost.
STRAY = 1 << 24
NOTHING: list[Event] = []


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be kept: bytes that wait for others in one connection and in all, and open connections."""

    waiting: int = 8 << 20
    all_waiting: int = 32 << 20
    connections: int = 16384


class Reassembler(ReassemblerState):
    """Puts TCP streams together.

    Args:
        limits: what it may keep in memory.

    Attributes:
        count, packets, read: connections, segments and bytes of streams so far.
        known: the streams by the key of their segments.
        open: the connections by their numbers; `stuck` are those in which something waits, `closing` those that are
            closed, each with when it was: nanoseconds, and segments.

    The fast path (`in_order`) does the same as `feed` for most segments, on the same connections.
    """

    known: dict[bytes, Half]
    open: dict[int, Connection]
    stuck: dict[int, Connection]
    closing: dict[int, tuple[Connection, int | None, int]]

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits: Limits = limits or Limits()

    def feed(self, segment: Segment) -> list[Event]:
        """Take the next segment of the capture.

        Returns:
            What can be given out now, of any connection: of each direction without overlap, and complete but for
            the gaps that are told.
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
        half.sequence = (segment.sequence + len(payload)) & 0xFFFFFFFF
        return [Portion(half.connection, half.side, position, segment.nanoseconds, payload)]

    def is_next(self, half: Half, segment: Segment) -> bool:
        """Whether a segment is what nearly all are: next in order, and acknowledging nothing that was not seen."""
        if not half.connection.calm or segment.flags & (SYN | FIN | RST | ACK) != ACK or segment.missing:
            return False
        behind = (segment.acknowledgement - (half.peer.sequence or 0)) & 0xFFFFFFFF
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
        return self.add(segment.key).halves[0]

    @property
    def is_full(self) -> bool:
        """Whether there are as many open connections as there may be."""
        return len(self.open) >= self.limits.connections

    def add(self, key: bytes) -> Connection:
        """Begin a connection; `key` is that of its first segment."""
        number = self.count
        connection = self.open[number] = Connection(number, key)
        self.count += 1
        self.known[turned(key)] = connection.halves[1]
        self.known[key] = connection.halves[0]
        return connection

    def end(self, connection: Connection) -> list[Event]:
        """Forget a connection."""
        events = [*connection.finish(), Ended(connection)]
        for key in (connection.key, turned(connection.key)):
            self.known.pop(key, None)
        for place in (self.open, self.stuck, self.closing):
            place.pop(connection.number, None)
        return events

    def look_around(self, now: int | None) -> list[Event]:
        """Give up what waits for too long, end what was closed, and free memory if too much waits; every now and then.

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
                break  # those that follow were closed later
            events += self.end(connection)
        return events


def _another(half: Half, segment: Segment) -> bool:
    """Whether a segment belongs to a later connection of the same port pair."""
    connection = half.connection
    if segment.flags & SYN:
        first = (segment.sequence + 1) & 0xFFFFFFFF
        if half.first is not None:
            again = connection.closed and not segment.flags & ACK and half.position > 0 and half.opened
            return half.first != first or again
        # Numbers near those seen: its SYN was captured late.
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
