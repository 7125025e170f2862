"""Envelopes, as real brokers of Kafka 4.4 sent them to their controllers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import messages
from kwire.errors import TrailingBytes, Truncated, UnknownApi, UnknownVersion
from kwire.protocol.nested import (
    Embedded,
    decode_enveloped_request,
    decode_enveloped_response,
    encode_enveloped_request,
    encode_enveloped_response,
)

ROWS = [json.loads(line) for line in (Path(__file__).parents[2] / "data" / "envelopes.jsonl").read_text().splitlines()]
INNER = bytes.fromhex("0003 0001 00000007 ffff ffffffff")


def envelope_of(data: bytes = INNER, **fields: Any) -> Any:
    return messages.EnvelopeRequest(request_data=data, client_host_address=bytes([127, 0, 0, 1]), **fields)


def conversation(row: Any) -> list[Any]:
    """Decode the request and the response of a run: size, header, body."""
    frames = [bytes.fromhex(row["request"]), bytes.fromhex(row["response"])]
    reader = kwire.FrameReader().feed(b"".join(frames))
    return list(kwire.decode_frames(reader, salvage=False))


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_envelopes_of_a_real_broker(row: Any) -> None:
    asked, answered = conversation(row)
    inside = decode_enveloped_request(asked.message)
    assert inside.client_host == "127.0.0.1"
    assert inside.principal is not None and inside.principal.message.name == "ANONYMOUS"
    assert inside.request.header.client_id
    assert encode_enveloped_request(inside) == asked.message
    assert asked.codec.encode(encode_enveloped_request(inside)) == asked.codec.encode(asked.message)
    response = decode_enveloped_response(answered.message, inside.request)
    assert response is not None
    assert (response.api_name, response.correlation_id) == (inside.request.api_name, inside.request.correlation_id)
    assert encode_enveloped_response(response) == answered.message


def test_the_run_forwarded_many_apis() -> None:
    names = {decode_enveloped_request(conversation(row)[0].message).request.api_name for row in ROWS}
    assert {"CreateTopics", "CreateAcls", "IncrementalAlterConfigs", "DescribeQuorum"} <= names


def test_a_failed_envelope_has_no_response() -> None:
    inside = decode_enveloped_request(envelope_of())
    failed = messages.EnvelopeResponse(error_code=97)
    assert decode_enveloped_response(failed, inside.request) is None
    assert encode_enveloped_response(None, 97) == failed


def test_a_principal_of_another_kind_keeps_its_bytes() -> None:
    for data in (b"", b"{}", b"\xff\xffUser:alice"):
        envelope = envelope_of(request_principal=data)
        inside = decode_enveloped_request(envelope)
        assert inside.principal == Embedded(None, None, None, data)
        assert encode_enveloped_request(inside) == envelope
    assert decode_enveloped_request(envelope_of(request_principal=None)).principal is None


def test_addresses_have_4_or_16_bytes() -> None:
    hosts = {
        bytes([10, 0, 0, 1]): "10.0.0.1",
        bytes(15) + b"\x01": "::1",
        b"\x01\x02": "0102",
    }
    for address, text in hosts.items():
        envelope = messages.EnvelopeRequest(request_data=INNER, client_host_address=address)
        inside = decode_enveloped_request(envelope)
        assert inside.client_host == text
        assert encode_enveloped_request(inside).client_host_address == address


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (bytes.fromhex("7000 0001 00000007 ffff"), UnknownApi),
        (bytes.fromhex("0003 7000 00000007 ffff"), UnknownVersion),
        (INNER + b"\x00", TrailingBytes),
        (b"\x00", Truncated),
    ],
)
def test_what_is_no_request_is_an_error(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_enveloped_request(envelope_of(data))
