"""One frame by itself, as a client has it: no decoder, no state."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.errors import BadText, BytesAfterFrame, UnexpectedResponse, UnknownApi, UnknownVersion
from tests.conftest import ROOT

M = kwire.messages
ASKED = kwire.encode_request(M.MetadataRequest(topics=None), 12, correlation_id=7, client_id="me")
REPLY = kwire.encode_response(M.MetadataResponse(controller_id=3), 12, correlation_id=7)


def test_a_request_is_what_a_decoder_of_frames_makes_of_it() -> None:
    for frame in kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"):
        (result,) = kwire.decode_frames([frame])
        if isinstance(result, kwire.Request):
            one = kwire.decode_request(frame.data)
            assert (one.message, one.header, one.codec) == (result.message, result.header, result.codec)
            assert one.correlation_id == result.correlation_id
    assert kwire.decode_request(memoryview(ASKED), trace=True).spans[0].path == "size"


def test_a_response_is_decoded_by_its_request_or_a_codec() -> None:
    request = kwire.decode_request(ASKED)
    for answers in (request, kwire.codec("MetadataResponse", 12), request.codec):
        response = kwire.decode_response(REPLY, answers)
        assert isinstance(response.message, M.MetadataResponse)
        assert (response.message.controller_id, response.api_version, response.correlation_id) == (3, 12, 7)
    assert kwire.decode_response(REPLY, request).request == request.header


def test_a_response_with_another_correlation_id_is_refused() -> None:
    other = kwire.encode_response(M.MetadataResponse(), 12, correlation_id=8)
    with pytest.raises(UnexpectedResponse, match="correlation id 8"):
        kwire.decode_response(other, kwire.decode_request(ASKED))


def test_a_broker_that_does_not_know_the_version_answers_api_versions_in_version_0() -> None:
    refused = kwire.encode_response(M.ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    request = kwire.decode_request(kwire.encode_request(M.ApiVersionsRequest(), 3, correlation_id=1))
    response = kwire.decode_response(refused, request)
    assert isinstance(response.message, M.ApiVersionsResponse)
    assert (response.message.error_code, response.codec.version, response.api_version) == (35, 0, 3)


def test_a_response_to_a_request_that_says_no_acknowledgement_is_decoded_all_the_same() -> None:
    request = kwire.decode_request(kwire.encode_request(M.ProduceRequest(acks=0), 7, correlation_id=2))
    data = kwire.encode_response(M.ProduceResponse(), 7, correlation_id=2)
    assert kwire.decode_response(data, request).codec.name == "ProduceResponse"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (ASKED[:-1], kwire.DecodeError),
        (ASKED + b"x", kwire.DecodeError),
        (b"", kwire.DecodeError),
        (b"\0\0", kwire.DecodeError),
        (bytes.fromhex("00000008 7fff 0000 00000001"), UnknownApi),
        (bytes.fromhex("0000000a 0003 7fff 00000001 ffff"), UnknownVersion),
        (ASKED.replace(b"me", b"\xff\xff"), BadText),
    ],
)
def test_what_is_no_such_request_raises_what_is_wrong(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        kwire.decode_request(data)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (ASKED, f"{len(ASKED)} more bytes \\(1 whole frame\\) follow the frame of"),
        (ASKED + REPLY + b"\0\0", f"{len(ASKED + REPLY) + 2} more bytes \\(2 whole frames\\) follow the frame of"),
        (b"abc", "3 more bytes follow the frame of"),
    ],
)
def test_bytes_after_the_frame_are_counted(more: bytes, text: str) -> None:
    with pytest.raises(BytesAfterFrame, match=f"{text} {len(ASKED)} bytes") as caught:
        kwire.decode_request(ASKED + more)
    assert "FrameReader" in caught.value.hint
    assert caught.value.code == "BAD_SIZE"


def test_salvage_keeps_what_kafka_tolerates() -> None:
    result = kwire.decode_request(ASKED.replace(b"me", b"\xff\xff"), salvage=True)
    assert [type(fault) for fault in result.faults] == [BadText]


@pytest.mark.parametrize("odd", ["00", 7, None])
def test_what_is_no_bytes_and_what_is_no_codec_are_type_errors(odd: Any) -> None:
    with pytest.raises(TypeError, match="bytes are needed, not "):
        kwire.decode_request(odd)
    with pytest.raises(TypeError, match="a Request, or the codec of a request or response is needed"):
        kwire.decode_response(REPLY, odd)
    with pytest.raises(TypeError, match="a Request, or the codec"):
        kwire.decode_response(REPLY, kwire.codec("RequestHeader", 2))


def test_drafts_are_decoded_with_their_catalog() -> None:
    drafts = kwire.Catalog.of(profile="KIP-879")
    frame = kwire.encode_request(drafts.messages.CreateReplicaAssignmentRequest(), 0, correlation_id=5, catalog=drafts)
    request = kwire.decode_request(frame, catalog=drafts)
    assert request.api_name == "CreateReplicaAssignment"
    answer = drafts.messages.CreateReplicaAssignmentResponse()
    data = kwire.encode_response(answer, 0, correlation_id=5, catalog=drafts)
    assert kwire.decode_response(data, request, catalog=drafts).message == answer
