"""Headers alone tell the same as whole frames."""

from __future__ import annotations

import pytest

import kwire
from kwire import messages
from kwire.protocol.header_reader import NEITHER, HeaderReader
from kwire.protocol.headers import apis
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response


def seen(*frames: bytes) -> list[tuple[bool | None, int, int, str | None]]:
    reader = HeaderReader()
    peeks = [reader.read(kwire.Frame(data)) for data in frames]
    return [(peek.is_request, peek.api_key, peek.correlation_id, peek.client_id) for peek in peeks]


def test_it_agrees_with_decoding() -> None:
    frames = list(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"))
    reader = HeaderReader()
    for frame, result in zip(frames, kwire.decode_frames(frames), strict=True):
        assert isinstance(result, kwire.Request | kwire.Response)
        peek = reader.read(frame)
        assert peek.is_request == isinstance(result, kwire.Request)
        assert (peek.api_key, peek.version, peek.correlation_id) == (
            result.api_key,
            result.api_version,
            result.correlation_id,
        )


def test_answers_have_the_client_and_the_time_of_their_requests() -> None:
    reader = HeaderReader()
    reader.read(kwire.Frame(request(70000), kwire.Source(time=5.0)))
    peek = reader.read(kwire.Frame(response(70000), kwire.Source(time=6.0)))
    assert (peek.is_request, peek.client_id, peek.asked_at) == (False, "me", 5.0)


def test_an_answer_that_could_be_a_request_is_decoded() -> None:
    # Correlation id 1 reads as Produce v1, and what follows as a client id.
    assert [one[0] for one in seen(request(1), response(1))] == [True, False]
    # The same bytes in front of which nobody asked are a request.
    produce = kwire.encode_request(messages.ProduceRequest(acks=1), 1, correlation_id=1)
    assert seen(request(1), produce)[1][:2] == (True, 0)


def test_a_request_without_an_answer_is_overtaken() -> None:
    produce = kwire.encode_request(messages.ProduceRequest(acks=0), 3, correlation_id=70000)
    assert seen(produce, request(70001), response(70001))[2] == (False, 3, 70001, "me")


def test_the_first_brokers_ask_without_a_client_id() -> None:
    assert seen(bytes.fromhex("0000000c 0007 0000 00000005 00000003")) == [(True, 7, 5, None)]


def test_connections_do_not_mix() -> None:
    reader = HeaderReader()
    one, other = kwire.Source(client="a:1"), kwire.Source(client="b:1")
    reader.read(kwire.Frame(request(70000), one))
    assert reader.read(kwire.Frame(response(70000), other)) is NEITHER
    assert reader.read(kwire.Frame(response(70000), one)).is_request is False


def test_the_directions_of_a_container_are_accepted() -> None:
    reader = HeaderReader()
    body = kwire.Frame(b"\xff" * 4, message="MetadataRequest", version=1, bare=True)
    assert reader.read(body)[:3] == (True, 3, 1)
    alone = kwire.Frame(response(70000), message="MetadataResponse", version=1)
    assert reader.read(alone)[:3] == (False, 3, 1)
    asked = reader.read(kwire.Frame(request(70000), message="MetadataRequest", version=1))
    assert (asked.is_request, asked.correlation_id, asked.client_id) == (True, 70000, "me")
    assert reader.read(alone).client_id == "me"
    other = kwire.Frame(bytes(4), message="ConsumerProtocolAssignment", version=0, bare=True)
    assert reader.read(other) is NEITHER


def test_noise_is_neither() -> None:
    short = bytes.fromhex("0000000a 0003 0001 00000005")
    for data in (b"", b"\0\0\0\4", short, b"\0\0\0\x0a\x27\x0f" + bytes(8), b"\0\0\0\x0a\0\3\0\1\0\0\0\5\x7f\xff"):
        assert HeaderReader().read(kwire.Frame(data)) is NEITHER


def test_one_header_is_read_without_its_body() -> None:
    whole = kwire.peek(request(70000))
    assert (whole.is_request, whole.api_key, whole.version, whole.correlation_id) == (True, 3, 1, 70000)
    garbage = request(70000)[:16] + b"\xff" * 4
    assert kwire.peek(garbage) == kwire.peek(garbage[:16]) == whole
    assert kwire.peek(kwire.Frame(garbage, kwire.Source(time=5.0))) == whole._replace(asked_at=5.0)


def test_a_single_response_has_only_its_correlation_id() -> None:
    assert kwire.peek(response(70000)) == (False, -1, -1, 70000, None, None)
    from_broker = kwire.Frame(request(7), kwire.Source(direction="response"))
    assert kwire.peek(from_broker)[:4] == (False, -1, -1, 3 << 16 | 1)


def test_a_single_frame_without_information() -> None:
    assert kwire.peek(b"\0\0\0\5\x7f") is NEITHER
    assert kwire.peek(kwire.Frame(request(7), fault=kwire.DecodeError())) is NEITHER
    assert kwire.peek(kwire.Frame(bytes.fromhex("00000008 7fff7fff00000001"), kwire.Source(direction="request"))) is (
        NEITHER
    )


def test_what_is_known_of_clients_and_versions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apis, "MOST_CLIENTS", 2)
    monkeypatch.setattr(apis, "MOST_KNOWN", 2)
    registry = apis.Apis(catalog_for())
    assert all(registry.get(3 << 16 | version) is not None for version in range(5))
    assert len(registry._known) == 1
    first = registry.calls(b"a")
    assert registry.calls(b"a") is first
    assert registry.calls(b"b") is not first
    registry.calls(b"c")
    assert registry.calls(b"a") is not first
    first = registry.calls(b"a")
    first.update(dict.fromkeys(range(3)))  # type: ignore[arg-type]
    assert registry.calls(b"a") == {}
    assert registry.get(999 << 16) is None


def test_a_client_id_is_text_or_null() -> None:
    api = apis.Apis(catalog_for()).get(3 << 16 | 1)
    assert api is not None
    clients = (b"", b"\xff\xff", b"\xff\xfe", b"\0\2me", b"\0\2m\xff")
    assert [apis.Call(api, client).is_clean for client in clients] == [True, True, False, True, False]
