"""The counts of traffic as a table, with its errors, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from ...statistics.counts import Count
from ...statistics.traffic import Traffic, TrafficRow
from ...statistics.unsupported_uses import UnsupportedUse
from ...statistics.users import NOTHING
from ..table import table
from .latency_table import latency_json


def count_table(traffic: Traffic, rows: list[TrafficRow], *, errors: bool) -> Iterator[str]:
    """Yield the lines of the table, and with `errors` the number of each error."""
    timed = any(row.count.answered for row in rows)
    head = [*traffic.by, "requests", "responses", "bytes out", "bytes in"]
    head += ["mean ms", "max ms"] if timed else []
    values = [[*row.key, *_numbers(row.count, timed)] for row in rows]
    if errors:
        head, values = (
            [*head, "errors"],
            [[*value, str(row.count.errors.total())] for value, row in zip(values, rows, strict=True)],
        )
    yield from table(head, values, right=len(head) - len(traffic.by))
    if errors:
        yield from (f"  {count} x {name}" for name, count in traffic.errors.most_common())


def _numbers(count: Count, timed: bool) -> list[str]:
    numbers = [count.requests, count.responses, count.request_bytes, count.response_bytes]
    mean = count.mean
    times = [NOTHING] * 2 if mean is None else [f"{mean * 1000:.1f}", f"{count.longest * 1000:.1f}"]
    return [*map(str, numbers), *(times if timed else ())]


def traffic_json(traffic: Traffic, found: list[UnsupportedUse], new: str | None) -> dict[str, object]:
    """Return all counts as JSON; `new` is the release for which unsupported uses were looked for."""
    members: dict[str, object] = {
        "kwire": 1,
        "frames": traffic.frames,
        "bytes": traffic.bytes,
        "unread": dict(traffic.unread),
        "rows": [{**dict(zip(traffic.by, row.key, strict=True)), **_count_json(row.count)} for row in traffic.rows()],
    }
    members |= latency_json(traffic)
    if new:
        members["removedIn"] = {"release": new, "clients": [one._asdict() for one in found]}
    return members


def _count_json(count: Count) -> dict[str, object]:
    members: dict[str, object] = {
        "requests": count.requests,
        "responses": count.responses,
        "requestBytes": count.request_bytes,
        "responseBytes": count.response_bytes,
    }
    if count.answered:
        members |= {"meanSeconds": count.mean, "longestSeconds": count.longest}
    return members | ({"errors": dict(count.errors)} if count.errors else {})
