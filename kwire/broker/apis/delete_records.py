"""DeleteRecords: the records before an offset are gone (KIP-107)."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from .reassignments import partition_of

ALL = -1


def delete_records(request: RequestContext) -> Any:
    """Answer DeleteRecords."""
    response = messages.DeleteRecordsResponse
    rows = []
    for topic in request.message.topics:
        parts = []
        for part in topic.partitions:
            code, start = _delete(request, topic.name, part)
            row = response.DeleteRecordsPartitionResult
            parts.append(row(partition_index=part.partition_index, error_code=code, low_watermark=start))
        rows.append(response.DeleteRecordsTopicResult(name=topic.name, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _delete(request: RequestContext, name: str, part: Any) -> tuple[int, int]:
    """Return an error code, and the first offset that is left."""
    partition = partition_of(request, name, part.partition_index)
    code = request.error(name, part.partition_index)
    if partition is None or code:
        return code or codes.UNKNOWN_TOPIC_OR_PARTITION, -1
    log = partition.log_at(request.node_id)
    if isinstance(log, int):
        return log, -1
    topic = request.cluster.controller.known(name)
    if not topic.has_policy("delete"):
        return codes.POLICY_VIOLATION, -1
    offset = log.end if part.offset == ALL else part.offset
    if not 0 <= offset <= log.end:
        return codes.OFFSET_OUT_OF_RANGE, -1
    request.cluster.fail(*partition.delete_before(offset))
    request.cluster.controller.remember_start(partition)
    return codes.NONE, log.start
