"""The column `message` as JSON and as bytes; where a body begins, any header."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kwire
from kwire.arrow.rows.frame_body import body_start, read_carefully
from kwire.arrow.rows.frame_rows import Row
from kwire.arrow.rows.message_column import JsonBodies, RawBodies
from kwire.arrow.rows.row_faults import RowFault
from kwire.protocol.headers.apis import Api, Apis
from kwire.schema.catalog import catalog_for
from tests.arrow.golden import golden_columns

APIS = Apis(catalog_for())
APIS_OF = {"MetadataRequest": 3, "MetadataResponse": 3, "ApiVersionsResponse": 18, "ControlledShutdownRequest": 7}


def framed(name: str, version: int, body: bytes, client: str | None = "me") -> tuple[bytes, Api, bool]:
    """Return a frame around a body, its api, and whether it asks."""
    codec = kwire.codec(name, version)
    asked = name.endswith("Request")
    encode: Any = kwire.encode_request if asked else kwire.encode_response
    more = {"client_id": client} if asked and version + (APIS_OF[name] != 7) else {}
    api = APIS.get(APIS_OF[name] << 16 | version)
    assert api is not None
    return encode(codec.decode(body), version, correlation_id=7, **more), api, asked


@pytest.mark.parametrize("client", ["me", "", None])
@pytest.mark.parametrize("name", sorted(APIS_OF))
def test_bodies_begin_behind_their_header(name: str, client: str | None) -> None:
    for body, version in golden_columns()[name]:
        codec = kwire.codec(name, version)
        if codec.encode(codec.decode(body)) != body:
            continue
        data, api, asked = framed(name, version, body, client)
        start = body_start(data, api, asked)
        assert start == len(data) - len(body) or (start == -1 and body.startswith(b"\0\x23"))
        rows = [Row(0, data, None, None, asked, api, 7, client)]
        faults: dict[int, RowFault] = {}
        (text,) = JsonBodies().column(rows, faults).to_pylist()
        assert kwire.codec(name, version).from_json(json.loads(text)) == codec.decode(body)
        assert faults == {}
        assert RawBodies().column(rows, faults).to_pylist() == [data]


def test_an_answer_to_api_versions_may_be_in_version_0() -> None:
    message = kwire.messages.ApiVersionsResponse(error_code=35)
    data = kwire.encode_response(message, 0, correlation_id=7)
    api = APIS.get(18 << 16 | 3)
    assert api is not None
    assert body_start(data, api, False) == -1
    read = read_carefully(data, api, False)
    assert (read.codec and read.codec.version, read.message.error_code, read.fault) == (0, 35, None)


def test_tagged_headers_are_left_to_the_reference() -> None:
    data, api, _ = framed(
        "MetadataRequest", 12, kwire.codec("MetadataRequest", 12).encode(kwire.messages.MetadataRequest())
    )
    tagged = data[:16] + b"\1\0\1x" + data[17:]
    tagged = (len(tagged) - 4).to_bytes(4, "big") + tagged[4:]
    assert body_start(tagged, api, True) == -1
    assert read_carefully(tagged, api, True).fault is None


def test_what_is_tolerated_is_text_and_a_fault() -> None:
    body = kwire.codec("MetadataRequest", 1).encode(kwire.messages.MetadataRequest(topics=None))
    data, api, _ = framed("MetadataRequest", 1, body)
    longer = (len(data) - 3).to_bytes(4, "big") + data[4:] + b"!"
    faults: dict[int, RowFault] = {}
    rows = [Row(0, one, None, None, True, api, 7, "me") for one in (longer, data[:-1], data)]
    assert JsonBodies().column(rows, faults).to_pylist() == ['{"topics":null}', None, '{"topics":null}']
    assert {index: fault.code for index, fault in faults.items()} == {0: "TRAILING_BYTES", 1: "TRUNCATED"}


def test_what_is_no_frame_is_no_message() -> None:
    bad = RowFault("NO_FRAME", "", None, None)
    rows = [Row(0, b"x", fault=bad)]
    assert RawBodies().column(rows, {}).to_pylist() == JsonBodies().column(rows, {}).to_pylist() == [None]
