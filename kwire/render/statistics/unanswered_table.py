"""A request without a response, as a row of a table and as JSON."""

from __future__ import annotations

from ...statistics.unanswered_requests import REASONS, UnansweredRequest
from ...statistics.users import NOTHING
from .latency_table import moment_text


def unanswered_row(one: UnansweredRequest) -> list[str]:
    """Return the row of a request without a response."""
    return [
        NOTHING if one.frame is None else str(one.frame),
        NOTHING if one.time is None else moment_text(one.time),
        NOTHING if one.left is None else f"{one.left:.3f}",
        one.user.client,
        f"{one.api}:{one.user.version}",
        REASONS[one.reason],
    ]


def unanswered_json(file: str, one: UnansweredRequest) -> dict[str, object]:
    """Return the JSON object of a request without a response."""
    return {
        "file": file,
        "frame": one.frame,
        "time": one.time,
        "secondsBeforeEnd": one.left,
        "client": one.user.client,
        "ip": one.user.ip,
        "api": one.api,
        "version": one.user.version,
        "reason": one.reason,
    }
