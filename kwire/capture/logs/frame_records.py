"""The records in a frame, with keys and values decoded by schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...errors import KwireError
from ...protocol import Request, Response, Result
from ...protocol.message_summary import MessageSummary
from ...protocol.record_fields import find_record_sets
from .log_batch import LogBytes, LogRecord
from .log_reader import read_records

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer


class FrameRecord(NamedTuple):
    """A record of a frame, bytes that cannot be read as one, or why a batch cannot be opened; topic and partition."""

    topic: str | None
    partition: int | None
    entry: LogRecord | LogBytes | KwireError


def read_frame_records(
    result: Result, values: RecordDeserializer | None, summary: MessageSummary
) -> Iterator[FrameRecord]:
    """Yield the records of a Produce request or of a Fetch response; none of other frames.

    Args:
        result: the frame.
        values: decodes keys and values by schema.
        summary: learns the names of topic ids from each frame, and tells them.
    """
    if not isinstance(result, Request | Response):
        return
    summary.learn_names(result.codec, result.message)
    for partition, data in find_record_sets(result.codec, result.message):
        topic = partition.topic or (None if partition.topic_id is None else summary.topic_of(partition.topic_id))
        for entry in read_records(bytes(data), topic, values):
            yield FrameRecord(topic, partition.partition, entry)
