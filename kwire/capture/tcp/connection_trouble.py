"""What packets show of connections that costs time: round trips, retransmissions, zero windows."""

from __future__ import annotations

from collections.abc import Iterable

from ..packets.packet import Packet
from .tcp_observer import RETRANSMISSION, ZERO_WINDOW, TcpIncident, TcpObserver


class ConnectionTrouble:
    """The round trip of a connection, and what delayed its bytes.

    Args:
        round_trip: nanoseconds from the SYN to the ACK of the handshake; None if it was not captured.
        incidents: what happened, in order of time.
    """

    __slots__ = ("_incidents", "round_trip")

    def __init__(self, round_trip: int | None, incidents: Iterable[TcpIncident]) -> None:
        self.round_trip: int | None = round_trip
        self._incidents = [incident for incident in incidents if incident.kind in (RETRANSMISSION, ZERO_WINDOW)]

    def overlap(self, begin: int, end: int) -> tuple[int, int]:
        """Return the number of retransmissions, and the nanoseconds of zero windows, between two times.

        >>> incidents = TcpIncident(ZERO_WINDOW, 10, "", 30), TcpIncident(RETRANSMISSION, 40, "", 40)
        >>> trouble = ConnectionTrouble(None, incidents)
        >>> trouble.overlap(20, 50), trouble.overlap(50, 60)
        ((1, 10), (0, 0))
        """
        count = full = 0
        for incident in self._incidents:
            if incident.kind == RETRANSMISSION:
                count += begin <= incident.nanoseconds <= end
            else:
                full += max(0, min(end, incident.until) - max(begin, incident.nanoseconds))
        return count, full

    def join(self, other: ConnectionTrouble) -> None:
        """Add what happened to a later connection with the same endpoints."""
        self._incidents += other._incidents


def trouble_in(packets: Iterable[Packet]) -> dict[tuple[str, str], ConnectionTrouble]:
    """Return what the packets of a capture show, by both endpoints of a connection, in either order."""
    observer = TcpObserver()
    observer.read(packets)
    by_ends: dict[tuple[str, str], ConnectionTrouble] = {}
    for connection in observer.connections:
        trouble = ConnectionTrouble(connection.round_trip, connection.incidents)
        known = by_ends.get(connection.ends)
        if known is not None:
            known.join(trouble)
            continue
        by_ends[connection.ends] = by_ends[connection.ends[::-1]] = trouble
    return by_ends
