"""InitProducerId: a new producer id, or the next epoch of a transactional or known producer (KIP-98, KIP-360)."""

from __future__ import annotations

from .... import messages
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...controller.topic_names import TRANSACTIONS
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME
from ...transactions.transaction import Transaction
from ..groups.group_checks import problem_with

NONE = -1  # no producer id or epoch
FIRST_INIT_WITH_FENCED = 4  # the first version of InitProducerId with the error code PRODUCER_FENCED (KIP-588)


def init_producer_id(request: RequestContext[messages.InitProducerIdRequest]) -> messages.InitProducerIdResponse:
    """Handle InitProducerId: return a new producer id, or the next epoch for a transactional producer that sends
    its id (KIP-360)."""
    # Kafka: TransactionCoordinator.handleInitProducerId
    response = messages.InitProducerIdResponse
    message = request.message
    if code := _denial(request):
        return response(error_code=code, producer_id=-1, producer_epoch=-1)
    if message.transactional_id is not None:
        transaction = _transactional(request)
        if isinstance(transaction, int):
            return response(error_code=transaction, producer_id=-1, producer_epoch=-1)
        return response(producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch)
    return response(producer_id=request.cluster.new_producer_id(), producer_epoch=0)


def _denial(request: RequestContext[messages.InitProducerIdRequest]) -> int:
    """Return the error code if the principal may not write; 0 if it may. Write access to any topic permits
    idempotent producers (KIP-679)."""
    cluster = request.cluster
    transactional_id = request.message.transactional_id
    if cluster.authorizer is None:
        return ErrorCode.NONE
    if transactional_id is not None:
        return request.error(transactional_id=transactional_id)
    may = request.allows(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
    who = request.principal, request.client_host
    may = may or cluster.authorizer.allows_any(*who, AclOperation.WRITE, ResourceType.TOPIC)
    return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _transactional(request: RequestContext[messages.InitProducerIdRequest]) -> Transaction | int:
    message = request.message
    if (
        not message.transactional_id
        or (message.producer_id < 0) != (message.producer_epoch < 0)
        or min(message.producer_id, message.producer_epoch) < NONE
    ):
        return ErrorCode.INVALID_REQUEST
    if not 0 < message.transaction_timeout_ms <= request.cluster.settings.max_transaction_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    if code := problem_with(request, message.transactional_id, TRANSACTIONS):
        return code
    begin = request.cluster.transactions.begin_producer
    transaction = begin(
        message.transactional_id, message.transaction_timeout_ms, message.producer_id, message.producer_epoch
    )
    if transaction == ErrorCode.PRODUCER_FENCED and request.version < FIRST_INIT_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return transaction


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: the next epoch of a known producer id (KIP-360)
    # 4: PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
    # 5: TRANSACTION_ABORTABLE (KIP-890)
    "InitProducerId": ServedApi(0, 5, init_producer_id),
}
