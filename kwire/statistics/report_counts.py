"""Counts what `kwire report` shows, in one pass and in bounded memory: apis, versions, errors, latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..codecs.message_codec import Codec
from ..protocol import FrameDecoder, Request, Response, Result, Token, Undecodable
from ..protocol.connections.decoded_connection import DecodedConnection
from ..protocol.frame_kinds import FrameKind, FrameKinds
from ..protocol.frames.captured_frame import SECOND, CapturedBatch, CapturedFrame, Endpoints, make_frame
from ..protocol.frames.stream_faults import loses_bytes
from ..protocol.headers.apis import Apis, Call
from ..protocol.headers.header import Header
from ..protocol.message_summary import error_codes, make_body_facts
from .bounded_counter import BoundedCounter
from .duration_histogram import DurationHistogram
from .frame_timeline import FrameTimeline
from .schema_counts import SchemaCounts

KEYS = 10_000  # different (api, client, version); as many errors
CONNECTIONS = 65_536
SAMPLES = 100  # frames that did not decode
ErrorKey = tuple[str, str, int]
LONGEST_CLIENT_ID = 256  # characters of a client id that are compared


class Sample(NamedTuple):
    """A frame that did not decode: its place and size, the problem, and the class of the error."""

    place: str
    size: int
    problem: str
    kind: str


class ApiCounts:
    """The counts of one api."""

    def __init__(self) -> None:
        self.requests = self.responses = self.request_bytes = self.response_bytes = self.errors = 0
        self.durations: DurationHistogram = DurationHistogram()

    def add_counts(self, other: ApiCounts) -> None:
        """Add the counts of further frames."""
        for name in ("requests", "responses", "request_bytes", "response_bytes", "errors"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.durations.add_counts(other.durations)


class ReportCounts:
    """Counts results, one by one.

    Args:
        seal: masks the secrets of a result before any part of it is stored.

    Attributes:
        frames, size: the number of complete frames, and the bytes of these and of all fragments.
        unread: incomplete frames and bytes of other protocols, by the codes of `DecodeError`.
        kinds: the numbers of requests, responses, other messages and undecodable frames.
        apis: api name -> its counts.
        versions: (api, client, version) -> the number of requests.
        errors: (api, path, code) -> how often; `first_errors` has the position of the first one.
        timeline, timed: the frames over time, and how many frames have a time.
        samples, problems: the first frames that did not decode, and their number by class of error.
        faults: faults that salvage tolerated, by class.
        remarks: further facts about the input, such as missing bytes; the reader appends to them.
        schemas: the keys and values by schema, which the caller adds; empty without schemas.
        unanswered: the number of requests without a response that a later request overtook.
    """

    def __init__(self, seal: Callable[[Result], Result] = lambda result: result) -> None:
        self._seal = seal
        self.frames: int = 0
        self.size: int = 0
        self.timed: int = 0
        self.unanswered: int = 0
        self.backwards: int = 0
        self.kinds: Counter[str] = Counter()
        self.apis: dict[str, ApiCounts] = {}
        self.versions: BoundedCounter[tuple[str, str | None, int]] = BoundedCounter(KEYS)
        self.errors: BoundedCounter[ErrorKey] = BoundedCounter(KEYS)
        self.connections: BoundedCounter[tuple[str | None, str | None]] = BoundedCounter(CONNECTIONS)
        self.first_errors: dict[ErrorKey, str] = {}
        self.timeline: FrameTimeline = FrameTimeline()
        self.remarks: list[str] = []
        self.samples: list[Sample] = []
        self.problems: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.schemas: SchemaCounts = SchemaCounts()

    def add_counts(self, other: ReportCounts) -> None:
        """Add the counts of the frames that follow, which were counted apart."""
        for name in ("frames", "size", "timed", "unanswered", "backwards"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("kinds", "problems", "faults", "unread"):
            getattr(self, name).update(getattr(other, name))
        for name in ("versions", "errors", "connections"):
            getattr(self, name).add_counts(getattr(other, name))
        for name, counts in other.apis.items():
            self.apis.setdefault(name, ApiCounts()).add_counts(counts)
        for key, where in other.first_errors.items():
            if key in self.errors.counts:
                self.first_errors.setdefault(key, where)
        self.timeline.add_counts(other.timeline)
        self.remarks += other.remarks
        self.samples += other.samples[: SAMPLES - len(self.samples)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counts, without what masks secrets."""
        return ReportCounts, (), {name: value for name, value in vars(self).items() if name != "_seal"}

    def add(self, result: Result) -> None:
        """Count one frame or fragment. The frames of a connection must be added in order."""
        source = result.frame.source
        size = len(result.frame.data)
        if isinstance(result, Undecodable) and not result.is_failure:
            self.size += size
            self.frames += not loses_bytes(result.frame.fault)
            self.unread[result.error.code] += 1
            return
        result = self._seal(result)
        kind = _kind_of(result)
        self.add_frames(kind, 1, size)
        if source.client is not None or source.broker is not None:
            self.connections.add((source.client, source.broker))
        if source.time is not None:
            self.timed += 1
            self.timeline.add(kind, source.time)
        if isinstance(result, Undecodable):
            self._count_undecodable(result)
        elif not isinstance(result, Token):
            self.faults.update(type(fault).__name__ for fault in result.faults)
            if isinstance(result, Request):
                self._count_request(result)
            else:
                self._count_response(result)

    def add_frames(self, kind: str, count: int, size: int) -> None:
        """Count frames of a kind, and their total size in bytes."""
        self.frames += count
        self.size += size
        self.kinds[kind] += count

    def add_spans(self, kind: str, spans: dict[int, int], width: float) -> None:
        """Add frames of a kind to the timeline; for the arguments see `FrameTimeline.add_spans`."""
        self.timed += sum(spans.values())
        self.timeline.add_spans(kind, spans, width)

    def add_requests(self, name: str, client: str | None, version: int, count: int, size: int) -> None:
        """Count requests of an api by a client, and their total size in bytes."""
        api = self.apis.setdefault(name, ApiCounts())
        api.requests += count
        api.request_bytes += size
        self.versions.add((name, None if client is None else client[:LONGEST_CLIENT_ID], version), count)

    def add_responses(self, name: str, count: int, size: int, durations: Sequence[float]) -> None:
        """Count responses of an api, their total size in bytes, and the known durations in seconds."""
        api = self.apis.setdefault(name, ApiCounts())
        api.responses += count
        api.response_bytes += size
        forwards = [seconds for seconds in durations if seconds >= 0]
        api.durations.add(*forwards)
        self.backwards += len(durations) - len(forwards)  # clocks of two captures differ, or a capture is out of order

    def add_error(self, key: ErrorKey, where: str, count: int = 1) -> None:
        """Count an error code; the key is (api, path, code), and `where` is the position of the first frame."""
        self.apis.setdefault(key[0], ApiCounts()).errors += count
        self.errors.add(key, count)
        if key in self.errors.counts:
            self.first_errors.setdefault(key, where)

    def _count_request(self, result: Request) -> None:
        client = getattr(result.header, "client_id", None)
        self.add_requests(result.api_name, client, result.api_version, 1, len(result.frame.data))

    def _count_response(self, result: Response) -> None:
        self.unanswered += len(result.unanswered)
        durations = [] if result.latency is None else [result.latency]
        self.add_responses(result.api_name, 1, len(result.frame.data), durations)
        for path, code in error_codes(result.codec, result.message):
            self.add_error((result.api_name, path, code), describe_position(result))

    def _count_undecodable(self, result: Undecodable) -> None:
        kind = type(result.error).__name__
        self.problems[kind] += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(
                Sample(describe_position(result), len(result.frame.data), str(result.error)[:500], kind)
            )


