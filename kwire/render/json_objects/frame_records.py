"""The JSON object of a frame with its records beside the payload, in which they are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...capture.logs.frame_records import FrameRecord, read_frame_records
from ...capture.logs.log_batch import LogBytes, LogRecord
from ...protocol import Result
from ...protocol.message_summary import MessageSummary
from ..record_text import bytes_json
from .frame_json import error_json, named_envelope
from .record_json import record_members

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer


def envelope_with_records(result: Result, values: RecordDeserializer, summary: MessageSummary) -> dict[str, Any]:
    """Return the JSON object of a frame with `records`: those of Produce requests and of Fetch responses.

    Args:
        result: the frame.
        values: decodes keys and values by schema.
        summary: knows the names of topic ids.
    """
    records = [_record_json(record) for record in read_frame_records(result, values, summary)]
    members = named_envelope(result, summary)
    return {**members, "records": records} if records else members


def _record_json(record: FrameRecord) -> dict[str, Any]:
    members: dict[str, Any] = {"topic": record.topic, "partition": record.partition}
    members = {name: value for name, value in members.items() if value is not None}
    entry = record.entry
    if isinstance(entry, LogRecord):
        return {**members, **record_members(entry)}
    if not isinstance(entry, LogBytes):
        return {**members, "error": {"class": type(entry).__name__, "message": str(entry)}}
    if entry.error is None:
        return {**members, "zeros": entry.count}
    assert isinstance(entry.data, bytes)  # nothing is masked here
    return {**members, "error": error_json(entry.error), **(bytes_json(entry.data) or {})}
