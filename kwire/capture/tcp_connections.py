"""Tracks many TCP connections: assigns segments to connections, and bounds their memory.

A reused port pair is a new connection. Closed connections are dropped after a short time, and the connections that were
idle for longest when there are too many. A `Share` of the connections is for one of several processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..native.states import ReassemblerState
from .link_layers import ACK, FIN, RST, SYN, Segment, turned
from .tcp_reassembly import MASK, WINDOW, WITH_TIME, Connection, Ended, Event, Half, Portion, ahead

EVERY = 256  # packets between two checks of all buffers
# Packets may be captured after the one that closes the connection and out of order, even after a pause.
LINGER = 10_000_000_000  # nanoseconds, if WITH_TIME of the packets have arrived as well
LINGER_PACKETS = 8 * EVERY
# A jump of sequence numbers beyond this, in both directions or after the end, is a new connection whose SYN was lost.
STRAY = 1 << 24
NOTHING: list[Event] = []


class Share(NamedTuple):
    """One of `parts` shares of all connections. `part` counts from 0; the first share also reports what belongs to no
    connection."""

    part: int = 0
    parts: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there are no other shares."""
        return self.parts == 1

    @property
    def reports_rest(self) -> bool:
        """Whether this share reports what belongs to no connection."""
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
    """Limits of memory: bytes buffered per connection and in total, and open connections."""

    waiting: int = 8 << 20
    all_waiting: int = 32 << 20
    connections: int = 16384


class Reassembler(ReassemblerState):
    """Reassembles TCP streams.

    Args:
        limits: how much to keep in memory.

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
        """Take the next segment of the capture.

        Returns:
            The events that are ready, of any connection: the data of each direction is without overlap, and complete
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
        """Whether a segment is the usual one: next in order, and acknowledging only data that was seen."""
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
        """Forget a connection."""
        events = [*connection.finish(), Ended(connection)]
        for key in (connection.key, turned(connection.key)):
            self.known.pop(key, None)
        for place in (self.open, self.stuck, self.closing):
            place.pop(connection.number, None)
        return events

    def look_around(self, now: int | None) -> list[Event]:
        """Give up overdue waits, end closed connections, and free memory above the limit. Called periodically.

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
