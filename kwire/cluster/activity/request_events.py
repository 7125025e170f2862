"""Events of requests: errors, throttling, retries, topics created and deleted, transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ...protocol import Request, Response, Result
from ...protocol.message_summary import MessageSummary
from ...protocol.results import client_of
from ...values import ErrorCode
from .activity_event import BROKER, CLIENT, TOPIC, ActivityEvent, ActivityLog, subject
from .retries import RetryTracker, SentRequest

# Sent again and again in any case, or with other content each time: another one is no retry.
NO_RETRIES = {
    *("Fetch", "ShareFetch", "Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "BrokerHeartbeat"),
    *("LeaderAndIsr", "UpdateMetadata", "StopReplica", "AlterPartition", "FetchSnapshot", "Vote", "BeginQuorumEpoch"),
}
# KIP-394: the first JoinGroup of a member gets its id; a rebalance is an event of its group.
STEPS = {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS}


class RequestEvents:
    """Follows requests and responses, and adds what is worth knowing to a log.

    Args:
        log: receives the events.

    Attributes:
        summary: the names of topics that messages name by their ids.
        retries: finds requests that are sent again.
    """

    def __init__(self, log: ActivityLog) -> None:
        self.summary: MessageSummary = MessageSummary()
        self.retries: RetryTracker = RetryTracker()
        self._log = log

    def add(self, result: Result) -> None:
        """Process the next frame."""
        source = result.frame.source
        for number in result.frame.closed:
            self.retries.close((source.file or "", number))
        if isinstance(result, Request):
            self.send(_make_sent_request(result, source.frame))
            self._add_named(result)
        elif isinstance(result, Response):
            self._add_response(result)

    def send(self, request: SentRequest) -> None:
        """Note a request: is it a retry?"""
        failed = self.retries.send(request)
        if failed is None:
            return
        frame = failed.request.frame
        after = "" if frame is None else f" in frame {frame}"
        text = f"{request.api} is sent again after {failed.reason}{after}, attempt {failed.attempt + 1}"
        words, subjects = f"client {request.client or '-'}: {text}", frozenset(subject(CLIENT, request.client))
        self._log.add(ActivityEvent("retry", words, request.time, request.connection[0], request.frame, subjects))

    def fail(self, request: SentRequest, reason: str, time: float | None) -> None:
        """Note that a request failed and may be sent again; for the arguments see `RetryTracker.fail`."""
        if request.api not in NO_RETRIES and not request.api.startswith("Describe"):
            self.retries.fail(request, reason, time)

    def _add_response(self, result: Response) -> None:
        facts = self.summary.facts(result.codec, result.message)
        codes = [code for code in facts.errors if code not in STEPS]
        if codes:
            errors = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in Counter(map(str, codes)).items())
            topics = f" ({', '.join(facts.topics[:4])})" if facts.topics else ""
            message = _message_of(result.message)
            self._add(result, "error", f"{result.api_name}: {errors}{topics}{message}", *subject(TOPIC, *facts.topics))
        request = _make_sent_request(result, result.request_frame)
        reason = next((str(code) for code in codes if getattr(code, "retriable", False)), None)
        if reason is not None:
            self.fail(request, reason, result.frame.source.time)
        else:
            self.retries.succeed(request.connection, request.correlation_id)
        throttle = getattr(result.message, "throttle_time_ms", 0)
        if throttle > 0:
            self._add(result, "throttle", f"{result.api_name}: throttled for {throttle} ms")
        self._add_named(result)

    def _add_named(self, result: Request | Response) -> None:
        describe = _DESCRIPTIONS.get(type(result.message).__name__)
        if describe is not None:
            for kind, text, topics in describe(result.message):
                self._add(result, kind, text, *subject(TOPIC, *topics))

    def _add(self, result: Request | Response, kind: str, text: str, *subjects: str) -> None:
        source = result.frame.source
        client = client_of(result)
        named = {*subject(CLIENT, client), *subject(BROKER, source.broker), *subjects}
        words = f"client {client or '-'}: {text}"
        self._log.add(ActivityEvent(kind, words, source.time, source.file or "", source.frame, frozenset(named)))


def _make_sent_request(result: Request | Response, frame: int | None) -> SentRequest:
    """Return a request, or the request of a response, which is in a frame."""
    source = result.frame.source
    ip = (source.client or "").rpartition(":")[0]
    connection = source.file or "", source.connection_key
    number, client = result.correlation_id, client_of(result)
    return SentRequest(result.api_name, client, ip, source.broker or "", connection, number, frame, source.time)


def _message_of(message: Any) -> str:
    """Return the broker's own words about an error, of the message or of its first topic."""
    for part in (message, *getattr(message, "topics", ()), *getattr(message, "responses", ())):
        text = getattr(part, "error_message", None)
        if text and text not in ("NONE", "null"):
            return f": {text}"
    return ""


_Description = Iterator[tuple[str, str, list[str]]]


def _describe_created(message: Any) -> _Description:
    for topic in message.topics:
        if not topic.error_code:
            count = getattr(topic, "num_partitions", -1)
            partitions = f", {count} partition{'s' * (count > 1)}" if count > 0 else ""
            yield "topic", f"creates topic {topic.name}{partitions}", [topic.name]


def _describe_deleted(message: Any) -> _Description:
    for topic in message.responses:
        if not topic.error_code and topic.name:
            yield "topic", f"deletes topic {topic.name}", [topic.name]


def _partitions_added(message: Any) -> _Description:
    for topic in message.results:
        if not topic.error_code:
            yield "topic", f"adds partitions to {topic.name}", [topic.name]


def _transaction_begun(message: Any) -> _Description:
    if message.transactional_id:
        yield "transaction", f"transaction {message.transactional_id}: asks for a producer id", []


def _transaction_partitions(message: Any) -> _Description:
    transactions = message.transactions or (message,)
    for transaction in transactions:
        topics = getattr(transaction, "topics", ()) or getattr(transaction, "v3_and_below_topics", ())
        transactional_id = getattr(transaction, "transactional_id", "") or getattr(
            transaction, "v3_and_below_transactional_id", ""
        )
        names = [topic.name for topic in topics]
        yield "transaction", f"transaction {transactional_id}: adds {', '.join(names)}", names


def _transaction_offsets(message: Any) -> _Description:
    yield "transaction", f"transaction {message.transactional_id}: adds offsets of group {message.group_id}", []


def _transaction_ended(message: Any) -> _Description:
    word = "commits" if message.committed else "aborts"
    yield "transaction", f"transaction {message.transactional_id}: {word}", []


_DESCRIPTIONS: dict[str, Callable[[Any], _Description]] = {
    "CreateTopicsResponse": _describe_created,
    "DeleteTopicsResponse": _describe_deleted,
    "CreatePartitionsResponse": _partitions_added,
    "InitProducerIdRequest": _transaction_begun,
    "AddPartitionsToTxnRequest": _transaction_partitions,
    "AddOffsetsToTxnRequest": _transaction_offsets,
    "EndTxnRequest": _transaction_ended,
}
