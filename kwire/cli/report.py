"""`kwire report`: counts the frames of dumps in one pass, and writes one HTML page without scripts, with inline SVG.

Memory is bounded whatever the size of the input: a limited number of keys, durations in logarithmic bins, and a
timeline of a limited number of bins.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from ..codecs import Codec
from ..protocol import FrameDecoder, Request, Response, Result, Token, Undecodable
from ..protocol.framing import SECOND, CapturedBatch, CapturedFrame, count_frames, frame_of, loses
from ..protocol.header_reader import DecodedConnection, Kind, Kinds
from ..protocol.headers import Apis, Call, Header
from ..protocol.results import body_facts, error_codes
from ..render.html import asset, document, text
from ..render.line import unread_text
from ..render.value_text import count_text
from ..values import kind
from .inputs_and_output import Reading, dumps_in, masker, output_text, part_read, refuse_input, title_of
from .options import add_command, add_inputs
from .terminal import remark, with_progress


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "report",
        about,
        "  kwire report dump.bin -o report.html\n  kwire report - < dump.bin > report.html\n",
        report,
    )
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")


def report(options: argparse.Namespace) -> int:
    """Count all frames, or those until Ctrl-C, and write the page. Returns 1 if a frame did not decode."""
    if options.output:
        refuse_input(options.output, options.files, recursive=options.recursive)  # before the input is read
    tally = Tally(masker(options))
    try:
        _count(options, tally)
    except KeyboardInterrupt:
        tally.remarks.append(f"interrupted after {count_text(tally.frames, 'frame')}: what follows them was not read")
        remark(tally.remarks[-1])
        _write(options, tally)
        raise
    _write(options, tally)
    return 1 if tally.problems else 0


def _count(options: argparse.Namespace, tally: Tally) -> None:
    reading, part = Reading(options, sealed=False), partial(part_read, options)
    for dump in dumps_in(options, tally.remarks):
        if dump.captured is not None and reading.named is None:
            captured = CapturedTally(tally, reading.decoder(), dump.file)
            for batch in with_progress(dump.captured, part, weight=count_frames):
                captured.add(batch)
        else:
            for result in with_progress(reading.results(dump), part):
                tally.add(result)


def _write(options: argparse.Namespace, tally: Tally) -> None:
    with output_text(options.output, options.files, recursive=options.recursive) as write:
        for piece in report_html(title_of(options), tally):
            write(piece)


STEPS = 64  # bins per doubling of a duration: each is 1.1 % wide
DRAWN = 16  # bins in a bar of a histogram, which gives four bars per doubling of a duration
LEAST = 1e-6  # seconds; shorter durations count as this one
LONGEST = 40 * STEPS

Key = TypeVar("Key", bound=Hashable)


class BoundedCounter(Generic[Key]):
    """Counts up to `limit` distinct keys; all further keys are counted together in `others`.

    >>> counter = BoundedCounter(1)
    >>> counter.add("a"), counter.add("b"), counter.add("a"), counter.counts, counter.others
    (None, None, None, {'a': 2}, 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit: int = limit
        self.others: int = 0
        self.counts: dict[Key, int] = {}

    def add(self, key: Key, count: int = 1) -> None:
        """Add `count` to a key."""
        if key in self.counts or len(self.counts) < self.limit:
            self.counts[key] = self.counts.get(key, 0) + count
        else:
            self.others += count


class Durations:
    """Durations in seconds: their count, the shortest, the longest, and the count in each bin of 1.1 %."""

    def __init__(self) -> None:
        self.count: int = 0
        self.least: float = math.inf
        self.most: float = 0.0
        self.bins: Counter[int] = Counter()

    def add(self, *seconds: float) -> None:
        """Add durations, in seconds."""
        if seconds:
            self.count += len(seconds)
            self.least, self.most = min(self.least, *seconds), max(self.most, *seconds)
            # in one expression, without calls of min and max for each: they took a third of the time of a report
            places = [math.floor(math.log2(one / LEAST) * STEPS) if one > LEAST else 0 for one in seconds]
            self.bins.update([min(place, LONGEST) for place in places] if max(places) > LONGEST else places)

    def quantile(self, share: float) -> float:
        """Return a quantile of the durations, within 0.6 % (above 1 µs).

        Interpolates between two durations, as numpy.percentile and statistics.median do.

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
        """Return the duration at a rank, which is the number of shorter durations; for a bin, its middle."""
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
    """Counts frames per span of time. Bins are 1 ms wide at first; their width doubles when there are over `limit`."""

    def __init__(self, limit: int = 120) -> None:
        self.limit: int = limit
        self.width: float = 0.001
        self.bins: dict[int, Counter[str]] = {}
        self._ends: list[int] = []  # the first and the last bin

    def add(self, kind: str, *times: float) -> None:
        """Count frames of one kind, given their times in seconds since 1970, in any order."""
        self.add_spans(kind, Counter(math.floor(time / self.width) for time in times), self.width)

    def add_spans(self, kind: str, spans: Mapping[int, int], width: float) -> None:
        """Count frames of one kind.

        Args:
            kind: what is counted.
            spans: the number of frames by span of time; spans are numbered from 1970 on.
            width: the width of a span in seconds: a present or former width of the bins.
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
        """Yield (start in seconds since 1970, counts) for every bin from first to last, including empty ones."""
        for place in range(min(self.bins, default=0), max(self.bins, default=-1) + 1):
            yield place * self.width, self.bins.get(place, Counter())


KEYS = 10_000  # different (api, client, version); as many errors
CONNECTIONS = 65_536
SAMPLES = 100  # frames that did not decode
LONGEST_CLIENT_ID = 256  # characters of a client id that are compared


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
        """Count one frame or fragment. The frames of a connection must be added in order."""
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
        """Count frames of a kind, and their total size in bytes."""
        self.frames += count
        self.size += size
        self.kinds[kind] += count

    def add_spans(self, kind: str, spans: dict[int, int], width: float) -> None:
        """Add frames of a kind to the timeline; for the arguments see `Timeline.add_spans`."""
        self.timed += sum(spans.values())
        self.timeline.add_spans(kind, spans, width)

    def add_requests(self, name: str, client: str | None, version: int, count: int, size: int) -> None:
        """Count requests of an api by a client, and their total size in bytes."""
        api = self.apis.setdefault(name, Api())
        api.requests += count
        api.request_bytes += size
        self.versions.add((name, None if client is None else client[:LONGEST_CLIENT_ID], version), count)

    def add_responses(self, name: str, count: int, size: int, durations: Sequence[float]) -> None:
        """Count responses of an api, their total size in bytes, and the known durations in seconds."""
        api = self.apis.setdefault(name, Api())
        api.responses += count
        api.response_bytes += size
        forwards = [seconds for seconds in durations if seconds >= 0]
        api.durations.add(*forwards)
        self.backwards += len(durations) - len(forwards)  # clocks of two captures differ, or a capture is out of order

    def add_error(self, key: tuple[str, str, int], where: str) -> None:
        """Count an error code; the key is (api, path, code), and `where` is the position of the frame."""
        self.apis.setdefault(key[0], Api()).errors += 1
        self.errors.add(key)
        if key in self.errors.counts:
            self.first_errors.setdefault(key, where)

    def _request(self, result: Request) -> None:
        client = getattr(result.header, "client_id", None)
        self.add_requests(result.api_name, client, result.api_version, 1, len(result.frame.data))

    def _response(self, result: Response) -> None:
        self.unanswered += len(result.unanswered)
        durations = [] if result.latency is None else [result.latency]
        self.add_responses(result.api_name, 1, len(result.frame.data), durations)
        for path, code in error_codes(result.codec, result.message):
            self.add_error((result.api_name, path, code), place(result))

    def _undecodable(self, result: Undecodable) -> None:
        kind = type(result.error).__name__
        self.problems[kind] += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(Sample(place(result), len(result.frame.data), str(result.error)[:500], kind))


def place(result: Result) -> str:
    """Return the position of a frame as text: `frame 5 at 580`."""
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
    """Counts the frames of one capture. The native method `FrameBatch.tally` counts most frames.

    Args:
        tally: collects the counts.
        decoder: decodes the frames that need it; must not be shared with another capture.
        file: the name of the capture.
    """

    def __init__(self, tally: Tally, decoder: FrameDecoder, file: str) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self._tally = tally
        self._kinds = Kinds(_Kind)
        self._number = 0
        # attributes that `FrameBatch.tally` uses
        self.apis: Apis = decoder.connections.apis
        self.kinds, self.meet = self._kinds.of, self._kinds.meet
        self.begin, self.forget = decoder.connections.of, decoder.connections.forget

    def add(self, batch: CapturedBatch) -> None:
        """Count the frames of a batch."""
        width = self._tally.timeline.width
        self._number, kinds, ends, spans = batch.tally(self, self._number, width)
        for one_kind in kinds:
            one_kind.flush(self._tally)
        for one, count in ends.items():
            self._tally.connections.add((one.client, one.broker), count)
        for word, counts in zip(("response", "request"), spans, strict=True):
            self._tally.add_spans(word, counts, width)

    def rest(
        self, captured: CapturedFrame, number: int, connection: DecodedConnection | None, header: Header | None
    ) -> None:
        """Count a frame that batches do not count; `connection` and `header` are set if they were requested."""
        if connection is None or header is None:
            connection = self.decoder.connections.of(captured[0])
            header = connection.pair(captured)
        self._tally.add(self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND))

    def add_errors(self, kind: _Kind, body: bytes, number: int, offset: int) -> None:
        """Count the error codes of a response."""
        for path, code in error_codes(kind.codec, kind.codec.decode(body)):
            self._tally.add_error((kind.codec.spec.api_name, path, code), f"frame {number} at {offset}")


