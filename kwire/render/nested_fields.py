"""Fields that hold bytes of another format, decoded: subscriptions and assignments of members, records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from ..capture.logs.log_batch import LogBytes, LogRecord
from ..capture.logs.log_reader import read_records
from ..errors import KwireError
from ..protocol import Result
from ..protocol.message_summary import MessageSummary
from ..protocol.nested import decode_assignment, decode_subscription
from ..protocol.nested.versioned_message import Embedded
from .colours import Style
from .escaping import escape_line
from .record_lines import RecordLines

if TYPE_CHECKING:
    from ..serdes import RecordDeserializer

MOST = 1000  # lines of the records of one field, or of one frame
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
    yield from _first_lines(_lines(read_records(value, topic, values), RecordLines(style)), style)


def frame_record_lines(
    result: Result, style: Style, values: RecordDeserializer, summary: MessageSummary
) -> Iterator[str]:
    """Yield the records of a frame, those of each partition below its name; nothing if the frame has none.

    Args:
        result: the frame.
        style: colours and width.
        values: decodes keys and values by schema.
        summary: knows the names of topic ids, and learns them from the frame.
    """
    from ..capture.logs.frame_records import read_frame_records  # trees of frames need it only with schemas

    def lines() -> Iterator[str]:
        records = read_frame_records(result, values, summary)
        for (topic, partition), of_partition in groupby(records, key=lambda record: record[:2]):
            name = f"{topic or 'unknown topic'}-{'?' if partition is None else partition}"
            yield style.paint("dim", escape_line(f"# records of {name}"))
            yield from _lines((record.entry for record in of_partition), RecordLines(style))

    yield from _first_lines(lines(), style)


def _lines(entries: Iterator[LogRecord | LogBytes | KwireError], lines: RecordLines) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, KwireError):
            yield lines.style.paint("warning", escape_line(f"! {entry}"))
        else:
            yield from lines.lines(entry)


def _first_lines(lines: Iterator[str], style: Style) -> Iterator[str]:
    yield from islice(lines, MOST)
    if next(lines, None) is not None:
        yield style.paint("dim", "... and more; kwire decode --jsonl has all bytes, kwire.parse_records all records")
