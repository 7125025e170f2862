"""One connection: who speaks, and how the client authenticates."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import Frame, Request, Response, Source, Undecodable
from kwire.protocol import Client, Token
from kwire.protocol.connections.decoded_connection import FORWARDED, DecodedConnection
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.protocol.test_frame_decoder import decoded, request, response

M: Any = kwire.messages
PLAIN = b"\0alice\0wonder"


def asked(message: Any, version: int, number: int = 1, client: str | None = "me") -> bytes:
    return kwire.encode_request(message, version, correlation_id=number, client_id=client)


def answered(message: Any, version: int, number: int = 1) -> bytes:
    return kwire.encode_response(message, version, correlation_id=number)


def sized(token: bytes) -> bytes:
    return len(token).to_bytes(4, "big") + token


HANDSHAKE = [asked(M.SaslHandshakeRequest(mechanism="PLAIN"), 0), answered(M.SaslHandshakeResponse(), 0)]


def test_tokens_follow_the_first_handshake_until_a_request_does() -> None:
    results = decoded(*HANDSHAKE, sized(PLAIN), sized(b""), request(2), response(2))
    assert [type(result) for result in results] == [Request, Response, Token, Token, Request, Response]
    first, last = results[2:4]
    assert (first.from_client, first.content.mechanism, first.content.fields["user"]) == (True, "PLAIN", "alice")
    assert (last.from_client, last.content.phase) == (False, "outcome")
    assert isinstance(decoded(*HANDSHAKE, sized(PLAIN), sized(b""), request(2), sized(PLAIN))[-1], Undecodable)


def test_the_direction_identifies_the_sender_of_a_token() -> None:
    frames = [Frame(HANDSHAKE[0], Source(direction="request")), Frame(HANDSHAKE[1], Source(direction="response"))]
    results = [*kwire.decode_frames([*frames, Frame(sized(b"r=abc,s=c2FsdA==,i=1"), Source(direction="response"))])]
    assert isinstance(results[-1], Token)
    assert results[-1].from_client is False


def test_authenticate_is_read_by_the_mechanism_of_the_handshake_also_the_second_time() -> None:
    frames = []
    for number, (mechanism, token) in enumerate([("PLAIN", PLAIN), ("GSSAPI", b"\x60\x01")]):
        frames += [asked(M.SaslHandshakeRequest(mechanism=mechanism), 1, 10 * number)]
        frames += [answered(M.SaslHandshakeResponse(), 1, 10 * number)]
        frames += [asked(M.SaslAuthenticateRequest(auth_bytes=token), 2, 10 * number + 1)]
        frames += [answered(M.SaslAuthenticateResponse(), 2, 10 * number + 1)]
        frames += [request(10 * number + 2), response(10 * number + 2)]
    results = decoded(*frames)
    assert not any(isinstance(result, Undecodable) for result in results)
    assert [result.inside.mechanism for result in results if result.inside] == ["PLAIN", "PLAIN", "GSSAPI", "GSSAPI"]


def test_what_does_not_decode_while_a_client_authenticates_is_private() -> None:
    broken = asked(M.SaslAuthenticateRequest(auth_bytes=PLAIN), 1)[:-2]
    results = decoded(asked(M.SaslHandshakeRequest(mechanism="PLAIN"), 1), broken, request(2), request(3)[:-1])
    assert [result.is_private for result in results if isinstance(result, Undecodable)] == [True, False]


def test_the_client_and_its_software_are_known_from_then_on() -> None:
    hello = M.ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.0.2")
    results = decoded(asked(hello, 3), answered(M.ApiVersionsResponse(), 3), request(2, client_id="other"), response(2))
    software = "librdkafka 2.0.2"
    assert [result.client for result in results] == [Client("me", software)] * 2 + [Client("other", software)] * 2


def test_a_refused_version_of_api_versions_is_answered_in_version_0() -> None:
    *_, answer = decoded(asked(M.ApiVersionsRequest(), 4), answered(M.ApiVersionsResponse(error_code=35), 0))
    assert (answer.api_version, answer.codec.version, answer.message.error_code) == (4, 0, 35)


def test_few_forwarded_requests_are_remembered() -> None:
    connection = DecodedConnection(Apis(catalog_for()))
    for number in range(FORWARDED + 2):
        connection.forward(number, f"header {number}")
    assert [connection.forwarded(number) for number in (1, 2, 2)] == [None, "header 2", None]


def test_the_client_is_the_one_in_requests() -> None:
    connection = DecodedConnection(Apis(catalog_for()))
    connection.meet(18, "me", "x 1")
    assert connection.client == Client("me", "x 1")
    for client_id, known in (("he", "he"), (None, "he")):
        connection.meet(0, client_id)
        assert connection.client == Client(known, "x 1")
    connection.meet(18, None)
    assert connection.client == Client(None, "x 1")


def test_an_undecodable_request_does_not_end_the_authentication() -> None:
    broken = request(3)[:-1]
    results = decoded(asked(M.SaslHandshakeRequest(mechanism="PLAIN"), 1), broken, broken, request(4), broken)
    assert [result.is_private for result in results if isinstance(result, Undecodable)] == [True, True, False]


def test_a_response_has_the_header_of_its_request_even_if_that_did_not_decode() -> None:
    broken = request(4)[:-4] + b"\x7f\xff\xff\xff"
    first, answer = decoded(broken, response(4))
    assert isinstance(answer, Response)
    assert answer.request is first.header
