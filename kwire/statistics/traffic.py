"""Counts frames by client, api, version and other columns.

Frames are either decoded, or captured and only their headers read.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

from ..codecs.native import FrameCount
from ..errors import UnexpectedResponse
from ..protocol import Connection, Frame, FrameDecoder, Request, Response, Result, Source, Undecodable, cut_short
from ..protocol.connections.connection_table import Connections
from ..protocol.connections.decoded_connection import DecodedConnection
from ..protocol.frames.captured_frame import SECOND, CapturedBatch, CapturedFrame, Endpoints
from ..protocol.frames.stream_faults import BareToken, CutShort, unexpected_response
from ..protocol.header_reader import Peek, peek_header, peek_of
from ..protocol.headers.apis import Apis, Call
from ..protocol.headers.header import find_client_id
from ..protocol.message_summary import MessageSummary, software_of
from ..protocol.results import seconds_between
from ..schema.catalog import Catalog, catalog_for
from ..schema.releases import releases
from .asked_wait import asked_wait
from .counts import Count
from .latencies import About, Answered, Latencies, percentile
from .users import NOTHING, User, ip_of, user_of

COLUMNS = ("client", "api", "version", "ip", "broker", "topic", "software", "error")
TIME = "time"  # the first column, if spans of time are counted
USER = ("client", "software", "ip")
DIRECTIONS = {True: "request", False: "response"}
API_VERSIONS, LEAST_REPORTED = b"\x00\x12", b"\x00\x03"
MOST_SOFTWARE = 4096  # ApiVersions requests whose bytes are remembered
# Frames, bytes, unreadable bytes, and the client.
Counted = tuple[int, int, dict[str, int], int, list[tuple[User, About, Count]]]


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """A row of a table: the values of its columns, and the counts."""

    key: tuple[str, ...]
    count: Count


class _CountedConnection(Connection):
    """A connection whose calls are counted; `software` is the client software by client id."""

    __slots__ = ("broker", "ip", "software")

    def __init__(self, apis: Apis) -> None:
        self.apis = apis
        self.ip: str = ""
        self.broker: str = NOTHING
        self.software: dict[bytes, str] = {}


class CapturedTraffic:
    """The connections of a capture. The native `FrameBatch.count_frames` counts most frames itself.

    Args:
        traffic: collects the counts.
    """

    telling = API_VERSIONS

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self.apis: Apis = Apis(traffic.catalog)
        self._connections = Connections(self.apis, _CountedConnection)
        self._met: dict[tuple[str, str, bytes], tuple[dict[bytes, str], Any]] = {}
        self.file: str = ""
        self.number: int = 0  # the number of the next frame, if latencies are kept
        self._waits: dict[tuple[int, int | None], int] = {}  # of requests in flight, if latencies are kept

    def add(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch."""
        if self._traffic.latencies is not None or self._traffic.per is not None:
            for captured in batch:
                self.count(captured)
            return
        frames, size, counts = batch.count_frames(self)
        self._traffic.frames += frames
        self._traffic.bytes += size
        for frame_count in counts:
            count: Count = frame_count.owner
            count.requests += frame_count.requests
            count.responses += frame_count.responses
            count.request_bytes += frame_count.request_bytes
            count.response_bytes += frame_count.response_bytes
            count.answered += frame_count.answered
            count.time += frame_count.time
            count.longest_time = max(count.longest_time, frame_count.longest)
            frame_count.clear()

    def begin(self, ends: Endpoints) -> _CountedConnection:
        """Return the connection with the given endpoints."""
        connection = self._connections.of(ends)
        if not connection.ip:
            connection.ip = (self._traffic.keeps("ip") and ends.client_ip) or NOTHING
            connection.broker = self._traffic.broker_of(ends.broker)
            connection.group = connection.ip, connection.broker
        return connection

    def count(self, captured: CapturedFrame | int) -> None:
        """Count one frame; the number of a connection instead of a frame means that the connection has ended."""
        if isinstance(captured, int):
            self._connections.forget(captured)
            return
        is_request, now, data = captured.is_request, captured.nanoseconds, captured.data
        connection = self.begin(captured.ends)
        header = connection.pair(captured)
        number = self.number
        self.number += 1
        if is_request:
            header.number(number)
        self._traffic.frames += 1
        self._traffic.bytes += len(data)
        request, fault = header.request or header, captured.fault
        has_header = isinstance(fault, CutShort) and not header.problem and request.correlation_id is not None
        if header.problem or request.call is None or (captured.first is None and not has_header):
            frame = Frame(data, Source(direction=DIRECTIONS[is_request]), fault=fault)
            self._traffic.leave_out(frame, lossy=connection.lossy)
            return
        size = len(data)
        if isinstance(fault, CutShort):
            size = self._traffic.note_cut(fault, size)
        if is_request:
            self.meet(connection, data)
            self._count_of(connection, request.call, now).add_request(size)
            if self._traffic.latencies is not None and (wait := asked_wait(header, data)):
                self._waits[captured.ends.connection, header.correlation_id] = wait
        else:
            asked_at = request.time
            latency = None if asked_at is None or now is None else now - asked_at
            self._count_of(connection, request.call, asked_at).add_response(size, latency)
            if self._traffic.latencies is not None and latency is not None:
                user = self._user_of(connection, request.call, asked_at)
                wait = self._waits.pop((captured.ends.connection, request.correlation_id), 0)
                answered = Answered(latency, self.file, request.frame, number, asked_at / SECOND, user, wait)
                self._traffic.latencies.add(answered, self._traffic.reduce(user))

    def meet(self, connection: _CountedConnection, data: bytes) -> None:
        """Record the software that a request names; most connections have one such request."""
        if not self._traffic.keeps("software"):
            return
        key = connection.ip, connection.broker, data[:8] + data[12:]
        met = None if connection.software else self._met.get(key)
        if met is not None:
            connection.software, connection.group = met
            connection.regroup(connection.group)
            return
        software = self._traffic.software_in(data)
        is_first = not connection.software
        client = None if software is None else find_client_id(data)
        if client is not None and software is not None and connection.software.get(client) != software:
            connection.software = {**connection.software, client: software}
            connection.regroup((connection.ip, connection.broker, *sorted(connection.software.items())))
            if is_first and len(self._met) < MOST_SOFTWARE:
                self._met[key] = connection.software, connection.group

    def note(self, connection: _CountedConnection, call: Call) -> FrameCount:
        """Store the count of a call's frames with the call; calls of other software have other counts."""
        count = call.note = FrameCount(self._count_of(connection, call))
        return count

    def _count_of(self, connection: _CountedConnection, call: Call, now: int | None = None) -> Count:
        return self._traffic.count_of(self._traffic.reduce(self._user_of(connection, call, now)))

    def _user_of(self, connection: _CountedConnection, call: Call, now: int | None = None) -> User:
        software = connection.software.get(call.client, NOTHING)
        span = self._traffic.span_of(None if now is None else now / SECOND)
        return user_of(call.api.key, call.version, call.client_id, connection.ip, software, connection.broker, span)