class _Kind(Kind):
    """The counts of one kind: the number of frames, their bytes, and the latencies of responses in seconds."""

    __slots__ = ()

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.facts = body_facts(codec)
        self.count = self.size = 0
        self.times: list[float] = []

    def flush(self, tally: Tally) -> None:
        """Add the counts to the tally, and reset them."""
        name = self.codec.spec.api_name
        tally.add_frames("request" if self.is_request else "response", self.count, self.size)
        if self.is_request:
            tally.add_requests(name, self.call.client_id, self.codec.version, self.count, self.size)
        else:
            tally.add_responses(name, self.count, self.size, self.times)
        self.count = self.size = 0
        self.times.clear()


KINDS = ("request", "response", "other", "undecodable")
WIDTH, HEIGHT = 960, 140
SMALL_WIDTH, SMALL_HEIGHT = 200, 34


def timeline_svg(timeline: Timeline) -> str:
    """Draw the frames of every bin as a stacked bar by kind, with the first and the last time below."""
    rows = list(timeline.rows())
    highest = max(sum(counts.values()) for _, counts in rows)
    wide = WIDTH / len(rows)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    parts = [f'<svg class="timeline" {box} role="img" aria-label="Frames in time">']
    for index, (start, counts) in enumerate(rows):
        if counts:
            label = ", ".join(f"{counts[one]} {one}" for one in KINDS if counts[one])
            parts.append(f"<g><title>{text(clock(start))}: {text(label)}</title>")
            parts += _stack(index * wide, wide, counts, highest)
            parts.append("</g>")
    ends = (clock(rows[0][0]), clock(rows[-1][0] + timeline.width))
    parts.append(f'</svg><p class="ends"><span>{text(ends[0])}</span><span>{text(ends[1])}</span></p>')
    return "".join(parts)


