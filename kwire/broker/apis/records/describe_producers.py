"""DescribeProducers: the producers that write to partitions (KIP-664)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic_names import is_valid_name
from ...log.producer_state_manager import ProducerState as KnownProducer
from ...request_context import RequestContext
from ...transactions.transaction import TopicPartition


def describe_producers(
    request: RequestContext[messages.DescribeProducersRequest],
) -> messages.DescribeProducersResponse:
    """Handle DescribeProducers: return the producers of partitions that this broker leads."""
    # Kafka: ReplicaManager.activeProducerState
    response = messages.DescribeProducersResponse
    return response(
        topics=tuple(
            response.TopicResponse(
                name=row.name,
                partitions=tuple(_producers_in(request, (row.name, index)) for index in row.partition_indexes),
            )
            for row in request.message.topics
        )
    )


def _producers_in(
    request: RequestContext[messages.DescribeProducersRequest], topic_partition: TopicPartition
) -> messages.DescribeProducersResponse.PartitionResponse:
    row = messages.DescribeProducersResponse.PartitionResponse
    led_partition = request.find_led(*topic_partition)
    if led_partition == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not is_valid_name(topic_partition[0]):
        led_partition = ErrorCode.INVALID_TOPIC_EXCEPTION  # KafkaApis.handleDescribeProducersRequest
    if isinstance(led_partition, int):
        return row(
            partition_index=topic_partition[1], error_code=led_partition, error_message=ErrorCode(led_partition).about
        )
    producers = led_partition[1].producers
    rows = (
        _producer(producer_id, known, producers.open.get(producer_id, -1))
        for producer_id, known in producers.known().items()
    )
    return row(partition_index=topic_partition[1], error_message=None, active_producers=tuple(rows))


def _producer(
    producer_id: int, producer: KnownProducer, first_offset: int
) -> messages.DescribeProducersResponse.ProducerState:
    return messages.DescribeProducersResponse.ProducerState(
        producer_id=producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.batches[-1][1] if producer.batches else -1,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=first_offset,
    )


APIS = {
    "DescribeProducers": ServedApi(0, 0, describe_producers, finds_errors=True),
}
