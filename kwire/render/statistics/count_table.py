"""The counts of traffic as a table, and all of them as JSON."""

from __future__ import annotations

from ...statistics.traffic import Traffic, TrafficRow
from ...statistics.unsupported_uses import UnsupportedUse
from ..table import TableColumn, TableView, key_columns
from .latency_table import latency_json


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _longest(row: TrafficRow) -> float | None:
    return row.count.longest if row.count.answered else None


COUNTS: list[TableColumn[TrafficRow]] = [
    TableColumn("requests", lambda row: row.count.requests, right=True),
    TableColumn("responses", lambda row: row.count.responses, right=True),
    TableColumn("requestBytes", lambda row: row.count.request_bytes, "bytes out", right=True),
    TableColumn("responseBytes", lambda row: row.count.response_bytes, "bytes in", right=True),
    TableColumn("meanSeconds", lambda row: row.count.mean, "mean ms", _milliseconds, right=True, optional=True),
    TableColumn("longestSeconds", _longest, "max ms", _milliseconds, right=True, optional=True),
    TableColumn("errors", lambda row: dict(row.count.errors) or None, "codes", optional=True),
    TableColumn("", lambda row: row.count.errors.total(), "errors", right=True),
]


def count_table(traffic: Traffic, *, errors: bool = False) -> TableView[TrafficRow]:
    """Return the table of counts; with `errors`, its text has their number."""
    rows = traffic.rows()
    titles = [*traffic.by, "requests", "responses", "bytes out", "bytes in"]
    if any(row.count.answered for row in rows):
        titles += ["mean ms", "max ms"]
    if errors:
        titles.append("errors")
    return TableView([*key_columns(traffic.by, lambda row: row.key), *COUNTS], rows, titles)


def traffic_json(traffic: Traffic, uses: list[UnsupportedUse], new: str | None) -> dict[str, object]:
    """Return all counts as JSON; `new` is the release for which unsupported uses were looked for."""
    members: dict[str, object] = {
        "kwire": 1,
        "frames": traffic.frames,
        "bytes": traffic.bytes,
        "unread": dict(traffic.unread),
        "rows": count_table(traffic).objects(),
    }
    members |= latency_json(traffic)
    if new:
        members["removedIn"] = {"release": new, "clients": [use._asdict() for use in uses]}
    return members
