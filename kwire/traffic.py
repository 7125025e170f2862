"""Counts frames by client, api, version and other columns, and lists requests without a response.

Frames are either decoded, or captured and only their headers read. The counts show which clients send requests that a
release does not support.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import product
from typing import Any, NamedTuple

from .errors import DecodeError, UnexpectedResponse
from .native import FrameCount
from .protocol import Connection, Frame, FrameDecoder, Request, Response, Result, Source, Undecodable, cut_short
from .protocol.framing import (
    SECOND,
    BareToken,
    CapturedBatch,
    CapturedFrame,
    CutShort,
    Endpoints,
    OpenConnection,
    loses,
    unexpected_response,
)
from .protocol.header_reader import Connections, DecodedConnection, Peek, peek_of
from .protocol.headers import Apis, Call, Header, client_in
from .protocol.results import MessageSummary, software_of
from .spec.catalog import Catalog, catalog_for
from .spec.releases import release, releases

COLUMNS = ("client", "api", "version", "ip", "broker", "topic", "software", "error")
About = tuple[tuple[str, str], ...]  # combinations of a frame's topics and error codes; empty if no column has them
NOTHING = "-"
DIRECTIONS = {True: "request", False: "response"}
API_VERSIONS, LEAST_REPORTED = b"\x00\x12", b"\x00\x03"
MOST_SOFTWARE = 4096  # ApiVersions requests whose bytes are remembered


class User(NamedTuple):
    """The client that uses a version of an api; with the broker, if that is a column."""

    api_key: int
    version: int
    client: str
    software: str
    ip: str
    broker: str = NOTHING


@dataclass(slots=True)
class Count:
    """The counts of some frames. A frame about several topics or errors counts in the rows of all of them.

    Bytes are sizes of whole frames; `time` is the total time between requests and responses, in nanoseconds: integers,
    whose sum is the same in any order. `longest_time` is the longest of these times.
    """

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    answered: int = 0
    time: int = 0
    longest_time: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """The mean time between request and response in seconds; None if there are no times."""
        return self.time / self.answered / SECOND if self.answered else None

    @property
    def longest(self) -> float:
        """The longest time between request and response in seconds."""
        return self.longest_time / SECOND

    def add_request(self, size: int) -> None:
        """Count a request, given its size in bytes."""
        self.requests += 1
        self.request_bytes += size

    def add_response(self, size: int, time: int | None) -> None:
        """Count a response, given its size in bytes and, if known, its time in nanoseconds."""
        self.responses += 1
        self.response_bytes += size
        if time is not None:
            self.add_time(time)

    def add_time(self, time: int) -> None:
        """Add the time of one response, in nanoseconds."""
        self.answered += 1
        self.time += time
        if time > self.longest_time:
            self.longest_time = time

    def add(self, other: Count) -> None:
        """Add the counts of another `Count`."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.answered += other.answered
        self.time += other.time
        self.longest_time = max(self.longest_time, other.longest_time)
        self.errors.update(other.errors)


class Answered(NamedTuple):
    """A request and its response: the latency in nanoseconds, the time of the request in seconds since 1970, the
    numbers of both frames in their file, and the user.
    """

    latency: int
    file: str
    request_frame: int | None
    frame: int | None
    asked_at: float
    user: User


class Latencies:
    """All exact latencies by user, in 8 bytes each; and the slowest requests.

    Args:
        most: how many of the slowest requests to keep.

    Attributes:
        times: the latencies by user, topic and error, in nanoseconds.
    """

    def __init__(self, most: int) -> None:
        self.most: int = most
        self.times: defaultdict[tuple[User, About], array[int]] = defaultdict(lambda: array("q"))
        self._slowest: list[tuple[int, int, Answered]] = []
        self._count = 0

    def add(self, answered: Answered, about: About = ()) -> None:
        """Count one request."""
        self.times[answered.user, about].append(answered.latency)
        self._count += 1
        entry = answered.latency, -self._count, answered
        if len(self._slowest) < self.most:
            heappush(self._slowest, entry)
        elif self.most:
            heappushpop(self._slowest, entry)

    @property
    def slowest(self) -> list[Answered]:
        """The slowest requests in descending order; of equally slow requests, the earliest comes first."""
        return [answered for _, _, answered in sorted(self._slowest, reverse=True)]


