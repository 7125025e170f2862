"""The two sides of a connection, without I/O."""

from __future__ import annotations

import random

import pytest

import kwire
from kwire import messages as M  # noqa: N812
from kwire.errors import BadFrame, DecodeError, UnexpectedResponse


def versions(*ranges: tuple[int, int, int], error: int = 0) -> M.ApiVersionsResponse:
    rows = [
        M.ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in ranges
    ]
    return M.ApiVersionsResponse(error_code=error, api_keys=rows)


def negotiated(*ranges: tuple[int, int, int]) -> tuple[kwire.ClientConnection, kwire.ServerConnection]:
    client, server = kwire.ClientConnection("me"), kwire.ServerConnection()
    (request,) = server.receive(client.send(M.ApiVersionsRequest()))
    assert isinstance(request, kwire.Request)
    client.receive(server.send(versions(*ranges), request))
    return client, server


def test_requests_have_the_newest_version_that_both_sides_know() -> None:
    client, server = negotiated((3, 0, 9), (0, 3, 99))
    (metadata,) = server.receive(client.send(M.MetadataRequest(topics=None)))
    assert isinstance(metadata, kwire.Request)
    assert (metadata.api_version, metadata.correlation_id, metadata.header.client_id) == (9, 2, "me")
    (produce,) = server.receive(client.send(M.ProduceRequest(acks=1)))
    assert isinstance(produce, kwire.Request)
    assert produce.api_version == max(kwire.codec("ProduceRequest", 3).spec.versions)
    with pytest.raises(kwire.UnsupportedVersion, match="has no version 4 in the broker; versions: none"):
        client.send(M.HeartbeatRequest())


def test_without_versions_of_the_broker_one_must_be_given() -> None:
    client = kwire.ClientConnection()
    with pytest.raises(
        ValueError, match=r"MetadataRequest .* not known; send ApiVersionsRequest\(client_software_name="
    ):
        client.send(M.MetadataRequest())
    assert client.in_flight == 0
    assert client.send(M.MetadataRequest(), 4)
    assert client.in_flight == 1


def test_a_refused_version_of_api_versions_is_sent_in_another() -> None:
    """KIP-511: the broker answers in version 0 with error 35, and lists the versions of ApiVersions."""
    client, server = kwire.ClientConnection(), kwire.ServerConnection()
    client.send(M.ApiVersionsRequest())
    (response,) = client.receive(kwire.encode_response(versions((18, 0, 2), error=35), 0, correlation_id=1))
    assert isinstance(response, kwire.Response)
    assert client.versions is None
    with pytest.raises(ValueError, match="answered ApiVersionsRequest with UNSUPPORTED_VERSION: send Api"):
        client.send(M.MetadataRequest())
    (request,) = server.receive(client.send(M.ApiVersionsRequest()))
    assert isinstance(request, kwire.Request)
    assert request.api_version == 2
    with pytest.raises(kwire.UnsupportedVersion, match="ApiVersionsRequest has no version 0 in the broker"):
        client.receive(server.send(versions(error=35), request))


def test_a_server_answers_a_version_of_api_versions_that_it_does_not_know() -> None:
    server, client = kwire.ServerConnection(), kwire.ClientConnection()
    frame = bytearray(client.send(M.ApiVersionsRequest()))
    frame[6:8] = (99).to_bytes(2, "big")
    (request,) = server.receive(frame)
    assert isinstance(request, kwire.Undecodable)
    (response,) = client.receive(server.send(versions((18, 0, 4), error=35), request))
    assert isinstance(response, kwire.Response)
    assert response.message.error_code == 35
    (other,) = server.receive(kwire.encode_request(M.HeartbeatRequest(), 4).replace(b"\0\x0c\0\4", b"\0\x0c\0\x63"))
    assert isinstance(other, kwire.Undecodable)
    assert server.unanswered == ()


