"""Finds out which requests are retries: the next one of the api that the same client sends after a failed one.

Several clients often have the same client id and address. So a retry is only a request

1. on the connection of the failed request; or
2. on a connection that was opened after that one was closed; or
3. on another connection with one of the next correlation ids: Kafka's NetworkClient counts the requests of all its
   connections together, and asks any broker for metadata and coordinators; or
4. to another broker, after an error by which a broker says that it is the wrong one: librdkafka counts the requests to
   each broker alone (rd_kafka_broker_t).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

RETRIED_WITHIN = 60.0  # seconds after a failed request; a later one of its api is a new request
MOST_FAILED = 1000  # of one client and api
BETWEEN = 16  # correlation ids that a client may have used between a request and its response
NO_RESPONSE = "no response"
# Errors after which a client looks for another broker: leader, coordinator, controller.
ELSEWHERE = frozenset(
    (
        *("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"),
        *("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_CONTROLLER"),
        *("REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE", "BROKER_NOT_AVAILABLE", "KAFKA_STORAGE_ERROR"),
    )
)
Connection = tuple[str, object]  # file, and the number of the connection in it


class SentRequest(NamedTuple):
    """A request.

    Attributes:
        api, client: the name of the api, and the client id.
        ip, broker: the IP address of the client, and `ip:port` of the broker; empty if unknown.
        connection: the connection.
        correlation_id: its correlation id; None if it has none.
        frame, time: its frame, and when it was sent, in seconds since 1970.
    """

    api: str
    client: str | None
    ip: str
    broker: str
    connection: Connection
    correlation_id: int | None
    frame: int | None
    time: float | None


class _OpenConnection:
    """A connection.

    Attributes:
        number: how many connections were seen until it was.
        broker: `ip:port` of its broker.
        closed_after: how many connections had been seen when it was closed; None while it is open.
        attempts: of retries that wait for a response: which attempts they are, by correlation id.
    """

    __slots__ = ("attempts", "broker", "closed_after", "number")

    def __init__(self, number: int, broker: str) -> None:
        self.number, self.broker = number, broker
        self.closed_after: int | None = None
        self.attempts: dict[int | None, int] = {}


class FailedRequest(NamedTuple):
    """A failed request that may be sent again.

    Attributes:
        reason: why it failed: an error, or `NO_RESPONSE`.
        request: the request.
        time: when it failed, in seconds since 1970.
        attempt: which attempt it was.
        connection: where it was sent.
        sent: how many requests had been seen of its client id and address when it failed.
    """

    reason: str
    request: SentRequest
    time: float | None
    attempt: int
    connection: _OpenConnection
    sent: int


class RetryTracker:
    """Follows requests, failures, and the ends of connections.

    >>> retries = RetryTracker()
    >>> request = SentRequest("Produce", "me", "10.0.0.1", "10.0.0.9:9092", ("a.pcap", 0), 7, 0, 1.0)
    >>> retries.send(request)
    >>> retries.fail(request, "REQUEST_TIMED_OUT", 1.5)
    >>> retried = retries.send(request._replace(correlation_id=8, frame=2, time=1.6))
    >>> retried.reason, retried.request.frame, retried.attempt
    ('REQUEST_TIMED_OUT', 0, 1)
    """

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str | None, str], list[FailedRequest]] = {}
        self._open: dict[Connection, _OpenConnection] = {}
        self._count = 0  # connections
        self._sent = Counter[tuple[str | None, str]]()  # requests by client id and IP address

    def send(self, request: SentRequest) -> FailedRequest | None:
        """Note a request; return the failed request if it is sent again with it.

        1. The oldest failure of the client and api comes first: correlation ids of a connection increase.
        2. The retry is the next attempt; if it fails, too, its own retry is the one after.
        """
        connection = self._connection_of(request)
        self._sent[request.client, request.ip] += 1
        key = request.api, request.client, request.ip
        waiting = self._failed.get(key)
        if waiting is None:
            return None
        waiting[:] = [failed for failed in waiting if _is_recent(failed.time, request.time)]
        retried = next((failed for failed in waiting if self._goes_on(failed, request, connection)), None)
        if retried is not None:
            waiting.remove(retried)
            connection.attempts[request.correlation_id] = retried.attempt + 1
        if not waiting:
            del self._failed[key]
        return retried

    def succeed(self, connection: Connection, correlation_id: int | None) -> None:
        """Note a response without a retriable error."""
        if connection in self._open:
            self._open[connection].attempts.pop(correlation_id, None)

    def fail(self, request: SentRequest, reason: str, time: float | None) -> None:
        """Note that a request failed and may be sent again.

        Args:
            request: the request.
            reason: the error, or `NO_RESPONSE`.
            time: when it failed, in seconds since 1970.
        """
        connection = self._connection_of(request)
        attempt = connection.attempts.pop(request.correlation_id, 1)
        waiting = self._failed.setdefault((request.api, request.client, request.ip), [])
        count = self._sent[request.client, request.ip]
        waiting.append(FailedRequest(reason, request, time, attempt, connection, count))
        del waiting[:-MOST_FAILED]

    def close(self, connection: Connection) -> None:
        """Note the end of a connection, after `fail` was called for its requests in flight."""
        closed = self._open.pop(connection, None)
        if closed is not None:
            closed.closed_after = self._count

    def _goes_on(self, failed: FailedRequest, request: SentRequest, connection: _OpenConnection) -> bool:
        """Whether the client of a failed request sends it again; the steps are those of the module."""
        if connection is failed.connection:
            return True
        closed_after = failed.connection.closed_after
        if closed_after is not None and connection.number > closed_after:
            return True
        first, second = failed.request.correlation_id, request.correlation_id
        if first is not None and second is not None:
            sent = self._sent[request.client, request.ip] - failed.sent
            if 0 < second - first <= sent + BETWEEN:
                return True
        return failed.reason in ELSEWHERE and connection.broker != failed.connection.broker

    def _connection_of(self, request: SentRequest) -> _OpenConnection:
        connection = self._open.get(request.connection)
        if connection is None:
            self._count += 1
            connection = self._open[request.connection] = _OpenConnection(self._count, request.broker)
        return connection


def _is_recent(failed: float | None, sent: float | None) -> bool:
    return failed is None or sent is None or sent - failed <= RETRIED_WITHIN
