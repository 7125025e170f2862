"""Requests inside envelopes, opened with their answers; an envelope by Kafka is in `tests/data/envelopes.jsonl`."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import Frame, Request, Response, Source, Undecodable
from kwire.protocol import FrameDecoder
from kwire.protocol.header_reader import HeaderReader
from tests.protocol.test_frame_decoder import decoded, request, response

M: Any = kwire.messages


def enveloped(inner: bytes, number: int = 9) -> bytes:
    message = M.EnvelopeRequest(request_data=inner[4:], client_host_address=bytes([127, 0, 0, 1]))
    return kwire.encode_request(message, 0, correlation_id=number, client_id="broker-1")


def answer(inner: bytes | None, number: int = 9, error_code: int = 0) -> bytes:
    message = M.EnvelopeResponse(response_data=None if inner is None else inner[4:], error_code=error_code)
    return kwire.encode_response(message, 0, correlation_id=number)


def test_request_and_answer_are_opened() -> None:
    asked, answered = decoded(enveloped(request(5, client_id="app")), answer(response(5)))
    assert isinstance(asked.inside, Request)
    assert (asked.inside.api_name, asked.inside.header.client_id, asked.inside.correlation_id) == ("Metadata", "app", 5)
    assert isinstance(answered.inside, Response)
    assert answered.inside.message.controller_id == 3
    assert answered.inside.request == asked.inside.header


def test_answers_find_their_requests_among_many() -> None:
    results = decoded(*(enveloped(request(5, version), version) for version in (1, 4, 7)), answer(response(5, 4), 4))
    assert results[-1].inside.codec.version == 4


def test_an_envelope_that_failed_has_nothing_inside() -> None:
    assert decoded(enveloped(request(5)), answer(None, error_code=31))[-1].inside is None


def test_an_undecodable_envelope_stays_closed_or_has_a_reason() -> None:
    for inner in (b"", bytes.fromhex("00000004 7fff 0000 00000001")):
        assert decoded(enveloped(inner))[0].inside is None
    assert isinstance(decoded(enveloped(request()[:-2]))[0].inside, Undecodable)
    assert decoded(enveloped(enveloped(request())))[0].inside is None
    assert decoded(answer(response(5)))[0] is not None


def test_an_answer_whose_envelope_was_not_seen_stays_closed() -> None:
    decoder = FrameDecoder(answers=kwire.codec("EnvelopeResponse", 0))
    result = decoder.decode(Frame(answer(response(5)), Source(direction="response")))
    assert isinstance(result, Response)
    assert result.inside is None


def test_spans_are_those_of_the_inner_frame() -> None:
    (result,) = decoded(enveloped(request(5)), trace=True)
    assert result.inside.spans[0].path == "size"
    assert result.inside.spans[-1].stop == len(result.inside.frame.data)


def test_a_look_at_headers_counts_the_envelope_alone() -> None:
    reader = HeaderReader()
    assert [reader.read(Frame(data)).api_key for data in (enveloped(request(5)), answer(response(5)))] == [58, 58]
