"""Where the time of requests went, as tables and as JSON: means per row, and the slowest requests."""

from __future__ import annotations

from typing import Any

from ...protocol.frames.captured_frame import SECOND
from ...statistics.time_spent import TimedExchange, TimeSpent, TimeSums, parts_of
from ..table import TableColumn, TableView, key_columns
from .latency_table import moment_text

# part -> its title in text, in the order of the columns
TITLES = {
    "latency": "latency",
    "asked": "asked",
    "beyond": "beyond",
    "queue": "queue",
    "local": "local",
    "remote": "remote",
    "throttle": "throttle",
    "response_queue": "resp.q",
    "send": "send",
    "network": "network",
    "zero_window": "zero win",
    "round_trip": "rtt",
    "think": "think",
}
Row = tuple[tuple[str, ...], TimeSums]


def time_spent_table(spent: TimeSpent) -> TableView[Row]:
    """Return the table of means: milliseconds in text, seconds in JSON; the row with the most time comes first."""
    rows: list[Row] = sorted(spent.rows.items(), key=lambda row: (-row[1].sums.get("beyond", 0), row[0]))
    columns: list[TableColumn[Row]] = key_columns(spent.by, lambda row: row[0])
    columns.append(TableColumn("requests", lambda row: row[1].count, right=True))
    for name, title in TITLES.items():
        columns.append(TableColumn(f"meanSeconds/{name}", _mean(name), title, _milliseconds, right=True))
    columns.append(TableColumn("longestSeconds", lambda row: row[1].longest / SECOND, "max", _milliseconds, right=True))
    columns.append(TableColumn("retransmissions", lambda row: row[1].retransmissions, "resent", right=True))
    known = {name for _, sums in rows for name in sums.counts}
    titles = [*spent.by, "requests", *(title for name, title in TITLES.items() if name in known), "max"]
    if any(sums.retransmissions for _, sums in rows):
        titles.append("resent")
    return TableView(columns, rows, titles)


def slowest_exchanges_table(spent: TimeSpent) -> TableView[TimedExchange]:
    """Return the table of the requests with the most time beyond the wait that they asked for."""
    rows = spent.slowest
    columns: list[TableColumn[TimedExchange]] = key_columns(spent.by, lambda row: row.key)
    columns += [
        TableColumn("file", lambda row: row.file),
        TableColumn("requestFrame", lambda row: row.request_frame, "request"),
        TableColumn("frame", lambda row: row.frame, "response"),
        TableColumn("time", lambda row: row.asked_at, "sent (UTC)", moment_text),
    ]
    for name, title in TITLES.items():
        columns.append(TableColumn(f"seconds/{name}", _part(name), title, _milliseconds, right=True))
    columns.append(TableColumn("retransmissions", lambda row: row.retransmissions, "resent", right=True))
    known = {name for row in rows for name, value in parts_of(row) if value is not None}
    titles = [*spent.by, "request", "response", "sent (UTC)"]
    titles += [title for name, title in TITLES.items() if name in known]
    if any(row.retransmissions for row in rows):
        titles.append("resent")
    return TableView(columns, rows, titles)


def time_spent_json(spent: TimeSpent, *, slowest: bool) -> dict[str, Any]:
    """Return both tables as one JSON object."""
    members: dict[str, Any] = {"kwire": 1, "joined": spent.joined, "logged": spent.logged}
    members["rows"] = time_spent_table(spent).objects()
    if slowest:
        members["slowest"] = slowest_exchanges_table(spent).objects()
    return members


def _mean(name: str) -> Any:
    return lambda row: row[1].mean(name)


def _part(name: str) -> Any:
    def value(row: TimedExchange) -> float | None:
        part = dict(parts_of(row))[name]
        return None if part is None else part / SECOND

    return value


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"
