"""Fetch: whole batches from an offset on, immediately or once there are enough; with fetch sessions (KIP-227)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from .... import messages
from ....schema.message_classes import constructor_of
from ....values import ErrorCode
from ...api import ServedApi
from ...client_quota_manager import FETCH
from ...controller.partition import NO_EPOCH, Partition
from ...controller.topic import Topic
from ...fetch_sessions import FetchSession
from ...log.replica_log import ReplicaLog
from ...purgatory import Later, Parked
from ...request_context import RequestContext
from .replica_selector import ReplicaView, select_replica

FetchAnswer: TypeAlias = "messages.FetchResponse | Parked[messages.FetchResponse]"

FIRST_WITH_IDS = 13  # the first version with topic ids instead of names (KIP-516)
FIRST_WITH_RACKS = 11  # the first version that followers serve, too (KIP-392)
ISOLATION_LEVELS = (0, 1)
READ_COMMITTED = 1
MOST_WAIT_MS = 300_000  # the maximum time for which a fetch is parked


def fetch(request: RequestContext[messages.FetchRequest]) -> FetchAnswer:
    """Handle Fetch, or park the request until there are enough bytes."""
    message = request.message
    if message.isolation_level not in ISOLATION_LEVELS:  # Kafka: IsolationLevel.forId throws
        return _fail_all(request)
    session = request.cluster.fetch_sessions.session_for(request.node_id, message)
    if isinstance(session, int):
        return messages.FetchResponse(error_code=session)
    if session is None:
        whole = _without_repetition(request)
    else:
        whole = replace(request, message=replace(message, topics=session.topics()))
    return _fetch(whole, lambda response: _finish(request, session, response))


def _finish(
    request: RequestContext[messages.FetchRequest], session: FetchSession | None, response: messages.FetchResponse
) -> messages.FetchResponse:
    """Return the response as it is sent: without unchanged partitions, or empty if the client is throttled."""
    # Kafka: KafkaApis.handleFetchRequest, processResponseCallback
    quotas, client_id = request.cluster.quotas, request.client_id
    if quotas.values and request.follower_id < 0:
        size = sum(len(part.records or b"") for row in response.responses for part in row.partitions)
        if throttle := quotas.throttle(FETCH, client_id, size, request.cluster.waiting.now):
            quotas.give_back(FETCH, client_id, size)
            return request.cluster.fetch_sessions.throttled(request.node_id, session, throttle)
    return response if session is None else session.changes_in(response)


def _fail_all(request: RequestContext[messages.FetchRequest]) -> messages.FetchResponse:
    """Return the response to a request that fails before partitions are looked at (FetchRequest.getErrorResponse)."""
    response, code = messages.FetchResponse, ErrorCode.UNKNOWN_SERVER_ERROR
    rows = []
    for row in request.message.topics:
        parts = (
            response.PartitionData(partition_index=part.partition, error_code=code, high_watermark=-1, records=b"")
            for part in row.partitions
        )
        rows.append(response.FetchableTopicResponse(topic=row.topic, topic_id=row.topic_id, partitions=tuple(parts)))
    return response(error_code=code, responses=tuple(rows))


def _without_repetition(request: RequestContext[messages.FetchRequest]) -> RequestContext[messages.FetchRequest]:
    """Return a request without topics that have no partition, and with each partition once, as Kafka's maps have it."""
    topics = request.message.topics
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return request  # nearly always
    merged: dict[tuple[str, bytes], dict[int, messages.FetchRequest.FetchPartition]] = {}
    for row in topics:
        parts = merged.setdefault((row.topic, bytes(row.topic_id)), {})
        parts.update((part.partition, part) for part in row.partitions)
    make = messages.FetchRequest.FetchTopic
    rows = tuple(
        make(topic=topic, topic_id=topic_id, partitions=tuple(parts.values()))
        for (topic, topic_id), parts in merged.items()
        if parts
    )
    return replace(request, message=replace(request.message, topics=rows))


def _fetch(
    request: RequestContext[messages.FetchRequest], finish: Callable[[messages.FetchResponse], messages.FetchResponse]
) -> FetchAnswer:
    """Handle a request that lists all its partitions; call `finish` with the response before it is sent."""
    # Kafka: ReplicaManager.fetchMessages; parked as DelayedFetch
    message = request.message
    response, enough = _read(request)
    if enough or message.max_wait_ms <= 0:
        return finish(response)
    keys = [(topic.name, part.partition) for topic, part in _list_requested(request)]

    def attempt(over: bool) -> Later[messages.FetchResponse] | None:
        _, enough = _read(request, measure=True)
        return Later(lambda: finish(_read(request)[0])) if enough or over else None

    parked: Parked[messages.FetchResponse] = Parked(attempt, keys)
    request.cluster.waiting.park(parked, request.now + min(message.max_wait_ms, MOST_WAIT_MS) / 1000)
    return parked


