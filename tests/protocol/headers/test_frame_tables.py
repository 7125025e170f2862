"""Whole frames in one call: the same results, frames and errors as in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, cast

import pytest

import kwire
from kwire.codecs.native import ENGINE
from kwire.protocol import frame_decoder, frame_encoder, single_frame
from kwire.protocol.headers.frame_tables import frame_table
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT
from tests.messages.random_values import draw
from tests.seeds import seeded

FRAMES = list(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"))
M = kwire.messages


@contextmanager
def in_parts() -> Iterator[None]:
    """Decode and encode without tables of frames."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_decoder, "_decode_plain", lambda *_: None)
        patch.setattr(single_frame, "_decode_plain_request", lambda *_: None)
        patch.setattr(single_frame, "_decode_plain_response", lambda *_: None)
        patch.setattr(frame_encoder, "_request_writers", Forgetful())
        patch.setattr(frame_encoder, "_response_writers", Forgetful())
        yield


class Forgetful(dict[Any, Any]):
    def get(self, key: Any, default: Any = None) -> None:
        return None


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    try:
        return repr(call(*args, **options))
    except (kwire.KwireError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def both(call: Callable[..., Any], *args: Any, **options: Any) -> tuple[str, str]:
    """Return the outcome of a call in parts, and in one call once its tables exist."""
    with in_parts():
        expected = outcome(call, *args, **options)
    outcome(call, *args, **options)
    return expected, outcome(call, *args, **options)


def damaged_frames() -> list[kwire.Frame]:
    """Return frames of a capture, some with another byte, some truncated, some with more bytes."""
    rng = seeded("frames in one call")
    frames = []
    for frame in FRAMES * 8:
        data = bytearray(frame.data)
        match rng.randrange(5):
            case 0:
                data[rng.randrange(len(data))] = rng.randrange(256)
            case 1:
                del data[rng.randrange(4, len(data)) :]
                data[:4] = (len(data) - 4).to_bytes(4, "big")
            case 2:
                data += bytes(rng.randrange(1, 9))
                data[:4] = (len(data) - 4).to_bytes(4, "big")
        frames.append(kwire.Frame(bytes(data), frame.source))
    return frames


@pytest.mark.parametrize("salvage", [False, True])
def test_frames_decode_as_in_parts(salvage: bool) -> None:
    frames = FRAMES + damaged_frames()
    with in_parts():
        expected = list(kwire.decode_frames(frames, salvage=salvage))
    for result, other in zip(kwire.decode_frames(frames, salvage=salvage), expected, strict=True):
        assert repr(result) == repr(other)
        assert type(result) is type(other)


def test_single_frames_decode_as_in_parts() -> None:
    for frame in FRAMES + damaged_frames():
        expected, actual = both(kwire.decode_request, frame.data)
        assert actual == expected
    results = [result for result in kwire.decode_frames(FRAMES) if isinstance(result, kwire.Request | kwire.Response)]
    for request, response in pairwise(results):
        for answers in (request, request.codec, response.codec, "MetadataRequest", kwire.codec("RequestHeader", 1)):
            expected, actual = both(kwire.decode_response, response.frame.data, answers)
            assert actual == expected


def test_frames_encode_as_in_parts() -> None:
    rng = seeded("encoded frames")
    for name in catalog_for().names():
        spec = catalog_for().spec(name)
        if spec.type not in ("request", "response"):
            continue
        encode: Any = kwire.encode_request if spec.type == "request" else kwire.encode_response
        version = rng.choice(list(spec.versions))
        message = draw(kwire.codec(name, version).schema, rng)
        for options in ({}, {"correlation_id": 7, "header_tags": b"\1\x63\1x"}, {"correlation_id": 1 << 31}):
            expected, actual = both(encode, message, version, **options)
            assert actual == expected


@pytest.mark.parametrize(
    "message, version, options",
    [
        (M.MetadataRequest(), 4, {"client_id": "\ud800"}),
        (M.MetadataRequest(), 4, {"client_id": "x" * 32768}),
        (M.MetadataRequest(), 4, {"client_id": 7}),
        (M.MetadataRequest(), 4, {"correlation_id": True}),
        (M.MetadataRequest(), 9, {"header_tags": b"\1"}),
        (M.MetadataRequest(), 4, {"header_tags": b"\1\x63\1x"}),
        (M.MetadataRequest(topics=cast(Any, [7])), 4, {}),
        (M.MetadataRequest(), 99, {}),
        (M.HeartbeatResponse(), 0, {}),
        (7, 0, {}),
    ],
)
def test_what_is_refused_is_explained_as_in_parts(message: Any, version: int, options: dict[str, Any]) -> None:
    kwire.encode_request(M.MetadataRequest(), 4)
    kwire.encode_request(M.MetadataRequest(), 9)
    expected, actual = both(kwire.encode_request, message, version, **options)
    assert actual == expected


@pytest.mark.parametrize("version", [True, 4.0, "4"])
def test_a_version_is_an_integer_also_the_second_time(version: Any) -> None:
    kwire.encode_request(M.MetadataRequest(), 4)
    kwire.encode_request(M.MetadataRequest(), 1)
    kwire.encode_response(M.MetadataResponse(), 4)
    kwire.encode_response(M.MetadataResponse(), 1)
    with pytest.raises(TypeError, match="a version is an integer"):
        kwire.encode_request(M.MetadataRequest(), version)
    with pytest.raises(TypeError, match="a version is an integer"):
        kwire.encode_response(M.MetadataResponse(), version)


@pytest.mark.skipif(ENGINE != "native", reason="native only")
def test_usual_frames_need_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = kwire.encode_request(M.MetadataRequest(), 4)
    monkeypatch.setattr(kwire.FrameDecoder, "decode", lambda *_: pytest.fail("decoded in parts"))
    assert kwire.decode_request(data).api_version == 4


@pytest.mark.skipif(ENGINE != "native", reason="native only")
def test_a_table_refuses_a_size_that_is_not_the_frames() -> None:
    table = frame_table(catalog_for(), kwire.codec("MetadataRequest", 4))
    assert table is not None
    data = kwire.encode_request(M.MetadataRequest(), 4)
    assert table.read(data)[1] == M.MetadataRequest()
    for other in (data + b"\0", data[:-1], b"", data[:3], b"\0\0\0\1" + data[4:]):
        with pytest.raises(kwire.codecs.native.Declined):
            table.read(other)
