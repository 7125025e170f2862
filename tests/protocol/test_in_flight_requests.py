"""Answers in order; the correlation id is checked, not looked up."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.errors.decode import UnexpectedResponse
from kwire.protocol.in_flight_requests import expects_response


def header(api_key: int, correlation_id: int) -> Any:
    return kwire.messages.RequestHeader(request_api_key=api_key, correlation_id=correlation_id)


def waiting_for(*pairs: tuple[int, int]) -> kwire.InFlightRequests:
    waiting = kwire.InFlightRequests()
    for pair in pairs:
        waiting.add(header(*pair))
    return waiting


def test_old_fetchers_give_every_request_the_same_id() -> None:
    waiting = waiting_for((1, 0), (2, 0), (3, 0))
    assert [waiting.complete(0).request_api_key for _ in range(3)] == [1, 2, 3]


def test_an_answer_out_of_order_is_refused_and_changes_nothing() -> None:
    waiting = waiting_for((1, 5), (2, 6))
    with pytest.raises(UnexpectedResponse) as caught:
        waiting.complete(6)
    assert (caught.value.found, caught.value.need, len(waiting)) == (6, 5, 2)


def test_an_answer_to_a_later_request_leaves_those_before_it_unanswered() -> None:
    waiting = waiting_for((1, 5), (2, 6), (3, 7))
    assert [dropped.correlation_id for dropped in waiting.skip_to(7)] == [5, 6]
    assert waiting.complete(7).request_api_key == 3
    with pytest.raises(UnexpectedResponse):
        waiting.skip_to(8)


def test_the_oldest_are_forgotten_at_the_limit() -> None:
    waiting = kwire.InFlightRequests(limit=2)
    for number in range(3):
        waiting.add(header(3, number))
    assert (len(waiting), waiting.find(0), waiting.find(1) is not None) == (2, None, True)


@pytest.mark.parametrize(("acks", "answered"), [(0, False), (1, True), (-1, True)])
def test_a_producer_that_asks_for_no_acknowledgement_gets_none(acks: int, answered: bool) -> None:
    assert expects_response(kwire.messages.ProduceRequest(acks=acks)) is answered
    assert expects_response(kwire.messages.MetadataRequest())
