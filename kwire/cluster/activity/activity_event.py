"""One thing that happened, and the events so far: equal ones in a row are one event with a count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

REPEATED = 5.0  # seconds: an equal event within this time of the last one counts with it
REPEATABLE = {"error", "throttle", "commit", "connection"}  # of other kinds, each one changes something
GROUP, TOPIC, CLIENT, BROKER = "group", "topic", "client", "broker"
SUBJECTS = GROUP, TOPIC, CLIENT, BROKER


@dataclass(slots=True)
class ActivityEvent:
    """One thing that happened.

    Attributes:
        kind: what it is about, in one word: `leader`, `isr`, `error`, ...
        text: what happened.
        time: seconds since 1970; None if unknown.
        file, frame: the frame that shows it; None for what packets show, and for a record of a log its offset.
        subjects: whom it concerns: `group:G`, `topic:T`, `client:C`, `broker:N` or `broker:ip:port`.
        count, until: how often it happened in a row, and the time of the last one.
    """

    kind: str
    text: str
    time: float | None
    file: str = ""
    frame: int | None = None
    subjects: frozenset[str] = field(default_factory=frozenset)
    count: int = 1
    until: float | None = None


def subject(kind: str, *names: object) -> Iterable[str]:
    """Yield names as subjects; a name that is unknown is left out.

    >>> list(subject("topic", "orders", None, ""))
    ['topic:orders']
    """
    return (f"{kind}:{name}" for name in names if name not in (None, ""))


class ActivityLog:
    """Collects events.

    >>> log = ActivityLog()
    >>> for time in (1.0, 2.0, 30.0):
    ...     log.add(ActivityEvent("error", "Fetch: NOT_LEADER_OR_FOLLOWER", time))
    >>> [(event.count, event.until) for event in log.events]
    [(2, 2.0), (1, None)]
    """

    def __init__(self) -> None:
        self.events: list[ActivityEvent] = []
        self._latest: dict[tuple[str, str, frozenset[str]], ActivityEvent] = {}

    def add(self, event: ActivityEvent) -> None:
        """Add an event, or count it with an equal one shortly before."""
        key = event.kind, event.text, event.subjects
        latest = self._latest.get(key)
        is_repeatable = event.kind in REPEATABLE
        if latest is not None and is_repeatable and event.time is not None and latest.time is not None:
            last = latest.time if latest.until is None else latest.until
            if event.time - last <= REPEATED:
                latest.count += event.count
                latest.until = event.time
                return
        self._latest[key] = event
        self.events.append(event)
