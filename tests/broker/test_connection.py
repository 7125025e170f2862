"""Frames of clients: what is served, what is refused, and the api that is always answered."""

from __future__ import annotations

import pytest

import kwire
from kwire.broker.request_frames import ServedRequest, Unserved, read_request, write_response
from kwire.protocol import Frame, FrameDecoder, Response, Source
from tests.broker.served import M, cluster_of


def read(data: bytes) -> ServedRequest | Unserved:
    cluster = cluster_of()
    return read_request(Frame(data), cluster.catalog, cluster.apis)


def test_a_request_and_its_answer() -> None:
    cluster = cluster_of()
    named = M.ApiVersionsRequest(client_software_name="kwire.tests", client_software_version="1.0-rc1")
    data = kwire.encode_request(named, 3, correlation_id=9, client_id="me")
    served = read(data)
    assert isinstance(served, ServedRequest)
    assert (served.version, served.correlation_id, served.client_id) == (3, 9, "me")
    answer = cluster.answer(1, served.message, served.version, now=0.0)
    decoder = FrameDecoder()
    decoder.decode(Frame(data, Source(direction="request")))
    found = decoder.decode(Frame(write_response(served, answer, cluster.catalog), Source(direction="response")))
    assert isinstance(found, Response)
    assert isinstance(found.message, kwire.messages.ApiVersionsResponse)
    assert {row.api_key for row in found.message.api_keys} == {
        key for key, api in cluster.apis.items() if api.is_advertised
    }


@pytest.mark.parametrize(("name", "version"), [("", ""), ("a", ""), ("", "1"), ("-a", "1"), ("a b", "1"), ("a", "1.")])
def test_software_without_a_proper_name_is_refused(name: str, version: str) -> None:
    cluster = cluster_of()
    named = M.ApiVersionsRequest(client_software_name=name, client_software_version=version)
    for asked in (3, 4):
        answer = cluster.answer(1, named, asked, now=0.0)
        assert (answer.error_code, answer.api_keys) == (42, ())
    assert cluster.answer(1, named, 2, now=0.0).error_code == 0  # these versions have no names


def test_a_version_of_api_versions_from_the_future() -> None:
    refused = read(bytes.fromhex("0000000b 0012 0063 00000007 000000"))
    assert isinstance(refused, Unserved)
    body = kwire.codec("ApiVersionsResponse", 0).decode(refused.answer[8:])
    assert (refused.answer[4:8].hex(), body.error_code, len(body.api_keys) > 4) == ("00000007", 35, True)


@pytest.mark.parametrize(
    "text",
    [
        "00000004 00000007",
        "00000008 7777 0000 00000001",
        "00000008 0003 0063 00000001",
        "0000000a 0003 0001 00000001 ffff",
    ],
)
def test_what_is_no_request_ends_the_connection(text: str) -> None:
    refused = read(bytes.fromhex(text))
    assert isinstance(refused, Unserved)
    assert (refused.answer, bool(refused.problem)) == (b"", True)
