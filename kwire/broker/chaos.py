"""Lawful chaos: by a seed, requests meet what Kafka's clients meet seldom, such as a leader that has just moved.

Chaos changes the cluster as an operator or another client may (leaders, rebalances, fetch sessions), or gives a request
a fault rule of its own, which is applied as the rules of tests are. Nothing that a broker has acknowledged is lost or
doubled, and a repeated request succeeds. This module knows no sockets.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .. import messages
from ..codecs.message_codec import codec_in
from ..values import ErrorCode
from .controller.partition import Partition
from .fault_rules import CHANGE, DROP, ERROR, FaultRule
from .groups.consumer_group import ConsumerGroup
from .groups.modern_group import GroupState
from .request_parts import api_of, partitions_in

if TYPE_CHECKING:
    from .request_context import RequestContext

PROBABILITY = 0.15  # that a request is disturbed
MOST_IN_A_ROW = 3  # requests of a client to an api, so that a client with few retries goes on
MOST_NOTED = 10_000
MOST_STALE = 2  # Metadata responses that name a leader of the past
MOST_THROTTLED = 100  # milliseconds
ONE_BATCH = 1  # bytes: Kafka returns the first batch of a fetch whatever its size (KIP-74)
# From "Possible error codes" in Kafka's response classes, as far as a broker returns the code: SyncGroup gets
# REBALANCE_IN_PROGRESS and Heartbeat no error while the coordinator loads (GroupCoordinatorService).
RETRIED = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: frozenset(
        "AddOffsetsToTxn AddPartitionsToTxn ConsumerGroupHeartbeat EndTxn InitProducerId JoinGroup OffsetCommit"
        " OffsetFetch ShareGroupHeartbeat StreamsGroupHeartbeat TxnOffsetCommit".split()
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: frozenset(
        "AddOffsetsToTxn AddPartitionsToTxn ConsumerGroupHeartbeat EndTxn FindCoordinator Heartbeat InitProducerId"
        " JoinGroup OffsetCommit ShareGroupHeartbeat StreamsGroupHeartbeat SyncGroup TxnOffsetCommit".split()
    ),
    # TransactionCoordinator: the markers of the transaction before are not written yet
    ErrorCode.CONCURRENT_TRANSACTIONS: frozenset("AddOffsetsToTxn AddPartitionsToTxn InitProducerId".split()),
}
LED = frozenset("Fetch ListOffsets OffsetForLeaderEpoch Produce".split())
TRANSACTIONAL = frozenset("AddOffsetsToTxn AddPartitionsToTxn EndTxn InitProducerId TxnOffsetCommit".split())
FIRST_OF_BROKERS = 4  # the first version of AddPartitionsToTxn that only brokers send (KIP-890)
# Whose connection may end before the response: clients repeat these, and a repetition changes nothing.
CLOSED = frozenset(
    "Fetch FindCoordinator Heartbeat ListOffsets Metadata OffsetCommit OffsetFetch OffsetForLeaderEpoch Produce".split()
)
# Of throttled Fetch requests, the records are left out (FetchContext.getThrottledResponse), too; the others are
# requests before a client has a principal and a quota.
NEVER_THROTTLED = frozenset(("ApiVersions", "Fetch", "SaslAuthenticate", "SaslHandshake", "ShareFetch"))
PRODUCER_ID, FIRST_SEQUENCE, HEADER = 43, 53, 61  # bytes in a record batch of Kafka's format 2


class LeaderBefore(NamedTuple):
    """A leader of a partition until chaos moved it, and how many more responses may name it."""

    node_id: int
    epoch: int
    left: int


class Disturbance(NamedTuple):
    """What chaos did to a request, in words, and the request that is handled instead."""

    text: str
    request: RequestContext[Any]


class Chaos:
    """Chaos in one cluster.

    Each decision depends on the seed, and on the client id, the api and how many such requests came before: so a seed
    repeats the decisions for each client, in whatever order requests of different clients arrive. Numbers that one
    generator drew one by one would depend on that order.

    Args:
        seed: the seed of all decisions.

    Attributes:
        noted: what happened to which request, the newest `MOST_NOTED` lines.

    >>> chaos = Chaos(7)
    >>> chaos.seed, list(chaos.noted)
    (7, [])
    """

    def __init__(self, seed: int) -> None:
        self.seed: int = seed
        self.noted: deque[str] = deque(maxlen=MOST_NOTED)
        self._requests: Counter[tuple[str, str]] = Counter()
        self._in_a_row: Counter[tuple[str, str]] = Counter()
        self._leaders_before: dict[tuple[str, int], LeaderBefore] = {}
        self._kinds: tuple[Callable[[RequestContext[Any], Random], Disturbance | None], ...] = (
            self._return_error,
            self._refuse_leadership,
            self._close,
            self._throttle,
            self._answer_with_old_metadata,
            self._fetch_less,
            self._evict_session,
            self._rebalance,
        )

    def disturb(self, request: RequestContext[Any]) -> RequestContext[Any]:
        """Return the request as it must be handled: perhaps changed, perhaps with a fault."""
        api = api_of(request.message)
        identity = request.client_id, api
        self._requests[identity] += 1
        count = self._requests[identity]
        rng = Random(f"{self.seed} {request.client_id} {api} {count}")
        if rng.random() < PROBABILITY and self._in_a_row[identity] < MOST_IN_A_ROW:
            for kind in rng.sample(self._kinds, len(self._kinds)):
                disturbance = kind(request, rng)
                if disturbance is not None:
                    self._in_a_row[identity] += 1
                    self.noted.append(f"{api} {count} of {request.client_id!r}: {disturbance.text}")
                    return disturbance.request
        self._in_a_row[identity] = 0
        return request

    def _return_error(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        api = api_of(request.message)
        codes = [code for code, apis in RETRIED.items() if api in apis]
        if not codes or not _has_coordinator(request):
            return None
        return _give_error(request, rng.choice(codes))

    def _refuse_leadership(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        """Move the leader of a partition, or, where no other replica can lead, answer as a broker that loses it for a
        moment."""
        message = request.message
        if api_of(message) not in LED:
            return None
        partitions = [candidate for candidate in _partitions_of(request) if candidate.leader == request.node_id]
        if not partitions or getattr(message, "acks", 1) == 0:
            return None
        partition = rng.choice(partitions)
        others = [node for node in partition.isr if node != partition.leader and partition.replicas[node].is_online]
        if others:
            topic_partition, chosen = (partition.topic, partition.index), rng.choice(others)
            self._leaders_before[topic_partition] = LeaderBefore(partition.leader, partition.leader_epoch, MOST_STALE)
            request.cluster.move_leader(partition, chosen)
            return Disturbance(
                f"the leader of {topic_partition[0]}-{topic_partition[1]} moves to broker {chosen}", request
            )
        if isinstance(message, messages.ProduceRequest) and _begins_sequence(message):
            # ProducerAppendInfo.checkSequence takes any first sequence number of a producer that it does not know. So
            # batches that were sent behind the refused first one would be appended, and the first one never.
            return None
        return _give_error(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _close(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        message = request.message
        if api_of(message) not in CLOSED:
            return None
        is_handled = rng.random() < 0.5
        if isinstance(message, messages.ProduceRequest):
            if message.acks == 0:
                return None
            # A producer without sequence numbers would append its records a second time.
            is_handled = is_handled and all(_is_idempotent(batch) for batch in _batches_of(message))
        when = "after" if is_handled else "before"
        fault = FaultRule(action=DROP, is_handled=is_handled)
        return Disturbance(
            f"the connection closes {when} the request is handled", msgspec.structs.replace(request, fault=fault)
        )

    def _throttle(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        api = api_of(request.message)
        if api in NEVER_THROTTLED or getattr(request.message, "acks", 1) == 0:
            return None
        tree = codec_in(request.cluster.catalog, f"{api}Response", request.version).tree
        if not any(field.name == "throttle_time_ms" for field in tree.fields):
            return None
        pause = rng.randint(1, MOST_THROTTLED)

        def change(_: Any, response: Any) -> Any:
            return msgspec.structs.replace(response, throttle_time_ms=max(pause, response.throttle_time_ms))

        fault = FaultRule(action=CHANGE, answer=change)
        return Disturbance(f"throttled for {pause} ms", msgspec.structs.replace(request, fault=fault))

    def _answer_with_old_metadata(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        """Answer as a broker whose metadata is behind: with the leader of before, or while a leader is elected."""
        message = request.message
        if not isinstance(message, messages.MetadataRequest):
            return None
        described = _partitions_of(request)
        if message.topics is None or (request.version == 0 and not message.topics):
            described = list(request.cluster.controller.partitions())
        described = [candidate for candidate in described if candidate.leader >= 0]
        if not described:
            return None
        moved = [candidate for candidate in described if (candidate.topic, candidate.index) in self._leaders_before]
        partition = rng.choice(moved or described)
        topic_partition = partition.topic, partition.index
        leader: dict[str, Any] = {"leader_id": -1, "error_code": ErrorCode.LEADER_NOT_AVAILABLE}
        text = f"{topic_partition[0]}-{topic_partition[1]} has no leader yet"
        if before := self._leaders_before.pop(topic_partition, None):
            leader = {"leader_id": before.node_id, "leader_epoch": before.epoch}
            text = f"the leader of {topic_partition[0]}-{topic_partition[1]} is still broker {before.node_id}"
            if before.left > 1:
                self._leaders_before[topic_partition] = before._replace(left=before.left - 1)

        def change(_: Any, response: messages.MetadataResponse) -> messages.MetadataResponse:
            return _replace_leader(response, partition, leader)

        return Disturbance(
            f"stale metadata: {text}", msgspec.structs.replace(request, fault=FaultRule(action=CHANGE, answer=change))
        )

    def _fetch_less(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        message = request.message
        if not isinstance(message, messages.FetchRequest):
            return None
        if rng.random() < 0.5:
            fewer = msgspec.structs.replace(message, max_bytes=min(message.max_bytes, ONE_BATCH), min_bytes=0)
            return Disturbance("a fetch of one batch", msgspec.structs.replace(request, message=fewer))
        early = msgspec.structs.replace(message, max_wait_ms=0)  # Kafka: DelayedFetch.forceComplete
        return Disturbance("a fetch that does not wait", msgspec.structs.replace(request, message=early))

    def _evict_session(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        message = request.message
        if not isinstance(message, messages.FetchRequest) or message.session_epoch <= 0:
            return None
        if not request.cluster.fetch_sessions.evict(request.node_id, message.session_id):
            return None
        return Disturbance("the fetch session is evicted", request)

    def _rebalance(self, request: RequestContext[Any], rng: Random) -> Disturbance | None:
        """Begin a rebalance just before a member's request, as a leader that joins again does."""
        message = request.message
        kinds = messages.ConsumerGroupHeartbeatRequest, messages.HeartbeatRequest
        if not isinstance(message, (*kinds, messages.OffsetCommitRequest, messages.SyncGroupRequest)):
            return None
        groups = request.cluster.groups
        group = groups.find(message.group_id)
        if group is None:
            return None
        if isinstance(group.consumer, ConsumerGroup) and isinstance(message, kinds[0]):
            if message.member_id not in group.consumer.members or message.member_epoch <= 0:
                return None
            groups.plan(group, group.consumer)
            groups.remember(group)
            return Disturbance("the group begins a new epoch", request)
        is_classic = group.consumer is None and message.member_id in group.members
        if not is_classic or group.state not in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            return None
        groups.rebalancing.prepare(group, request.now)
        return Disturbance("the group rebalances", request)


