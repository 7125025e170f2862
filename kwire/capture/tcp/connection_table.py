"""Assigns segments to TCP connections, and bounds their number and memory.

A reused port pair is a new connection. Closed connections are dropped after a short time; if there are too many
connections, those that have been idle longest are dropped.

Source: RFC 9293, section 3.6.1: an endpoint may accept a SYN with a higher sequence number even in TIME-WAIT.

This is the reference, used where the native engine is not; the engine has the same methods (`tcp_table.pxi`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..packets.tcp_segment import ACK, FIN, RST, SYN, Segment, reverse_key
from .connection import WITH_TIME, Ended, Event, Finished, Portion, StreamGap, TcpConnection, Unseen
from .stream_reassembly import MASK, WINDOW, HalfConnection, sequence_distance

EVERY = 256  # packets between two checks of all buffers
# Packets may be captured after the packet that closes the connection, out of order, even after a pause.
LINGER = 10_000_000_000  # nanoseconds, if WITH_TIME of the packets have arrived too
LINGER_PACKETS = 8 * EVERY
# A jump of sequence numbers beyond this, in both directions or after the end, is a new connection whose SYN was lost.
STRAY = 1 << 24
EVENTS = (Portion, StreamGap, Unseen, Finished, Ended)
NOTHING: list[Event] = []


@dataclass(frozen=True, slots=True)
class ReassemblyLimits:
    """Memory limits: bytes buffered per connection and in total, and open connections."""

    waiting: int = 8 << 20
    all_waiting: int = 32 << 20
    connections: int = 16384


class ConnectionTable:
    """Reassembles TCP streams.

    Args:
        limits: the memory limits.

    Attributes:
        count, packets, read: connections, segments and stream bytes so far.
        known: streams by the key of their segments.
        open: connections by number; `stuck` are those with buffered segments, `closing` the closed ones, each with the
            time in nanoseconds and the count of segments when it closed.
    """

    def __init__(self, limits: ReassemblyLimits | None = None) -> None:
        self.limits: ReassemblyLimits = limits or ReassemblyLimits()
        self.count: int = 0
        self.packets: int = 0
        self.read: int = 0
        self.known: dict[bytes, HalfConnection] = {}
        self.open: dict[int, TcpConnection] = {}
        self.stuck: dict[int, TcpConnection] = {}
        self.closing: dict[int, tuple[TcpConnection, int | None, int]] = {}

    @property
    def state(self) -> tuple[Any, ...]:
        """The connections and counts from which `go_on` continues, of values that pickle."""
        counts = self.packets, self.count, self.read
        return *counts, list(self.open.values()), list(self.stuck), list(self.closing.values())

    def go_on(self, state: tuple[Any, ...]) -> None:
        """Continue from the state of another table."""
        self.packets, self.count, self.read, connections, stuck, closing = state
        for connection in connections:
            self.open[connection.number] = connection
            self.known[connection.key], self.known[reverse_key(connection.key)] = connection.halves
        self.stuck |= {number: self.open[number] for number in stuck}
        self.closing |= {entry[0].number: entry for entry in closing}

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
            return self._take_unusual(half, segment)
        payload = segment.payload
        if not payload:
            return NOTHING
        half.connection.last = segment.nanoseconds
        position = half.position
        half.position = position + len(payload)
        half.sequence = (segment.sequence + len(payload)) & MASK
        return [Portion(half.connection, half.side, position, segment.nanoseconds, payload)]

    def is_next(self, half: HalfConnection, segment: Segment) -> bool:
        """Whether a segment is the next in order and acknowledges only data that was seen."""
        if not half.connection.calm or segment.flags & (SYN | FIN | RST | ACK) != ACK or segment.missing:
            return False
        behind = (segment.acknowledgement - (half.peer.sequence or 0)) & MASK
        return not (segment.payload and segment.sequence != half.sequence) and not 0 < behind < 0x80000000

    def _take_unusual(self, half: HalfConnection | None, segment: Segment) -> list[Event]:
        events: list[Event] = []
        if half is not None and _is_new_connection(half, segment):
            events += self.end(half.connection)
            half = None
        half = half or self._begin_connection(segment, events)
        connection = half.connection
        connection.last = segment.nanoseconds
        connection.newest = self.packets
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

    def _begin_connection(self, segment: Segment, events: list[Event]) -> HalfConnection:
        if self.is_full:
            idle = sorted(self.open.values(), key=lambda connection: connection.last or 0)
            for connection in idle[: 1 + self.limits.connections // 16]:
                events += self.end(connection)
        connection = self.open[self.count] = TcpConnection(self.count, segment.key)
        self.count += 1
        first, second = connection.halves
        self.known[reverse_key(segment.key)] = second
        self.known[segment.key] = first
        return first

    @property
    def is_full(self) -> bool:
        """Whether the limit of open connections is reached."""
        return len(self.open) >= self.limits.connections

    def end(self, connection: TcpConnection) -> list[Event]:
        """Drop a connection."""
        events = [*connection.finish(), Ended(connection)]
        for key in (connection.key, reverse_key(connection.key)):
            self.known.pop(key, None)
        for connections in (self.open, self.stuck, self.closing):
            connections.pop(connection.number, None)
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


def _is_new_connection(half: HalfConnection, segment: Segment) -> bool:
    """Whether a segment belongs to a later connection of the same port pair."""
    connection = half.connection
    if segment.flags & SYN:
        first = (segment.sequence + 1) & MASK
        if half.first is not None:
            again = connection.closed and not segment.flags & ACK and half.position > 0 and half.opened
            return half.first != first or again
        # Close to the sequence numbers seen so far: a SYN that was captured late.
        return half.begun or (half.sequence is not None and abs(sequence_distance(first, half.sequence)) > WINDOW >> 8)
    if segment.flags & RST:
        return False
    if half.sequence is None:
        return connection.closed and half.peer.sequence is None
    distance = sequence_distance(segment.sequence, half.sequence)
    if connection.closed:
        return distance > STRAY or (half.end is not None and half.position + distance > half.end + 1)
    return distance < -STRAY or distance > WINDOW or (distance > STRAY and _acknowledges_far(half.peer, segment))


def _acknowledges_far(peer: HalfConnection, segment: Segment) -> bool:
    if not segment.flags & ACK or peer.sequence is None:
        return False
    return abs(sequence_distance(segment.acknowledgement, peer.sequence)) > STRAY
