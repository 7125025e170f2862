"""The HTML page of `kwire report`, without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...statistics.bounded_counter import BoundedCounter
from ...statistics.report_counts import SAMPLES, ApiCounts, ReportCounts
from ...values import kind
from ..unread_counts import unread_text
from ..value_text import count_text
from .document import asset, document, text
from .report_drawings import KINDS, clock, duration, histogram_svg, legend, share_svg, timeline_svg
from .table_markup import html_table, note

ROWS = 500  # of one table


def report_html(name: str, tally: ReportCounts) -> Iterator[str]:
    """Yield the report as an HTML document, piece by piece.

    Args:
        name: the source of the frames, such as the name of a dump.
        tally: the counts.
    """
    sections = (_summary, _timeline, _apis, _versions, _errors, _schemas, _undecodable)
    body = (piece for section in sections for piece in section(tally))
    heading = f'<header><h1>{text(name)}</h1></header>\n<main class="report">\n'
    yield from document(f"{name} - kwire report", asset("page.css"), "", _around(heading, body, "</main>\n"))


def _around(before: str, pieces: Iterable[str], after: str) -> Iterator[str]:
    yield before
    yield from pieces
    yield after


def _summary(tally: ReportCounts) -> Iterator[str]:
    facts = [("frames", f"{tally.frames:,}"), ("bytes", f"{tally.size:,}")]
    facts += [(f"{name}s" if name[0] == "r" else name, f"{tally.kinds[name]:,}") for name in KINDS if tally.kinds[name]]
    if tally.connections.counts:
        facts.append(("connections", f"{len(tally.connections.counts):,}{'+' if tally.connections.others else ''}"))
    cells = "".join(f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>" for label, value in facts)
    yield f'<dl class="facts">{cells}</dl>\n'


def _timeline(tally: ReportCounts) -> Iterator[str]:
    yield "<section><h2>Timeline</h2>\n"
    if not tally.timed:
        yield note("This input has no times of frames; captures (pcap, pcapng) have them.")
    else:
        rows = list(tally.timeline.rows())
        yield note(f"UTC, {clock(rows[0][0])} on; a bar is {duration(tally.timeline.width)}.")
        yield f'<p class="legend">{legend([name for name in KINDS if tally.kinds[name]])}</p>'
        yield timeline_svg(tally.timeline)
        if tally.timed < tally.frames:
            yield note(f"{count_text(tally.frames - tally.timed, 'frame')} without a time are not drawn.")
    yield "</section>\n"


def _apis(tally: ReportCounts) -> Iterator[str]:
    yield "<section><h2>Apis and their latency</h2>\n"
    if not any(api.durations.count for api in tally.apis.values()):
        yield note("No latency: it needs requests, their responses, and the times of both.")
    else:
        yield note("From the request seen to its response seen, where the capture was made.")
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
    yield from html_table(head, [_api_row(name, api) for name, api in ordered], numbers=range(1, 10))
    if tally.unanswered:
        yield note(f"{count_text(tally.unanswered, 'request')} had no response, although a later request had one.")
    if tally.backwards:
        yield note(f"{count_text(tally.backwards, 'response')} came before the request, by the clock; not counted.")
    yield "</section>\n"


def _api_row(name: str, api: ApiCounts) -> list[str]:
    counts = (api.requests, api.responses, api.request_bytes, api.response_bytes, api.errors)
    row = [text(name), *(f"{count:,}" for count in counts)]
    took = api.durations
    if not took.count:
        return [*row, "", "", "", "", ""]
    shares = [duration(took.quantile(share)) for share in (0.5, 0.95, 0.99)]
    return [*row, *shares, duration(took.most), histogram_svg(took)]


def _versions(tally: ReportCounts) -> Iterator[str]:
    yield "<section><h2>Versions by api and client</h2>\n"
    ordered = sorted(tally.versions.counts.items(), key=lambda item: (item[0][0], str(item[0][1]), item[0][2]))
    highest = max(tally.versions.counts.values(), default=1)
    rows = []
    for key, count in ordered[:ROWS]:
        api, client, version = key
        who = "<i>no client id</i>" if client is None else text(client)
        rows.append([text(api), who, text(version), f"{count:,}", share_svg(count, highest)])
    yield from html_table(("api", "client", "version", "requests", ""), rows, numbers=(2, 3))
    yield from _left_out(tally.versions, ROWS, "requests of further apis, clients and versions")
    yield "</section>\n"


def _errors(tally: ReportCounts) -> Iterator[str]:
    yield "<section><h2>Error codes in responses</h2>\n"
    if not tally.errors.counts:
        yield note("None.")
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
    yield from html_table(("api", "field", "code", "name", "times", "first in", "meaning"), rows, numbers=(2, 4))
    yield from _left_out(tally.errors, ROWS, "errors of further kinds")
    yield "</section>\n"


def _schemas(tally: ReportCounts) -> Iterator[str]:
    """Yield the section of keys and values by schema; nothing if none were asked for."""
    uses = tally.schemas.uses
    if not uses.counts:
        return
    yield "<section><h2>Keys and values by schema</h2>\n"
    rows = []
    for use, count in sorted(uses.counts.items())[:ROWS]:
        cells = (use.topic, use.part, use.schema, f"{count:,}", use.problem, tally.schemas.first_places.get(use, ""))
        rows.append([text(cell) for cell in cells])
    yield from html_table(("topic", "part", "schema", "records", "what is wrong", "first in"), rows, numbers=(3,))
    yield from _left_out(uses, ROWS, "keys and values of further topics and schemas")
    yield "</section>\n"


def _undecodable(tally: ReportCounts) -> Iterator[str]:
    yield "<section><h2>Frames that did not decode, and gaps</h2>\n"
    if not tally.problems:
        yield note("None: every whole frame was decoded to its last byte.")
    if tally.unread:
        yield note(f"Incomplete, or not Kafka's: {unread_text(tally.unread)}.")
    yield from map(note, tally.remarks)
    kinds = [[text(name), f"{count:,}"] for name, count in tally.problems.most_common()]
    yield from html_table(("error", "frames"), kinds, numbers=(1,))
    rows = [
        [text(sample.place), f"{sample.size:,}", text(sample.kind), text(sample.problem)] for sample in tally.samples
    ]
    yield from html_table(("where", "bytes", "error", "what is wrong"), rows, numbers=(1,))
    if sum(tally.problems.values()) > SAMPLES:
        yield note(f"The first {SAMPLES} of {sum(tally.problems.values()):,} are listed.")
    if tally.faults:
        yield "<h3>Decoded, but not encoded as Kafka encodes it</h3>\n"
        faults = [[text(name), f"{count:,}"] for name, count in tally.faults.most_common()]
        yield from html_table(("fault", "times"), faults, numbers=(1,))
    yield "</section>\n"


def _left_out(counter: BoundedCounter[Any], rows: int, what: str) -> Iterator[str]:
    left = counter.others + sum(sorted(counter.counts.values(), reverse=True)[rows:])
    if len(counter.counts) > rows or counter.others:
        yield note(f"{len(counter.counts) - min(rows, len(counter.counts)):,} rows are left out; {left:,} {what}.")
