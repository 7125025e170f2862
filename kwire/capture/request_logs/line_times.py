"""The times of a request in a line of a broker's log: when it came, when its response was sent, and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...protocol.frames.broker_times import BrokerTimes
from ...runtime.lazy_patterns import lazy_pattern

# `[2026-11-21 06:55:34,667] DEBUG ...` by log4j, `2026-11-21T06:55:34.667Z ...` by others, and values of JSON members.
_DATE = lazy_pattern(r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
# Names in RequestConvertToJson.requestDescMetrics (Kafka 2.7) without `Ms`; the text form has the same names.
PARTS = {
    "total": "totalTime",
    "queue": "requestQueueTime",
    "local": "localTime",
    "remote": "remoteTime",
    "throttle": "throttleTime",
    "response_queue": "responseQueueTime",
    "send": "sendTime",
}


class CompletedAt(NamedTuple):
    """When a broker completed a request, in seconds since 1970, and where the time went; None if unknown."""

    date: float | None = None
    times: BrokerTimes | None = None

    @property
    def asked_at(self) -> float | None:
        """When the broker had received the request."""
        if self.date is None or self.times is None or self.times.total is None:
            return None
        return self.date - self.times.total


def date_in(text: str) -> float | None:
    """Return the date at the start of a text in seconds since 1970; None if there is none. UTC without a zone.

    >>> date_in("[2026-11-21 06:55:34,667] DEBUG Completed"), date_in("INFO")
    (1795244134.667, None)
    """
    match = _DATE.match(text)
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0').ljust(6, '0')[:6]}{zone or ''}")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def of_json_line(members: Mapping[str, Any], date: float | None) -> CompletedAt:
    """Return the times in the JSON object of a line; a row that was collected from a log has its date in `time`."""
    text = members.get("time")
    if date is None and isinstance(text, str):
        date = date_in(text)
    return CompletedAt(date, times_of({name.removesuffix("Ms"): value for name, value in members.items()}))


def times_of(parts: Mapping[str, Any]) -> BrokerTimes | None:
    """Return the parts of a request's time by their names in `PARTS`, in milliseconds; None if there are none.

    >>> times_of({"totalTime": 1801.4, "localTime": "0.4", "sendTime": "?"})
    BrokerTimes(total=1.8014, queue=None, local=0.0004, remote=None, throttle=None, response_queue=None, send=None)
    """
    times = BrokerTimes(**{name: _seconds(parts.get(logged)) for name, logged in PARTS.items()})
    return times if any(part is not None for part in times) else None


def _seconds(milliseconds: Any) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float | str):
        return None
    try:
        value = float(milliseconds)
    except (ValueError, OverflowError):
        return None
    return round(value * 1000) / 1e6 if 0 <= value < 1e12 else None
