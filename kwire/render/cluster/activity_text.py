"""The events of a timeline as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from ...cluster.activity.activity_event import ActivityEvent
from ..colours import PLAIN, Style
from ..escaping import escape
from ..frame_line import time_text

COLOURS = {"error": "error", "disk": "error", "offline": "warning", "retry": "warning", "throttle": "warning"}


def activity_lines(events: Iterable[ActivityEvent], style: Style = PLAIN, *, files: bool = False) -> Iterator[str]:
    """Yield a line for each event, and one for each day.

    Args:
        events: the events, in order.
        style: colours.
        files: whether lines name the files of frames.

    >>> event = ActivityEvent("leader", "orders-0: leader 2 -> 3", 1795243661.5, frame=17)
    >>> print(*activity_lines([event]), sep="\\n")
    # 2026-11-21
    06:47:41.500     @17  leader       orders-0: leader 2 -> 3
    """
    day = 0
    for event in events:
        moment = _moment(event.time)
        if moment is not None and moment.toordinal() != day:
            day = moment.toordinal()
            yield style.paint("dim", f"# {moment:%Y-%m-%d}")
        file = f"  [{PurePath(event.file).name}]" if files and event.file else ""
        yield style.paint(COLOURS.get(event.kind, "value"), activity_line(event, file))


def activity_line(event: ActivityEvent, suffix: str = "") -> str:
    """Return the line of an event: its time in the day, its frame, its kind, and what happened."""
    frame = "" if event.frame is None else f"@{event.frame}"
    text = escape(f"{clock_text(event):12} {frame:>7}  {event.kind:<11}  {text_of(event)}{suffix}")
    return text.replace("\n", " ")


def clock_text(event: ActivityEvent) -> str:
    """Return the time of an event in its day; empty if it is unknown."""
    moment = _moment(event.time)
    return "" if moment is None else time_text(moment)


def day_text(event: ActivityEvent) -> str:
    """Return the day of an event; empty if it is unknown."""
    moment = _moment(event.time)
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def text_of(event: ActivityEvent) -> str:
    """Return what happened, and how often."""
    return f"{event.text}{_repetition_text(event)}"


def activity_json(events: Iterable[ActivityEvent]) -> dict[str, Any]:
    """Return the events as one JSON object."""
    return {"kwire": 1, "events": [activity_event_json(event) for event in events]}


def activity_event_json(event: ActivityEvent) -> dict[str, Any]:
    """Return an event as plain values for JSON."""
    members: dict[str, Any] = {"time": event.time, "kind": event.kind, "text": event.text}
    members |= {"file": event.file, "frame": event.frame, "about": sorted(event.subjects)}
    return members | ({"count": event.count, "until": event.until} if event.count > 1 else {})


def _repetition_text(event: ActivityEvent) -> str:
    if event.count == 1:
        return ""
    moment = _moment(event.until)
    return f"  ({event.count} times{'' if moment is None else f', until {time_text(moment)}'})"


def _moment(time: float | None) -> datetime | None:
    if time is not None:
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(time, UTC)
    return None
