"""OffsetForLeaderEpoch: where a leader epoch ends in a log (KIP-101, KIP-320)."""

from __future__ import annotations

from .... import messages
from ...api import ServedApi
from ...controller.partition import NO_EPOCH
from ...request_context import RequestContext


def offset_for_leader_epoch(
    request: RequestContext[messages.OffsetForLeaderEpochRequest],
) -> messages.OffsetForLeaderEpochResponse:
    """Handle OffsetForLeaderEpoch (KIP-101): return the end offset of a leader epoch."""
    # Kafka: ReplicaManager.lastOffsetForLeaderEpoch
    response = messages.OffsetForLeaderEpochResponse
    rows = []
    for row in request.message.topics:
        parts = [_epoch_end(request, row.topic, part) for part in row.partitions]
        rows.append(response.OffsetForLeaderTopicResult(topic=row.topic, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _epoch_end(
    request: RequestContext[messages.OffsetForLeaderEpochRequest],
    topic: str,
    part: messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition,
) -> messages.OffsetForLeaderEpochResponse.EpochEndOffset:
    row = messages.OffsetForLeaderEpochResponse.EpochEndOffset
    led_partition = request.find_led(topic, part.partition, part.current_leader_epoch)
    if isinstance(led_partition, int):
        return row(partition=part.partition, error_code=led_partition)
    partition, log = led_partition
    if part.leader_epoch > partition.leader_epoch or part.leader_epoch == NO_EPOCH:
        return row(partition=part.partition)
    epoch, end = log.end_of_epoch(part.leader_epoch)
    if part.leader_epoch == partition.leader_epoch:
        epoch = part.leader_epoch
        end = log.end
    return row(partition=part.partition, leader_epoch=epoch, end_offset=end)


APIS = {  # what each version has changed
    # 2: the leader epoch that the client knows (KIP-320)
    # 3: the id of the follower that asks
    # 4: flexible (KIP-482)
    "OffsetForLeaderEpoch": ServedApi(2, 4, offset_for_leader_epoch, finds_errors=True),
}
