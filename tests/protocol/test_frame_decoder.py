"""Frames to requests and responses, by their content."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import Frame, Request, Response, Source, Undecodable
from kwire.errors import (
    BadFrame,
    BytesAfterFrame,
    TrailingBytes,
    Truncated,
    UnexpectedResponse,
    UnknownApi,
    UnknownVersion,
)
from kwire.protocol.frame_encoder import encode_result
from kwire.protocol.frames.stream_faults import CutShort
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT

M: Any = kwire.messages


def request(correlation_id: int = 1, version: int = 1, client_id: str | None = "me") -> bytes:
    return kwire.encode_request(
        M.MetadataRequest(topics=None), version, correlation_id=correlation_id, client_id=client_id
    )


def response(correlation_id: int = 1, version: int = 1) -> bytes:
    return kwire.encode_response(M.MetadataResponse(controller_id=3), version, correlation_id=correlation_id)


def decoded(*frames: bytes, **options: Any) -> list[Any]:
    return list(kwire.decode_frames(map(Frame, frames), **options))


def test_requests_and_responses_of_one_dump_find_each_other() -> None:
    first, answer, second = decoded(request(1), response(1), request(2))
    assert isinstance(first, Request)
    assert isinstance(answer, Response)
    assert isinstance(second, Request)
    assert (first.api_name, first.api_version, first.correlation_id, first.header.client_id) == ("Metadata", 1, 1, "me")
    assert answer.message.controller_id == 3
    assert answer.request == first.header


def test_small_correlation_ids_do_not_look_like_requests() -> None:
    for number in range(20):  # as bytes: api key 0 (Produce), version `number`
        asked, answer = decoded(request(number), response(number))
        assert (type(asked), type(answer)) == (Request, Response)


def test_requests_alone_are_all_requests() -> None:
    assert [type(result) for result in decoded(*(request(number) for number in range(5)))] == [Request] * 5


def test_a_response_that_overtakes_others_has_a_fault() -> None:
    *_, answer = decoded(request(1), request(2), request(3), response(3))
    assert isinstance(answer, Response)
    assert [header.correlation_id for header in answer.unanswered] == [1, 2]


def test_a_produce_request_without_acks_is_not_waited_for() -> None:
    silent = kwire.encode_request(M.ProduceRequest(acks=0), 3, correlation_id=7)
    results = decoded(silent, request(7), response(7))
    assert [type(result) for result in results] == [Request, Request, Response]
    assert results[2].api_name == "Metadata"
    assert results[2].unanswered == ()


def test_a_broker_that_refuses_an_api_versions_request_answers_in_version_0() -> None:
    asked, answer = kwire.decode_frames(kwire.read_dump(ROOT / "fixtures/dumps/kafka-0.10.0-api-versions.bin"))
    assert isinstance(asked, Request)
    assert isinstance(answer, Response)
    assert (asked.api_version, answer.api_version, answer.codec.version) == (3, 3, 0)
    assert isinstance(answer.message, kwire.messages.ApiVersionsResponse)
    assert answer.message.error_code == 35


def test_a_refusal_in_the_version_asked_for_is_read_too() -> None:
    asked = kwire.encode_request(M.ApiVersionsRequest(), 3, correlation_id=9)
    answer = kwire.encode_response(M.ApiVersionsResponse(error_code=35), 3, correlation_id=9)
    result = decoded(asked, answer)[1]
    assert (result.codec.version, result.message.error_code) == (3, 35)


def test_connections_do_not_see_each_other() -> None:
    one, two = Source(client="10.0.0.1:5000", broker="b:9092"), Source(client="10.0.0.2:5000", broker="b:9092")
    frames = [
        Frame(request(1, 1), one),
        Frame(request(1, 2), two),
        Frame(response(1, 2), two),
        Frame(response(1, 1), one),
    ]
    results = list(kwire.decode_frames(frames))
    assert [result.api_version for result in results if isinstance(result, Response)] == [2, 1]


@pytest.mark.parametrize(
    ("data", "kind", "offset"),
    [
        (bytes.fromhex("00000008 270f 0001 00000001"), UnknownApi, 4),
        (bytes.fromhex("0000000a 0003 0063 00000001 ffff"), UnknownVersion, 6),
        (bytes.fromhex("0000"), CutShort, 0),
        (bytes.fromhex("00000002 0000"), Truncated, 0),
        (bytes.fromhex("ffffffff 00000000"), BadFrame, 0),
        (bytes.fromhex("00000004 00000000 00"), BytesAfterFrame, 0),
    ],
)
def test_what_is_no_message_is_a_value_with_its_bytes(data: bytes, kind: type, offset: int) -> None:
    (result,) = decoded(data)
    assert isinstance(result, Undecodable)
    assert (type(result.error), result.error.offset, result.frame.data) == (kind, offset, data)


def test_an_unknown_api_keeps_its_header() -> None:
    (result,) = decoded(bytes.fromhex("0000000e 270f 0001 0000002a 0002 6d65 abcd"))
    assert isinstance(result, Undecodable)
    assert (result.header.request_api_key, result.header.correlation_id, result.header.client_id) == (9999, 42, "me")
    assert str(result.error) == "api key 9999 is not known (offset 4)"


def test_a_response_without_request_names_the_requests_in_flight() -> None:
    stray = bytes.fromhex("00000008 7fff0000 00000000")
    assert [type(result.error) for result in decoded(stray)] == [UnknownApi]
    (_, result) = decoded(request(1), stray)
    assert isinstance(result.error, UnexpectedResponse)
    assert (result.error.found, result.error.need) == (0x7FFF0000, 1)


def test_a_response_alone_is_read_as_what_it_is_said_to_answer() -> None:
    decoder = kwire.FrameDecoder(answers=kwire.codec("MetadataResponse", 1))
    result = decoder.decode(Frame(response(5)))
    assert isinstance(result, Response)
    assert isinstance(result.message, kwire.messages.MetadataResponse)
    assert (result.message.controller_id, result.request, result.correlation_id) == (3, None, 5)
    assert isinstance(decoder.decode(Frame(request(6))), Request)


def test_offsets_count_from_the_size_field_and_paths_name_the_header() -> None:
    cut = request(1)[:-2]
    (result,) = decoded(len(cut[4:]).to_bytes(4, "big") + cut[4:])
    assert (result.error.offset, result.error.path, result.error.message) == (16, "topics", "MetadataRequest")
    (result,) = decoded(bytes.fromhex("0000000c 0003 0001 00000001 0009 6d65"))
    assert (result.error.offset, result.error.path) == (12, "header.client_id")


def test_a_truncated_frame_has_a_fault() -> None:
    (result,) = decoded(request(1)[:-2])
    assert (str(result.error), result.error.code, result.is_failure) == (
        "cut short: 18 of 20 bytes",
        "CUT_SHORT",
        False,
    )
    (result,) = decoded(bytes.fromhex("0000002c 7fff0000 00000007"))  # what is there has an api key that no api has
    assert (type(result.error), result.is_failure) == (UnknownApi, True)


def test_a_response_that_does_not_decode_takes_its_request_out_where_nothing_tells_directions() -> None:
    decoder = kwire.FrameDecoder()
    bad = bytearray(response(1))
    bad[8:12] = (9999).to_bytes(4, "big")  # brokers that are not there
    for data in (request(1), bytes(bad), request(2)):
        decoder.decode(Frame(data))
    answered = decoder.decode(Frame(response(2)))
    assert isinstance(answered, Response)
    assert answered.unanswered == ()


def test_a_tail_is_a_fault_in_salvage_and_an_error_in_strict() -> None:
    data = request(1)[4:] + b"tail"
    frame = len(data).to_bytes(4, "big") + data
    (salvaged,), (strict,) = decoded(frame), decoded(frame, salvage=False)
    assert (salvaged.rest, [type(fault) for fault in salvaged.faults]) == (b"tail", [TrailingBytes])
    assert isinstance(strict.error, TrailingBytes)


def test_a_tail_has_a_span_with_its_fault() -> None:
    data = request(1)[4:] + b"tail"
    (result,) = decoded(len(data).to_bytes(4, "big") + data, trace=True)
    (fault,) = result.spans[-1].faults
    assert (result.spans[-1].type, result.spans[-1].value, type(fault)) == ("left over", b"tail", TrailingBytes)


def test_spans_of_a_frame_cover_it_from_the_size_field_on() -> None:
    for result in decoded(request(1), response(1), request(1)[:-3], b"\0\0", trace=True):
        assert b"".join(result.frame.data[span.start : span.stop] for span in result.spans) == result.frame.data
        assert result.spans[0].path in ("size", "")


def test_a_profile_reads_its_own_shapes() -> None:
    catalog = catalog_for("KIP-36")
    asked = kwire.encode_request(
        getattr(M, "KIP-36").TopicMetadataRequest(topics=("orders",)), 1, correlation_id=9, catalog=catalog
    )
    answer = kwire.encode_response(getattr(M, "KIP-36").TopicMetadataResponse(correlation_id=9), 1, catalog=catalog)
    assert answer.hex() == "0000000c000000090000000000000000"
    results = list(kwire.decode_frames([Frame(asked), Frame(answer)], catalog))
    assert [type(result) for result in results] == [Request, Response]
    assert results[1].header is None
    assert results[1].correlation_id == 9  # type: ignore[union-attr]
    assert [encode_result(result, catalog) for result in results] == [asked, answer]  # type: ignore[arg-type]
    connection = kwire.Connection(apis=Apis(catalog))
    headers = [connection.receive(data) for data in (asked, answer)]
    for header, data, message in zip(headers, (asked, answer), results, strict=True):
        assert header.codec is not None
        assert header.codec.decode(data[header.body_start(data) :]) == message.message  # type: ignore[union-attr]
    assert headers[1].body_start(answer) == 4


def test_a_body_begins_behind_the_tags_of_its_header() -> None:
    data = request(5, version=9)
    tagged = data[4:16] + b"\1\7\2ab" + data[17:]
    frame = len(tagged).to_bytes(4, "big") + tagged
    plain, with_tag = kwire.Connection().receive(data), kwire.Connection().receive(frame)
    assert (plain.body_start(data), with_tag.body_start(frame)) == (17, 21)
    assert data[17:] == frame[21:]


def test_after_an_undecodable_request_its_answer_is_still_expected() -> None:
    broken = request(4)[:-4] + b"\x7f\xff\xff\xff"  # more topics than there can be
    results = decoded(broken, response(4))
    assert [type(result) for result in results] == [Undecodable, Response]
