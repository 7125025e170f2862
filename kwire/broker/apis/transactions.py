"""The transaction apis InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn, WriteTxnMarkers,
DescribeTransactions, ListTransactions and DescribeProducers (KIP-98, KIP-360, KIP-664, KIP-890)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import messages
from ...regular_expressions import BadPattern, compile_pattern
from ...values import AclOperation, ErrorCode, ResourceType
from ..authentication_and_acls import CLUSTER_NAME
from ..classic_group import Commit, Group
from ..cluster_state import FIRST_OF_BROKERS, RequestContext
from ..consumer_group import GroupState
from ..internal_topics import TRANSACTIONS, Producer, coordinator_of
from ..replica_log import Producer as KnownProducer
from ..share_group import ShareGroup
from ..transaction_coordinator import HIGHEST_EPOCH, Place, Transaction, TransactionState
from .classic_groups import consumer_problem, member_or_problem, problem_with
from .consumer_groups_and_offsets import checked_commit

MOST_TIMEOUT_MS = 15 * 60 * 1000  # the default of Kafka's transaction.max.timeout.ms
FIRST_INIT_WITH_FENCED = 4  # the first version of InitProducerId with the error code PRODUCER_FENCED (KIP-588)
FIRST_WITH_FENCED = 2  # the first version of the other apis with PRODUCER_FENCED (KIP-588)
FIRST_OF_PROTOCOL_2 = 5  # of EndTxn and TxnOffsetCommit: the epoch changes with each transaction (KIP-890)


def init_producer_id(request: RequestContext) -> Any:
    """Handle InitProducerId: return a new producer id, or the next epoch for a producer that sends its id (KIP-360)."""
    response, asked = messages.InitProducerIdResponse, request.message
    if code := _denial(request):
        return response(error_code=code, producer_id=-1, producer_epoch=-1)
    if asked.transactional_id is not None:
        found = _transactional(request)
        if isinstance(found, int):
            return response(error_code=found, producer_id=-1, producer_epoch=-1)
        return response(producer_id=found.producer_id, producer_epoch=found.producer_epoch)
    if asked.producer_id >= 0 and 0 <= asked.producer_epoch < HIGHEST_EPOCH:
        return response(producer_id=asked.producer_id, producer_epoch=asked.producer_epoch + 1)
    return response(producer_id=request.cluster.new_producer_id(), producer_epoch=0)


def _denial(request: RequestContext) -> int:
    """Return the error code if the principal may not write; 0 if it may. Write access to any topic permits
    idempotent producers (KIP-679)."""
    cluster, transactional_id = request.cluster, request.message.transactional_id
    if cluster.authorizer is None:
        return ErrorCode.NONE
    if transactional_id is not None:
        return request.error(transactional_id=transactional_id)
    may = request.allows(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
    who = request.principal, request.client_host
    may = may or cluster.authorizer.allows_any(*who, AclOperation.WRITE, ResourceType.TOPIC)
    return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _transactional(request: RequestContext) -> Transaction | int:
    asked = request.message
    if not asked.transactional_id or (asked.producer_id < 0) != (asked.producer_epoch < 0):
        return ErrorCode.INVALID_REQUEST
    if not 0 < asked.transaction_timeout_ms <= MOST_TIMEOUT_MS:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    if code := problem_with(request, asked.transactional_id, TRANSACTIONS):
        return code
    begin = request.cluster.transactions.begin_producer
    found = begin(asked.transactional_id, asked.transaction_timeout_ms, asked.producer_id, asked.producer_epoch)
    if found == ErrorCode.PRODUCER_FENCED and request.version < FIRST_INIT_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return found


def _checked(request: RequestContext, transactional_id: str, producer_id: int, epoch: int) -> Transaction | int:
    """Return a transaction, or an error code if the producer may not continue it on this broker."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if code := problem_with(request, transactional_id, TRANSACTIONS):
        return code
    found = request.cluster.transactions.checked(transactional_id, producer_id, epoch)
    return _as_version(request, found) if isinstance(found, int) else found


def _as_version(request: RequestContext, code: int) -> int:
    is_old = code == ErrorCode.PRODUCER_FENCED and request.version < FIRST_WITH_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_old else code


def add_partitions_to_txn(request: RequestContext) -> Any:
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
    request: RequestContext, transactional_id: str, producer_id: int, epoch: int, topics: Any, verify_only: bool = False
) -> tuple[Any, ...]:
    places = [(row.name, index) for row in topics for index in row.partitions]
    errors = {place: _place_error(request, place) for place in places}
    found = _checked(request, transactional_id, producer_id, epoch)
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