def percentile(times: Sequence[int], share: float) -> float:
    """Return a percentile of latencies in seconds, interpolated as numpy.percentile does.

    Args:
        times: the latencies in nanoseconds, sorted; at least one.
        share: from 0 to 1.

    >>> percentile([10_000_000, 20_000_000], 0.5), percentile([10_000_000], 0.999)
    (0.015, 0.01)
    """
    position = share * (len(times) - 1)
    rank = math.floor(position)
    lower, upper = times[rank], times[min(rank + 1, len(times) - 1)]
    return (lower + (position - rank) * (upper - lower)) / SECOND


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: the values of its columns, and the counts."""

    key: tuple[str, ...]
    count: Count


def ip_of(end: str | None) -> str:
    """Return the IP address of an endpoint; `-` if there is none.

    >>> ip_of("[::1]:9092"), ip_of(None)
    ('[::1]', '-')
    """
    return (end or NOTHING).rpartition(":")[0] or NOTHING


class _Counted(Connection):
    """A connection whose calls are counted; `software` is the client software by client id."""

    __slots__ = ("broker", "ip", "software")

    def __init__(self, apis: Apis) -> None:
        self.apis = apis
        self.ip: str = ""
        self.broker: str = NOTHING
        self.software: dict[bytes, str] = {}


def user_of(key: int | None, version: int, client: str | None, ip: str, software: str, broker: str = NOTHING) -> User:
    """Return the sender of a request, from its header."""
    # A client id has no control characters: this is another message, which may contain a secret.
    name = client if client is not None and client.isprintable() else NOTHING
    return User(-1 if key is None else key, version, name, software, ip, broker)


class CapturedTraffic:
    """The connections of a capture. The native `FrameBatch.count_frames` counts most frames itself.

    Args:
        traffic: collects the counts.
    """

    telling = API_VERSIONS

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self.apis: Apis = Apis(traffic.catalog)
        self._connections = Connections(self.apis, _Counted)
        self._met: dict[tuple[str, str, bytes], tuple[dict[bytes, str], Any]] = {}
        self.file: str = ""
        self.number: int = 0  # the number of the next frame, if latencies are kept

    def add(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch."""
        if self._traffic.latencies is not None:
            for captured in batch:
                self.count(captured)
            return
        frames, size, counts = batch.count_frames(self)
        self._traffic.frames += frames
        self._traffic.bytes += size
        for one in counts:
            count: Count = one.owner
            count.requests += one.requests
            count.responses += one.responses
            count.request_bytes += one.request_bytes
            count.response_bytes += one.response_bytes
            count.answered += one.answered
            count.time += one.time
            count.longest_time = max(count.longest_time, one.longest)
            one.clear()

    def begin(self, ends: Endpoints) -> _Counted:
        """Return the connection with the given endpoints."""
        connection = self._connections.of(ends)
        if not connection.ip:
            connection.ip = ends.client_ip or NOTHING
            connection.broker = self._traffic.broker_of(ends.broker)
            connection.group = connection.ip, connection.broker
        return connection

    def count(self, captured: CapturedFrame | int) -> None:
        """Count one frame; the number of a connection instead of a frame means that the connection has ended."""
        if type(captured) is not tuple:
            self._connections.forget(captured)
            return
        ends, asked, _, now, data, _, first, _ = captured
        connection = self.begin(ends)
        header = connection.pair(captured)
        number, self.number = self.number, self.number + 1
        if asked:
            header.number(number)
        self._traffic.frames += 1
        self._traffic.bytes += len(data)
        request = header.request or header
        if header.problem or first is None or request.call is None:
            frame = Frame(data, Source(direction=DIRECTIONS[asked]), fault=captured[5])
            self._traffic.leave_out(frame, lossy=connection.lossy)
        elif asked:
            self.meet(connection, data)
            self._count_of(connection, request.call).add_request(len(data))
        else:
            then = request.time
            took = None if then is None or now is None else now - then
            self._count_of(connection, request.call).add_response(len(data), took)
            if self._traffic.latencies is not None and took is not None:
                user = self._user_of(connection, request.call)
                self._traffic.latencies.add(Answered(took, self.file, request.frame, number, then / SECOND, user))

    def meet(self, connection: _Counted, data: bytes) -> None:
        """Record the software that a request names; most connections have one such request."""
        key = connection.ip, connection.broker, data[:8] + data[12:]
        met = None if connection.software else self._met.get(key)
        if met is not None:
            connection.software, connection.group = met
            connection.regroup(connection.group)
            return
        software, is_first = self._traffic.software_in(data), not connection.software
        client = None if software is None else client_in(data)
        if client is not None and software is not None and connection.software.get(client) != software:
            connection.software = {**connection.software, client: software}
            connection.regroup((connection.ip, connection.broker, *sorted(connection.software.items())))
            if is_first and len(self._met) < MOST_SOFTWARE:
                self._met[key] = connection.software, connection.group

    def note(self, connection: _Counted, call: Call) -> FrameCount:
        """Store the count of a call's frames with the call; calls of other software have other counts."""
        count = call.note = FrameCount(self._count_of(connection, call))
        return count

    def _count_of(self, connection: _Counted, call: Call) -> Count:
        return self._traffic.count_of(self._user_of(connection, call))

    def _user_of(self, connection: _Counted, call: Call) -> User:
        software = connection.software.get(call.client, NOTHING)
        return user_of(call.api.key, call.version, call.client_id, connection.ip, software, connection.broker)


