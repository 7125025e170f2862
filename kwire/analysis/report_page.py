"""The page of `kwire report`: one HTML file without script, with charts as inline SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ..render.html import asset, document, text
from ..render.line import unread_text
from ..render.values import count_text
from ..values import kind
from .report_tally import DRAWN, SAMPLES, STEPS, Api, BoundedCounter, Durations, Tally, Timeline

KINDS = ("request", "response", "other", "undecodable")
WIDTH, HEIGHT = 960, 140
SMALL_WIDTH, SMALL_HEIGHT = 200, 34


def timeline_svg(timeline: Timeline) -> str:
    """Draw the frames of every bin as a stack of their kinds, with the first and the last time below."""
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
        high = max(high, 1.5) if counts[one] else 0  # one bad frame among thousands is still seen
        top -= high
        if high:
            yield _bar(one, left, top, max(wide - 0.5, 0.7), high)


def histogram_svg(durations: Durations) -> str:
    """Draw how often durations were how long; the longer, the further right, each bar 19 % above the one before."""
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
    """Draw a count as a bar, beside the largest of its table."""
    wide = max(round(count / most * 100, 2), 0.5)
    box = 'viewBox="0 0 100 10" preserveAspectRatio="none"'
    return f'<svg class="share" {box} aria-hidden="true">{_bar("request", 0, 0, wide, 10)}</svg>'


def _bar(kind: str, left: float, top: float, wide: float, high: float) -> str:
    return f'<rect class="{kind}" x="{left:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{high:.2f}"/>'


def legend(kinds: Sequence[str]) -> str:
    """Say which colour is which kind."""
    mark = '<svg class="mark" viewBox="0 0 10 10" aria-hidden="true"><rect class="{0}" width="10" height="10"/></svg>'
    return " ".join(f"<span>{mark.format(kind)} {text(kind)}</span>" for kind in kinds)


def duration(seconds: float) -> str:
    """Write a duration with three digits and its unit.

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
    """Write a time in UTC, to the millisecond; as a number where no calendar has it.

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
    heading = f"<header><h1>{text(name)}</h1></header>\n<main>\n"
    style = asset("page.css") + asset("report.css")
    yield from document(f"{name} - kwire report", style, "", _around(heading, body, "</main>\n"))


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
        yield _note(f"{count_text(tally.unanswered, 'request')} had no answer: a later one was answered first.")
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
    yield "<section><h2>Errors that brokers answered</h2>\n"
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
        yield "<h3>Decoded, though not as a right writer writes</h3>\n"
        faults = [[text(name), f"{count:,}"] for name, count in tally.faults.most_common()]
        yield from _table(("fault", "times"), faults, numbers=(1,))
    yield "</section>\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> Iterator[str]:
    """Yield a table; its cells are HTML. Nothing for no rows."""
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