class Traffic:
    """Counts frames.

    Args:
        by: the columns, some of `COLUMNS`.
        errors: count error codes as well, which requires decoding bodies.
        catalog: the specs to use; those of Kafka's releases by default.
        latencies: receives all latencies; by default, they are not recorded.
        per: count by spans of time of so many seconds, in a first column `time`: of a request, and of a response by the
            time of its request.
        keeps_users: keep clients, software and addresses though no column needs them, for `used`; memory grows with
            their number.

    Attributes:
        frames: the number of complete frames.
        bytes: the size of these frames and of all fragments.
        unread: the number of items that are no complete request or response, by the codes of `DecodeError`.
        headers: those among them that are counted by their headers, with the sizes that these declare: frames of which
            a snap length cut off the end.
        summary: knows the names of topic ids.

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
        per: float | None = None,
        keeps_users: bool = True,
    ) -> None:
        self.latencies: Latencies | None = latencies
        self.per: float | None = per
        self.by: tuple[str, ...] = tuple(by) if per is None else (TIME, *by)
        self._kept = {*by, *(USER if keeps_users else ())}
        self.catalog: Catalog = catalog or catalog_for()
        self.frames: int = 0
        self.bytes: int = 0
        self.unread: Counter[str] = Counter()
        self.headers: int = 0
        self.errors: Counter[str] = Counter()  # of all frames, each counted once
        self._topics = "topic" in self.by
        self._by_error = "error" in self.by
        self.deep: bool = errors or self._topics or self._by_error
        self._decoder = FrameDecoder(self.catalog)
        self.summary: MessageSummary = MessageSummary()
        self._counts: dict[tuple[User, About], Count] = {}
        self._software_by_body: dict[bytes, str | None] = {}  # client software, by the bytes of ApiVersions requests
        self._connections = CapturedTraffic(self)
        self._waits: dict[tuple[object, int], int] = {}  # of requests in flight, if latencies are kept

    def add(self, frame: Frame) -> None:
        """Count one frame."""
        self.frames += 1
        self.bytes += len(frame.data)
        connection, header = self._decoder.connections.receive(frame)
        is_cut = isinstance(frame.fault, CutShort) and frame.message is None
        peek = peek_header(header) if is_cut else peek_of(frame, header, connection.apis)
        result = self._decoder.result(frame, connection, header) if self.deep else None
        topics, errors = self._summarise(result, peek) if result is not None else ((), ())
        if peek.is_request is None:
            self.leave_out(frame, lossy=connection.lossy)
            return
        size = self.note_cut(frame.fault, len(frame.data)) if isinstance(frame.fault, CutShort) else len(frame.data)
        ip = ip_of(frame.source.client)
        software = self._software_of(frame, peek, connection)
        broker = self.broker_of(frame.source.broker)
        span = self.span_of(frame.source.time if peek.is_request else peek.asked_at)
        user = user_of(peek.api_key, peek.version, peek.client_id, ip, software, broker, span)
        about = self._combine(topics, errors)
        count = self.count_of(self.reduce(user), about)
        if errors:
            self.errors.update(errors)
            count.errors.update(errors)
        if peek.is_request:
            count.add_request(size)
            if self.latencies is not None and (wait := asked_wait(header, frame.data)):
                self._waits[frame.source.connection_key, peek.correlation_id] = wait
        else:
            seconds = seconds_between(peek.asked_at, frame.source.time)
            latency = None if seconds is None else round(seconds * SECOND)
            count.add_response(size, latency)
            if self.latencies is not None and peek.asked_at is not None and latency is not None:
                source = frame.source
                request_frame = None if header.request is None else header.request.frame
                wait = self._waits.pop((source.connection_key, peek.correlation_id), 0)
                answered = Answered(latency, source.file or "", request_frame, source.frame, peek.asked_at, user, wait)
                self.latencies.add(answered, self.reduce(user), about)

    def note_cut(self, fault: CutShort, size: int) -> int:
        """Note a frame that is cut short but has a header; return its size before it was cut.

        A message of a text log without its body (`BodyNotLogged`) has no other size, and is a complete entry.
        """
        if fault.code == CutShort.code:
            self.frames -= 1
            self.headers += 1
            self.unread[fault.code] += 1
        return max(size, fault.need or 0)

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
        return (end or NOTHING) if self.keeps("broker") else NOTHING

    def keeps(self, column: str) -> bool:
        """Whether counts tell the values of a column apart."""
        return column in self._kept

    def reduce(self, user: User) -> User:
        """Return a user with what the counts tell apart."""
        client = user.client if self.keeps("client") else NOTHING
        software = user.software if self.keeps("software") else NOTHING
        ip = user.ip if self.keeps("ip") else NOTHING
        return User(user.api_key, user.version, client, software, ip, user.broker, user.span)

    def span_of(self, time: float | None) -> int:
        """Return the number of the span of a time, in seconds since 1970; -1 without spans, or without a time."""
        return -1 if self.per is None or time is None else int(time // self.per)

    def begin(self, file: str) -> None:
        """Start another capture, whose frames are numbered from 0."""
        self._connections.file = file
        self._connections.number = 0

    def add_batch(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch of captured frames; like `add` for each frame, but much faster.

        Do not use it for a `deep` count, which needs decoded frames.
        """
        self._connections.add(batch)

    @property
    def counted(self) -> Counted:
        """All counts, for `add_counted` of another `Traffic`."""
        counts = [(*key, count) for key, count in self._counts.items()]
        return self.frames, self.bytes, dict(self.unread), self.headers, counts

    def add_counted(self, counted: Counted) -> None:
        """Add the counts of another `Traffic` with the same columns, except errors."""
        frames, size, unread, headers, counts = counted
        self.headers += headers
        self.frames += frames
        self.bytes += size
        self.unread.update(unread)
        for user, about, count in counts:
            self._counts.setdefault((user, about), Count()).add(count)

    def rows(self) -> list[TrafficRow]:
        """Return the rows, sorted by the number of requests, largest first."""
        rows: dict[tuple[str, ...], Count] = {}
        for (user, about), count in self._counts.items():
            for key in self._keys(user, about):
                rows.setdefault(key, Count()).add(count)
        table = [TrafficRow(key, count) for key, count in rows.items()]
        first = 0 if self.per is None else 1
        return sorted(table, key=lambda row: (row.key[:first], -row.count.requests, -row.count.responses, row.key))

    def _keys(self, user: User, about: About) -> Iterator[tuple[str, ...]]:
        """Yield the keys of the rows in which frames of a user count."""
        values = {**user._asdict(), "api": self.name_of(user), "version": str(user.version), TIME: self._time_of(user)}
        for topic, error in about or ((NOTHING, NOTHING),):
            yield tuple([(values | {"topic": topic, "error": error})[column] for column in self.by])

    def _time_of(self, user: User) -> str:
        """Return the start of a user's span of time as ISO text, in UTC."""
        if self.per is None or user.span < 0:
            return NOTHING
        moment = datetime.fromtimestamp(user.span * self.per, UTC).replace(tzinfo=None)
        return moment.isoformat(" ", "milliseconds" if self.per % 1 else "seconds")

    def times(self) -> list[tuple[tuple[str, ...], list[int]]]:
        """Return the latencies of each row in nanoseconds, sorted; the row with the highest 99th percentile first."""
        rows: defaultdict[tuple[str, ...], array[int]] = defaultdict(lambda: array("q"))
        for (user, about), times in self.latencies.times.items() if self.latencies is not None else ():
            for key in self._keys(user, about):
                rows[key].extend(times)
        table = [(key, sorted(times)) for key, times in rows.items()]
        first = 0 if self.per is None else 1
        return sorted(table, key=lambda row: (row[0][:first], -percentile(row[1], 0.99), row[0]))

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

    def _combine(self, topics: tuple[str, ...], errors: tuple[str, ...]) -> About:
        """Return the topics and errors of a frame that the columns need."""
        if not (self._topics or self._by_error):
            return ()
        codes = tuple(dict.fromkeys(errors)) if self._by_error else ()
        return tuple(product(topics or (NOTHING,), codes or (NOTHING,)))

    def _summarise(self, result: Result, peek: Peek) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the topics and errors of a body, and of the frame inside an envelope (KIP-590)."""
        if not isinstance(result, Request | Response):
            return (), () if peek.is_request is None else ("undecodable",)
        facts = self.summary.facts(result.codec, result.message)
        topics = facts.topics if self._topics else ()
        errors = tuple(map(str, facts.errors))
        if isinstance(result.inside, Request | Response):
            inside_topics, inside_errors = self._summarise(result.inside, peek)
            return tuple(dict.fromkeys(topics + inside_topics)), errors + inside_errors
        return topics, errors

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
