"""ISO times in filters, as seconds since 1970."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, time


def seconds_of(text: str, day: date | None = None) -> float:
    """Return an ISO time in seconds since 1970; without a zone it is UTC, as kwire prints times.

    Args:
        text: `2026-11-21T09:30:00`, with or without a zone, or a date.
        day: the day for a time of day such as `09:30`; without it, a time of day is an error.

    Raises:
        ValueError: the text is not a time in this format.

    >>> seconds_of("2026-11-21T06:00:00"), seconds_of("2026-11-21T07:00:00+01:00"), seconds_of("1970-01-02")
    (1795240800.0, 1795240800.0, 86400.0)
    """
    moment = None
    if day is not None:
        with suppress(ValueError):
            moment = datetime.combine(day, time.fromisoformat(text))
    moment = moment or datetime.fromisoformat(text)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except OverflowError:
        raise ValueError(f"{text}: no calendar has this time") from None
