"""One connection: which way a frame goes, what it answers, and what it is instead; which requests are answered."""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.protocol.connections.connection_state import MANY
from kwire.protocol.frames.stream_faults import BareToken, CutShort, Gap
from kwire.protocol.headers.apis import Apis
from kwire.protocol.headers.requests_without_response import expects_response
from kwire.schema.catalog import catalog_for
from tests.linear_time.effort import at_most

M = kwire.messages
MOST_IN_FLIGHT = 65536
APIS = Apis(catalog_for())


def request(number: int, message: Any = None, version: int = 1, client: str | None = "me") -> bytes:
    return kwire.encode_request(
        message or M.MetadataRequest(topics=()), version, correlation_id=number, client_id=client
    )


def answer(number: int, message: Any = None, version: int = 1) -> bytes:
    return kwire.encode_response(message or M.MetadataResponse(controller_id=5), version, correlation_id=number)


def fed(*frames: tuple[bytes, bool | None]) -> list[kwire.Header]:
    connection = kwire.Connection()
    return [connection.receive(data, from_client) for data, from_client in frames]


def brief(header: kwire.Header) -> Any:
    return header.is_request, header.api_key, header.correlation_id, header.problem


@pytest.mark.parametrize("known", [True, False])
def test_requests_and_the_responses_to_them(known: bool) -> None:
    connection = kwire.Connection()
    for number in range(2**20, 2**20 + 5):
        for data, asks in ((request(number), True), (answer(number), False)):
            header = connection.receive(data, asks if known else None, time=number)
            assert brief(header) == (asks, 3, number, "")
            assert (header.client_id, header.api_version, header.time) == ("me", 1, number)
            assert header.codec is not None
            assert header.codec.decode(data[header.body_start(data) :]) is not None
        assert header.request is not None
        assert header.request.is_request
        assert not connection.in_flight


@pytest.mark.parametrize("version", [0, 7, -2])
def test_a_request_of_an_unknown_api_names_it(version: int) -> None:
    data = (
        bytes.fromhex("0000000c 03e7") + version.to_bytes(2, "big", signed=True) + bytes.fromhex("00000005 0002 6d65")
    )
    header = kwire.Connection().receive(data, True)
    assert brief(header) == (True, 999, 5, "unknown")
    assert (header.api_version, header.client_id) == (version, "me")


def test_responses_overtake_and_leave_others_without_one() -> None:
    connection = kwire.Connection()
    asked = [connection.receive(request(number), True) for number in (1, 2, 3)]
    header = connection.receive(answer(3), False)
    assert (header.request, header.overtaken) == (asked[2], (asked[0], asked[1]))
    assert brief(connection.receive(answer(2), False)) == (False, None, 2, "unpaired")


@pytest.mark.parametrize("version", range(3, 12))
@pytest.mark.parametrize("transactional_id", [None, "", "t"])
def test_a_producer_may_ask_for_no_answer(version: int, transactional_id: str | None) -> None:
    connection = kwire.Connection()
    for number, acks in enumerate((1, 0, -1, 0, 2)):
        message = M.ProduceRequest(transactional_id=transactional_id, acks=acks)
        assert brief(connection.receive(request(number, message, version), True)) == (True, 0, number, "")
    assert [header.correlation_id for header in connection.in_flight] == [0, 2, 4]


def test_api_versions_may_be_answered_in_version_0() -> None:
    connection = kwire.Connection()
    refused = M.ApiVersionsResponse(error_code=35)
    for version in (0, 3):
        connection.receive(request(1, M.ApiVersionsRequest(), 4), True)
        data = answer(1, refused, version)
        header = connection.receive(data, False)
        assert header.request is not None
        assert (header.api_version, header.request.api_version) == (version or 0, 4) if version == 0 else (4, 4)
        assert header.codec is not None
        assert header.codec.decode(data[header.body_start(data) :]) == refused


