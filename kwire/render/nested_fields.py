"""Fields that hold bytes of another format, decoded: subscriptions and assignments of members, records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..capture.logs.log_batch import LogBytes, LogRecord
from ..capture.logs.log_reader import read_records
from ..errors import KwireError
from ..protocol.nested import decode_assignment, decode_subscription
from ..protocol.nested.versioned_message import Embedded
from .colours import Style
from .record_lines import RecordLines

if TYPE_CHECKING:
    from ..serdes import RecordDeserializer

MOST = 1000  # lines of one field
CONSUMER = "consumer"  # the protocol type of groups whose bytes can be decoded
# (message, field) -> how to parse its bytes
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
    """Return the subscription or assignment in a field; None if there is none.

    Args:
        message: the message that contains the field.
        field: the attribute of the field.
        value: the bytes of the field.
        protocol: the protocol type of the group; None if the message does not contain it.

    >>> from kwire.protocol.nested import encode_subscription, subscription_of
    >>> data = encode_subscription(subscription_of(["orders"]))
    >>> member_data("JoinGroupRequest", "metadata", data, "consumer").message.topics
    ('orders',)
    """
    read = _MEMBERS.get((message, field))
    if read is None or protocol not in (CONSUMER, None) or not isinstance(value, bytes) or not value:
        return None
    try:
        nested = read(value)
    except KwireError:
        return None
    return None if nested.rest and protocol is None else nested


def record_lines(
    message: str, field: str, value: Any, topic: str | None, style: Style, values: RecordDeserializer | None = None
) -> Iterator[str]:
    """Yield the lines of the records in a field; yield nothing if the field contains no records.

    Args:
        message, field, value: as for `member_data`.
        topic: the topic of the records, if known.
        style: colours and width.
        values: decodes keys and values by schema.
    """
    if (message, field) not in _RECORDS or not isinstance(value, bytes) or not value:
        return
    lines = RecordLines(style)
    records = _lines(read_records(value, topic, values), lines)
    yield from islice(records, MOST)
    if next(records, None) is not None:
        yield style.paint("dim", "... and more; kwire decode --jsonl has all bytes, kwire.parse_records all records")


def _lines(entries: Iterator[LogRecord | LogBytes | KwireError], lines: RecordLines) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, KwireError):
            yield lines.style.paint("warning", f"! {entry}")
        else:
            yield from lines.lines(entry)
