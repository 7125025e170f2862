"""ListOffsets: the offset of a time, or of a log's start or end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...log.replica_log import ReplicaLog
from ...request_context import RequestContext
from .fetch import ISOLATION_LEVELS, READ_COMMITTED
from .merged_partitions import merge_partitions

NEVER = 1 << 15  # above all versions
FIRST_WITH_EPOCHS = 4  # the first version of ListOffsets with leader epochs
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
# The first versions with the special timestamps (KafkaApis.handleListOffsetRequestV1AndAbove).
FIRST_WITH_TIMESTAMP = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}


def list_offsets(request: RequestContext[messages.ListOffsetsRequest]) -> messages.ListOffsetsResponse:
    """Handle ListOffsets."""
    # Kafka: ReplicaManager.fetchOffset
    response = messages.ListOffsetsResponse
    counts = Counter((row.name, part.partition_index) for row in request.message.topics for part in row.partitions)
    rows = []
    for name, sent_parts in merge_partitions(request.message.topics, lambda part: part.partition_index).items():
        parts = tuple(_list_partition(request, name, part, counts) for part in sent_parts)
        rows.append(response.ListOffsetsTopicResponse(name=name, partitions=parts))
    return response(topics=tuple(rows))


def _list_partition(
    request: RequestContext[messages.ListOffsetsRequest],
    topic: str,
    part: messages.ListOffsetsRequest.ListOffsetsPartition,
    counts: Mapping[tuple[str, int], int],
) -> messages.ListOffsetsResponse.ListOffsetsPartitionResponse:
    row = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
    if counts[topic, part.partition_index] > 1:
        return row(partition_index=part.partition_index, error_code=ErrorCode.INVALID_REQUEST)
    if part.timestamp < 0 and request.version < FIRST_WITH_TIMESTAMP.get(part.timestamp, NEVER):
        return row(partition_index=part.partition_index, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if request.message.isolation_level not in ISOLATION_LEVELS:  # Kafka: IsolationLevel.forId throws
        return row(partition_index=part.partition_index, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    led_partition = request.find_led(topic, part.partition_index, part.current_leader_epoch)
    if isinstance(led_partition, int):
        return row(partition_index=part.partition_index, error_code=led_partition)
    partition, log = led_partition
    try:
        is_committed = request.message.isolation_level == READ_COMMITTED
        offset, timestamp, epoch = _offset_at(log, part.timestamp, log.stable_end if is_committed else log.end)
        epoch = epoch if request.version >= FIRST_WITH_EPOCHS else -1
    except OSError:
        request.cluster.fail(partition.replicas[request.node_id].log_dir)
        return row(partition_index=part.partition_index, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return row(partition_index=part.partition_index, offset=offset, timestamp=timestamp, leader_epoch=epoch)


def _offset_at(log: ReplicaLog, timestamp: int, end: int) -> tuple[int, int, int]:
    """Return offset, timestamp and leader epoch for a timestamp; `end` is the first offset that the client may not
    read."""
    # Kafka: UnifiedLog.fetchOffsetByTimestamp
    if timestamp == LATEST:
        return end, -1, log.epoch_at(end)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.start, -1, log.epoch_at(log.start)
    if timestamp == MAX_TIMESTAMP:
        return log.find_newest()
    stamped = log.find_time(timestamp) if timestamp >= 0 else (-1, -1, -1)
    return stamped if stamped[0] < end else (-1, -1, -1)


APIS = {  # what each version has changed
    # 1: one offset per partition, with its timestamp (KIP-79)
    # 2: isolation levels (KIP-98); the throttle time (KIP-124)
    # 3: the response is sent before the client is throttled (KIP-219)
    # 4: leader epochs (KIP-320)
    # 5: OFFSET_NOT_AVAILABLE (KIP-207)
    # 6: flexible (KIP-482)
    # 7: the offset of the highest timestamp (KIP-734)
    # 8: the earliest local offset (KIP-405)
    # 9: the latest offset in tiered storage (KIP-1005)
    # 10: a timeout for tiered storage (KIP-1075)
    "ListOffsets": ServedApi(1, 10, list_offsets, finds_errors=True),
}