def test_tokens_follow_the_first_handshake() -> None:
    connection = kwire.Connection()
    handshake = M.SaslHandshakeRequest(mechanism="PLAIN")
    connection.receive(request(1, handshake, 0), True)
    connection.receive(answer(1, M.SaslHandshakeResponse(), 0), False)
    assert (connection.expects_tokens, connection.authenticating, connection.mechanism) == (True, True, "PLAIN")
    token = b"\0\0\0\x07\0me\0key"
    assert [connection.receive(token).is_request for _ in range(2)] == [True, False]
    assert brief(connection.receive(token, True)) == (True, None, None, "token")
    assert connection.receive(b"", False, fault=BareToken(0)).problem == "token"
    assert brief(connection.receive(request(2), True)) == (True, 3, 2, "")
    assert (connection.expects_tokens, connection.authenticating, connection.tokens) == (False, False, 4)
    assert connection.receive(token, True).problem == "unknown"


def test_a_newer_handshake_has_no_tokens() -> None:
    header, *_ = headers = fed((request(1, M.SaslHandshakeRequest(mechanism="PLAIN"), 1), True), (b"\0\0\0\1x", True))
    assert [one.problem for one in headers] == ["", "fragment"]
    assert header.codec is not None
    assert header.codec.name == "SaslHandshakeRequest"


def test_what_is_unknown_is_in_flight_if_it_has_a_correlation_id() -> None:
    unknown = bytes.fromhex("0000000c 7fff 0001 00000007 0002") + b"me"
    asked, answered = fed((unknown, True), (answer(7), False))
    assert (asked.problem, asked.client_id, asked.codec) == ("unknown", "me", None)
    assert (answered.problem, answered.request) == ("unknown", asked)
    with pytest.raises(ValueError, match="unknown"):
        asked.body_start(unknown)


def test_frames_that_are_cut_short_have_headers() -> None:
    whole = request(1)
    for size in range(len(whole)):
        header = kwire.Connection().receive(whole[:size], True, fault=CutShort(need=len(whole), have=size))
        assert header.problem == ("fragment" if size < 8 else "unknown" if size < 16 else "")


def test_a_truncated_request_after_a_handshake_is_no_token() -> None:
    connection, asked = kwire.Connection(), request(2)
    connection.receive(request(1, M.SaslHandshakeRequest(mechanism="PLAIN"), 0), True)
    assert connection.receive(asked[:-1], True, fault=CutShort(need=len(asked), have=len(asked) - 1)).problem == ""
    assert connection.receive(answer(2), False).problem == ""


def test_missing_bytes_excuse_responses() -> None:
    connection = kwire.Connection()
    assert connection.receive(b"", True, fault=Gap(3)).problem == "fragment"
    assert connection.unexpected(7).code == "REQUEST_NOT_CAPTURED"


@pytest.mark.parametrize("number", [0, 900])
@pytest.mark.parametrize("knows_direction", [True, False])
def test_of_equal_correlation_ids_the_response_decides(knows_direction: bool, number: int) -> None:
    to_broker, to_client = (True, False) if knows_direction else (None, None)
    frames = [(request(number), to_broker), (request(number, M.ListGroupsRequest(), 0), to_broker)]
    answered = fed(*frames, (answer(number, M.ListGroupsResponse(), 0), to_client))[-1]
    assert answered.api_key == 16
    assert fed(*frames, (answer(number), to_client))[-1].api_key == 3


def test_a_response_of_unknown_direction_ends_doubt() -> None:
    connection = kwire.Connection(apis=APIS)
    connection.receive(request(900), None)
    connection.receive(b"", None, None, Gap(9))
    assert connection.receive(answer(900), None).api_key == 3
    connection.receive(request(901), None)
    assert connection.receive(answer(901), None).api_key == 3
    assert not connection.is_in_doubt


