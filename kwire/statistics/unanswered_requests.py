"""Lists requests without a response, each with the reason as far as a capture has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import DecodeError
from ..protocol import Connection, Frame
from ..protocol.connections.connection_table import Connections
from ..protocol.frames.captured_frame import SECOND, CapturedFrame, OpenConnection
from ..protocol.frames.stream_faults import CutShort, loses_bytes
from ..protocol.headers.apis import Apis
from ..protocol.headers.header import Header
from ..schema.catalog import Catalog, catalog_for
from .users import NOTHING, User, ip_of, user_of

MOST_LISTED = 10_000  # requests that are listed; further requests are only counted
# Reasons: code -> text for a table.
REASONS = {
    "CUT_SHORT": "the request is cut short",
    "RESPONSE_CUT_SHORT": "its response is cut short",
    "PACKETS_MISSING": "packets of its connection are missing",
    "LATER_ANSWERED": "a later request was answered",
    "CONNECTION_ENDED": "its connection ended",
    "CAPTURE_ENDED": "the capture ended",
}


class UnansweredRequest(NamedTuple):
    """A request without a response.

    Attributes:
        frame: the number of its frame in the file; None if there are no numbers.
        time: the time of the request, in seconds since 1970; None if unknown.
        left: the seconds from the request to the last frame of the file; None if unknown.
        reason: one of `REASONS`.
        api: the name of the api; its number if unknown.
        user: the client that sent it.
    """

    frame: int | None
    time: float | None
    left: float | None
    reason: str
    api: str
    user: User


class _WatchedConnection(Connection):
    """A connection, the endpoint of its client, and the number of the last item after which packets are missing."""

    __slots__ = ("client", "gap")

    def __init__(self, apis: Apis) -> None:
        self.apis = apis
        self.client: str = ""
        self.gap: int = -1


class UnansweredRequests:
    """The requests of one file without a complete response. Produce with acks=0 expects no response and is not
    included.

    Args:
        catalog: the specs to use; those of Kafka's releases by default.

    Attributes:
        frames, requests: the numbers of frames and of requests.
        expect_none: the number of requests that expect no response.
        count: the number of requests that lack an expected response.

    >>> import kwire
    >>> requests = UnansweredRequests()
    >>> requests.add(kwire.Frame(kwire.encode_request(kwire.messages.MetadataRequest(), 1, correlation_id=7)))
    >>> [(one.api, one.reason) for one in requests.found()]
    [('Metadata', 'CAPTURE_ENDED')]
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self.frames: int = 0
        self.requests: int = 0
        self.expect_none: int = 0
        self.count: int = 0
        self._connections = Connections(Apis(catalog or catalog_for()), _WatchedConnection)
        self._number = 0  # of the next item
        self._cut: set[int | None] = set()  # numbers of truncated requests
        self._newest: float | None = None
        self._found: list[UnansweredRequest] = []

    def add(self, frame: Frame) -> None:
        """Process the next frame of a file that is not a capture."""
        source = frame.source
        connection = self._connections.on_frame(frame)
        connection.client = source.client or ""
        before = len(connection.in_flight)
        _, header = self._connections.receive(frame)
        self._count_frame(
            connection, header, frame.fault, source.direction != "response" and bool(header.is_request), before
        )
        self._newest = self._newest if source.time is None else source.time

    def add_captured(self, captured: CapturedFrame | int) -> None:
        """Process the next frame of a capture; a number stands for a connection that has ended."""
        if isinstance(captured, int):
            connection = self._connections.on(captured)
            reason = "CAPTURE_ENDED" if isinstance(captured, OpenConnection) else "CONNECTION_ENDED"
            self._record_unanswered(connection, connection.in_flight, reason)
            self._connections.forget(captured)
            return
        now = captured.nanoseconds
        connection = self._connections.of(captured.ends)
        connection.client = connection.client or captured.ends.client
        before = len(connection.in_flight)
        header = connection.pair(captured)
        if captured.is_request:
            header.number(self._number)
        self._count_frame(connection, header, captured.fault, captured.is_request, before)
        self._newest = self._newest if now is None else now / SECOND

    def found(self) -> list[UnansweredRequest]:
        """Return at most `MOST_LISTED` requests, ordered by frame; call it once, after the last frame."""
        for connection in self._connections:
            self._record_unanswered(connection, connection.in_flight, "CAPTURE_ENDED")
        requests = sorted(self._found, key=lambda request: request.frame or 0)
        newest = self._newest
        if newest is None:
            return requests
        return [
            request if request.time is None else request._replace(left=round(newest - request.time, 6))
            for request in requests
        ]

    def _count_frame(
        self, connection: _WatchedConnection, header: Header, fault: DecodeError | None, is_request: bool, before: int
    ) -> None:
        """Count a frame; `before` is the number of requests that were in flight before it."""
        number = self._number
        self._number += 1
        self.frames += fault is None
        if loses_bytes(fault) and not isinstance(fault, CutShort):
            connection.gap = number
        if not is_request:
            self._record_unanswered(connection, header.overtaken, "LATER_ANSWERED")
            if isinstance(fault, CutShort) and header.request is not None:
                self._record_unanswered(connection, [header.request], "RESPONSE_CUT_SHORT")
        elif not header.problem:
            self.requests += 1
            self.expect_none += len(connection.in_flight) == before
            if fault is not None:
                self._cut.add(number)

    def _record_unanswered(self, connection: _WatchedConnection, headers: Iterable[Header], reason: str) -> None:
        """Record requests that will get no response."""
        for header in headers:
            self.count += 1
            if header.call is None or len(self._found) >= MOST_LISTED:
                continue
            time = header.time / SECOND if isinstance(header.time, int) else header.time
            is_lost = header.frame is not None and header.frame < connection.gap
            why = "PACKETS_MISSING" if is_lost and reason != "RESPONSE_CUT_SHORT" else reason
            why = "CUT_SHORT" if header.frame in self._cut else why
            api = header.call.api
            user = user_of(api.key, header.call.version, header.client_id, ip_of(connection.client), NOTHING)
            name = api.name or str(api.key)
            self._found.append(UnansweredRequest(header.frame, time, None, why, name, user))
