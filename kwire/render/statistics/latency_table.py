"""Percentiles of latency and the slowest requests, as tables and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from ...protocol.frames.captured_frame import SECOND
from ...statistics.latencies import Answered, percentile
from ...statistics.traffic import Traffic
from ...statistics.users import NOTHING
from ..table import TableColumn, TableView, key_columns

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
Times = tuple[tuple[str, ...], list[int]]  # the key of a row, and its latencies in nanoseconds


def latency_table(traffic: Traffic) -> TableView[Times]:
    """Return the table of percentiles of latency: milliseconds in text, seconds in JSON."""
    columns: list[TableColumn[Times]] = key_columns(traffic.by, lambda row: row[0])
    columns.append(TableColumn("responses", lambda row: len(row[1]), right=True))
    for name, share in SHARES.items():
        latency = partial(_percentile, share)
        columns.append(TableColumn(f"latencySeconds/{name}", latency, f"{name} ms", _milliseconds, right=True))
    return TableView(columns, list(traffic.times()), [column.title or column.name for column in columns])


def _percentile(share: float, row: Times) -> float:
    return percentile(row[1], share)


def slowest_table(traffic: Traffic) -> TableView[Answered]:
    """Return the table of the slowest requests, the slowest first."""
    answered = [] if traffic.latencies is None else traffic.latencies.slowest
    columns: list[TableColumn[Answered]] = [
        TableColumn("file", lambda row: row.file),
        TableColumn("requestFrame", lambda row: row.request_frame, "request"),
        TableColumn("frame", lambda row: row.frame, "response"),
        TableColumn("time", lambda row: row.asked_at, "sent (UTC)", moment_text),
        TableColumn("latencySeconds", lambda row: row.latency / SECOND, "latency ms", _milliseconds, right=True),
        TableColumn("askedWaitSeconds", lambda row: row.asked_wait / SECOND, "asked ms", _wait_text, right=True),
        TableColumn("client", lambda row: row.user.client),
        TableColumn("ip", lambda row: row.user.ip),
        TableColumn("api", lambda row: traffic.name_of(row.user), "api name"),
        TableColumn("version", lambda row: row.user.version),
        TableColumn("", lambda row: f"{traffic.name_of(row.user)}:{row.user.version}", "api"),
    ]
    titles = ["latency ms", "asked ms", "request", "response", "sent (UTC)", "client", "api"]
    if len({row.file for row in answered}) > 1:
        titles.append("file")
    return TableView(columns, answered, titles)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def _wait_text(seconds: float) -> str:
    return f"{seconds * 1000:.0f}" if seconds else NOTHING


def moment_text(seconds: float) -> str:
    """Format a time as date and time of day (UTC), rounded down to milliseconds; a dash if no date has this time."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return NOTHING
    return moment.isoformat(" ", "milliseconds")


def latency_json(traffic: Traffic) -> dict[str, object]:
    """Return the percentiles of latency, in seconds, and the slowest requests as JSON."""
    if traffic.latencies is None:
        return {}
    members: dict[str, object] = {"latencies": latency_table(traffic).objects()}
    if traffic.latencies.most:
        members["slowest"] = slowest_table(traffic).objects()
    return members