def describe_position(result: Result) -> str:
    """Return the position of a frame as text: `frame 5 at 580`."""
    source = result.frame.source
    parts = [] if source.frame is None else [f"frame {source.frame}"]
    parts += [] if source.offset is None else [f"at {source.offset}"]
    size = len(result.frame.data)
    return " ".join(parts) or f"{size} byte{'s' * (size != 1)}"


def _kind_of(result: Result) -> str:
    if isinstance(result, Undecodable):
        return "undecodable"
    if isinstance(result, Token):
        return "other"
    return result.codec.spec.type if result.codec.spec.type in ("request", "response") else "other"


class CapturedReportCounts:
    """Counts the frames of one capture. The native method `FrameBatch.tally` counts most frames.

    Args:
        tally: collects the counts.
        decoder: decodes the frames that need it; must not be shared with another capture.
        file: the name of the capture.
    """

    def __init__(self, tally: ReportCounts, decoder: FrameDecoder, file: str) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self._tally = tally
        self._kinds = FrameKinds(_ReportKind)
        self._number = 0
        # attributes that `FrameBatch.tally` uses
        self.apis: Apis = decoder.connections.apis
        self.kinds: Callable[[Call], tuple[Any, Any]] = self._kinds.of
        self.meet: Callable[[DecodedConnection, Any, bytes], None] = self._kinds.meet
        self.begin: Callable[[Endpoints], DecodedConnection] = decoder.connections.of
        self.forget: Callable[[object], None] = decoder.connections.forget

    @property
    def state(self) -> Any:
        """The number of the next frame, and the connections: see `kwire.capture.ranges.capture_ranges`."""
        return self._number, self.decoder.connections.state

    def go_on(self, state: Any) -> None:
        """Continue where a range starts."""
        self._number, connections = state
        self.decoder.connections.go_on(connections)

    def pass_over(self, batch: CapturedBatch) -> None:
        """Process the frames of a batch, most of them without counting them."""
        self._number = batch.pass_over(self, self._number)

    def add(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch."""
        width = self._tally.timeline.width
        self._number, kinds, ends, spans = batch.tally(self, self._number, width)
        for one_kind in kinds:
            one_kind.flush(self._tally)
        for endpoints, count in ends.items():
            self._tally.connections.add((endpoints.client, endpoints.broker), count)
        for word, counts in zip(("response", "request"), spans, strict=True):
            self._tally.add_spans(word, counts, width)

    def rest(
        self, captured: CapturedFrame, number: int, connection: DecodedConnection | None, header: Header | None
    ) -> None:
        """Count a frame that batches do not count; `connection` and `header` are set if they were requested."""
        if connection is None or header is None:
            connection = self.decoder.connections.of(captured.ends)
            header = connection.pair(captured)
        self._tally.add(self.decoder.result(make_frame(captured, self.file, number), connection, header, SECOND))

    def error_key(self, kind: _ReportKind, field: int, code: int) -> ErrorKey:
        """Return what the errors of a kind are counted by, given the row of a field, and store it."""
        key = kind.error_keys.get((field, code))
        if key is None:
            assert kind.facts is not None
            key = kind.error_keys[field, code] = kind.codec.spec.api_name, kind.facts.path(field), code
        return key

    def add_errors(self, errors: dict[ErrorKey, tuple[int, tuple[int, int]]]) -> None:
        """Add errors: how often each came, and the number and offset of the first frame with it."""
        for key, (count, (number, offset)) in errors.items():
            self._tally.add_error(key, f"frame {number} at {offset}", count)


class _ReportKind(FrameKind):
    """The counts of one kind: the number of frames, their bytes, and the latencies of responses in seconds.

    `error_keys` maps the row of a field and an error code to the key of its count.
    """

    __slots__ = ("error_keys",)

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.facts = make_body_facts(codec)
        self.count = self.size = 0
        self.times: list[float] = []
        self.error_keys: dict[tuple[int, int], ErrorKey] = {}

    def flush(self, tally: ReportCounts) -> None:
        """Add the counts to the tally, and reset them."""
        name = self.codec.spec.api_name
        tally.add_frames("request" if self.is_request else "response", self.count, self.size)
        if self.is_request:
            tally.add_requests(name, self.call.client_id, self.codec.version, self.count, self.size)
        else:
            tally.add_responses(name, self.count, self.size, self.times)
        self.count = self.size = 0
        self.times.clear()
