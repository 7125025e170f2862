"""Produce: validates batches, assigns offsets, and appends the batches to all in-sync replicas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from .... import messages
from ....codecs.records import RecordBatch, parse_records
from ....codecs.records.record_layouts import CONTROL, TRANSACTIONAL
from ....errors import BadChecksum, CutBatch, DecodeError, KwireError, MissingExtra
from ....schema.message_classes import constructor_of
from ....values import ErrorCode
from ...api import ClosesConnection, ServedApi
from ...client_quota_manager import PRODUCE
from ...controller.partition import Partition
from ...controller.topic import AppendConfigs, Topic
from ...controller.topic_names import INTERNAL
from ...log.batch_stamps import stamp_append_time
from ...log.replica_log import ReplicaLog
from ...request_context import READ_ONLY, RequestContext
from ...transactions.transaction import TransactionState

FIRST_WITH_ABORTABLE = 11  # the first version of Produce with abortable errors (KIP-890)
FIRST_OF_PROTOCOL_2 = 12  # the first version of Produce that adds partitions to transactions (KIP-890)
FIRST_OF_MAGIC_2 = 3  # older versions of Produce contain message sets, which are not supported
FIRST_WITH_IDS = 13  # the first version of Produce with topic ids instead of names (KIP-516)
FIRST_WITH_ZSTD = 7  # the first version of Produce with zstd (KIP-110)
MAGIC_2, ZSTD = 2, 4
ATTRIBUTES = 22  # where the low byte of a batch's attributes is
NO_TIME = -1
SentPartition: TypeAlias = "messages.ProduceRequest.PartitionProduceData"
NOT_IN_TRANSACTION = "the producer has no open transaction with this partition"
NO_KEY = "a record of a compacted topic must have a key"


class ProduceOutcome(NamedTuple):
    """The outcome for a partition: error code, offset of the first record, error message, the append time (-1 unless
    the log uses it), the refused records, by their index in the batch (KIP-467), with their problem, and the first
    offset of the log (-1 if the broker did not look into it)."""

    code: int
    offset: int = -1
    message: str | None = None
    time: int = NO_TIME
    refused: Sequence[int] = ()
    problem: str = ""
    log_start: int = -1


def produce(request: RequestContext[messages.ProduceRequest]) -> messages.ProduceResponse | None:
    """Handle Produce; return None for acks=0, where an error closes the connection."""
    # Kafka: KafkaApis.handleProduceRequest, ReplicaManager.handleProduceAppend
    response = messages.ProduceResponse
    message = request.message
    may_be_transactional = message.transactional_id is not None or not _has_transactional_batch(message)
    make = constructor_of(response.TopicProduceResponse)  # which converts nothing, and is quick
    rows = []
    for name, topic_id, sent_parts in _unique_partitions(message):
        topic = request.cluster.controller.find(name, topic_id)
        parts = tuple([_partition(request, topic, part, name, may_be_transactional) for part in sent_parts])
        rows.append(make(name=name, topic_id=topic_id, partition_responses=parts))
    if message.acks == 0:
        if any(part.error_code for row in rows for part in row.partition_responses):
            raise ClosesConnection  # the producer then refreshes its metadata
        return None
    throttle = 0
    if request.cluster.quotas.values:
        size = sum(len(part.records or b"") for sent in message.topic_data for part in sent.partition_data)
        throttle = request.cluster.quotas.throttle(PRODUCE, request.client_id, size, request.now)
    whole: messages.ProduceResponse = constructor_of(response)(responses=tuple(rows), throttle_time_ms=throttle)
    return whole


def _unique_partitions(message: messages.ProduceRequest) -> Iterable[tuple[str, bytes, Sequence[SentPartition]]]:
    """Return the topics of a request with their partitions; of a partition that is there twice, the last one."""
    if len(message.topic_data) == 1 and len(message.topic_data[0].partition_data) == 1:  # nearly always
        (sent,) = message.topic_data
        return ((sent.name, sent.topic_id, sent.partition_data),)
    topics: dict[tuple[str, bytes], dict[int, SentPartition]] = {}
    for sent in message.topic_data:
        parts = topics.setdefault((sent.name, bytes(sent.topic_id)), {})
        parts.update((part.index, part) for part in sent.partition_data)
    return [(name, topic_id, list(parts.values())) for (name, topic_id), parts in topics.items() if parts]


def _has_transactional_batch(message: messages.ProduceRequest) -> bool:
    # Kafka: RequestUtils.hasTransactionalRecords
    for sent in message.topic_data:
        for part in sent.partition_data:
            records = part.records
            if records and len(records) > ATTRIBUTES and records[ATTRIBUTES] & TRANSACTIONAL:
                return True
    return False


def _partition(
    request: RequestContext[messages.ProduceRequest],
    topic: Topic | None,
    sent: SentPartition,
    name: str,
    may_be_transactional: bool,
) -> messages.ProduceResponse.PartitionProduceResponse:
    transactional_id = request.message.transactional_id
    if not may_be_transactional:
        outcome = ProduceOutcome(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif code := request.error(topic.name if topic else name or None, sent.index, transactional_id=transactional_id):
        outcome = ProduceOutcome(code, -1, READ_ONLY if request.cluster.settings.read_only else None)
    elif topic is None or not 0 <= sent.index < len(topic.partitions):
        is_named = topic is not None or request.version < FIRST_WITH_IDS
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_named else ErrorCode.UNKNOWN_TOPIC_ID
        outcome = ProduceOutcome(unknown)
    elif topic.name in INTERNAL:
        outcome = ProduceOutcome(ErrorCode.INVALID_TOPIC_EXCEPTION, -1, "only brokers can write to internal topics")
    else:
        outcome = _write(request, topic, sent.index, sent.records or b"")
    response = messages.ProduceResponse
    make = constructor_of(response.PartitionProduceResponse)
    row: messages.ProduceResponse.PartitionProduceResponse = make(
        index=sent.index,
        error_code=outcome.code,
        base_offset=outcome.offset,
        log_append_time_ms=outcome.time,
        log_start_offset=outcome.log_start,
        error_message=outcome.message,
        record_errors=_list_errors(outcome) if outcome.refused else (),
    )
    return row


def _list_errors(outcome: ProduceOutcome) -> tuple[messages.ProduceResponse.BatchIndexAndErrorMessage, ...]:
    row = messages.ProduceResponse.BatchIndexAndErrorMessage
    return tuple(row(batch_index=index, batch_index_error_message=outcome.problem) for index in outcome.refused)


def _write(
    request: RequestContext[messages.ProduceRequest], topic: Topic, index: int, records: bytes
) -> ProduceOutcome:
    # 1. the request (Kafka: ProduceRequest.validateRecords)
    batch = find_batch(records, request.version)
    if not isinstance(batch, RecordBatch):
        return batch
    # 2. the partition (Kafka: Partition.appendRecordsToLeader)
    partition = topic.partitions[index]
    log = partition.log_at(request.node_id)
    if isinstance(log, int):
        return ProduceOutcome(log)
    configs = topic.append_configs(request.node_id)
    if code := _acks_problem(request, topic, partition):
        return ProduceOutcome(code)
    size_limit = configs.max_message_bytes
    if len(records) > size_limit:
        return ProduceOutcome(ErrorCode.MESSAGE_TOO_LARGE, -1, f"a batch may have at most {size_limit} bytes")
    # 3. the batch (Kafka: UnifiedLog.analyzeAndValidateRecords, LogValidator)
    outcome = _check_batch(request, configs, partition, log, batch)
    if outcome is None:
        return _append(request, configs, partition, log, batch)
    return outcome if outcome.code == ErrorCode.CORRUPT_MESSAGE else outcome._replace(log_start=log.start)


def _check_batch(
    request: RequestContext[messages.ProduceRequest],
    configs: AppendConfigs,
    partition: Partition,
    log: ReplicaLog,
    batch: RecordBatch,
) -> ProduceOutcome | None:
    """Return the outcome for a batch that is not appended, because of an error or because it is there already."""
    if outcome := _batch_problem(batch):
        return outcome
    if configs.is_compacted and (refused := _without_keys(batch)):
        problem = f"{len(refused)} of {batch.record_count} records have no key, and all are refused: {NO_KEY}"
        return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, problem, NO_TIME, refused, NO_KEY)
    if outcome := _out_of_time(configs, batch, request.cluster.time_ms()):
        return outcome
    if batch.attributes & TRANSACTIONAL and (code := _join(request, partition, log, batch)):
        is_unlogged = code == ErrorCode.NOT_ENOUGH_REPLICAS
        problem = "the transaction's log cannot be written" if is_unlogged else NOT_IN_TRANSACTION
        return ProduceOutcome(code, -1, problem)
    code, before = log.producers.check(batch)
    if before is not None:
        return ProduceOutcome(code, before, None, log.producers.time_of(batch))
    return ProduceOutcome(code) if code else None


def _append(
    request: RequestContext[messages.ProduceRequest],
    configs: AppendConfigs,
    partition: Partition,
    log: ReplicaLog,
    batch: RecordBatch,
) -> ProduceOutcome:
    time = NO_TIME
    if configs.uses_append_time:
        time = request.cluster.time_ms()
        batch = stamp_append_time(batch, time)
    code, offset = request.cluster.appended(partition, batch)
    if code:
        return ProduceOutcome(code, -1, "the log directory failed")
    if configs.retention_bytes >= 0:
        request.cluster.fail(*partition.retain(configs.retention_bytes))
    return ProduceOutcome(ErrorCode.NONE, offset, None, time, log_start=log.start)


def _out_of_time(configs: AppendConfigs, batch: RecordBatch, now: int) -> ProduceOutcome | None:
    """Return the error of a batch with timestamps that are too far from the broker's time (KIP-937), if it has any."""
    if configs.uses_append_time:
        return None
    earliest = now - configs.timestamp_before_max_ms
    latest = now + configs.timestamp_after_max_ms
    if earliest <= 0 and batch.max_timestamp <= latest:
        return None
    try:
        times = [record.timestamp for record in batch.tolerant_records()]
    except MissingExtra:
        times = [batch.max_timestamp]  # a batch that cannot be decompressed here
    refused = [index for index, time in enumerate(times) if time != NO_TIME and not earliest <= time <= latest]
    problem = f"the timestamp of a record must be between {earliest} and {latest}"
    message = f"{len(refused)} records have a timestamp that is out of range, and all are refused: {problem}"
    return ProduceOutcome(ErrorCode.INVALID_TIMESTAMP, -1, message, NO_TIME, refused, problem) if refused else None