def _stack(left: float, wide: float, counts: Counter[str], highest: int) -> Iterator[str]:
    top = float(HEIGHT)
    for one in KINDS:
        high = counts[one] / highest * (HEIGHT - 4)
        high = max(high, 1.5) if counts[one] else 0  # so that one bad frame among thousands stays visible
        top -= high
        if high:
            yield _bar(one, left, top, max(wide - 0.5, 0.7), high)


def histogram_svg(durations: Durations) -> str:
    """Draw a histogram of durations, the longest on the right; each bar is 19 % above the one before."""
    bars = durations.bars()
    first, last = min(bars), max(bars)
    last = max(last, first + 2 * STEPS // DRAWN)
    highest = max(bars.values())
    wide = SMALL_WIDTH / (last - first + 1)
    label = f"{duration(durations.least)} to {duration(durations.most)}"
    parts = [
        f'<svg class="histogram" viewBox="0 0 {SMALL_WIDTH} {SMALL_HEIGHT}" role="img" aria-label="{text(label)}">'
    ]
    for place, count in sorted(bars.items()):
        high = max(count / highest * SMALL_HEIGHT, 1)
        start, stop = (duration(durations.edge(at * DRAWN)) for at in (place, place + 1))
        span = f"{start} to {stop}: {count}"
        bar = _bar("request", (place - first) * wide, SMALL_HEIGHT - high, max(wide - 0.5, 0.7), high)
        parts.append(f"<g><title>{text(span)}</title>{bar}</g>")
    return "".join([*parts, "</svg>"])


def share_svg(count: int, most: int) -> str:
    """Draw a count as a bar, relative to the largest count of its table."""
    wide = max(round(count / most * 100, 2), 0.5)
    box = 'viewBox="0 0 100 10" preserveAspectRatio="none"'
    return f'<svg class="share" {box} aria-hidden="true">{_bar("request", 0, 0, wide, 10)}</svg>'


def _bar(kind: str, left: float, top: float, wide: float, high: float) -> str:
    return f'<rect class="{kind}" x="{left:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{high:.2f}"/>'


def legend(kinds: Sequence[str]) -> str:
    """Draw the legend: the colour of each kind."""
    mark = '<svg class="mark" viewBox="0 0 10 10" aria-hidden="true"><rect class="{0}" width="10" height="10"/></svg>'
    return " ".join(f"<span>{mark.format(kind)} {text(kind)}</span>" for kind in kinds)


def duration(seconds: float) -> str:
    """Format a duration with three digits and a unit.

    >>> duration(0.0000123), duration(0.0234), duration(1.5), duration(75)
    ('12.3 µs', '23.4 ms', '1.50 s', '75.0 s')
    """
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{_digits(seconds * scale)} {unit}"
    return f"{_digits(seconds)} s"


def _digits(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:.0f}"


def clock(time: float) -> str:
    """Format a time in UTC, to the millisecond; as a number if the date is out of range.

    >>> clock(1700000000.25)
    '2023-11-14 22:13:20.250'
    """
    try:
        moment = datetime.fromtimestamp(time, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time:.3f}"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


ROWS = 500  # of one table


def report_html(name: str, tally: Tally) -> Iterator[str]:
    """Yield the report as an HTML document, piece by piece.

    Args:
        name: the source of the frames, such as the name of a dump.
        tally: the counts.
    """
    sections = (_summary, _timeline, _apis, _versions, _errors, _undecodable)
    body = (piece for section in sections for piece in section(tally))
    heading = f'<header><h1>{text(name)}</h1></header>\n<main class="report">\n'
    yield from document(f"{name} - kwire report", asset("page.css"), "", _around(heading, body, "</main>\n"))


def _around(before: str, pieces: Iterable[str], after: str) -> Iterator[str]:
    yield before
    yield from pieces
    yield after


def _summary(tally: Tally) -> Iterator[str]:
    facts = [("frames", f"{tally.frames:,}"), ("bytes", f"{tally.size:,}")]
    facts += [(f"{name}s" if name[0] == "r" else name, f"{tally.kinds[name]:,}") for name in KINDS if tally.kinds[name]]
    if tally.connections.counts:
        facts.append(("connections", f"{len(tally.connections.counts):,}{'+' if tally.connections.others else ''}"))
    cells = "".join(f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>" for label, value in facts)
    yield f'<dl class="facts">{cells}</dl>\n'


def _timeline(tally: Tally) -> Iterator[str]:
    yield "<section><h2>Timeline</h2>\n"
    if not tally.timed:
        yield _note("This input has no times of frames; captures (pcap, pcapng) have them.")
    else:
        rows = list(tally.timeline.rows())
        yield _note(f"UTC, {clock(rows[0][0])} on; a bar is {duration(tally.timeline.width)}.")
        yield f'<p class="legend">{legend([name for name in KINDS if tally.kinds[name]])}</p>'
        yield timeline_svg(tally.timeline)
        if tally.timed < tally.frames:
            yield _note(f"{count_text(tally.frames - tally.timed, 'frame')} without a time are not drawn.")
    yield "</section>\n"


def _apis(tally: Tally) -> Iterator[str]:
    yield "<section><h2>Apis and their latency</h2>\n"
    if not any(api.durations.count for api in tally.apis.values()):
        yield _note("No latency: it needs requests, their responses, and the times of both.")
    else:
        yield _note("From the request seen to its response seen, where the capture was made.")
    ordered = sorted(tally.apis.items(), key=lambda item: (-item[1].requests, -item[1].responses, item[0]))
    head = (
        "api",
        "requests",
        "responses",
        "request bytes",
        "response bytes",
        "errors",
        "median",
        "95 %",
        "99 %",
        "longest",
        "",
    )
    yield from _table(head, [_api_row(name, api) for name, api in ordered], numbers=range(1, 10))
    if tally.unanswered:
        yield _note(f"{count_text(tally.unanswered, 'request')} had no response, although a later request had one.")
    if tally.backwards:
        yield _note(f"{count_text(tally.backwards, 'response')} came before the request, by the clock; not counted.")
    yield "</section>\n"


def _api_row(name: str, api: Api) -> list[str]:
    counts = (api.requests, api.responses, api.request_bytes, api.response_bytes, api.errors)
    row = [text(name), *(f"{count:,}" for count in counts)]
    took = api.durations
    if not took.count:
        return [*row, "", "", "", "", ""]
    shares = [duration(took.quantile(share)) for share in (0.5, 0.95, 0.99)]
    return [*row, *shares, duration(took.most), histogram_svg(took)]


def _versions(tally: Tally) -> Iterator[str]:
    yield "<section><h2>Versions by api and client</h2>\n"
    ordered = sorted(tally.versions.counts.items(), key=lambda item: (item[0][0], str(item[0][1]), item[0][2]))
    most = max(tally.versions.counts.values(), default=1)
    rows = []
    for key, count in ordered[:ROWS]:
        api, client, version = key
        who = "<i>no client id</i>" if client is None else text(client)
        rows.append([text(api), who, text(version), f"{count:,}", share_svg(count, most)])
    yield from _table(("api", "client", "version", "requests", ""), rows, numbers=(2, 3))
    yield from _left_out(tally.versions, ROWS, "requests of further apis, clients and versions")
    yield "</section>\n"


def _errors(tally: Tally) -> Iterator[str]:
    yield "<section><h2>Error codes in responses</h2>\n"
    if not tally.errors.counts:
        yield _note("None.")
    ordered = sorted(tally.errors.counts.items(), key=lambda item: (-item[1], str(item[0])))
    rows = []
    for key, count in ordered[:ROWS]:
        api, path, number = key
        code = kind("ErrorCode")(number)
        about = getattr(code, "about", "")
        first = tally.first_errors.get(key, "")
        rows.append(
            [text(api), text(path), text(number), text(code.name or "?"), f"{count:,}", text(first), text(about)]
        )
    yield from _table(("api", "field", "code", "name", "times", "first in", "meaning"), rows, numbers=(2, 4))
    yield from _left_out(tally.errors, ROWS, "errors of further kinds")
    yield "</section>\n"


def _undecodable(tally: Tally) -> Iterator[str]:
    yield "<section><h2>Frames that did not decode, and gaps</h2>\n"
    if not tally.problems:
        yield _note("None: every whole frame was decoded to its last byte.")
    if tally.unread:
        yield _note(f"Incomplete, or not Kafka's: {unread_text(tally.unread)}.")
    yield from map(_note, tally.remarks)
    kinds = [[text(name), f"{count:,}"] for name, count in tally.problems.most_common()]
    yield from _table(("error", "frames"), kinds, numbers=(1,))
    rows = [[text(one.place), f"{one.size:,}", text(one.kind), text(one.problem)] for one in tally.samples]
    yield from _table(("where", "bytes", "error", "what is wrong"), rows, numbers=(1,))
    if sum(tally.problems.values()) > SAMPLES:
        yield _note(f"The first {SAMPLES} of {sum(tally.problems.values()):,} are listed.")
    if tally.faults:
        yield "<h3>Decoded, but not encoded as Kafka encodes it</h3>\n"
        faults = [[text(name), f"{count:,}"] for name, count in tally.faults.most_common()]
        yield from _table(("fault", "times"), faults, numbers=(1,))
    yield "</section>\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> Iterator[str]:
    """Yield a table whose cells are HTML; yield nothing if there are no rows."""
    if not rows:
        return
    right = set(numbers)
    cells = "".join(_cell("th", index in right, label) for index, label in enumerate(head))
    yield f'<div class="table"><table><thead><tr>{cells}</tr></thead><tbody>\n'
    for row in rows:
        yield "<tr>" + "".join(_cell("td", index in right, value) for index, value in enumerate(row)) + "</tr>\n"
    yield "</tbody></table></div>\n"


def _cell(tag: str, is_number: bool, value: str) -> str:
    return f"<{tag}{' class=' + chr(34) + 'number' + chr(34) if is_number else ''}>{value}</{tag}>"


def _left_out(counter: BoundedCounter[Any], rows: int, what: str) -> Iterator[str]:
    left = counter.others + sum(sorted(counter.counts.values(), reverse=True)[rows:])
    if len(counter.counts) > rows or counter.others:
        yield _note(f"{len(counter.counts) - min(rows, len(counter.counts)):,} rows are left out; {left:,} {what}.")


def _note(sentence: str) -> str:
    return f'<p class="hint">{text(sentence)}</p>\n'