def problem_with(
    connection: kwire.Connection, decoder: kwire.FrameDecoder, asks: bool, data: bytes, fault: Any = None
) -> str:
    """The problem of a frame, on which the decoder must agree."""
    result = decoder.decode(kwire.Frame(data, kwire.Source(direction="request" if asks else "response"), fault=fault))
    problem = connection.receive(data, asks, None, fault).problem
    lacks = isinstance(result, kwire.Undecodable) and result.error.code == "REQUEST_NOT_CAPTURED"
    assert lacks == (problem == "unpaired")
    return problem


def test_behind_lost_bytes_a_body_with_faults_refutes_a_correlation_id_used_before() -> None:
    """Clients of Kafka 0.8 use ids more than once: a request with the id of a lost one may be in flight."""
    groups, lost = M.ListGroupsResponse(groups=()), (b"", Gap(9))
    for known in (True, False):  # whether a request from before the loss is in flight
        connection = kwire.Connection(apis=APIS)
        problem = partial(problem_with, connection, kwire.FrameDecoder())
        assert problem(True, request(0)) == ""
        assert known or problem(False, answer(0)) == ""
        assert problem(False, *lost) == problem(True, *lost) == "fragment"
        assert problem(False, answer(0, groups, 0)) == "unpaired"
        assert problem(False, answer(0)) == ("" if known else "unpaired")
        assert problem(True, request(1)) == problem(True, request(2)) == ""
        assert problem(False, answer(1, groups, 0)) == "unpaired"
        assert problem(False, answer(2)[:-1] + b"\1") == ""  # ids behind the first one are no lost request's
        assert problem(True, request(3)) == problem(False, answer(3)[:-1] + b"\1") == ""
        assert connection._doubt is None


def test_memory_is_bounded_and_unknown_ids_are_not_searched_for() -> None:
    connection, data = kwire.Connection(apis=APIS), request(1)
    for number in range(MOST_IN_FLIGHT + 9):
        connection.receive(data[:8] + number.to_bytes(4, "big") + data[12:], True)
    assert len(connection.in_flight) == MOST_IN_FLIGHT
    assert connection._ids is None
    assert connection.receive(answer(-1), False).problem == "unpaired"
    assert connection._ids is not None
    assert connection.receive(answer(MOST_IN_FLIGHT), False).api_key == 3
    assert MANY < MOST_IN_FLIGHT


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.booleans(), st.sampled_from(["a", "b", None]), st.sampled_from([3, 3, 3, 16, None])
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_it_pairs_as_the_decoder_does(steps: list[tuple[int, bool, str | None, int | None]], known: bool) -> None:
    connection, decoder = kwire.Connection(apis=APIS), kwire.FrameDecoder()
    for number, asks, client, api in steps:
        if api is None and not known:
            continue
        fault = Gap(5) if api is None else None
        asked, answered = (M.ListGroupsRequest(), M.ListGroupsResponse()) if api == 16 else (None, None)
        version = int(api == 3)
        data = request(number, asked, version, client) if asks else answer(number, answered, version)
        data = b"" if fault else data
        direction = ("request" if asks else "response") if known else None
        result = decoder.decode(kwire.Frame(data, kwire.Source(direction=direction), fault=fault))
        header = connection.receive(data, asks if known else None, None, fault)
        assert (result.codec is None) == bool(header.problem)
        if isinstance(result, kwire.Response):
            assert header.request is not None
            assert header.client_id == result.request.client_id
            assert [one.correlation_id for one in header.overtaken] == [one.correlation_id for one in result.unanswered]
    if known:
        assert len(connection.in_flight) == len(decoder.connections.on((None, None)).in_flight)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    *(request(number) for number in (1, 3 << 16 | 1)),
                    *(answer(number) for number in (1, 3 << 16 | 1)),
                    request(2, M.SaslHandshakeRequest(mechanism="PLAIN"), 0),
                    request(2, M.ProduceRequest(acks=0), 3),
                    request(2, M.ApiVersionsRequest(), 3),
                    answer(2, M.ApiVersionsResponse(error_code=35), 0),
                ]
            ),
            st.integers(0, 40),
            st.integers(0, 255),
            st.sampled_from([True, False, None]),
        ),
        max_size=12,
    )
)
def test_nothing_that_comes_raises(frames: list[tuple[bytes, int, int, bool | None]]) -> None:
    connection = kwire.Connection(apis=APIS)
    for data, place, value, from_client in frames:
        changed = data[:place] + bytes([value]) + data[place + 1 :]
        header = connection.receive(changed, from_client)
        assert header.problem in ("", "token", "unpaired", "unknown", "fragment")
        if not header.problem:
            assert header.codec is not None
            with suppress(kwire.DecodeError):  # of tags in the header
                assert 4 <= header.body_start(changed) <= len(changed)


