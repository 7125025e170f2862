"""The JSON of a frame: its shape is fixed, and it leads back to the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kwire
from kwire import Frame, Source
from kwire.capture.json_frames import open_envelope
from kwire.render.json_objects.frame_json import envelope, json_line
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

SOURCE = Source("x.bin", 3, 77, 1.5, "10.0.0.1:5000", "10.0.0.2:9092")


def envelopes(*frames: bytes, source: Source = SOURCE) -> list[dict[str, Any]]:
    return [envelope(result) for result in kwire.decode_frames(Frame(data, source) for data in frames)]


def test_a_request_and_its_response() -> None:
    asked, answer = envelopes(request(7), response(7))
    assert list(asked) == ["kwire", "type", "source", "header", "payload"]
    assert asked == {
        "kwire": 1,
        "type": "request",
        "source": {
            "file": "x.bin",
            "frame": 3,
            "offset": 77,
            "time": 1.5,
            "client": "10.0.0.1:5000",
            "broker": "10.0.0.2:9092",
        },
        "header": {"apiKey": 3, "apiName": "Metadata", "apiVersion": 1, "correlationId": 7, "clientId": "me"},
        "payload": {"topics": None},
    }
    assert answer["type"] == "response"
    assert answer["header"] == asked["header"]
    assert list(answer["source"].items())[3:6] == [("time", 1.5), ("latencySeconds", 0.0), ("requestFrame", 3)]
    assert answer["payload"] == {"brokers": [], "controllerId": 3, "topics": []}


def test_members_unknown_to_the_container_are_omitted() -> None:
    (members,) = envelopes(request(7), source=Source("x.bin", 0, 0))
    assert members["source"] == {"file": "x.bin", "frame": 0, "offset": 0}


def test_an_undecodable_frame_has_its_error_and_its_bytes() -> None:
    data = request(7)[:-2]
    (members,) = envelopes(data)
    assert members["type"] == "incomplete"
    assert members["header"] == {
        "apiKey": 3,
        "apiName": "Metadata",
        "apiVersion": 1,
        "correlationId": 7,
        "clientId": "me",
    }
    assert members["error"] == {
        "code": "CUT_SHORT",
        "class": "CutShort",
        "message": "cut short: 18 of 20 bytes",
        "offset": 16,
        "path": "topics",
        "need": 20,
        "have": 18,
    }
    assert members["raw"] == data.hex()
    assert open_envelope(members, catalog_for()) == data


def test_a_salvaged_frame_names_its_faults_with_their_bytes() -> None:
    body = request(7)[4:] + b"\xab"
    (members,) = envelopes(len(body).to_bytes(4, "big") + body)
    assert [(fault["class"], fault["offset"], fault["raw"]) for fault in members["faults"]] == [
        ("TrailingBytes", 20, "ab")
    ]


def test_a_response_in_another_version_has_it_and_is_read_back() -> None:
    path = ROOT / "fixtures/dumps/kafka-0.10.0-api-versions.bin"
    results = [envelope(result) for result in kwire.decode_frames(kwire.read_dump(path))]
    assert (results[1]["header"]["apiVersion"], results[1]["payloadVersion"]) == (3, 0)
    assert b"".join(open_envelope(members, catalog_for()) for members in results) == path.read_bytes()


def test_unknown_tags_of_header_and_body_come_back() -> None:
    frame = kwire.encode_request(
        kwire.messages.ApiVersionsRequest(unknown_tags=b"\x63\x01\xff"), 3, header_tags=b"\x07\x00"
    )
    (members,) = envelopes(frame)
    assert members["header"]["_unknownTags"] == [{"tag": 7, "data": ""}]
    assert members["payload"]["_unknownTags"] == [{"tag": 99, "data": "/w=="}]
    assert open_envelope(json.loads(json.dumps(members)), catalog_for()) == frame


def test_a_line_is_printable_whatever_it_holds() -> None:
    frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id="\x1b[31m\u202e\n")
    (result,) = kwire.decode_frames([Frame(frame)])
    line = json_line(result)
    assert line.isprintable()
    assert json.loads(line)["header"]["clientId"] == "\x1b[31m\u202e\n"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"header": None}, "header: a dict is needed, not None"),
        ({"type": "question"}, "question of api key 3 version 1"),
        ({"payload": {}}, "topics: the field is missing"),
        ({"payload": {"topics": None, "topic": 1}}, "topic: there is no such field; did you mean topics?"),
        ({"payload": {"topics": None, "allowAutoTopicCreation": True}}, "the first version that has it is 4"),
        ({"header": {"apiKey": 3, "apiVersion": 1}}, "header.correlationId: the field is missing"),
    ],
)
def test_json_that_is_no_frame_is_refused_with_its_place(change: dict[str, Any], text: str) -> None:
    (members,) = envelopes(request(7))
    with pytest.raises(kwire.EncodeError) as caught:
        open_envelope({**members, **change}, catalog_for())
    assert text in str(caught.value)