def _without_keys(batch: RecordBatch) -> list[int]:
    try:
        return [index for index, record in enumerate(batch.tolerant_records()) if record.key is None]
    except MissingExtra:
        return []  # a batch that cannot be decompressed here is not validated further


def _acks_problem(request: RequestContext[messages.ProduceRequest], topic: Topic, partition: Partition) -> int:
    if request.message.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    is_too_small = request.message.acks == -1 and topic.lacks_in_sync(partition)
    return ErrorCode.NOT_ENOUGH_REPLICAS if is_too_small else ErrorCode.NONE


def _join(
    request: RequestContext[messages.ProduceRequest], partition: Partition, log: ReplicaLog, batch: RecordBatch
) -> int:
    """Check that a transaction may write to a partition; with KIP-890, add the partition to the transaction."""
    transactional_id = request.message.transactional_id
    transactions = request.cluster.transactions
    # UnifiedLog.hasOngoingTransaction: that of an earlier epoch has ended, though its marker may still be missing here
    is_open = batch.producer_id in log.producers.open
    if is_open and log.producers.epoch_of(batch.producer_id) == batch.producer_epoch:
        return ErrorCode.NONE
    if transactional_id is None:
        return ErrorCode.INVALID_TXN_STATE
    topic_partition = partition.topic, partition.index
    transaction = transactions.find_for_producer(transactional_id, batch.producer_id, batch.producer_epoch)
    if isinstance(transaction, int):
        return ErrorCode.INVALID_PRODUCER_EPOCH if transaction == ErrorCode.PRODUCER_FENCED else transaction
    if request.version >= FIRST_OF_PROTOCOL_2:
        # ReplicaManager.handleProduceAppend: producers repeat NOT_ENOUGH_REPLICAS without asking for metadata
        is_added = transactions.add(transaction, request.now, [topic_partition], protocol=2) == ErrorCode.NONE
        return ErrorCode.NONE if is_added else ErrorCode.NOT_ENOUGH_REPLICAS
    if topic_partition not in transaction.partitions or transaction.state is not TransactionState.ONGOING:
        is_new = request.version >= FIRST_WITH_ABORTABLE
        return ErrorCode.TRANSACTION_ABORTABLE if is_new else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NONE


