"""Which clients break with a release of Kafka, and which fall back to older versions, as sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...protocol.frames.stream_faults import BareToken
from ...statistics.traffic import Traffic
from ...statistics.unsupported_uses import UnsupportedUse
from ...statistics.users import NOTHING
from ..escaping import escape
from ..unread_counts import unread_text
from ..value_text import count_text


def unsupported_uses_lines(uses: list[UnsupportedUse], new: str | None, traffic: Traffic) -> Iterator[str]:
    """Yield sentences: which clients break, which fall back to older versions, and what could not be decoded."""
    broken = [use for use in uses if use.breaks]
    clients = {(use.client, use.software, use.ip) for use in broken}
    if not any(row.count.requests for row in traffic.rows()):
        yield f"unknown whether clients break with Kafka {new}: no request was read"
    elif not broken:
        yield f"no incompatible clients found: Kafka {new} supports every version seen"
    else:
        verb = "breaks" if len(clients) == 1 else "break"
        yield f"{count_text(len(clients), 'client')} {verb} with Kafka {new}:"
    last = None
    for use in broken:
        who = _who(use)
        if who != last:
            yield escape(f"  {who}")
        last = who
        yield f"    uses {use.api} v{use.version} ({count_text(use.requests, 'request')}); {use.why}"
    for use in uses:
        if not use.breaks:
            yield escape(f"  {_who(use)} falls back from {use.api} v{use.version}, if it asks for versions; {use.why}")
    unread = {code: count for code, count in traffic.unread.items() if code != BareToken.code}
    if unread:
        yield f"not read: {unread_text(unread)}; requests of other clients and versions may be among them"


def _who(use: UnsupportedUse) -> str:
    name = "clients without an id" if use.client == NOTHING else f"client {json.dumps(use.client, ensure_ascii=False)}"
    return " ".join(
        [
            name,
            *([f"({use.software})"] if use.software != NOTHING else []),
            *([f"from {use.ip}"] if use.ip != NOTHING else []),
        ]
    )
