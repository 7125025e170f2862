"""The HTML page of `kwire timeline`, without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from ...cluster.activity.activity_event import ActivityEvent
from ..cluster.activity_text import COLOURS, clock_text, day_text, text_of
from ..value_text import count_text
from .document import asset, document, text
from .table_markup import html_table, note

MOST_ROWS = 20_000


def timeline_page(name: str, events: Sequence[ActivityEvent]) -> Iterator[str]:
    """Yield the page, piece by piece.

    Args:
        name: the source of the events, such as the name of a capture.
        events: in order.
    """
    yield from document(f"{name} - kwire timeline", asset("page.css"), "", _body(name, events))


def _body(name: str, events: Sequence[ActivityEvent]) -> Iterator[str]:
    yield f'<header><h1>{text(name)}</h1></header>\n<main class="report">\n'
    yield note(f"{count_text(len(events), 'event')}; times are UTC")
    files = len({event.file for event in events} - {""}) > 1
    day, rows = "", list[list[str]]()
    for event in events[:MOST_ROWS]:
        if day_text(event) not in ("", day):
            yield from html_table(_head(files), rows)
            day, rows = day_text(event), []
            yield f"<h2>{text(day)}</h2>\n"
        rows.append(_row(event, files=files))
    yield from html_table(_head(files), rows)
    if len(events) > MOST_ROWS:
        yield note(
            f"{len(events) - MOST_ROWS:,} later events are left out: choose with --about, --kind, --from and --to."
        )
    yield "</main>\n"


def _head(files: bool) -> tuple[str, ...]:
    return "time", "frame", "kind", "what happened", *(("file",) if files else ())


def _row(event: ActivityEvent, *, files: bool) -> list[str]:
    frame = "" if event.frame is None else str(event.frame)
    mark = ' class="fault"' if COLOURS.get(event.kind) else ' class="name"'
    row = [text(clock_text(event)), text(frame), f"<span{mark}>{text(event.kind)}</span>", text(text_of(event))]
    return [*row, text(PurePath(event.file).name)] if files else row
