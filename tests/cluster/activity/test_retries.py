"""Which requests are retries: each rule, and what another client of the same name sends."""

from __future__ import annotations

from kwire.cluster.activity.retries import BETWEEN, NO_RESPONSE, RetryTracker, SentRequest

BROKER, OTHER_BROKER = "10.0.0.9:9092", "10.0.0.8:9092"


def request(connection: int, correlation_id: int, broker: str = BROKER, time: float = 1.0) -> SentRequest:
    return SentRequest("Produce", "me", "10.0.0.1", broker, ("x", connection), correlation_id, correlation_id, time)


def fail_first(reason: str, correlation_id: int = 1000) -> RetryTracker:
    """A tracker of a client with two connections; its request on connection 0 has failed."""
    retries = RetryTracker()
    for connection, broker in ((1, BROKER), (2, OTHER_BROKER)):
        assert retries.send(request(connection, 1, broker)) is None
    failed = request(0, correlation_id)
    assert retries.send(failed) is None
    retries.fail(failed, reason, 1.5)
    return retries


def is_retry(retries: RetryTracker, sent: SentRequest) -> bool:
    return retries.send(sent) is not None


def test_the_next_request_of_the_connection_is_the_retry() -> None:
    retries = fail_first("REQUEST_TIMED_OUT")
    retried = retries.send(request(0, 1001))
    assert retried is not None
    assert (retried.reason, retried.request.correlation_id, retried.attempt) == ("REQUEST_TIMED_OUT", 1000, 1)
    assert not is_retry(retries, request(0, 1002))  # it is the next one alone


def test_another_client_of_the_same_name_does_not_retry() -> None:
    assert not is_retry(fail_first("REQUEST_TIMED_OUT"), request(1, 2))  # counts its requests by itself
    assert not is_retry(fail_first("REQUEST_TIMED_OUT"), request(2, 2, OTHER_BROKER))
    assert not is_retry(fail_first("NOT_LEADER_OR_FOLLOWER"), request(1, 2))  # the broker that is the wrong one
    assert not is_retry(fail_first("REQUEST_TIMED_OUT", 1), request(1, 1))
    retries = fail_first("REQUEST_TIMED_OUT")
    assert not is_retry(retries, request(0, 1001)._replace(client="you"))
    assert not is_retry(retries, request(0, 1001)._replace(ip="10.0.0.2"))
    assert not is_retry(retries, request(0, 1001)._replace(api="Metadata"))


def test_a_closed_connection_is_followed_by_a_new_one() -> None:
    retries = fail_first(NO_RESPONSE)
    assert not is_retry(retries, request(3, 1))  # while it is open
    retries.close(("x", 0))
    assert not is_retry(retries, request(1, 2))  # it was there before
    assert not is_retry(retries, request(3, 2))
    retried = retries.send(request(4, 1))
    assert retried is not None
    assert retried.request.connection == ("x", 0)


def test_a_client_that_counts_all_its_requests_together_may_ask_any_broker() -> None:
    for connection, broker in ((1, BROKER), (2, OTHER_BROKER)):
        assert is_retry(fail_first("UNKNOWN_TOPIC_OR_PARTITION"), request(connection, 1001, broker))
    assert is_retry(fail_first("REQUEST_TIMED_OUT"), request(1, 1000 + BETWEEN + 1))  # it counts itself
    assert not is_retry(fail_first("REQUEST_TIMED_OUT"), request(1, 1000 + BETWEEN + 2))
    retries = fail_first("REQUEST_TIMED_OUT")
    for number in range(50):
        retries.send(request(2, 1001 + number, OTHER_BROKER)._replace(api="Fetch"))
    assert is_retry(retries, request(1, 1051))


def test_the_right_broker_gets_the_retry() -> None:
    assert is_retry(fail_first("NOT_LEADER_OR_FOLLOWER"), request(2, 2, OTHER_BROKER))


def test_each_failed_request_has_its_retry_and_attempts_are_counted() -> None:
    retries = RetryTracker()
    for number in (1, 2, 3):
        retries.send(request(0, number))
    for number in (1, 2, 3):
        retries.fail(request(0, number), "REQUEST_TIMED_OUT", 1.5)
    retried = [retries.send(request(0, number)) for number in (4, 5, 6, 7)]
    assert [failed and failed.request.correlation_id for failed in retried] == [1, 2, 3, None]
    retries.fail(request(0, 5), "REQUEST_TIMED_OUT", 1.6)
    retries.succeed(("x", 0), 4)
    retries.fail(request(0, 4), "REQUEST_TIMED_OUT", 1.7)  # after a success it is a first attempt
    again = [retries.send(request(0, number)) for number in (8, 9)]
    assert [failed and (failed.request.correlation_id, failed.attempt) for failed in again] == [(5, 2), (4, 1)]


def test_what_comes_after_a_minute_is_a_new_request() -> None:
    assert is_retry(fail_first("REQUEST_TIMED_OUT"), request(0, 1001, time=61.5))
    assert not is_retry(fail_first("REQUEST_TIMED_OUT"), request(0, 1001, time=61.6))


def test_connections_of_two_files_are_different() -> None:
    retries = fail_first("REQUEST_TIMED_OUT")
    assert not is_retry(retries, request(0, 5)._replace(connection=("y", 0)))
