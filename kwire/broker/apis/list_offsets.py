"""ListOffsets: the first and last offset of a log, or the first offset at a timestamp; OffsetForLeaderEpoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..log import Log
from ..topics import Partition

FIRST_WITH_EPOCHS = 4
READ_COMMITTED = 1
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def list_offsets(request: RequestContext) -> Any:
    """Answer ListOffsets."""
    response = messages.ListOffsetsResponse
    rows = []
    for row in request.message.topics:
        topic = request.cluster.controller.find(row.name)
        known = topic.partitions if topic is not None else []
        parts = []
        for part in row.partitions:
            index = part.partition_index
            partition = known[index] if 0 <= index < len(known) else None
            parts.append(_row(request, row.name, partition, part))
        rows.append(response.ListOffsetsTopicResponse(name=row.name, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _row(request: RequestContext, topic: str, partition: Partition | None, part: Any) -> Any:
    row = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
    code = request.error(topic, part.partition_index)
    if partition is None or code:
        return row(partition_index=part.partition_index, error_code=code or codes.UNKNOWN_TOPIC_OR_PARTITION)
    log = partition.log_at(request.node_id, part.current_leader_epoch)
    if isinstance(log, int):
        return row(partition_index=part.partition_index, error_code=log)
    try:
        is_committed = request.message.isolation_level == READ_COMMITTED
        offset, timestamp, epoch = _found(log, part.timestamp, log.stable_end if is_committed else log.end)
        epoch = epoch if request.version >= FIRST_WITH_EPOCHS else -1
    except OSError:
        request.cluster.fail(partition.replicas[request.node_id].log_dir)
        return row(partition_index=part.partition_index, error_code=codes.KAFKA_STORAGE_ERROR)
    return row(partition_index=part.partition_index, offset=offset, timestamp=timestamp, leader_epoch=epoch)


def offset_for_leader_epoch(request: RequestContext) -> Any:
    """Answer OffsetForLeaderEpoch (KIP-101): where the batches of a leader epoch end."""
    response = messages.OffsetForLeaderEpochResponse
    rows = []
    for row in request.message.topics:
        topic = request.cluster.controller.find(row.topic)
        known = topic.partitions if topic is not None else []
        parts = [_epoch_end(request, row.topic, known, part) for part in row.partitions]
        rows.append(response.OffsetForLeaderTopicResult(topic=row.topic, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _epoch_end(request: RequestContext, topic: str, known: Sequence[Partition], part: Any) -> Any:
    row = messages.OffsetForLeaderEpochResponse.EpochEndOffset
    code = request.error(topic, part.partition)
    if code or not 0 <= part.partition < len(known):
        return row(partition=part.partition, error_code=code or codes.UNKNOWN_TOPIC_OR_PARTITION)
    partition = known[part.partition]
    log = partition.log_at(request.node_id, part.current_leader_epoch)
    if isinstance(log, int):
        return row(partition=part.partition, error_code=log)
    if part.leader_epoch > partition.leader_epoch or part.leader_epoch < 0:
        return row(partition=part.partition)
    epoch, end = log.end_of_epoch(part.leader_epoch)
    if part.leader_epoch == partition.leader_epoch:
        epoch, end = part.leader_epoch, log.end
    return row(partition=part.partition, leader_epoch=epoch, end_offset=end)


def _found(log: Log, timestamp: int, end: int) -> tuple[int, int, int]:
    """Return offset, time and leader epoch; `end` is that of what the client may read."""
    if timestamp == LATEST:
        return end, -1, log.epoch_at(end)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.start, -1, log.epoch_at(log.start)
    if timestamp == MAX_TIMESTAMP:
        return log.find_newest()
    found = log.find_time(timestamp) if timestamp >= 0 else (-1, -1, -1)
    return found if found[0] < end else (-1, -1, -1)
