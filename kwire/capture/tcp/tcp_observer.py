"""What packets show of TCP connections besides their bytes: opened, closed, reset, retransmissions, zero windows.

Sources: RFC 9293 (flags and windows), and for retransmissions the rule of Wireshark: a segment whose bytes lie before
the next expected byte was sent again, unless it only arrived out of order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..packets.packet import Packet
from ..packets.packet_headers import parse_segment
from ..packets.tcp_segment import ACK, FIN, RST, SYN, Segment, format_endpoint

OUT_OF_ORDER = 3_000_000  # nanoseconds: a segment that is late by less was overtaken, not sent again
MOST_INCIDENTS = 10_000  # of one connection that are kept
MOST_CONNECTIONS = 200_000
MASK = 0xFFFFFFFF
HALF = 1 << 31
OPENED, CLOSED, RESET = "opened", "closed", "reset"
RETRANSMISSION, ZERO_WINDOW = "retransmission", "zero window"


class TcpIncident(NamedTuple):
    """Something that a packet shows.

    Attributes:
        kind: `opened`, `closed`, `reset`, `retransmission` or `zero window`.
        nanoseconds: its time since 1970.
        sender: `ip:port` of the endpoint that opened, closed or reset, sent again, or had no room for more bytes.
        until: for a zero window, when its endpoint had room again; else the time.
        size: the bytes that were sent again.
    """

    kind: str
    nanoseconds: int
    sender: str
    until: int
    size: int = 0


@dataclass(slots=True)
class ObservedConnection:
    """A connection: both endpoints, what happened to it, and its round trip.

    Attributes:
        ends: `ip:port` of both, the one that sent the first packet first.
        incidents: in order of time.
        round_trip: nanoseconds from the SYN to the ACK that completes the handshake; None if it was not captured.
        is_closed: whether a FIN or RST was seen.
        syn, is_accepted: the nanoseconds of the SYN, and whether it was answered.
    """

    ends: tuple[str, str]
    incidents: list[TcpIncident] = field(default_factory=list)
    round_trip: int | None = None
    is_closed: bool = False
    syn: int | None = None
    is_accepted: bool = False


class _Direction:
    """One direction of a connection: its sender, and what its segments have shown so far."""

    __slots__ = ("connection", "full_since", "is_first", "newest", "next_sequence", "sender")

    def __init__(self, connection: ObservedConnection, index: int) -> None:
        self.connection = connection
        self.is_first: bool = index == 0
        self.sender: str = connection.ends[index]
        self.next_sequence: int | None = None
        self.newest: int = 0  # nanoseconds of the segment that moved the next sequence number
        self.full_since: int | None = None  # since when the window is zero


class TcpObserver:
    """Follows the connections of a capture by the headers of its packets.

    Attributes:
        connections: all connections, in the order of their first packets.
    """

    def __init__(self) -> None:
        self.connections: list[ObservedConnection] = []
        self._open: dict[bytes, _Direction] = {}

    def read(self, packets: Iterable[Packet]) -> None:
        """Read all packets of a capture."""
        for packet in packets:
            segment = parse_segment(packet)
            if isinstance(segment, Segment) and segment.nanoseconds is not None:
                self.feed(segment, segment.nanoseconds)

    def feed(self, segment: Segment, now: int) -> None:
        """Process the next segment, captured `now`, in nanoseconds since 1970."""
        flags = segment.flags
        direction = self._open.get(segment.key)
        if direction is None or (flags & (SYN | ACK) == SYN and direction.connection.is_closed):
            if len(self.connections) >= MOST_CONNECTIONS:
                return
            direction = self._begin(segment.key)
        if flags & (SYN | FIN | RST):
            _note_flags(direction, flags, now)
        elif direction.connection.round_trip is None and direction.is_first:
            _note_round_trip(direction.connection, now)
        _note_bytes(direction, segment, now)
        if not flags & (SYN | FIN | RST) and segment.window is not None:
            _note_window(direction, segment.window, now)

    def _begin(self, key: bytes) -> _Direction:
        connection = ObservedConnection((format_endpoint(key, 0), format_endpoint(key, 1)))
        self.connections.append(connection)
        self._open[key] = _Direction(connection, 0)
        self._open[_reverse(key)] = _Direction(connection, 1)
        return self._open[key]


def _note_flags(direction: _Direction, flags: int, now: int) -> None:
    connection = direction.connection
    if flags & RST:
        is_new = not any(incident.kind == RESET for incident in connection.incidents)
        kind = RESET
    elif flags & FIN:
        is_new = not connection.is_closed
        kind = CLOSED
    elif flags & ACK:
        connection.is_accepted = True
        return
    else:
        is_new = connection.syn is None
        connection.syn = connection.syn or now
        kind = OPENED
    connection.is_closed |= kind != OPENED
    if is_new:
        _note(direction, TcpIncident(kind, now, direction.sender, now))


def _note_round_trip(connection: ObservedConnection, now: int) -> None:
    if connection.is_accepted and connection.syn is not None:
        connection.round_trip = now - connection.syn


def _note_bytes(direction: _Direction, segment: Segment, now: int) -> None:
    size = len(segment.payload) + segment.missing
    if segment.flags & RST or not (size or segment.flags & SYN):
        return
    after = segment.sequence + size + bool(segment.flags & SYN) & MASK
    expected = direction.next_sequence
    if expected is None or 0 < (after - expected & MASK) < HALF:
        direction.next_sequence = after
        direction.newest = now
    elif size > 1 and now - direction.newest > OUT_OF_ORDER:  # a keep-alive repeats one byte, and is no sign of loss
        _note(direction, TcpIncident(RETRANSMISSION, now, direction.sender, now, size))


def _note_window(direction: _Direction, window: int, now: int) -> None:
    if window == 0:
        direction.full_since = direction.full_since or now
    elif direction.full_since is not None:
        _note(direction, TcpIncident(ZERO_WINDOW, direction.full_since, direction.sender, now))
        direction.full_since = None


def _note(direction: _Direction, incident: TcpIncident) -> None:
    incidents = direction.connection.incidents
    if len(incidents) < MOST_INCIDENTS:
        incidents.append(incident)


def _reverse(key: bytes) -> bytes:
    size = (len(key) - 4) // 2
    ports = 2 * size
    return key[size:ports] + key[:size] + key[ports + 2 :] + key[ports : ports + 2]