def find_batch(records: bytes, version: int) -> RecordBatch | ProduceOutcome:
    """Return the one batch in a Produce request, or the error.

    Args:
        records: the bytes for the partition.
        version: the version of the Produce request.
    """
    # Kafka: ProduceRequest.validateRecords
    if version < FIRST_OF_MAGIC_2:
        return ProduceOutcome(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1, "only record batches of magic 2 are supported"
        )
    try:
        batch, *others = parse_records(records)
    except BadChecksum as error:
        return ProduceOutcome(ErrorCode.CORRUPT_MESSAGE, -1, str(error))
    except (CutBatch, ValueError) as error:
        problem = str(error) if isinstance(error, KwireError) else "the request contains no batch"
        return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, problem)
    except DecodeError as error:
        return ProduceOutcome(ErrorCode.CORRUPT_MESSAGE, -1, str(error))
    if others:
        return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, "the request contains more than one batch")
    if batch.magic != MAGIC_2:
        return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, "only record batches of magic 2 are supported")
    if version < FIRST_WITH_ZSTD and batch.compression_id == ZSTD:
        problem = f"zstd needs version {FIRST_WITH_ZSTD} of Produce"
        return ProduceOutcome(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1, problem)
    return batch


def _batch_problem(batch: RecordBatch) -> ProduceOutcome | None:
    # Kafka: LogValidator.validateBatch
    problem = ""
    if batch.attributes & CONTROL:
        problem = "clients cannot write control records"
    elif batch.attributes & TRANSACTIONAL and batch.producer_id < 0:
        problem = "a transactional batch must have a producer id"
    elif (batch.record_count or 0) <= 0 or batch.last_offset_delta + 1 != batch.record_count:
        problem = f"{batch.record_count} records cannot have the last offset delta {batch.last_offset_delta}"
    elif batch.producer_id >= 0 and batch.base_sequence < 0:
        problem = "a batch with a producer id must have a sequence number"
    else:
        problem = _problem_inside(batch)
    return ProduceOutcome(ErrorCode.INVALID_RECORD, -1, problem) if problem else None


