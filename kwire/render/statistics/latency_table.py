"""Percentiles of latency and the slowest requests, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ...protocol.frames.captured_frame import SECOND
from ...statistics.latencies import percentile
from ...statistics.traffic import Traffic
from ...statistics.users import NOTHING
from ..table import table

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def latency_table(traffic: Traffic) -> Iterator[str]:
    """Return the lines of a table with percentiles of latency, in milliseconds."""
    head = [*traffic.by, "responses", *(f"{name} ms" for name in SHARES)]
    rows = [
        [*key, str(len(times)), *(_milliseconds(percentile(times, share)) for share in SHARES.values())]
        for key, times in traffic.times()
    ]
    return table(head, rows, right=len(SHARES) + 1)


def slowest_table(traffic: Traffic) -> Iterator[str]:
    """Return the lines of a table with the slowest requests, the slowest first."""
    found = [] if traffic.latencies is None else traffic.latencies.slowest
    several = len({answered.file for answered in found}) > 1
    head = ["latency ms", "request", "response", "sent (UTC)", "client", "api", *(["file"] if several else [])]
    rows = [
        [
            _milliseconds(one.latency / SECOND),
            *(NOTHING if number is None else str(number) for number in (one.request_frame, one.frame)),
            moment_text(one.asked_at),
            one.user.client,
            f"{traffic.name_of(one.user)}:{one.user.version}",
            *([one.file] if several else []),
        ]
        for one in found
    ]
    width = max([len(row[0]) for row in rows] + [len(head[0])])
    head[0], rows = head[0].rjust(width), [[row[0].rjust(width), *row[1:]] for row in rows]
    return table(head, rows)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def moment_text(seconds: float) -> str:
    """Format a time as date and time of day (UTC), rounded down to milliseconds."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return NOTHING
    return moment.isoformat(" ", "milliseconds")[:23]


def latency_json(traffic: Traffic) -> dict[str, object]:
    """Return the percentiles of latency, in seconds, and the slowest requests as JSON."""
    if traffic.latencies is None:
        return {}
    rows = [
        {
            **dict(zip(traffic.by, key, strict=True)),
            "responses": len(times),
            "latencySeconds": {name: percentile(times, share) for name, share in SHARES.items()},
        }
        for key, times in traffic.times()
    ]
    slowest = [
        {
            "file": one.file,
            "requestFrame": one.request_frame,
            "frame": one.frame,
            "time": one.asked_at,
            "latencySeconds": one.latency / SECOND,
            "client": one.user.client,
            "ip": one.user.ip,
            "api": traffic.name_of(one.user),
            "version": one.user.version,
        }
        for one in traffic.latencies.slowest
    ]
    return {"latencies": rows} | ({"slowest": slowest} if traffic.latencies.most else {})
