"""TxnOffsetCommit: commits the offsets of a group within a transaction (KIP-98, KIP-447)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.classic_group import Group
from ...groups.committed_offsets import Commit
from ...groups.modern_group import GroupState
from ...groups.share_group import ShareGroup
from ...internal_topics import ProducerIdAndEpoch
from ...request_context import RequestContext
from ...transactions.transaction import TransactionState
from ..groups.group_checks import commit_problem, member_or_problem, problem_with
from ..groups.offset_commit import check_commit
from .transaction_checks import FIRST_OF_PROTOCOL_2


def txn_offset_commit(request: RequestContext[messages.TxnOffsetCommitRequest]) -> messages.TxnOffsetCommitResponse:
    """Handle TxnOffsetCommit: store the offsets once the transaction is committed."""
    response = messages.TxnOffsetCommitResponse
    message = request.message
    group = _committing(request)
    commits: dict[tuple[str, int], Commit] = {}
    errors = [[check_commit(request, group, row, part, commits) for part in row.partitions] for row in message.topics]
    failed: int = ErrorCode.NONE
    if isinstance(group, Group):
        producer = ProducerIdAndEpoch(message.producer_id, message.producer_epoch)
        failed = request.cluster.groups.commit_pending(group, producer, commits)
    rows = []
    for row, codes in zip(message.topics, errors, strict=True):
        parts = tuple(
            response.TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code or failed)
            for part, code in zip(row.partitions, codes, strict=True)
        )
        topic_row = response.TxnOffsetCommitResponseTopic
        rows.append(topic_row(name=row.name, topic_id=row.topic_id, partitions=parts))
    return response(topics=tuple(rows))


def _committing(request: RequestContext[messages.TxnOffsetCommitRequest]) -> Group | int:
    """Return the group, or an error code if this producer may not commit offsets now."""
    # Kafka: OffsetMetadataManager.validateTransactionalOffsetCommit
    message = request.message
    cluster = request.cluster
    code = request.error(transactional_id=message.transactional_id) or problem_with(request, message.group_id)
    if code:
        return code
    transaction = cluster.transactions.find_for_producer(
        message.transactional_id, message.producer_id, message.producer_epoch
    )
    if isinstance(transaction, int):
        return ErrorCode.INVALID_PRODUCER_EPOCH if transaction == ErrorCode.PRODUCER_FENCED else transaction
    is_second = request.version >= FIRST_OF_PROTOCOL_2
    topic_partition = cluster.groups.log_place(message.group_id)
    if not is_second and (
        transaction.state is not TransactionState.ONGOING or topic_partition not in transaction.partitions
    ):
        return ErrorCode.INVALID_TXN_STATE
    group = _group_of(request)
    if not is_second or isinstance(group, int):
        return group
    # Kafka: ReplicaManager.maybeSendPartitionToTransactionCoordinator and GroupCoordinatorService, by way of
    # NOT_ENOUGH_REPLICAS
    code = cluster.transactions.add(transaction, request.now, [topic_partition], protocol=2)
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if code else group


def _group_of(request: RequestContext[messages.TxnOffsetCommitRequest]) -> Group | int:
    """Return the group whose offsets are committed, or an error code if the member or generation is wrong."""
    message = request.message
    groups = request.cluster.groups
    group = groups.find(message.group_id)
    generation = message.generation_id_or_member_epoch
    if group is not None and isinstance(group.consumer, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if generation < 0 and not message.member_id:
        made = groups.find_or_create(message.group_id)
        return ErrorCode.GROUP_MAX_SIZE_REACHED if made is None else made
    if group is None:
        return ErrorCode.ILLEGAL_GENERATION
    if group.consumer is not None and group.consumer.members:
        code = commit_problem(request, group, message.member_id, generation, message.topics)
        is_stale = code == ErrorCode.STALE_MEMBER_EPOCH
        return (ErrorCode.ILLEGAL_GENERATION if is_stale else code) or group
    member = member_or_problem(group, message.member_id, message.group_instance_id)
    if isinstance(member, int):
        return member
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else group


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: leader epochs (KIP-320)
    # 3: flexible (KIP-482); members and generations (KIP-447)
    # 4: TRANSACTION_ABORTABLE (KIP-890)
    # 5: the broker adds the group to the transaction itself (KIP-890)
    # 6: topic ids instead of names
    "TxnOffsetCommit": ServedApi(0, 6, txn_offset_commit, finds_errors=True),
}
