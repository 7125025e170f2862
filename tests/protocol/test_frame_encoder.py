"""Messages to frames."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.errors import WrongType
from kwire.protocol.frame_encoder import encode_result
from tests.conftest import ROOT

M: Any = kwire.messages


@pytest.mark.parametrize(
    ("message", "version", "options", "expected"),
    [
        (
            M.MetadataRequest(),
            0,
            {"correlation_id": 1, "client_id": "me"},
            "00000010 0003 0000 00000001 0002 6d65 00000000",
        ),
        (M.MetadataRequest(), 9, {"client_id": None}, "00000010 0003 0009 00000000 ffff 00 01 01 00 00 00"),
        (M.ControlledShutdownRequest(broker_id=3), 0, {}, "0000000c 0007 0000 00000000 00000003"),
        (
            M.ApiVersionsRequest(),
            3,
            {"header_tags": b"\x63\x01\xff"},
            "00000011 0012 0003 00000000 ffff 01 63 01 ff 01 01 00",
        ),
    ],
)
def test_a_request_gets_its_header_and_its_size(
    message: Any, version: int, options: dict[str, Any], expected: str
) -> None:
    assert kwire.encode_request(message, version, **options) == bytes.fromhex(expected)


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    [
        (M.ApiVersionsResponse(), 3, "0000000c 00000005 0000 01 00000000 00"),
        (M.ControlledShutdownResponse(), 2, "0000000a 00000005 0000 00000000"),
        (M.ControlledShutdownResponse(), 3, "00000009 00000005 00 0000 01 00"),
    ],
)
def test_a_response_gets_its_header_and_its_size(message: Any, version: int, expected: str) -> None:
    assert kwire.encode_response(message, version, correlation_id=5) == bytes.fromhex(expected)


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(kwire.UnsupportedVersion):
        kwire.encode_request(M.MetadataRequest(), 99)


def test_what_is_no_request_is_refused_with_what_encodes_it() -> None:
    catalog, tried = kwire.Catalog.of(), 0
    for name in catalog.names():
        message: Any = getattr(M, name)()
        kind, version = catalog.spec(name).type, catalog.spec(name).versions.last
        for encode, wanted in ((kwire.encode_request, "request"), (kwire.encode_response, "response")):
            if kind == wanted:
                continue
            with pytest.raises(WrongType, match=f"a {wanted} is needed, not the {kind} {name}; kwire.* encodes it"):
                encode(message, version)
            tried += 1
    assert tried > 300


@pytest.mark.parametrize("odd", [{"topics": None}, None, M.MetadataRequest, b""])
def test_what_is_no_message_is_refused(odd: Any) -> None:
    with pytest.raises(WrongType, match=r"a request, such as kwire.messages.MetadataRequest"):
        kwire.encode_request(odd, 1)
    with pytest.raises(WrongType, match=r"a response, such as kwire.messages.MetadataResponse"):
        kwire.encode_response(odd, 1)


def test_what_was_decoded_is_encoded_again() -> None:
    for result in kwire.decode_frames(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin")):
        assert isinstance(result, kwire.Request | kwire.Response)
        assert encode_result(result) == result.frame.data
    bare = kwire.Frame(bytes.fromhex("ffffffff"), message="MetadataRequest", version=1, bare=True)
    (result,) = kwire.decode_frames([bare])
    assert isinstance(result, kwire.Request)
    assert encode_result(result).hex() == "ffffffff"
