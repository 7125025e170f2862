"""A connection: one request under way at a time, in order; what was not answered is sent again."""

from __future__ import annotations

from typing import Any

from kwire import messages
from kwire.cluster.kip112 import Link, SendRequest


def link() -> tuple[Link, list[int]]:
    made = Link(2, 1)
    for number in (5, 6):
        made.send(SendRequest(2, 9, messages.UpdateMetadataRequest(controller_id=number), 8))
    return made, []


def answering(seen: list[int]) -> Any:
    def handle(request: Any, version: int) -> Any:
        assert version == 8
        seen.append(request.controller_id)
        return messages.UpdateMetadataResponse(error_code=request.controller_id)

    return handle


def test_requests_are_delivered_one_by_one() -> None:
    made, seen = link()
    made.deliver(answering(seen))
    assert not made.can_deliver
    assert made.take_answer().response.error_code == 5
    made.deliver(answering(seen))
    assert made.take_answer().response.error_code == 6
    assert seen == [5, 6]
    assert not made.can_deliver


def test_an_answer_that_is_lost_has_its_request_sent_again() -> None:
    made, seen = link()
    made.deliver(answering(seen))
    made.drop()
    made.deliver(answering(seen))
    assert made.take_answer().response.error_code == 5
    assert seen == [5, 5]


def test_what_is_on_the_way_is_bytes() -> None:
    made, seen = link()
    assert made.waiting[0][1][4:8].hex() == "00060008"
    made.deliver(answering(seen))
    assert made.answer is not None
    assert int.from_bytes(made.answer[:4]) == len(made.answer) - 4
