"""A frame could be several things; what it is stands in front."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.protocol import FrameDecoder
from kwire.protocol.identify import guess_types
from tests.conftest import ROOT
from tests.messages.small_specs import document, field
from tests.protocol.test_frame_decoder import request

FRAMES = list(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"))


def names(data: bytes) -> list[str]:
    return [f"{guess.codec.name}:{guess.codec.version}" for guess in guess_types(kwire.Frame(data))]


def test_a_request_is_what_its_header_names() -> None:
    assert names(request(7)) == ["MetadataRequest:1"]
    (guess,) = guess_types(FRAMES[2])
    assert (guess.codec.name, guess.codec.version, guess.named, guess.doubts) == ("UpdateMetadataRequest", 8, True, 0)


def test_a_response_is_what_consumes_it_and_the_likely_come_first() -> None:
    assert names(FRAMES[1].data) == [
        "LeaderAndIsrResponse:5",
        "LeaderAndIsrResponse:6",
        "LeaderAndIsrResponse:7",
        "SyncGroupResponse:4",
    ]
    assert [guess.doubts for guess in guess_types(FRAMES[1])] == [0, 0, 0, 1]
    assert names(FRAMES[5].data) == ["MetadataResponse:11", "MetadataResponse:12"]


def test_of_very_many_versions_the_last_are_tried(tmp_path: Path) -> None:
    spec = document(field(), type="request", apiKey=900, name="WideRequest", valid="0-300", flexible="none")
    (tmp_path / "WideRequest.json").write_text(spec)
    catalog = kwire.Catalog.from_directory(tmp_path)
    for version, found in ((300, ["WideRequest"]), (101, ["WideRequest"]), (100, [])):
        data = bytes.fromhex(f"0000000e 0384 {version:04x} 00000007 ffff 00000009")
        frame = kwire.Frame(data, kwire.Source(direction="request"))
        assert [guess.codec.name for guess in guess_types(frame, catalog)] == found


def test_a_cut_frame_or_one_with_a_tail_is_nothing() -> None:
    assert names(request(7)[:-1]) == []
    assert names(bytes.fromhex("00000005 00000007 99")) == []


def test_a_body_alone_may_be_a_request_and_the_profile_of_its_file_does_not_matter() -> None:
    (body,) = kwire.read_dump(ROOT / "fixtures/kafka/StopReplicaRequest/v4.hex")
    assert body.bare
    assert "StopReplicaRequest:4" in [f"{guess.codec.name}:{guess.codec.version}" for guess in guess_types(body)]
    (draft,) = kwire.read_dump(ROOT / "fixtures/by-hand/KIP-112/MetadataResponse.v3.offline-replica.hex")
    assert all(guess.codec.spec.profile == "" for guess in guess_types(draft))


def test_only_what_may_fit_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    decode = FrameDecoder.decode

    def counting(decoder: FrameDecoder, frame: kwire.Frame) -> Any:
        tried.append(f"{frame.message}:{frame.version}")
        return decode(decoder, frame)

    monkeypatch.setattr(FrameDecoder, "decode", counting)
    found = names(FRAMES[1].data)
    assert len(found) > 1
    assert {name for name in tried if not name.startswith("ApiVersions")} == set(found)
