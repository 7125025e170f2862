"""Events of connections between clients and brokers, from the packets of captures: opened, closed, reset, and trouble
on the way.
"""

from __future__ import annotations

from ...capture.open_capture import open_packets
from ...capture.tcp.tcp_observer import (
    CLOSED,
    OPENED,
    RESET,
    RETRANSMISSION,
    ZERO_WINDOW,
    ObservedConnection,
    TcpIncident,
    TcpObserver,
)
from ...cluster.activity.activity_event import BROKER, CLIENT, ActivityEvent, ActivityLog, subject
from ...errors import DumpError
from ...protocol import Request, Result
from ...protocol.frames.captured_frame import SECOND


class ConnectionEvents:
    """Collects the events of the connections on which a request was seen."""

    def __init__(self) -> None:
        self.found: list[ActivityEvent] = []
        # by file: client and broker -> client id
        self._clients: dict[str, dict[tuple[str, str], str | None]] = {}

    def add(self, result: Result) -> None:
        """Note who uses a connection."""
        source = result.frame.source
        if isinstance(result, Request) and source.client and source.broker:
            clients = self._clients.setdefault(source.file or "", {})
            clients.setdefault((source.client, source.broker), result.client.client_id)

    def read(self) -> None:
        """Read the packets of the files whose frames were read."""
        for file, clients in self._clients.items():
            if file not in ("", "-", "--hex"):
                self._read_packets(file, clients)
        self._clients = {}

    def _read_packets(self, file: str, clients: dict[tuple[str, str], str | None]) -> None:
        """Read the packets of a file; other formats than captures have none."""
        observer = TcpObserver()
        try:
            with open_packets(file) as packets:
                observer.read(packets)
        except (DumpError, OSError):  # not a capture, or a pipe: its frames say what there is
            return
        for connection in observer.connections:
            for client, broker in (connection.ends, connection.ends[::-1]):
                if (client, broker) in clients:
                    self._add(connection, client, broker, clients[client, broker], file)

    def events(self) -> list[ActivityEvent]:
        """Return the events of all connections."""
        return self.found

    def _add(self, connection: ObservedConnection, client: str, broker: str, client_id: str | None, file: str) -> None:
        log = ActivityLog()
        subjects = frozenset((*subject(CLIENT, client_id), *subject(BROKER, broker)))
        for incident in connection.incidents:
            by = "the client" if incident.sender == client else "the broker"
            text = f"client {client_id or '-'}: {client} > {broker} {_words(incident, by)}"
            log.add(ActivityEvent("connection", text, incident.nanoseconds / SECOND, file, None, subjects))
        self.found += log.events


def _words(incident: TcpIncident, by: str) -> str:
    if incident.kind == ZERO_WINDOW:
        return f"zero window of {by} for {(incident.until - incident.nanoseconds) / 1e6:.1f} ms"
    words = {OPENED: "opened", CLOSED: f"closed by {by}", RESET: f"reset by {by}"}
    return words.get(incident.kind, f"{RETRANSMISSION} by {by}")
