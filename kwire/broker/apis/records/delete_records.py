"""DeleteRecords: deletes the records before an offset (KIP-107)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext
from .merged_partitions import merge_partitions

ALL = -1  # the offset in DeleteRecords that stands for the high watermark


def delete_records(request: RequestContext[messages.DeleteRecordsRequest]) -> messages.DeleteRecordsResponse:
    """Handle DeleteRecords."""
    # Kafka: ReplicaManager.deleteRecords
    response = messages.DeleteRecordsResponse
    rows = []
    for name, sent_parts in merge_partitions(request.message.topics, lambda part: part.partition_index).items():
        parts = []
        for part in sent_parts:
            code, start = _delete_records(request, name, part)
            row = response.DeleteRecordsPartitionResult
            parts.append(row(partition_index=part.partition_index, error_code=code, low_watermark=start))
        rows.append(response.DeleteRecordsTopicResult(name=name, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _delete_records(
    request: RequestContext[messages.DeleteRecordsRequest],
    name: str,
    part: messages.DeleteRecordsRequest.DeleteRecordsPartition,
) -> tuple[int, int]:
    """Delete records of a partition; return an error code and the new log start offset."""
    led_partition = request.find_led(name, part.partition_index)
    if isinstance(led_partition, int):
        return led_partition, -1
    partition, log = led_partition
    topic = request.cluster.controller.known(name)
    if not topic.has_policy("delete"):
        return ErrorCode.POLICY_VIOLATION, -1
    offset = log.end if part.offset == ALL else part.offset
    if not 0 <= offset <= log.end:
        return ErrorCode.OFFSET_OUT_OF_RANGE, -1
    request.cluster.fail(*partition.delete_before(offset))
    request.cluster.controller.remember_start(partition)
    return ErrorCode.NONE, log.start


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    "DeleteRecords": ServedApi(0, 2, delete_records, finds_errors=True),
}
