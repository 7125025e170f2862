"""Requests without a response as a table."""

from __future__ import annotations

from collections.abc import Mapping

from ...statistics.unanswered_requests import REASONS, UnansweredRequest, UnansweredRequests
from ..table import TableColumn, TableView
from .latency_table import moment_text

FileRequest = tuple[str, UnansweredRequest]  # a file and one of its requests
COLUMNS: list[TableColumn[FileRequest]] = [
    TableColumn("file", lambda row: row[0]),
    TableColumn("frame", lambda row: row[1].frame),
    TableColumn("time", lambda row: row[1].time, "sent (UTC)", moment_text),
    TableColumn("secondsBeforeEnd", lambda row: row[1].left, "s before the end", lambda seconds: f"{seconds:.3f}"),
    TableColumn("client", lambda row: row[1].user.client),
    TableColumn("ip", lambda row: row[1].user.ip),
    TableColumn("api", lambda row: row[1].api, "api name"),
    TableColumn("version", lambda row: row[1].user.version),
    TableColumn("", lambda row: f"{row[1].api}:{row[1].user.version}", "api"),
    TableColumn("reason", lambda row: row[1].reason, "known", lambda code: REASONS[code]),
]


def unanswered_table(by_file: Mapping[str, UnansweredRequests]) -> TableView[FileRequest]:
    """Return the table of the requests of several files."""
    rows = [(file, request) for file, requests in by_file.items() for request in requests.found()]
    titles = ["frame", "sent (UTC)", "s before the end", "client", "api", "known"]
    if len(by_file) > 1:
        titles.append("file")
    return TableView(COLUMNS, rows, titles)