def _problem_inside(batch: RecordBatch) -> str:
    try:
        if not batch.is_whole(salvage=True):
            return f"the offset deltas of the records are not 0 to {batch.last_offset_delta}"
    except MissingExtra:
        return ""  # a batch that cannot be decompressed here is not validated further
    except DecodeError as error:
        return str(error)
    return ""


APIS = {  # what each version has changed
    # 0 to 2: message sets, which are refused per batch: some clients read a higher minimum as "no compression"
    #    (KAFKA-18659)
    # 1: the throttle time
    # 2: the time of append (KIP-32)
    # 3: record batches of magic 2, and transactional ids (KIP-98)
    # 4: KAFKA_STORAGE_ERROR (KIP-112)
    # 5: the log start offset (KIP-107)
    # 6: the response is sent before the client is throttled (KIP-219)
    # 7: batches compressed with zstd (KIP-110)
    # 8: the refused records of a batch, and an error message (KIP-467)
    # 9: flexible (KIP-482)
    # 10: the new leader of a partition (KIP-951)
    # 11: TRANSACTION_ABORTABLE (KIP-890)
    # 12: the broker adds partitions to transactions itself (KIP-890)
    # 13: topic ids instead of names (KIP-516)
    "Produce": ServedApi(0, 13, produce, finds_errors=True),
}
