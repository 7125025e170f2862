"""Counts the frames of a dump in one pass for `kwire report`: apis, clients, latencies, errors.

Memory is bounded whatever the size of the input: a limited number of keys, durations in logarithmic bins, and a
timeline of a limited number of bins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from ..codecs import Codec
from ..protocol import FrameDecoder, Request, Response, Result, Token, Undecodable
from ..protocol.framing import SECOND, CapturedBatch, CapturedFrame, frame_of, loses
from ..protocol.header_reader import DecodedConnection, Kind, Kinds
from ..protocol.headers import Apis, Call, Header
from ..protocol.summary import body_facts, error_codes
from ..render.values import count_text

STEPS = 64  # bins from one duration to its double: each is 1.1 % wide
DRAWN = 16  # bins in one bar of a histogram, so that four bars lead from one duration to its double
LEAST = 1e-6  # seconds; shorter durations are counted as this
LONGEST = 40 * STEPS

Key = TypeVar("Key", bound=Hashable)


class BoundedCounter(Generic[Key]):
    """Counts keys, and no more than `limit` different ones; what comes for further keys is counted in `others`.

    >>> counter = BoundedCounter(1)
    >>> counter.add("a"), counter.add("b"), counter.add("a"), counter.counts, counter.others
    (None, None, None, {'a': 2}, 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit: int = limit
        self.others: int = 0
        self.counts: dict[Key, int] = {}

    def add(self, key: Key, count: int = 1) -> None:
        """Count a key, once or more often."""
        if key in self.counts or len(self.counts) < self.limit:
            self.counts[key] = self.counts.get(key, 0) + count
        else:
            self.others += count


class Durations:
    """Durations in seconds: how many, the shortest, the longest, and how many in each bin of 1.1 %."""

    def __init__(self) -> None:
        self.count: int = 0
        self.least: float = math.inf
        self.most: float = 0.0
        self.bins: Counter[int] = Counter()

    def add(self, *seconds: float) -> None:
        """Count some."""
        if seconds:
            self.count += len(seconds)
            self.least, self.most = min(self.least, *seconds), max(self.most, *seconds)
            # in one expression, without calls of min and max for each: they took a third of the time of a report
            places = [math.floor(math.log2(one / LEAST) * STEPS) if one > LEAST else 0 for one in seconds]
            self.bins.update([min(place, LONGEST) for place in places] if max(places) > LONGEST else places)

    def quantile(self, share: float) -> float:
        """Return the duration below which this share of all durations is, within 0.6 % (above 1 µs).

        Between two durations it is interpolated, as numpy.percentile and statistics.median do.

        >>> durations = Durations()
        >>> for milliseconds in range(1, 101): durations.add(milliseconds / 1000)
        >>> f"{durations.quantile(0.5):.2f} {durations.quantile(0.99):.3f} {durations.quantile(1):.3f}"
        '0.05 0.099 0.100'
        """
        position = share * (self.count - 1)
        rank = math.floor(position)
        lower, upper = self._at(rank), self._at(min(rank + 1, self.count - 1))
        return lower + (position - rank) * (upper - lower)

    def _at(self, rank: int) -> float:
        """Return the duration that so many are shorter than; of a bin its middle."""
        if rank in (0, self.count - 1):
            return self.most if rank else self.least
        for place, count in sorted(self.bins.items()):
            rank -= count
            if rank < 0:
                return max(self.least, min(self.edge(place + 0.5), self.most))
        return self.most

    def bars(self) -> dict[int, int]:
        """Return the counts of a histogram: bar n begins at `edge(n * DRAWN)`."""
        bars: Counter[int] = Counter()
        for place, count in self.bins.items():
            bars[place // DRAWN] += count
        return bars

    @staticmethod
    def edge(place: float) -> float:
        """Return the lower edge of a bin, in seconds."""
        return LEAST * math.pow(2, place / STEPS)


class Timeline:
    """Counts per span of time. Bins start at a millisecond, and double whenever there would be more than `limit`."""

    def __init__(self, limit: int = 120) -> None:
        self.limit: int = limit
        self.width: float = 0.001
        self.bins: dict[int, Counter[str]] = {}
        self._ends: list[int] = []  # the first and the last bin

    def add(self, kind: str, *times: float) -> None:
        """Count some of a kind, at times in seconds since 1970, which may come in any order."""
        self.add_spans(kind, Counter(math.floor(time / self.width) for time in times), self.width)

    def add_spans(self, kind: str, spans: Mapping[int, int], width: float) -> None:
        """Count some of a kind.

        Args:
            kind: what is counted.
            spans: how many, by the number of their span of time since 1970.
            width: of the spans, in seconds: one that the bins have or had.
        """
        given = width
        if not spans:
            return
        ends = [min(spans), max(spans)]
        while width < self.width or max(ends + self._ends) - min(ends + self._ends) >= self.limit:
            if width == self.width:
                self._widen()
            width *= 2
            ends = [end // 2 for end in ends]
        self._ends = [min(ends + self._ends), max(ends + self._ends)]
        wider = round(math.log2(width / given))
        for place, count in spans.items():
            self.bins.setdefault(place >> wider, Counter())[kind] += count

    def _widen(self) -> None:
        self.width *= 2
        wider: dict[int, Counter[str]] = {}
        for place, counts in self.bins.items():
            wider.setdefault(place // 2, Counter()).update(counts)
        self.bins = wider
        self._ends = [place // 2 for place in self._ends]

    def rows(self) -> Iterator[tuple[float, Counter[str]]]:
        """Yield (start in seconds since 1970, counts) for every bin from first to last, also empty ones."""
        for place in range(min(self.bins, default=0), max(self.bins, default=-1) + 1):
            yield place * self.width, self.bins.get(place, Counter())


KEYS = 10_000  # different (api, client, version); as many errors
CONNECTIONS = 65_536
SAMPLES = 100  # of frames that did not decode
LONGEST_CLIENT_ID = 256  # characters of a client id that make a difference


class Sample(NamedTuple):
    """A frame that did not decode: its place and size, the problem, and the class of the error."""

    place: str
    size: int
    problem: str
    kind: str


class Api:
    """The counts of one api."""

    def __init__(self) -> None:
        self.requests = self.responses = self.request_bytes = self.response_bytes = self.errors = 0
        self.durations: Durations = Durations()


class Tally:
    """Counts results, one by one.

    Args:
        seal: masks the secrets of a result before anything of it is kept.

    Attributes:
        frames, size: all complete frames, and the bytes of these and of all fragments.
        unread: incomplete frames and bytes of other protocols, by the codes of `DecodeError`.
        kinds: how many requests, responses, other messages and undecodable frames.
        apis: by name, an `Api`.
        versions: of (api, client, version), requests.
        errors: of (api, path, code), with the place of the first one in `first_errors`.
        timeline, timed: frames in time, and how many have one.
        samples, problems: the first frames that did not decode, and how many of each class of errors.
        faults: faults that salvage tolerated, by class.
        remarks: further facts about the input, such as missing bytes; the reader appends to them.
        unanswered: requests that were overtaken by later answers.
    """

    def __init__(self, seal: Callable[[Result], Result] = lambda result: result) -> None:
        self._seal = seal
        self.frames: int = 0
        self.size: int = 0
        self.timed: int = 0
        self.unanswered: int = 0
        self.backwards: int = 0
        self.kinds: Counter[str] = Counter()
        self.apis: dict[str, Api] = {}
        self.versions: BoundedCounter[tuple[str, str | None, int]] = BoundedCounter(KEYS)
        self.errors: BoundedCounter[tuple[str, str, int]] = BoundedCounter(KEYS)
        self.connections: BoundedCounter[tuple[str | None, str | None]] = BoundedCounter(CONNECTIONS)
        self.first_errors: dict[tuple[str, str, int], str] = {}
        self.timeline: Timeline = Timeline()
        self.remarks: list[str] = []
        self.samples: list[Sample] = []
        self.problems: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """Count one frame, or another piece. Frames of a connection come in its order."""
        source, size = result.frame.source, len(result.frame.data)
        if isinstance(result, Undecodable) and not result.is_failure:
            self.size += size
            self.frames += not loses(result.frame.fault)
            self.unread[result.error.code] += 1
            return
        result = self._seal(result)
        kind = _kind(result)
        self.add_frames(kind, 1, size)
        if source.client is not None or source.broker is not None:
            self.connections.add((source.client, source.broker))
        if source.time is not None:
            self.timed += 1
            self.timeline.add(kind, source.time)
        if isinstance(result, Undecodable):
            self._undecodable(result)
        elif not isinstance(result, Token):
            self.faults.update(type(fault).__name__ for fault in result.faults)
            if isinstance(result, Request):
                self._request(result)
            else:
                self._response(result)

    def add_frames(self, kind: str, count: int, size: int) -> None:
        """Count frames of a kind, and all their bytes."""
        self.frames += count
        self.size += size
        self.kinds[kind] += count

    def add_spans(self, kind: str, spans: dict[int, int], width: float) -> None:
        """Note when frames of a kind were seen: how many in spans of so many seconds, by the number of the span."""
        self.timed += sum(spans.values())
        self.timeline.add_spans(kind, spans, width)

    def add_requests(self, name: str, client: str | None, version: int, count: int, size: int) -> None:
        """Count requests of an api by a client, and all their bytes."""
        api = self.apis.setdefault(name, Api())
        api.requests += count
        api.request_bytes += size
        self.versions.add((name, None if client is None else client[:LONGEST_CLIENT_ID], version), count)

    def add_responses(self, name: str, count: int, size: int, durations: Sequence[float]) -> None:
        """Count responses of an api, the sum of their sizes, and the known durations in seconds."""
        api = self.apis.setdefault(name, Api())
        api.responses += count
        api.response_bytes += size
        forwards = [seconds for seconds in durations if seconds >= 0]
        api.durations.add(*forwards)
        self.backwards += len(durations) - len(forwards)  # clocks of two captures, or a capture out of order

    def add_error(self, key: tuple[str, str, int], where: str) -> None:
        """Count an error code: api, path, code; `where` is the place of its frame."""
        self.apis.setdefault(key[0], Api()).errors += 1
        self.errors.add(key)
        if key in self.errors.counts:
            self.first_errors.setdefault(key, where)

    def _request(self, result: Request) -> None:
        client = getattr(result.header, "client_id", None)
        self.add_requests(result.api_name, client, result.api_version, 1, len(result.frame.data))

    def _response(self, result: Response) -> None:
        self.unanswered += len(result.unanswered)
        time = result.frame.source.time
        durations = [] if result.asked_at is None or time is None else [time - result.asked_at]
        self.add_responses(result.api_name, 1, len(result.frame.data), durations)
        for path, code in error_codes(result.codec, result.message):
            self.add_error((result.api_name, path, code), place(result))

    def _undecodable(self, result: Undecodable) -> None:
        kind = type(result.error).__name__
        self.problems[kind] += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(Sample(place(result), len(result.frame.data), str(result.error)[:500], kind))


def place(result: Result) -> str:
    """Say where a frame is: `frame 5 at 580`."""
    source = result.frame.source
    parts = [] if source.frame is None else [f"frame {source.frame}"]
    parts += [] if source.offset is None else [f"at {source.offset}"]
    return " ".join(parts) or count_text(len(result.frame.data), "byte")


def _kind(result: Result) -> str:
    if isinstance(result, Undecodable):
        return "undecodable"
    if isinstance(result, Token):
        return "other"
    return result.codec.spec.type if result.codec.spec.type in ("request", "response") else "other"


class CapturedTally:
    """Counts the frames of one capture. The native `FrameBatch.tally` counts most frames itself.

    Args:
        tally: collects the counts.
        decoder: decodes the frames that need it; its connections are those of this capture alone.
        file: the name of the capture.
    """

    def __init__(self, tally: Tally, decoder: FrameDecoder, file: str) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self._tally = tally
        self._kinds = Kinds(_Kind)
        self._number = 0
        # for what batches count themselves
        self.apis: Apis = decoder.connections.apis
        self.kinds, self.meet = self._kinds.of, self._kinds.meet
        self.begin, self.forget = decoder.connections.of, decoder.connections.forget

    def add(self, batch: CapturedBatch) -> None:
        """Count a batch."""
        width = self._tally.timeline.width
        self._number, kinds, ends, spans = batch.tally(self, self._number, width)
        for kind in kinds:
            kind.flush(self._tally)
        for one, count in ends.items():
            self._tally.connections.add((one.client, one.broker), count)
        for word, counts in zip(("response", "request"), spans, strict=True):
            self._tally.add_spans(word, counts, width)

    def rest(
        self, captured: CapturedFrame, number: int, connection: DecodedConnection | None, header: Header | None
    ) -> None:
        """Count a frame that batches do not count; its connection and header are there if these were asked for."""
        if connection is None or header is None:
            connection = self.decoder.connections.of(captured[0])
            header = connection.pair(captured)
        self._tally.add(self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND))

    def add_errors(self, kind: _Kind, body: bytes, number: int, offset: int) -> None:
        """Count the error codes of a response."""
        for path, code in error_codes(kind.codec, kind.codec.decode(body)):
            self._tally.add_error((kind.codec.spec.api_name, path, code), f"frame {number} at {offset}")


class _Kind(Kind):
    """Counts of a kind: how many frames, their bytes, and how many nanoseconds responses took."""

    __slots__ = ()

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.facts = body_facts(codec)
        self.count = self.size = 0
        self.times: list[int] = []

    def flush(self, tally: Tally) -> None:
        """Add the counts to the tally, and reset them."""
        name = self.codec.spec.api_name
        tally.add_frames("request" if self.is_request else "response", self.count, self.size)
        if self.is_request:
            tally.add_requests(name, self.call.client_id, self.codec.version, self.count, self.size)
        else:
            tally.add_responses(name, self.count, self.size, [time / SECOND for time in self.times])
        self.count = self.size = 0
        self.times.clear()
