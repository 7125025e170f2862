"""Renders the contents of byte fields in trees: records, and metadata of consumer groups.

What cannot be read so is left as it is: bytes may hold anything that clients put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from ..errors import KwireError
from ..internal import decode_assignment, decode_subscription
from ..internal.versioned_body import Embedded
from ..logs import Log, LogBatch
from .record_text import RecordLines
from .style import Style

MOST = 1000  # lines of one field
CONSUMER = "consumer"  # the protocol type of groups whose bytes are known here

# (message, field) -> how its bytes are read
_MEMBERS: dict[tuple[str, str], Callable[[bytes], Embedded]] = {
    ("JoinGroupRequest", "metadata"): decode_subscription,
    ("JoinGroupResponse", "metadata"): decode_subscription,
    ("SyncGroupRequest", "assignment"): decode_assignment,
    ("SyncGroupResponse", "assignment"): decode_assignment,
    ("DescribeGroupsResponse", "member_metadata"): decode_subscription,
    ("DescribeGroupsResponse", "member_assignment"): decode_assignment,
}
_RECORDS = frozenset(
    [
        ("ProduceRequest", "records"),
        ("FetchResponse", "records"),
        ("ShareFetchResponse", "records"),
        ("FetchSnapshotResponse", "unaligned_records"),
    ]
)


def member_data(message: str, field: str, value: Any, protocol: str | None) -> Embedded | None:
    """Return the subscription or assignment in a field; None if it holds none.

    Args:
        message: the message the field is in.
        field: its attribute.
        value: what it holds.
        protocol: the protocol type of the group; None where the message does not say it.

    >>> from kwire.internal import encode_subscription, subscription_of
    >>> data = encode_subscription(subscription_of(["orders"]))
    >>> member_data("JoinGroupRequest", "metadata", data, "consumer").message.topics
    ('orders',)
    """
    read = _MEMBERS.get((message, field))
    if read is None or protocol not in (CONSUMER, None) or not isinstance(value, bytes) or not value:
        return None
    try:
        found = read(value)
    except KwireError:
        return None
    return None if found.rest and protocol is None else found


def record_lines(message: str, field: str, value: Any, topic: str | None, style: Style) -> Iterator[str]:
    """Yield the lines of the records in a field; none if it holds no records.

    Args:
        message, field, value: as for `member_data`.
        topic: whose records they are, where that is known.
        style: colours and width.
    """
    if (message, field) not in _RECORDS or not isinstance(value, bytes) or not value:
        return
    lines = RecordLines(style)
    found = _lines(Log([value], topic=topic), lines)
    yield from islice(found, MOST)
    if next(found, None) is not None:
        yield style.paint("dim", "... and more; kwire decode --jsonl has all bytes, kwire.parse_records all records")


def _lines(log: Log, lines: RecordLines) -> Iterator[str]:
    for item in log:
        try:
            for entry in item.entries() if isinstance(item, LogBatch) else [item]:
                yield from lines.lines(entry)
        except KwireError as error:  # a compression that is not installed
            yield lines.style.paint("warning", f"! {error}")


def indented(style: Style, depth: int) -> Style:
    """Return a style for lines that stand so deep in a tree."""
    return replace(style, width=max(style.width - 2 * depth, 40))
