"""DescribeTransactions: the state of transactional ids (KIP-664)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic_names import TRANSACTIONS
from ...request_context import RequestContext
from ..groups.group_checks import problem_with


def describe_transactions(
    request: RequestContext[messages.DescribeTransactionsRequest],
) -> messages.DescribeTransactionsResponse:
    """Handle DescribeTransactions."""
    # Kafka: TransactionCoordinator.handleDescribeTransactions
    rows = tuple(_describe_transaction(request, name) for name in request.message.transactional_ids)
    return messages.DescribeTransactionsResponse(transaction_states=rows)


def _describe_transaction(
    request: RequestContext[messages.DescribeTransactionsRequest], transactional_id: str
) -> messages.DescribeTransactionsResponse.TransactionState:
    response = messages.DescribeTransactionsResponse
    if code := problem_with(request, transactional_id, TRANSACTIONS):
        code = ErrorCode.INVALID_REQUEST if not transactional_id else code
        return response.TransactionState(transactional_id=transactional_id, error_code=code)
    transaction = request.cluster.transactions.find(transactional_id)
    if transaction is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return response.TransactionState(transactional_id=transactional_id, error_code=code)
    indexes: dict[str, list[int]] = {}
    for topic, index in transaction.partitions:
        indexes.setdefault(topic, []).append(index)
    return response.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=tuple(response.TopicData(topic=topic, partitions=tuple(rows)) for topic, rows in indexes.items()),
    )


APIS = {
    "DescribeTransactions": ServedApi(0, 0, describe_transactions, finds_errors=True),
}