def test_responses_go_out_in_the_order_of_requests_and_each_once() -> None:
    client, server = negotiated((3, 0, 9), (12, 0, 4))
    data = client.send(M.MetadataRequest(topics=None)) + client.send(M.HeartbeatRequest())
    first, second = server.receive(data)
    assert isinstance(first, kwire.Request)
    assert isinstance(second, kwire.Request)
    with pytest.raises(ValueError, match="Heartbeat is not the next request to be answered; Metadata is"):
        server.send(M.HeartbeatResponse(), second)
    with pytest.raises(ValueError, match="Metadata is not answered by HeartbeatResponse"):
        server.send(M.HeartbeatResponse(), first)
    both = server.send(M.MetadataResponse(), first) + server.send(M.HeartbeatResponse(error_code=3), second)
    with pytest.raises(ValueError, match="all have been answered"):
        server.send(M.HeartbeatResponse(), second)
    rng = random.Random(7)
    received = []
    while both:
        count = rng.randrange(1, 9)
        received += client.receive(both[:count])
        both = both[count:]
    assert [type(response.message).__name__ for response in received] == ["MetadataResponse", "HeartbeatResponse"]
    assert client.in_flight == 0


def test_a_produce_without_acknowledgement_has_no_response() -> None:
    client, server = negotiated((0, 3, 9))
    (request,) = server.receive(client.send(M.ProduceRequest(acks=0)))
    assert isinstance(request, kwire.Request)
    assert (client.in_flight, server.unanswered) == (0, ())
    with pytest.raises(ValueError, match="Produce is not the next request"):
        server.send(M.ProduceResponse(), request)


def test_what_comes_before_a_bad_frame_is_not_lost() -> None:
    client, server = negotiated((12, 0, 4))
    (request,) = server.receive(client.send(M.HeartbeatRequest()))
    assert isinstance(request, kwire.Request)
    frame = server.send(M.HeartbeatResponse(), request)
    (response,) = client.receive(frame + b"HTTP/1.1 400 Bad Request")
    assert response.correlation_id == 2
    with pytest.raises(BadFrame):
        client.receive(b"")
    assert client.unread.startswith(b"HTTP/1.1")


def test_a_response_that_answers_nothing_is_an_error() -> None:
    client, _ = negotiated((12, 0, 4))
    with pytest.raises(UnexpectedResponse):
        client.receive(kwire.encode_response(M.HeartbeatResponse(), 4, correlation_id=99))
    client.send(M.HeartbeatRequest(), 0)
    with pytest.raises(DecodeError):
        client.receive(bytes.fromhex("00000005 00000002 00"))


def test_tokens_follow_a_sasl_handshake_in_version_0() -> None:
    client, server = negotiated((17, 0, 0))
    (handshake,) = server.receive(client.send(M.SaslHandshakeRequest(mechanism="PLAIN")))
    assert isinstance(handshake, kwire.Request)
    client.receive(server.send(M.SaslHandshakeResponse(mechanisms=["PLAIN"]), handshake))
    frame = client.send_token(b"\0user\0secret")
    assert server.receive_token(frame[:3]) is None
    token = server.receive_token(frame[3:])
    assert token is not None
    assert token.from_client
    answer = client.receive_token(server.send_token(b""))
    assert answer is not None
    assert not answer.from_client
    with pytest.raises(ValueError, match="the client sent a SASL token; receive_token returns it"):
        server.receive(client.send_token(b"more"))


def test_correlation_ids_stay_positive() -> None:
    client = kwire.ClientConnection()
    client._sent = 2**31 - 2
    frames = [client.send(M.HeartbeatRequest(), 0) for _ in range(2)]
    assert [int.from_bytes(frame[8:12], "big", signed=True) for frame in frames] == [2**31 - 1, 1]


def test_every_request_and_response_passes_both_sides() -> None:
    client, server = kwire.ClientConnection(), kwire.ServerConnection()
    catalog = client.catalog
    count = 0
    for name in catalog.names():
        spec = catalog.spec(name)
        if spec.type != "request" or name in ("ProduceRequest", "SaslHandshakeRequest", "ControlledShutdownRequest"):
            continue
        for version in spec.versions:
            (request,) = server.receive(client.send(getattr(M, name)(), version))
            assert isinstance(request, kwire.Request)
            (response,) = client.receive(server.send(getattr(M, f"{name.removesuffix('Request')}Response")(), request))
            assert (response.correlation_id, client.in_flight) == (request.correlation_id, 0)
            count += 1
    assert count > 300


def test_a_client_sets_the_largest_size_of_a_response() -> None:
    client = kwire.ClientConnection("me", limit=100)
    client.send(kwire.messages.HeartbeatRequest(group_id="g"), 4)
    with pytest.raises(kwire.DecodeError, match="101"):
        client.receive((101).to_bytes(4) + bytes(4))
