"""Where the time of requests went: asked wait, the broker's queue, local and remote time, the network, the client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import NamedTuple, Protocol

from ..protocol import Connection, Frame
from ..protocol.connections.connection_table import Connections
from ..protocol.frames.broker_times import BrokerTimes
from ..protocol.frames.captured_frame import SECOND, CapturedBatch, CapturedFrame, Endpoints
from ..protocol.headers.apis import Apis
from ..protocol.headers.header import Header
from ..schema.catalog import Catalog, catalog_for
from ..schema.releases import releases
from .asked_wait import asked_wait
from .users import NOTHING, ip_of

COLUMNS = ("api", "client", "version", "ip", "broker")
MOST_LOGGED = 5_000_000  # requests of logs that wait for their frame


class NetworkTrouble(Protocol):
    """What packets show of a connection."""

    @property
    def round_trip(self) -> int | None:
        """Nanoseconds of the handshake's round trip; None if unknown."""

    def overlap(self, begin: int, end: int) -> tuple[int, int]:
        """Return retransmissions, and nanoseconds with a zero window, between two times (nanoseconds since 1970)."""


class TimedExchange(NamedTuple):
    """A request with its response.

    Attributes:
        key: the values of the columns.
        file, request_frame, frame: where they are.
        asked_at: when the request was sent, in seconds since 1970.
        latency, asked: the nanoseconds to the response, and how many of them the request let the broker wait.
        think: nanoseconds since the previous response on this connection, when no request was in flight; None if there
            was none.
        times: the broker's own times; None without its log.
        network: nanoseconds of the latency that the broker does not account for; None without its log.
        retransmissions, zero_window: retransmitted segments and nanoseconds of zero window meanwhile.
        round_trip: nanoseconds of the connection's handshake.
    """

    key: tuple[str, ...]
    file: str
    request_frame: int | None
    frame: int | None
    asked_at: float
    latency: int
    asked: int
    think: int | None = None
    times: BrokerTimes | None = None
    network: int | None = None
    retransmissions: int = 0
    zero_window: int = 0
    round_trip: int | None = None

    @property
    def beyond(self) -> int:
        """Nanoseconds of latency beyond the wait that was asked for."""
        return self.latency - self.asked


@dataclass(slots=True)
class TimeSums:
    """Sums over exchanges, in nanoseconds, each with the number of exchanges that have the value."""

    count: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    retransmissions: int = 0
    longest: int = 0

    def add(self, exchange: TimedExchange) -> None:
        """Add an exchange."""
        self.count += 1
        self.retransmissions += exchange.retransmissions
        self.longest = max(self.longest, exchange.beyond)
        for name, value in parts_of(exchange):
            if value is not None:
                self.sums[name] = self.sums.get(name, 0) + value
                self.counts[name] = self.counts.get(name, 0) + 1

    def mean(self, name: str) -> float | None:
        """Return the mean of a part in seconds; None if no exchange has it."""
        count = self.counts.get(name)
        return self.sums[name] / count / SECOND if count else None


def parts_of(exchange: TimedExchange) -> Iterator[tuple[str, int | None]]:
    """Yield the parts of the time of an exchange in nanoseconds; None where it is unknown."""
    yield "latency", exchange.latency
    yield "asked", exchange.asked
    yield "beyond", exchange.beyond
    yield "think", exchange.think
    times = exchange.times or BrokerTimes()
    for name, seconds in zip(BrokerTimes._fields, times, strict=True):
        yield name, None if seconds is None else round(seconds * SECOND)
    yield "network", exchange.network
    yield "zero_window", exchange.zero_window or None
    yield "round_trip", exchange.round_trip


class _TimedConnection(Connection):
    """A connection, when its last response came, and the waits that requests in flight asked for."""

    __slots__ = ("answered_at", "thinks", "waits")

    def __init__(self, apis: Apis) -> None:
        self.apis = apis
        self.answered_at: int | None = None
        self.waits: dict[int | None, int] = {}
        self.thinks: dict[int | None, int] = {}