def _list_requested(
    request: RequestContext[messages.FetchRequest],
) -> list[tuple[Topic, messages.FetchRequest.FetchPartition]]:
    find = request.cluster.controller.find
    rows = ((find(row.topic, row.topic_id), row.partitions) for row in request.message.topics)
    return [(topic, part) for topic, parts in rows if topic is not None for part in parts]


def _read(
    request: RequestContext[messages.FetchRequest], *, measure: bool = False
) -> tuple[messages.FetchResponse, bool]:
    """Read the available batches, or only measure them; also return whether the fetch can complete, because there are
    enough bytes or an error occurred."""
    response = messages.FetchResponse
    reading = _FetchReader(request, measure)
    make = constructor_of(response.FetchableTopicResponse)  # which converts nothing, and is quick
    rows = []
    for row in request.message.topics:
        topic = request.cluster.controller.find(row.topic, row.topic_id)
        parts = tuple([reading.partition(topic, part, row.topic) for part in row.partitions])
        rows.append(make(topic=row.topic, topic_id=row.topic_id, partitions=parts))
    enough = reading.failed or reading.size >= min(request.message.min_bytes, reading.most) or not rows
    whole: messages.FetchResponse = constructor_of(response)(responses=tuple(rows))
    return whole, enough


class _FetchReader:
    """The number of bytes read so far, and the limit."""

    def __init__(self, request: RequestContext[messages.FetchRequest], measure: bool) -> None:
        self.request = request
        self.size = 0
        self.failed = False
        self.only_measure = measure
        self.is_committed = request.message.isolation_level == READ_COMMITTED
        self.most = min(request.message.max_bytes, request.cluster.fetch_max_bytes)
        # KafkaApis.handleFetchRequest: more than a window of the quota would be throttled again and again
        free = request.cluster.quotas.most_in_window(FETCH, request.client_id)
        if free is not None and request.follower_id < 0:
            self.most = min(self.most, free)
        self.left = self.most

    def partition(
        self, topic: Topic | None, part: messages.FetchRequest.FetchPartition, name: str
    ) -> messages.FetchResponse.PartitionData:
        if code := self.request.error(topic.name if topic else name or None, part.partition):
            return self._failure(part, code)
        if topic is None or not 0 <= part.partition < len(topic.partitions):
            is_named = topic is not None or self.request.version < FIRST_WITH_IDS
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_named else ErrorCode.UNKNOWN_TOPIC_ID
            return self._failure(part, unknown, aborted=())
        partition = topic.partitions[part.partition]
        may_follow = self.request.version >= FIRST_WITH_RACKS
        log = partition.log_at(self.request.node_id, max(part.current_leader_epoch, NO_EPOCH), may_follow=may_follow)
        if isinstance(log, int):
            return self._failure(part, log)
        if refusal := self._find_refusal(partition, log, part):
            self.failed = True
            return refusal
        if (preferred := self._choose_replica(partition)) is not None:
            self.failed = True  # the client must not wait here
            return self._row(part, log, b"", preferred)
        limit = min(part.partition_max_bytes, self.left)
        end = log.stable_end if self.is_committed else None
        size = log.measure(part.fetch_offset, limit, at_least_one=not self.size, end=end)
        try:
            data = b"" if self.only_measure else log.read(part.fetch_offset, size)
        except OSError:
            self.request.cluster.fail(partition.replicas[self.request.node_id].log_dir)
            return self._failure(part, ErrorCode.KAFKA_STORAGE_ERROR)
        self.size += size
        self.left -= size
        return self._row(part, log, data)

    def _find_refusal(
        self, partition: Partition, log: ReplicaLog, part: messages.FetchRequest.FetchPartition
    ) -> messages.FetchResponse.PartitionData | None:
        """Return the row for a reader that may not read here, or not from its offset on; None if it may."""
        follower = self.request.follower_id
        if follower >= 0 and (follower not in partition.replicas or follower == partition.leader):
            return self._failure(part, ErrorCode.NOT_LEADER_OR_FOLLOWER)  # Kafka: Partition.followerReplicaOrThrow
        if part.last_fetched_epoch >= 0 and (diverging := _find_divergence(log, part)):
            return diverging
        if not log.start <= part.fetch_offset <= log.end:
            return self._failure(part, ErrorCode.OFFSET_OUT_OF_RANGE)
        if part.partition_max_bytes < 0 or self.request.message.max_bytes < 0:  # Kafka: FileRecords.slice throws
            return self._failure(part, ErrorCode.UNKNOWN_SERVER_ERROR)
        return None

    def _row(
        self, part: messages.FetchRequest.FetchPartition, log: ReplicaLog, data: bytes, preferred: int = -1
    ) -> messages.FetchResponse.PartitionData:
        row: messages.FetchResponse.PartitionData = constructor_of(messages.FetchResponse.PartitionData)(
            partition_index=part.partition,
            high_watermark=log.end,
            last_stable_offset=log.stable_end,
            log_start_offset=log.start,
            aborted_transactions=_list_aborted(log, part.fetch_offset, data) if self.is_committed else None,
            preferred_read_replica=preferred,
            records=data,
        )
        return row

    def _choose_replica(self, partition: Partition) -> int | None:
        """Return the follower from which the client should fetch; None if it should fetch from this broker
        (KIP-392)."""
        # Kafka: ReplicaManager.findPreferredReadReplica
        cluster = self.request.cluster
        request = self.request
        is_asked = cluster.settings.rack_aware_fetch and request.version >= FIRST_WITH_RACKS and request.message.rack_id
        if not is_asked or partition.leader != request.node_id:
            return None
        nodes = cluster.controller.nodes
        logs = partition.online_logs()
        views = {
            node_id: ReplicaView(node_id, nodes[node_id].rack, logs[node_id].end, 0)
            for node_id in partition.isr
            if node_id in logs
        }
        replica = select_replica(views[partition.leader], views.values(), request.message.rack_id).node_id
        return None if replica == partition.leader else replica

    def _failure(
        self, part: messages.FetchRequest.FetchPartition, code: int, aborted: tuple[()] | None = None
    ) -> messages.FetchResponse.PartitionData:
        self.failed = True
        return messages.FetchResponse.PartitionData(
            partition_index=part.partition,
            error_code=code,
            high_watermark=-1,
            aborted_transactions=aborted,
            records=b"",
        )


