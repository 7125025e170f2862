"""ListTransactions: the transactions that a broker coordinates (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterator

from .... import messages
from ....runtime.regular_expressions import BadPattern, compile_pattern
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...controller.topic_names import TRANSACTIONS
from ...internal_topics import coordinator_of
from ...request_context import RequestContext
from ...transactions.transaction import Transaction, TransactionState


def list_transactions(request: RequestContext[messages.ListTransactionsRequest]) -> messages.ListTransactionsResponse:
    """Handle ListTransactions: return the transactions that this broker coordinates."""
    # Kafka: TransactionCoordinator.handleListTransactions
    response = messages.ListTransactionsResponse
    message = request.message
    known = {state.value for state in TransactionState}
    try:
        pattern = compile_pattern(message.transactional_id_pattern or ".*")
    except BadPattern:
        return response(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    rows = (
        response.TransactionState(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            transaction_state=transaction.state.value,
        )
        for transaction in _own(request)
        if request.allows(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
        and (not message.state_filters or transaction.state.value in message.state_filters)
        and (not message.producer_id_filters or transaction.producer_id in message.producer_id_filters)
        and _is_as_long(request, transaction, message.duration_filter)
        and pattern.fullmatch(transaction.transactional_id)
    )
    unknown = tuple(state for state in message.state_filters if state not in known)
    return response(transaction_states=tuple(rows), unknown_state_filters=unknown)


def _own(request: RequestContext[messages.ListTransactionsRequest]) -> Iterator[Transaction]:
    cluster = request.cluster
    for transaction in cluster.transactions.all():
        if coordinator_of(transaction.transactional_id, cluster.controller, TRANSACTIONS) == request.node_id:
            yield transaction


def _is_as_long(
    request: RequestContext[messages.ListTransactionsRequest], transaction: Transaction, duration_ms: int
) -> bool:
    is_open = transaction.started_ms >= 0
    return duration_ms < 0 or (is_open and request.cluster.time_ms() - transaction.started_ms > duration_ms)


APIS = {  # what each version has changed
    # 1: transactions that have been open for some time (KIP-994)
    # 2: patterns of transactional ids (KIP-1152)
    "ListTransactions": ServedApi(0, 2, list_transactions),
}
