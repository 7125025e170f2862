"""AddPartitionsToTxn: adds partitions to transactions (KIP-98, KIP-890)."""

from __future__ import annotations

from collections.abc import Sequence

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import FIRST_OF_BROKERS, RequestContext
from ...transactions.transaction import TopicPartition, TransactionState
from .transaction_checks import find_transaction


def add_partitions_to_txn(
    request: RequestContext[messages.AddPartitionsToTxnRequest],
) -> messages.AddPartitionsToTxnResponse:
    """Handle AddPartitionsToTxn: add all partitions of a producer to its transaction, or none."""
    # Kafka: KafkaApis.handleAddPartitionsToTxnRequest
    response = messages.AddPartitionsToTxnResponse
    message = request.message
    if request.version < FIRST_OF_BROKERS:
        rows = _add_partitions(
            request,
            message.v3_and_below_transactional_id,
            message.v3_and_below_producer_id,
            message.v3_and_below_producer_epoch,
            message.v3_and_below_topics,
        )
        return response(results_by_topic_v3_and_below=rows)
    if code := request.error():
        return request.failed(code)
    result = response.AddPartitionsToTxnResult
    results = tuple(
        result(
            transactional_id=transaction.transactional_id,
            topic_results=_add_partitions(
                request,
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.topics,
                transaction.verify_only,
            ),
        )
        for transaction in message.transactions
    )
    return response(results_by_transaction=results)


def _add_partitions(
    request: RequestContext[messages.AddPartitionsToTxnRequest],
    transactional_id: str,
    producer_id: int,
    epoch: int,
    topics: Sequence[messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic],
    verify_only: bool = False,
) -> tuple[messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...]:
    places = [(row.name, index) for row in topics for index in row.partitions]
    errors = {topic_partition: _place_error(request, topic_partition) for topic_partition in places}
    transaction = find_transaction(request, transactional_id, producer_id, epoch)
    if isinstance(transaction, int):
        errors = dict.fromkeys(places, transaction)
    elif any(errors.values()):
        errors = {partition: code or ErrorCode.OPERATION_NOT_ATTEMPTED for partition, code in errors.items()}
    elif verify_only:
        is_open = transaction.state is TransactionState.ONGOING
        known = transaction.partitions if is_open else {}
        errors = {
            topic_partition: ErrorCode.NONE if topic_partition in known else ErrorCode.TRANSACTION_ABORTABLE
            for topic_partition in places
        }
    elif code := request.cluster.transactions.add(transaction, request.now, places):
        errors = dict.fromkeys(places, code)
    row = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    part = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
    return tuple(
        row(
            name=topic.name,
            results_by_partition=tuple(
                part(partition_index=index, partition_error_code=errors[topic.name, index])
                for index in topic.partitions
            ),
        )
        for topic in topics
    )


def _place_error(request: RequestContext[messages.AddPartitionsToTxnRequest], topic_partition: TopicPartition) -> int:
    if code := request.error(*topic_partition):
        return code
    return (
        ErrorCode.NONE
        if request.cluster.controller.partition(*topic_partition) is not None
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
    # 3: flexible (KIP-482)
    # 4: sent by brokers, for several transactions, or only to verify (KIP-890)
    # 5: TRANSACTION_ABORTABLE (KIP-890)
    "AddPartitionsToTxn": ServedApi(0, 5, add_partitions_to_txn, finds_errors=True),
}