class TimeSpent:
    """Adds up where the time went.

    Args:
        by: the columns, some of `COLUMNS`.
        catalog: the specs to use; those of Kafka's releases by default.
        limit: how many of the slowest exchanges to keep.

    Attributes:
        rows: the sums, by the values of the columns.
        joined, logged: requests of captures that were found in a log, and requests in logs.

    >>> from kwire.protocol.frames.broker_times import BrokerTimes
    >>> spent = TimeSpent(["api"])
    >>> spent.add(TimedExchange(("Fetch",), "x", 0, 1, 1.0, 30_000_000, 20_000_000, times=BrokerTimes(local=0.004)))
    >>> sums = spent.rows["Fetch",]
    >>> sums.mean("latency"), sums.mean("beyond"), sums.mean("local"), sums.mean("network")
    (0.03, 0.01, 0.004, None)
    """

    def __init__(self, by: Sequence[str] = ("api",), catalog: Catalog | None = None, limit: int = 0) -> None:
        self.by: tuple[str, ...] = tuple(by)
        self.rows: dict[tuple[str, ...], TimeSums] = {}
        self.joined: int = 0
        self.logged: int = 0
        self._catalog = catalog or catalog_for()
        self._limit = limit
        self._count = 0
        self._slowest: list[tuple[int, int, TimedExchange]] = []
        self._times: dict[tuple[str, int, int], list[BrokerTimes]] = {}
        self._trouble: Mapping[tuple[str, str], NetworkTrouble] = {}
        self._file = ""
        self._number = 0
        self._connections = Connections(Apis(self._catalog), _TimedConnection)

    def add(self, exchange: TimedExchange) -> None:
        """Add an exchange."""
        self.rows.setdefault(exchange.key, TimeSums()).add(exchange)
        self._count += 1
        entry = exchange.beyond, -self._count, exchange
        if len(self._slowest) < self._limit:
            heappush(self._slowest, entry)
        elif self._limit:
            heappushpop(self._slowest, entry)

    @property
    def slowest(self) -> list[TimedExchange]:
        """The exchanges with the most time beyond the wait they asked for, in descending order."""
        return [exchange for _, _, exchange in sorted(self._slowest, reverse=True)]

    def add_log(self, frames: Iterable[Frame], *, is_alone: bool) -> None:
        """Read the frames of a request log, for requests of captures that are added later.

        Args:
            frames: its frames, in order.
            is_alone: there are no captures: the requests of the log are counted themselves.
        """
        connections = Connections(Apis(self._catalog), _TimedConnection)
        for frame in frames:
            connection, header = connections.receive(frame)
            request = header.request or header
            if header.is_request:
                connection.waits[header.correlation_id] = asked_wait(header, frame.data)
            if frame.broker_times is None or request.call is None or request.correlation_id is None:
                continue
            self.logged += 1
            key = frame.source.client or "", request.api_key or 0, request.correlation_id
            if not is_alone:
                if len(self._times) < MOST_LOGGED:
                    self._times.setdefault(key, []).append(frame.broker_times)
                continue
            wait = connection.waits.pop(request.correlation_id, 0)
            total = round((frame.broker_times.total or 0) * SECOND)
            source = frame.source
            now = source.time or 0.0
            self.add(
                TimedExchange(
                    self._key(request, source.client or "", source.broker or ""),
                    source.file or "",
                    request.frame,
                    source.frame,
                    now - total / SECOND,
                    total,
                    min(wait, _remote(frame.broker_times, total)),
                    times=frame.broker_times,
                )
            )

    def begin(self, file: str, trouble: Mapping[tuple[str, str], NetworkTrouble]) -> None:
        """Start a capture; `trouble` is what its packets show, by the endpoints of client and broker."""
        self._file = file
        self._number = 0
        self._trouble = trouble
        self._connections = Connections(Apis(self._catalog), _TimedConnection)

    def add_batch(self, batch: CapturedBatch) -> None:
        """Add the frames of a capture."""
        for captured in batch:
            if isinstance(captured, int):
                self._connections.forget(captured)
            else:
                self._add_captured(captured)

    def _add_captured(self, captured: CapturedFrame) -> None:
        now = captured.nanoseconds
        connection = self._connections.of(captured.ends)
        is_idle = not connection.in_flight
        header = connection.pair(captured)
        number = self._number
        self._number += 1
        if captured.is_request:
            header.number(number)
            wait = asked_wait(header, captured.data)
            if wait:
                connection.waits[header.correlation_id] = wait
            if is_idle and now is not None and connection.answered_at is not None:
                connection.thinks[header.correlation_id] = now - connection.answered_at
            return
        request = header.request or header
        if header.problem or request.call is None or request.time is None or now is None:
            return
        connection.answered_at = now
        self._add_exchange(captured.ends, connection, request, now, number)

    def _add_exchange(
        self, ends: Endpoints, connection: _TimedConnection, request: Header, now: int, number: int
    ) -> None:
        begin: int = request.time
        latency = now - begin
        wait = connection.waits.pop(request.correlation_id, 0)
        client, broker = ends.client, ends.broker
        times = self._take_times(client, request)
        total = None if times is None or times.total is None else round(times.total * SECOND)
        trouble = self._trouble.get((client, broker))
        retransmissions, zero_window = (0, 0) if trouble is None else trouble.overlap(begin, now)
        self.add(
            TimedExchange(
                self._key(request, client, broker),
                self._file,
                request.frame,
                number,
                begin / SECOND,
                latency,
                min(wait, latency if times is None else _remote(times, latency)),
                connection.thinks.pop(request.correlation_id, None),
                times,
                None if total is None else max(0, latency - total),
                retransmissions,
                zero_window,
                None if trouble is None else trouble.round_trip,
            )
        )

    def _take_times(self, client: str, request: Header) -> BrokerTimes | None:
        if not self._times:
            return None
        times = self._times.get((client, request.api_key or 0, request.correlation_id or 0))
        if not times:
            return None
        self.joined += 1
        return times.pop(0)

    def _key(self, request: Header, client: str, broker: str) -> tuple[str, ...]:
        key = request.api_key
        values = {
            "api": (releases().name_of(None, key) if key is not None else "") or str(key),
            "client": request.client_id or NOTHING,
            "version": str(request.api_version),
            "ip": ip_of(client),
            "broker": broker or NOTHING,
        }
        return tuple([values[column] for column in self.by])


def _remote(times: BrokerTimes, latency: int) -> int:
    """Return the nanoseconds in the purgatory, where requests wait; all of the latency if the log does not say."""
    return latency if times.remote is None else min(latency, round(times.remote * SECOND))
