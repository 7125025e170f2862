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
    response, asked = messages.AddPartitionsToTxnResponse, request.message
    if request.version < FIRST_OF_BROKERS:
        rows = _add_partitions(
            request,
            asked.v3_and_below_transactional_id,
            asked.v3_and_below_producer_id,
            asked.v3_and_below_producer_epoch,
            asked.v3_and_below_topics,
        )
        return response(results_by_topic_v3_and_below=rows)
    if code := request.error():
        return request.failed(code)
    result = response.AddPartitionsToTxnResult
    found = tuple(
        result(
            transactional_id=one.transactional_id,
            topic_results=_add_partitions(
                request, one.transactional_id, one.producer_id, one.producer_epoch, one.topics, one.verify_only
            ),
        )
        for one in asked.transactions
    )
    return response(results_by_transaction=found)


def _add_partitions(
    request: RequestContext[messages.AddPartitionsToTxnRequest],
    transactional_id: str,
    producer_id: int,
    epoch: int,
    topics: Sequence[messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic],
    verify_only: bool = False,
) -> tuple[messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...]:
    places = [(row.name, index) for row in topics for index in row.partitions]
    errors = {place: _place_error(request, place) for place in places}
    found = find_transaction(request, transactional_id, producer_id, epoch)
    if isinstance(found, int):
        errors = dict.fromkeys(places, found)
    elif any(errors.values()):
        errors = {place: code or ErrorCode.OPERATION_NOT_ATTEMPTED for place, code in errors.items()}
    elif verify_only:
        is_open = found.state is TransactionState.ONGOING
        known = found.partitions if is_open else {}
        errors = {place: ErrorCode.NONE if place in known else ErrorCode.TRANSACTION_ABORTABLE for place in places}
    else:
        request.cluster.transactions.add(found, request.now, places)
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


def _place_error(request: RequestContext[messages.AddPartitionsToTxnRequest], place: TopicPartition) -> int:
    if code := request.error(*place):
        return code
    return (
        ErrorCode.NONE
        if request.cluster.controller.partition(*place) is not None
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
