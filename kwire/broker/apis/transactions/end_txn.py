"""EndTxn: commits or aborts a transaction (KIP-98, KIP-890)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext
from .transaction_checks import FIRST_OF_PROTOCOL_2, find_transaction


def end_txn(request: RequestContext[messages.EndTxnRequest]) -> messages.EndTxnResponse:
    """Handle EndTxn."""
    # Kafka: TransactionCoordinator.handleEndTransaction
    response = messages.EndTxnResponse
    message = request.message
    transactions = request.cluster.transactions
    transaction = find_transaction(request, message.transactional_id, message.producer_id, message.producer_epoch)
    code = transaction if isinstance(transaction, int) else ErrorCode.NONE
    known = transactions.find(message.transactional_id)
    is_fenced = code == ErrorCode.PRODUCER_FENCED and known is not None
    if known and is_fenced and transactions.has_ended(known, message.producer_epoch, is_commit=message.committed):
        return response(producer_id=known.producer_id, producer_epoch=known.producer_epoch)
    if isinstance(transaction, int):
        return response(error_code=transaction)
    protocol = 2 if request.version >= FIRST_OF_PROTOCOL_2 else 1
    code = transactions.end(transaction, is_commit=message.committed, protocol=protocol)
    if code or protocol == 1:
        return response(error_code=code)
    return response(producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch)


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
    # 3: flexible (KIP-482)
    # 4: TRANSACTION_ABORTABLE (KIP-890)
    # 5: a new epoch for each transaction (KIP-890)
    "EndTxn": ServedApi(0, 5, end_txn),
}