def _give_error(request: RequestContext[Any], code: ErrorCode) -> Disturbance:
    return Disturbance(code.name, msgspec.structs.replace(request, fault=FaultRule(action=ERROR, code=code)))


def _has_coordinator(request: RequestContext[Any]) -> bool:
    """Return whether the request is one that a client sends to a coordinator, or for one."""
    api = api_of(request.message)
    if api == "AddPartitionsToTxn" and request.version >= FIRST_OF_BROKERS:
        return False
    name = "v3_and_below_transactional_id" if api == "AddPartitionsToTxn" else "transactional_id"
    return api not in TRANSACTIONAL or bool(getattr(request.message, name))


def _partitions_of(request: RequestContext[Any]) -> list[Partition]:
    """Return the partitions that a request names and that exist."""
    topics = request.cluster.controller.topics
    partitions: dict[tuple[str, int], Partition] = {}
    for name, index in partitions_in(request):
        if name in topics:
            for partition in topics[name].partitions if index is None else topics[name].partitions[index : index + 1]:
                partitions[partition.topic, partition.index] = partition
    return list(partitions.values())


def _batches_of(message: messages.ProduceRequest) -> Iterator[bytes]:
    for topic in message.topic_data:
        for part in topic.partition_data:
            yield bytes(memoryview(part.records or b"")[:HEADER])


def _is_idempotent(header: bytes) -> bool:
    return len(header) == HEADER and int.from_bytes(header[PRODUCER_ID : PRODUCER_ID + 8], "big", signed=True) >= 0


def _begins_sequence(message: messages.ProduceRequest) -> bool:
    """Return whether a batch is the first of an idempotent producer."""
    headers = [header for header in _batches_of(message) if _is_idempotent(header)]
    return any(not any(header[FIRST_SEQUENCE : FIRST_SEQUENCE + 4]) for header in headers)


def _replace_leader(
    response: messages.MetadataResponse, partition: Partition, leader: dict[str, Any]
) -> messages.MetadataResponse:
    """Return Metadata with another leader of a partition."""
    topics = []
    for topic in response.topics:
        parts = topic.partitions
        if topic.name == partition.topic:
            parts = tuple(
                msgspec.structs.replace(part, **leader) if part.partition_index == partition.index else part
                for part in parts
            )
        topics.append(msgspec.structs.replace(topic, partitions=parts))
    return msgspec.structs.replace(response, topics=tuple(topics))