# Frames, bytes, unreadable bytes, and the client.
Counted = tuple[int, int, dict[str, int], list[tuple[User, About, Count]]]


class Traffic:
    """Counts frames.

    Args:
        by: the columns, some of `COLUMNS`.
        errors: count error codes as well, which requires decoding bodies.
        catalog: the specs to use; those of Kafka's releases by default.
        latencies: receives all latencies; by default, they are not recorded.

    Attributes:
        frames: the number of complete frames.
        bytes: the size of these frames and of all fragments.
        unread: the number of items that are neither request nor response, by the codes of `DecodeError`.

    >>> import kwire
    >>> traffic = Traffic(["api", "version"])
    >>> traffic.add(kwire.Frame(kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1)))
    >>> [(row.key, row.count.requests) for row in traffic.rows()]
    [(('Metadata', '1'), 1)]
    """

    def __init__(
        self,
        by: Sequence[str],
        *,
        errors: bool = False,
        catalog: Catalog | None = None,
        latencies: Latencies | None = None,
    ) -> None:
        self.latencies: Latencies | None = latencies
        self.by: tuple[str, ...] = tuple(by)
        self.catalog: Catalog = catalog or catalog_for()
        self.frames: int = 0
        self.bytes: int = 0
        self.unread: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()  # of all frames, each counted once
        self._topics = "topic" in self.by
        self._by_error = "error" in self.by
        self._by_broker = "broker" in self.by
        self.deep: bool = errors or self._topics or self._by_error
        self._decoder = FrameDecoder(self.catalog)
        self._summary = MessageSummary()
        self._counts: dict[tuple[User, About], Count] = {}
        self._software_by_body: dict[bytes, str | None] = {}  # client software, by the bytes of ApiVersions requests
        self._connections = CapturedTraffic(self)

    def add(self, frame: Frame) -> None:
        """Count one frame."""
        self.frames += 1
        self.bytes += len(frame.data)
        connection, header = self._decoder.connections.receive(frame)
        peek = peek_of(frame, header, connection.apis)
        result = self._decoder.result(frame, connection, header) if self.deep else None
        topics, errors = self._look(result, peek) if result is not None else ((), ())
        if peek.is_request is None:
            self.leave_out(frame, lossy=connection.lossy)
            return
        ip, software = ip_of(frame.source.client), self._software_of(frame, peek, connection)
        broker = self.broker_of(frame.source.broker)
        user = user_of(peek.api_key, peek.version, peek.client_id, ip, software, broker)
        about = self._about(topics, errors)
        count = self.count_of(user, about)
        if errors:
            self.errors.update(errors)
            count.errors.update(errors)
        if peek.is_request:
            count.add_request(len(frame.data))
        else:
            time = frame.source.time
            took = None if peek.asked_at is None or time is None else round((time - peek.asked_at) * SECOND)
            count.add_response(len(frame.data), took)
            if self.latencies is not None and took is not None and peek.asked_at is not None:
                source, asked = frame.source, None if header.request is None else header.request.frame
                answered = Answered(took, source.file or "", asked, source.frame, peek.asked_at, user)
                self.latencies.add(answered, about)

    def leave_out(self, frame: Frame, *, lossy: bool) -> None:
        """Count bytes that are neither request nor response; `lossy`: bytes of the connection are missing."""
        error = frame.fault or cut_short(frame.data)
        if error is None:
            result = self._decoder.decode_alone(frame)
            error = result.error if isinstance(result, Undecodable) else None
            if error is None or isinstance(error, UnexpectedResponse):
                error = unexpected_response(0, None, lossy=lossy)
        elif not isinstance(error, BareToken):
            self.frames -= 1  # it is not a complete frame
        self.unread[error.code] += 1

    def broker_of(self, end: str | None) -> str:
        """Return the broker of a connection if that is a column; else an empty string."""
        return (end or NOTHING) if self._by_broker else NOTHING

    def begin(self, file: str) -> None:
        """Start another capture, whose frames are numbered from 0."""
        self._connections.file, self._connections.number = file, 0

    def add_batch(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch of captured frames; like `add` for each frame, but much faster.

        Do not use it for a `deep` count, which needs decoded frames.
        """
        self._connections.add(batch)

    @property
    def counted(self) -> Counted:
        """All counts, for `add_counted` of another `Traffic`."""
        return self.frames, self.bytes, dict(self.unread), [(*key, count) for key, count in self._counts.items()]

    def add_counted(self, counted: Counted) -> None:
        """Add the counts of another `Traffic` with the same columns, except errors."""
        frames, size, unread, counts = counted
        self.frames, self.bytes = self.frames + frames, self.bytes + size
        self.unread.update(unread)
        for user, about, count in counts:
            self._counts.setdefault((user, about), Count()).add(count)

    def rows(self) -> list[Row]:
        """Return the rows, sorted by the number of requests, largest first."""
        rows: dict[tuple[str, ...], Count] = {}
        for (user, about), count in self._counts.items():
            for key in self._keys(user, about):
                rows.setdefault(key, Count()).add(count)
        found = [Row(key, count) for key, count in rows.items()]
        return sorted(found, key=lambda row: (-row.count.requests, -row.count.responses, row.key))

    def _keys(self, user: User, about: About) -> Iterator[tuple[str, ...]]:
        """Yield the keys of the rows in which frames of a user count."""
        values = {**user._asdict(), "api": self.name_of(user), "version": str(user.version)}
        for topic, error in about or ((NOTHING, NOTHING),):
            yield tuple([(values | {"topic": topic, "error": error})[column] for column in self.by])

    def times(self) -> list[tuple[tuple[str, ...], list[int]]]:
        """Return the latencies of each row in nanoseconds, sorted; the row with the highest 99th percentile first."""
        rows: defaultdict[tuple[str, ...], array[int]] = defaultdict(lambda: array("q"))
        for (user, about), times in self.latencies.times.items() if self.latencies is not None else ():
            for key in self._keys(user, about):
                rows[key].extend(times)
        found = [(key, sorted(times)) for key, times in rows.items()]
        return sorted(found, key=lambda row: (-percentile(row[1], 0.99), row[0]))

    @property
    def used(self) -> dict[User, int]:
        """The number of requests of each user."""
        used: Counter[User] = Counter()
        for (user, _), count in self._counts.items():
            if count.requests:
                used[user] += count.requests
        return used

    def count_of(self, user: User, about: About = ()) -> Count:
        """Return the `Count` of a user's frames."""
        count = self._counts.get((user, about))
        if count is None:
            count = self._counts[user, about] = Count()
        return count

    def _about(self, topics: tuple[str, ...], errors: tuple[str, ...]) -> About:
        """Return the topics and errors of a frame that the columns need."""
        if not (self._topics or self._by_error):
            return ()
        codes = tuple(dict.fromkeys(errors)) if self._by_error else ()
        return tuple(product(topics or (NOTHING,), codes or (NOTHING,)))

    def _look(self, result: Result, peek: Peek) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the topics and errors of a body."""
        if not isinstance(result, Request | Response):
            return (), () if peek.is_request is None else ("undecodable",)
        facts = self._summary.facts(result.codec, result.message)
        return facts.topics if self._topics else (), tuple(map(str, facts.errors))

    def _software_of(self, frame: Frame, peek: Peek, connection: DecodedConnection) -> str:
        """Return the software of a connection's client, by its id, as named in its ApiVersions request."""
        software: dict[str | None, str] = connection.note or {}
        client_software = self.software_in(frame.data) if peek.is_request else None
        if client_software is not None:
            software[peek.client_id] = client_software
            connection.note = software
        return software.get(peek.client_id, NOTHING)

    def software_in(self, data: bytes) -> str | None:
        """Return the client software in a request (KIP-511); None if it is not an ApiVersions request."""
        if data[4:6] != API_VERSIONS or data[6:8] < LEAST_REPORTED:
            return None
        request = data[4:8] + data[12:]  # all but the correlation id
        if request not in self._software_by_body:
            if len(self._software_by_body) >= MOST_SOFTWARE:
                self._software_by_body.clear()
            result = self._decoder.decode_alone(Frame(data))
            self._software_by_body[request] = (
                software_of(result.message) or NOTHING if isinstance(result, Request) else None
            )
        return self._software_by_body[request]

    def name_of(self, user: User) -> str:
        """Return the name of a user's api; its key if it has no name."""
        name = releases().name_of(None, user.api_key)
        if name:
            return name
        spec = self.catalog.find(user.api_key, "request", user.version)
        return spec.api_name if spec else str(user.api_key)


class UnsupportedUse(NamedTuple):
    """Requests of a client that a release does not support.

    `breaks` is false if the version is newer than the release's: clients that negotiate versions use an older one.
    `why` describes what the release does.
    """

    client: str
    software: str
    ip: str
    api: str
    version: int
    requests: int
    breaks: bool
    why: str


def unsupported_uses(traffic: Traffic, release_name: str) -> list[UnsupportedUse]:
    """Return the clients and versions that a release does not support; those that break come first.

    Args:
        traffic: the counts, with any columns.
        release_name: the release, for example `4.0`.

    Raises:
        UnknownMessage: there is no such release.
    """
    found = []
    new = release(release_name)
    for user, requests in traffic.used.items():
        if user.api_key in releases().apis:
            spoken = new.versions(user.api_key)
            if user.version not in spoken:
                breaks = not spoken or user.version < spoken.first
                why = f"{release_name} supports {spoken}" if spoken else f"{release_name} has no such api"
                api = releases().name_of(None, user.api_key)
                who = user.client, user.software, user.ip
                found.append(UnsupportedUse(*who, api, user.version, requests, breaks, why))
    return sorted(found, key=lambda one: (not one.breaks, one.client, one.software, one.ip, one.api, one.version))


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


class _Seen(Connection):
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
        self._connections = Connections(Apis(catalog or catalog_for()), _Seen)
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
        self._process(
            connection, header, frame.fault, source.direction != "response" and bool(header.is_request), before
        )
        self._newest = self._newest if source.time is None else source.time

    def add_captured(self, captured: CapturedFrame | int) -> None:
        """Process the next frame of a capture; a number stands for a connection that has ended."""
        if not isinstance(captured, tuple):
            connection = self._connections.on(captured)
            reason = "CAPTURE_ENDED" if isinstance(captured, OpenConnection) else "CONNECTION_ENDED"
            self._leave(connection, connection.in_flight, reason)
            self._connections.forget(captured)
            return
        ends, is_request, _, now, _, fault, _, _ = captured
        connection = self._connections.of(ends)
        connection.client = connection.client or ends.client
        before = len(connection.in_flight)
        header = connection.pair(captured)
        if is_request:
            header.number(self._number)
        self._process(connection, header, fault, is_request, before)
        self._newest = self._newest if now is None else now / SECOND

    def found(self) -> list[UnansweredRequest]:
        """Return at most `MOST_LISTED` requests, ordered by frame; call it once, after the last frame."""
        for connection in self._connections:
            self._leave(connection, connection.in_flight, "CAPTURE_ENDED")
        last = self._newest
        return [
            one._replace(left=None if one.time is None or last is None else round(last - one.time, 6))
            for one in sorted(self._found, key=lambda one: one.frame or 0)
        ]

    def _process(
        self, connection: _Seen, header: Header, fault: DecodeError | None, is_request: bool, before: int
    ) -> None:
        """Count a frame; `before` is the number of requests that were in flight before it."""
        number, self._number = self._number, self._number + 1
        self.frames += fault is None
        if loses(fault) and not isinstance(fault, CutShort):
            connection.gap = number
        if not is_request:
            self._leave(connection, header.overtaken, "LATER_ANSWERED")
            if isinstance(fault, CutShort) and header.request is not None:
                self._leave(connection, [header.request], "RESPONSE_CUT_SHORT")
        elif not header.problem:
            self.requests += 1
            self.expect_none += len(connection.in_flight) == before
            if fault is not None:
                self._cut.add(number)

    def _leave(self, connection: _Seen, headers: Iterable[Header], reason: str) -> None:
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
