"""Selects the entries of logs by --from, --to and --errors."""

from __future__ import annotations

import argparse
from typing import Any

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogRecord
from ..input.log_entries import LogEntry, is_bad, is_faulty
from ..options.usage_error import UsageError
from .time_span import TimeSpan


class LogFilter:
    """Decides whether an entry of a log is shown, by --from, --to and --errors; other filters are a UsageError."""

    def __init__(self, options: argparse.Namespace) -> None:
        names = {"--api": options.api, "--client": options.client, "--conn": options.conn}
        self.senseless: list[str] = [name for name, value in names.items() if value]
        self.errors: Any = options.errors
        given = options.since is not None or options.until is not None
        self.span: TimeSpan | None = TimeSpan(options.since, options.until) if given else None

    def __call__(self, entry: LogEntry | DiskEntry) -> bool:
        """Whether an entry is shown."""
        if self.senseless:
            raise UsageError(
                f"{', '.join(self.senseless)}: not available for records of a log; --from, --to and --errors choose "
                "among them"
            )
        if self.errors and not is_bad(entry) and not is_faulty(entry):
            return False
        return self.span is None or self._is_in(entry, self.span)

    def _is_in(self, entry: LogEntry | DiskEntry, span: TimeSpan) -> bool:
        if not isinstance(entry, LogRecord):
            return True  # what could not be read is unknown
        record = entry.record
        if record.timestamp >= 0:
            return span.covers(record.timestamp / 1000, record.offset)
        return span.first is None and span.covers(None, record.offset)  # among records with times, it is in no span
