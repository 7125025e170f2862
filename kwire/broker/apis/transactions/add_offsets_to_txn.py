"""AddOffsetsToTxn: adds the offsets of a group to a transaction (KIP-98)."""

from __future__ import annotations

from .... import messages
from ...api import ServedApi
from ...request_context import RequestContext
from .transaction_checks import find_transaction


def add_offsets_to_txn(request: RequestContext[messages.AddOffsetsToTxnRequest]) -> messages.AddOffsetsToTxnResponse:
    """Handle AddOffsetsToTxn: add the offsets of a group to a transaction."""
    message = request.message
    transaction = find_transaction(request, message.transactional_id, message.producer_id, message.producer_epoch)
    if isinstance(transaction, int):
        return messages.AddOffsetsToTxnResponse(error_code=transaction)
    if code := request.error(group=message.group_id):
        return messages.AddOffsetsToTxnResponse(error_code=code)
    topic_partition = request.cluster.groups.log_place(message.group_id)
    code = request.cluster.transactions.add(transaction, request.now, [topic_partition])
    return messages.AddOffsetsToTxnResponse(error_code=code)


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
    # 3: flexible (KIP-482)
    # 4: TRANSACTION_ABORTABLE (KIP-890)
    "AddOffsetsToTxn": ServedApi(0, 4, add_offsets_to_txn),
}
