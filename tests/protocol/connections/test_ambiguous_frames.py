"""Frames that nobody asks for: their bodies are not touched, and those that are asked for decode as ever."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import Frame, Request, Response, Source, Undecodable
from kwire.codecs.message_codec import Codec
from tests.capture.captured import CAPTURES
from tests.conftest import ROOT, needs_shared

M: Any = kwire.messages
DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"


def asked(message: Any, version: int, number: int) -> Frame:
    return Frame(kwire.encode_request(message, version, correlation_id=number, client_id="me"))


def answered(message: Any, version: int, number: int) -> Frame:
    return Frame(kwire.encode_response(message, version, correlation_id=number))


def garbled(frame: Frame, head: int) -> Frame:
    return Frame(frame.data[:head] + b"\xff" * (len(frame.data) - head))


def read_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the names of messages that are decoded, but for headers."""
    names: list[str] = []
    read = Codec.read

    def noted(codec: Codec, reader: Any) -> Any:
        if codec.spec.type != "header":
            names.append(codec.name)
        return read(codec, reader)

    monkeypatch.setattr(Codec, "read", noted)
    monkeypatch.setattr("kwire.protocol.frame_decoder._decode_plain", lambda *_: None)
    return names


def test_bodies_that_are_not_wanted_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    names = read_by(monkeypatch)
    results = list(kwire.decode_frames(kwire.read_dump(DUMP), wanted=lambda peek: peek.api_key == 3))
    assert [result.codec.name for result in results if result.codec] == ["MetadataRequest", "MetadataResponse"]
    assert set(names) == {"MetadataRequest", "MetadataResponse"}


def test_garbage_in_them_is_no_failure() -> None:
    request = asked(M.FetchRequest(max_wait_ms=100), 4, 1)
    answer = answered(M.FetchResponse(throttle_time_ms=3), 4, 1)
    frames = [garbled(request, 16), garbled(answer, 8), asked(M.MetadataRequest(topics=None), 1, 2)]
    assert [type(result) for result in kwire.decode_frames(frames)][:2] == [Undecodable, Undecodable]
    (result,) = kwire.decode_frames(frames, wanted=lambda peek: peek.api_key == 3)
    assert isinstance(result, Request)


def test_an_answer_is_paired_though_its_request_was_not_wanted() -> None:
    frames = [asked(M.MetadataRequest(topics=None), 1, number) for number in (1, 2)]
    frames += [answered(M.MetadataResponse(), 1, number) for number in (1, 2)]
    first, second = kwire.decode_frames(frames, wanted=lambda peek: not peek.is_request)
    assert isinstance(first, Response)
    assert isinstance(second, Response)
    assert (first.request.correlation_id, second.request.correlation_id) == (1, 2)
    assert (first.unanswered, first.client.client_id) == ((), "me")
    (last,) = kwire.decode_frames(frames, wanted=lambda peek: peek == (False, 3, 1, 2, "me", None))
    assert isinstance(last, Response)
    assert (last.request.correlation_id, last.unanswered) == (2, ())


def test_requests_that_affect_later_frames_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [
        asked(M.ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3, 1),
        asked(M.ProduceRequest(acks=0), 3, 2),
        asked(M.MetadataRequest(topics=None), 1, 3),
    ]
    names = read_by(monkeypatch)
    (result,) = kwire.decode_frames(frames, wanted=lambda peek: peek.api_key == 3)
    assert names == ["ApiVersionsRequest", "MetadataRequest"]
    assert result.client == ("me", "x 1")


def test_frames_with_ambiguous_headers_are_decoded() -> None:
    (result,) = kwire.decode_frames([Frame(b"\0\0\0\5\x7f")], wanted=lambda peek: False)
    assert isinstance(result, Undecodable)


def test_a_connection_that_has_ended_is_forgotten() -> None:
    data, source = asked(M.MetadataRequest(topics=None), 1, 1).data, Source(connection=1, direction="request")
    answer = Frame(answered(M.MetadataResponse(), 1, 1).data, Source(connection=1, direction="response"), closed=(1,))
    (result,) = kwire.decode_frames([Frame(data, source), answer], wanted=lambda peek: False)
    assert isinstance(result, Undecodable)


@needs_shared
@pytest.mark.parametrize("name", ["kafka-2.4-zk.clients", "kafka-3.9-zk.clients", "kafka-0.10.0.controller"])
def test_in_captures_they_are_what_they_are_among_all(name: str) -> None:
    frames = [frame for frame, _ in zip(kwire.read_dump(CAPTURES / f"{name}.pcap"), range(1500), strict=False)]
    for keys in ({1}, {3, 12}, {18, 36}, {4, 6}):
        wanted = [one for one in kwire.decode_frames(frames) if getattr(one, "api_key", None) in keys]
        found = list(kwire.decode_frames(frames, wanted=lambda peek, keys=keys: peek.api_key in keys))  # type: ignore[misc]
        assert [one for one in found if not isinstance(one, Undecodable)] == wanted