def _place_error(request: RequestContext, place: Place) -> int:
    if code := request.error(*place):
        return code
    return (
        ErrorCode.NONE
        if request.cluster.controller.partition(*place) is not None
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def add_offsets_to_txn(request: RequestContext) -> Any:
    """Handle AddOffsetsToTxn: add the offsets of a group to a transaction."""
    asked = request.message
    found = _checked(request, asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if isinstance(found, int):
        return messages.AddOffsetsToTxnResponse(error_code=found)
    if code := request.error(group=asked.group_id):
        return messages.AddOffsetsToTxnResponse(error_code=code)
    place = request.cluster.groups.log_place(asked.group_id)
    request.cluster.transactions.add(found, request.now, [place])
    return messages.AddOffsetsToTxnResponse()


def txn_offset_commit(request: RequestContext) -> Any:
    """Handle TxnOffsetCommit: store the offsets once the transaction is committed."""
    response, asked = messages.TxnOffsetCommitResponse, request.message
    group = _committing(request)
    commits: dict[tuple[str, int], Commit] = {}
    errors = [[checked_commit(request, group, row, part, commits) for part in row.partitions] for row in asked.topics]
    failed: int = ErrorCode.NONE
    if isinstance(group, Group):
        producer = Producer(asked.producer_id, asked.producer_epoch)
        failed = request.cluster.groups.commit_pending(group, producer, commits)
    rows = []
    for row, found in zip(asked.topics, errors, strict=True):
        parts = tuple(
            response.TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code or failed)
            for part, code in zip(row.partitions, found, strict=True)
        )
        topic_row = response.TxnOffsetCommitResponseTopic
        rows.append(topic_row(name=row.name, topic_id=row.topic_id, partitions=parts))
    return response(topics=tuple(rows))


def _committing(request: RequestContext) -> Group | int:
    """Return the group, or an error code if this producer may not commit offsets now."""
    asked, cluster = request.message, request.cluster
    code = request.error(transactional_id=asked.transactional_id) or problem_with(request, asked.group_id)
    if code:
        return code
    found = cluster.transactions.checked(asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if isinstance(found, int):
        return ErrorCode.INVALID_PRODUCER_EPOCH if found == ErrorCode.PRODUCER_FENCED else found
    is_second = request.version >= FIRST_OF_PROTOCOL_2
    place = cluster.groups.log_place(asked.group_id)
    if not is_second and (found.state is not TransactionState.ONGOING or place not in found.partitions):
        return ErrorCode.INVALID_TXN_STATE
    group = _group_of(request)
    if is_second and isinstance(group, Group):
        cluster.transactions.add(found, request.now, [place], protocol=2)
    return group


def _group_of(request: RequestContext) -> Group | int:
    """Return the group whose offsets are committed, or an error code if the member or generation is wrong."""
    asked, groups = request.message, request.cluster.groups
    group = groups.find(asked.group_id)
    generation = asked.generation_id_or_member_epoch
    if group is not None and isinstance(group.consumer, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if generation < 0 and not asked.member_id:
        made = groups.found_or_made(asked.group_id)
        return ErrorCode.GROUP_MAX_SIZE_REACHED if made is None else made
    if group is None:
        return ErrorCode.ILLEGAL_GENERATION
    if group.consumer is not None and group.consumer.members:
        return consumer_problem(group, asked.member_id, generation) or group
    member = member_or_problem(group, asked.member_id, asked.group_instance_id)
    if isinstance(member, int):
        return member
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else group


def end_txn(request: RequestContext) -> Any:
    """Handle EndTxn."""
    response, asked = messages.EndTxnResponse, request.message
    transactions = request.cluster.transactions
    found = _checked(request, asked.transactional_id, asked.producer_id, asked.producer_epoch)
    code = found if isinstance(found, int) else ErrorCode.NONE
    known = transactions.find(asked.transactional_id)
    is_fenced = code == ErrorCode.PRODUCER_FENCED and known is not None
    if known and is_fenced and transactions.has_ended(known, asked.producer_epoch, is_commit=asked.committed):
        return response(producer_id=known.producer_id, producer_epoch=known.producer_epoch)
    if isinstance(found, int):
        return response(error_code=found)
    protocol = 2 if request.version >= FIRST_OF_PROTOCOL_2 else 1
    code = transactions.end(found, is_commit=asked.committed, protocol=protocol)
    if code or protocol == 1:
        return response(error_code=code)
    return response(producer_id=found.producer_id, producer_epoch=found.producer_epoch)


def write_txn_markers(request: RequestContext) -> Any:
    """Handle WriteTxnMarkers (KIP-664): end an administrator's hanging transactions in partitions that this broker
    leads."""
    response = messages.WriteTxnMarkersResponse
    rows = []
    for marker in request.message.markers:
        topics = tuple(
            response.WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=tuple(
                    response.WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=_mark(request, marker, (topic.name, index))
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in marker.topics
        )
        rows.append(response.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    return response(markers=tuple(rows))


def _mark(request: RequestContext, marker: Any, place: Place) -> int:
    found = request.led(*place)
    if isinstance(found, int):
        return found
    partition, log = found
    known = log.producers.known().get(marker.producer_id)
    if known is not None and marker.coordinator_epoch < known.coordinator_epoch:
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return request.cluster.transactions.mark(
        partition,
        marker.producer_id,
        marker.producer_epoch,
        is_commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
    )


def describe_transactions(request: RequestContext) -> Any:
    """Handle DescribeTransactions."""
    names = dict.fromkeys(request.message.transactional_ids)
    rows = tuple(_described(request, name) for name in names)
    return messages.DescribeTransactionsResponse(transaction_states=rows)


def _described(request: RequestContext, transactional_id: str) -> Any:
    response = messages.DescribeTransactionsResponse
    if code := problem_with(request, transactional_id, TRANSACTIONS):
        code = ErrorCode.INVALID_REQUEST if not transactional_id else code
        return response.TransactionState(transactional_id=transactional_id, error_code=code)
    one = request.cluster.transactions.find(transactional_id)
    if one is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return response.TransactionState(transactional_id=transactional_id, error_code=code)
    indexes: dict[str, list[int]] = {}
    for topic, index in one.partitions:
        indexes.setdefault(topic, []).append(index)
    return response.TransactionState(
        transactional_id=transactional_id,
        transaction_state=one.state.value,
        transaction_timeout_ms=one.timeout_ms,
        transaction_start_time_ms=one.started_ms,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        topics=tuple(response.TopicData(topic=topic, partitions=tuple(rows)) for topic, rows in indexes.items()),
    )


def list_transactions(request: RequestContext) -> Any:
    """Handle ListTransactions: return the transactions that this broker coordinates."""
    response, asked = messages.ListTransactionsResponse, request.message
    known = {state.value for state in TransactionState}
    try:
        pattern = compile_pattern(asked.transactional_id_pattern or ".*")
    except BadPattern:
        return response(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    rows = (
        response.TransactionState(
            transactional_id=one.transactional_id, producer_id=one.producer_id, transaction_state=one.state.value
        )
        for one in _own(request)
        if request.allows(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, one.transactional_id)
        and (not asked.state_filters or one.state.value in asked.state_filters)
        and (not asked.producer_id_filters or one.producer_id in asked.producer_id_filters)
        and _is_as_long(request, one, asked.duration_filter)
        and pattern.fullmatch(one.transactional_id)
    )
    unknown = tuple(state for state in asked.state_filters if state not in known)
    return response(transaction_states=tuple(rows), unknown_state_filters=unknown)


def _own(request: RequestContext) -> Iterator[Transaction]:
    cluster = request.cluster
    for one in cluster.transactions.all():
        if coordinator_of(one.transactional_id, cluster.controller, TRANSACTIONS) == request.node_id:
            yield one


def _is_as_long(request: RequestContext, one: Transaction, duration_ms: int) -> bool:
    is_open = one.started_ms >= 0
    return duration_ms < 0 or (is_open and request.cluster.time_ms() - one.started_ms > duration_ms)


def describe_producers(request: RequestContext) -> Any:
    """Handle DescribeProducers: return the producers of partitions that this broker leads."""
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


def _producers_in(request: RequestContext, place: Place) -> Any:
    row = messages.DescribeProducersResponse.PartitionResponse
    found = request.led(*place)
    if isinstance(found, int):
        return row(partition_index=place[1], error_code=found, error_message=ErrorCode(found).about)
    producers = found[1].producers
    rows = (_producer(one, known, producers.open.get(one, -1)) for one, known in producers.known().items())
    return row(partition_index=place[1], error_message=None, active_producers=tuple(rows))


def _producer(producer_id: int, found: KnownProducer, first_offset: int) -> Any:
    return messages.DescribeProducersResponse.ProducerState(
        producer_id=producer_id,
        producer_epoch=found.epoch,
        last_sequence=found.batches[-1][1] if found.batches else -1,
        last_timestamp=found.last_timestamp,
        coordinator_epoch=found.coordinator_epoch,
        current_txn_start_offset=first_offset,
    )
