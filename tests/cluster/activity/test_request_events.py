"""Errors, retries, throttling and transactions, as events."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import Frame, FrameDecoder, Source
from kwire.cluster.activity.activity_event import ActivityLog
from kwire.cluster.activity.request_events import RequestEvents
from kwire.cluster.activity.retries import NO_RESPONSE, SentRequest

M: Any = kwire.messages


def events_of(*exchanges: tuple[float, Any, Any, int]) -> list[str]:
    log = ActivityLog()
    requests = RequestEvents(log)
    decoder = FrameDecoder()
    for number, (time, request, response, version) in enumerate(exchanges):
        for direction, data in (
            ("request", kwire.encode_request(request, version, correlation_id=number, client_id="me")),
            ("response", kwire.encode_response(response, version, correlation_id=number)),
        ):
            source = Source("x", 2 * number + (direction == "response"), None, time, "10.0.0.1:5", "b:9", 0, direction)
            requests.add(decoder.decode(Frame(data, source)))
    return [f"@{event.frame} {event.kind} {event.text} x{event.count}" for event in log.events]


def find(code: int) -> tuple[Any, Any]:
    return M.FindCoordinatorRequest(key="g"), M.FindCoordinatorResponse(error_code=code)


def test_a_retry_follows_a_retriable_error() -> None:
    assert events_of((1.0, *find(15), 2), (1.1, *find(15), 2), (1.2, *find(0), 2), (1.3, *find(0), 2)) == [
        "@1 error client me: FindCoordinator: COORDINATOR_NOT_AVAILABLE x2",
        "@2 retry client me: FindCoordinator is sent again after COORDINATOR_NOT_AVAILABLE in frame 0, attempt 2 x1",
        "@4 retry client me: FindCoordinator is sent again after COORDINATOR_NOT_AVAILABLE in frame 2, attempt 3 x1",
    ]


def test_what_comes_much_later_or_after_a_final_error_is_no_retry() -> None:
    assert len(events_of((1.0, *find(15), 2), (99.0, *find(0), 2))) == 1
    assert len(events_of((1.0, *find(30), 2), (1.1, *find(0), 2))) == 1


def test_a_request_without_a_response_may_be_sent_again() -> None:
    log = ActivityLog()
    requests = RequestEvents(log)

    def sent(api: str, connection: int, frame: int) -> SentRequest:
        return SentRequest(api, "me", "10.0.0.1", "b:9", ("x", connection), frame, frame, 2.0)

    for number, api in enumerate(("Produce", "Fetch"), 7):
        requests.fail(sent(api, 0, number), NO_RESPONSE, 1.0)
    requests.retries.close(("x", 0))
    requests.send(sent("Fetch", 1, 9))
    requests.send(sent("Produce", 1, 10))
    assert [event.text for event in log.events] == [
        "client me: Produce is sent again after no response in frame 7, attempt 2"
    ]


def test_throttling_and_transactions() -> None:
    ended = M.EndTxnRequest(transactional_id="t", committed=True), M.EndTxnResponse(throttle_time_ms=20), 3
    topic = M.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=(1,))
    request = M.AddPartitionsToTxnRequest(v3_and_below_transactional_id="t", v3_and_below_topics=(topic,))
    assert events_of((1.0, request, M.AddPartitionsToTxnResponse(), 3), (2.0, *ended)) == [
        "@0 transaction client me: transaction t: adds orders x1",
        "@2 transaction client me: transaction t: commits x1",
        "@3 throttle client me: EndTxn: throttled for 20 ms x1",
    ]