def test_indexed_ids_are_bounded() -> None:
    connection, data = kwire.Connection(apis=APIS), request(1)
    for number in range(2**21, 2**21 + 2 * MOST_IN_FLIGHT + 9):
        connection.receive(data[:8] + number.to_bytes(4, "big") + data[12:])
    assert connection.remembered <= 3 * MOST_IN_FLIGHT + MANY


@pytest.mark.parametrize(("acks", "answered"), [(0, False), (1, True), (-1, True)])
def test_a_producer_that_asks_for_no_acknowledgement_gets_none(acks: int, answered: bool) -> None:
    assert expects_response(kwire.messages.ProduceRequest(acks=acks)) is answered
    assert expects_response(kwire.messages.MetadataRequest())


def test_requests_of_a_transaction_are_decoded_once_to_know_that_they_are_answered() -> None:
    connection = kwire.Connection()

    def sent(transactional_id: str, acks: int) -> Any:
        message = kwire.messages.ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=1)
        data = kwire.encode_request(message, 9, correlation_id=1, client_id="me")
        return connection.receive(data, from_client=True)

    call = sent("mine", -1).call
    # after the tags of the header: a compact string, of which the length is one more, and acks
    assert call.answered[-2:] == (b"\0\x05mine\xff\xff", b"\0\x05mine\0\1")
    count = len(call.answered)
    assert sent("mine", 1).call is call and len(call.answered) == count
    assert len(connection.in_flight) == 2
    sent("mine", 0)
    assert len(connection.in_flight) == 2 and len(call.answered) == count
    for number in range(100):
        sent(f"other-{number}", -1)
    assert len(connection.in_flight) == 102 and len(call.answered) <= 18


def test_responses_that_do_not_fit_take_linear_effort() -> None:
    connection, asked = kwire.Connection(apis=APIS), request(1)
    for number in range(2000):
        connection.receive(asked[:8] + number.to_bytes(4, "big") + asked[12:])
    with at_most(600_000):  # with a search through the queue 2,000,000
        for number in range(1999, 1, -1):
            assert connection.receive(struct.pack(">ii", 4, number)).problem == "unpaired"
    assert len(connection.in_flight) == 2000


def test_requests_are_found_after_the_oldest_are_gone() -> None:
    connection, asked = kwire.Connection(apis=APIS), request(1)
    numbers = [*range(MOST_IN_FLIGHT + 9), *range(5)]  # the first are dropped; the last repeat their ids
    for number in numbers:
        connection.receive(asked[:8] + number.to_bytes(4, "big") + asked[12:])
    assert connection.receive(struct.pack(">ii", 4, 7)).problem == "unpaired"
    assert connection._ids is not None
    assert len(connection._ids.find(3, connection.in_flight)) == 1
    assert connection._ids.find(3, connection.in_flight)[0] is connection.in_flight[-2]
    assert connection._ids.find(14, connection.in_flight)[0] is connection.in_flight[0]
    assert (13 in connection._ids, connection._ids.find(13, connection.in_flight), 13 in connection._ids) == (
        True,
        [],
        False,
    )
