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
    if not any(row.count.requests for row in traffic.rows()):
        yield f"unknown whether clients break with Kafka {new}: no request was read"
    else:
        yield _first_sentence(uses, broken, new)
    last = None
    for use in broken:
        who = _who(use)
        if who != last:
            yield escape(f"  {who}")
        last = who
        yield f"    uses {use.api} v{use.version} ({count_text(use.requests, 'request')}); {use.why}"
    for use in uses:
        if not use.breaks:
            asks = "asks for versions" if use.asks else "was not seen asking for versions"
            yield escape(f"  {_who(use)} uses {use.api} v{use.version} and {asks}; {use.why}")
    unread = {code: count for code, count in traffic.unread.items() if code != BareToken.code}
    if unread:
        yield f"not read: {unread_text(unread)}; requests of other clients and versions may be among them"


def _first_sentence(uses: list[UnsupportedUse], broken: list[UnsupportedUse], new: str | None) -> str:
    if not uses:
        return f"no client breaks with Kafka {new}"
    count = len({(use.client, use.software, use.ip) for use in broken or uses})
    clients, is_one = count_text(count, "client"), count == 1
    if not broken:
        verb = "uses" if is_one else "use"
        return f"no client breaks with Kafka {new}; {clients} {verb} newer versions and must negotiate down:"
    return f"{clients} {'breaks' if is_one else 'break'} with Kafka {new}:"


def _who(use: UnsupportedUse) -> str:
    name = "clients without an id" if use.client == NOTHING else f"client {json.dumps(use.client, ensure_ascii=False)}"
    return " ".join(
        [
            name,
            *([f"({use.software})"] if use.software != NOTHING else []),
            *([f"from {use.ip}"] if use.ip != NOTHING else []),
        ]
    )
