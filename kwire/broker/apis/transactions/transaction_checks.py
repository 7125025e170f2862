"""The checks that requests of transactions share: the coordinator, the producer and its epoch."""

from __future__ import annotations

from ....values import ErrorCode
from ...controller.topic_names import TRANSACTIONS
from ...request_context import RequestContext
from ...transactions.transaction import Transaction
from ..groups.group_checks import problem_with

FIRST_WITH_FENCED = 2  # the first version of the other apis with PRODUCER_FENCED (KIP-588)
FIRST_OF_PROTOCOL_2 = 5  # of EndTxn and TxnOffsetCommit: the epoch changes with each transaction (KIP-890)


def find_transaction(
    request: RequestContext[object], transactional_id: str, producer_id: int, epoch: int
) -> Transaction | int:
    """Return a transaction, or an error code if the producer may not continue it on this broker."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if code := problem_with(request, transactional_id, TRANSACTIONS):
        return code
    transaction = request.cluster.transactions.find_for_producer(transactional_id, producer_id, epoch)
    return _as_version(request, transaction) if isinstance(transaction, int) else transaction


def _as_version(request: RequestContext[object], code: int) -> int:
    is_old = code == ErrorCode.PRODUCER_FENCED and request.version < FIRST_WITH_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_old else code
