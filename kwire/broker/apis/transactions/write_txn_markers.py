"""WriteTxnMarkers: writes the markers that end transactions into partitions (KIP-98)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext
from ...transactions.transaction import TopicPartition


def write_txn_markers(request: RequestContext[messages.WriteTxnMarkersRequest]) -> messages.WriteTxnMarkersResponse:
    """Handle WriteTxnMarkers (KIP-664): end an administrator's hanging transactions in partitions that this broker
    leads."""
    # Kafka: KafkaApis.handleWriteTxnMarkersRequest
    response = messages.WriteTxnMarkersResponse
    rows = []
    for marker in request.message.markers:
        topics = tuple(
            response.WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=tuple(
                    response.WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=_mark(request, marker, (topic.name, index))
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in marker.topics
        )
        rows.append(response.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    return response(markers=tuple(rows))


def _mark(
    request: RequestContext[messages.WriteTxnMarkersRequest],
    marker: messages.WriteTxnMarkersRequest.WritableTxnMarker,
    topic_partition: TopicPartition,
) -> int:
    led_partition = request.find_led(*topic_partition)
    if isinstance(led_partition, int):
        return led_partition
    partition, log = led_partition
    known = log.producers.known().get(marker.producer_id)
    if known is not None and marker.coordinator_epoch < known.coordinator_epoch:
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return request.cluster.transactions.mark(
        partition,
        marker.producer_id,
        marker.producer_epoch,
        is_commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
    )


APIS = {  # what each version has changed
    # 1: flexible (KIP-482)
    # 2: the version of transactions (KIP-1228)
    "WriteTxnMarkers": ServedApi(1, 2, write_txn_markers, finds_errors=True),
}
