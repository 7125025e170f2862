"""Requests over a socket, and brokers that do not answer as they should."""

from __future__ import annotations

import socket

import pytest

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError, DecodeError
from kwire.protocol import Frame
from kwire.protocol.frames.frame_size import get_int16, get_int32
from tests.broker.server.serving import serving

M = kwire.messages
METADATA = kwire.codec("MetadataRequest", 1)
ASKED = M.MetadataRequest(topics=None)


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="there is no ::1")


def metadata(frame: Frame) -> bytes:
    return kwire.encode_response(M.MetadataResponse(controller_id=7), 1, correlation_id=get_int32(frame.data, 8))


def old_broker(frame: Frame) -> bytes:
    """Knows ApiVersions 0 only (KIP-511)."""
    error = 0 if get_int16(frame.data, 6) == 0 else 35
    keys = [M.ApiVersionsResponse.ApiVersion(api_key=3, max_version=5)] * (error == 0)
    answer = M.ApiVersionsResponse(error_code=error, api_keys=keys)
    return kwire.encode_response(answer, 0, correlation_id=get_int32(frame.data, 8))


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
def test_answers_come_back(host: str) -> None:
    with serving(metadata, host) as where, BrokerConnection(address(where), client_id="me") as broker:
        for correlation_id in (1, 2):
            answer = broker.ask(METADATA, ASKED)
            assert answer is not None
            assert (answer.message.controller_id, answer.correlation_id) == (7, correlation_id)
            assert answer.request.client_id == "me"


def test_versions_of_an_old_broker() -> None:
    with serving(old_broker) as where, BrokerConnection(address(where)) as broker:
        assert {key: str(versions) for key, versions in broker.versions().items()} == {3: "0-5"}


def test_a_produce_that_asks_for_no_answer() -> None:
    with serving(lambda frame: b"") as where, BrokerConnection(address(where)) as broker:
        assert broker.ask(kwire.codec("ProduceRequest", 3), M.ProduceRequest(acks=0)) is None


def test_nothing_listens() -> None:
    with socket.socket() as bound:  # and held, so that nobody else listens there; it does not listen
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(CallError, match=rf"127.0.0.1:{port}: cannot connect: Connection refused"):
            BrokerConnection(address(f"127.0.0.1:{port}"))


@pytest.mark.parametrize(
    ("data", "timeout", "problem"),
    [
        (b"", 90, "it closed the connection without an answer"),
        (bytes.fromhex("15030300020246"), 90, "it responds with TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 90, "it does not respond as Kafka does: a frame of 1213486160 bytes"),
        (bytes(2), 0.2, "no answer in time"),
    ],
)
def test_no_answer(data: bytes, timeout: float, problem: str) -> None:
    with serving(lambda frame: data) as where, BrokerConnection(address(where), timeout=timeout) as broker:
        with pytest.raises(CallError) as info:
            broker.ask(METADATA, ASKED)
        assert str(info.value).startswith(f"{where}: {problem}")


@pytest.mark.parametrize("data", ["00000004 00000001", "00000004 00000009"])
def test_an_answer_that_does_not_decode(data: str) -> None:
    with (
        serving(lambda frame: bytes.fromhex(data)) as where,
        BrokerConnection(address(where)) as broker,
        pytest.raises(DecodeError),
    ):
        broker.ask(METADATA, ASKED)