def _find_divergence(
    log: ReplicaLog, part: messages.FetchRequest.FetchPartition
) -> messages.FetchResponse.PartitionData | None:
    """Return where the log diverges from what a reader has of its last fetched epoch (KIP-595); None if it does not."""
    # Kafka: Partition.readRecords
    row = messages.FetchResponse.PartitionData
    epoch, end = log.end_of_epoch(part.last_fetched_epoch)
    if not log.entries or part.last_fetched_epoch > log.entries[-1].leader_epoch:
        return row(
            partition_index=part.partition,
            error_code=ErrorCode.OFFSET_OUT_OF_RANGE,
            high_watermark=-1,
            aborted_transactions=None,
            records=b"",
        )
    if epoch >= part.last_fetched_epoch and end >= part.fetch_offset:
        return None
    return row(
        partition_index=part.partition,
        high_watermark=log.end,
        last_stable_offset=log.stable_end,
        log_start_offset=log.start,
        diverging_epoch=messages.FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end),
        aborted_transactions=None,
        records=b"",
    )


def _list_aborted(log: ReplicaLog, offset: int, data: bytes) -> tuple[messages.FetchResponse.AbortedTransaction, ...]:
    """Return the aborted transactions with records in the data that was read from an offset on."""
    row = messages.FetchResponse.AbortedTransaction
    aborted = log.producers.aborted_between(offset, log.end_of(offset, len(data))) if data else ()
    return tuple(
        row(producer_id=transaction.producer_id, first_offset=transaction.first_offset) for transaction in aborted
    )


APIS = {  # what each version has changed
    # 4: isolation levels, and aborted transactions (KIP-98)
    # 5: the log start offset (KIP-107)
    # 6: KAFKA_STORAGE_ERROR (KIP-112)
    # 7: fetch sessions, and an error code for the whole request (KIP-227)
    # 8: the response is sent before the client is throttled (KIP-219)
    # 9: the leader epoch that the client knows (KIP-320)
    # 10: batches compressed with zstd (KIP-110)
    # 11: the client's rack, and a preferred replica (KIP-392)
    # 12: flexible (KIP-482); the epoch of the last fetched record (KIP-595)
    # 13: topic ids instead of names (KIP-516)
    # 14: OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405)
    # 15: the replica id of followers is tagged, with their epoch (KIP-903)
    # 16: addresses of new leaders (KIP-951)
    # 17: the log directory of followers (KIP-853)
    # 18: the high watermark of followers (KIP-1166)
    "Fetch": ServedApi(4, 18, fetch, finds_errors=True),
}
