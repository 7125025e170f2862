"""A decoded frame as a tree."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import Frame, Source
from kwire.render.frame_title import title
from kwire.render.frame_tree import tree
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"


def lines(data: bytes, **options: Any) -> list[str]:
    (result,) = kwire.decode_frames([Frame(data, Source("x", 0, 0))], **options)
    return list(tree(result))


def test_titles_name_the_frame() -> None:
    results = list(kwire.decode_frames(kwire.read_dump(DUMP)))
    assert [title(result) for result in results[:2]] == [
        'LeaderAndIsr v7 request, correlation 22, client "1", 116 bytes, frame 0 at 0',
        "LeaderAndIsr v7 response, correlation 22, 38 bytes, frame 1 at 116",
    ]
    refused = list(kwire.decode_frames(kwire.read_dump(ROOT / "fixtures/dumps/kafka-0.10.0-api-versions.bin")))[1]
    assert title(refused).startswith("ApiVersions v3 response (answered in v0), correlation")


def test_racks_and_offline_replicas_are_seen() -> None:
    text = "\n".join(line for result in kwire.decode_frames(kwire.read_dump(DUMP)) for line in tree(result))
    assert "          is_new_replica: true\n" in text
    assert "          offline_replicas: [2]\n" in text
    assert '      rack: "/dc2/r1"\n' in text
    assert "      topic_id: YzJTFn0MQHaLdnTUiQTctA\n" in text


def test_null_arrays_and_unknown_tags_are_shown() -> None:
    assert lines(request(1))[1:] == ["  topics: null"]
    frame = kwire.encode_request(kwire.messages.ApiVersionsRequest(unknown_tags=b"\x63\x01\xff"), 3)
    assert lines(frame)[-1] == "  unknown_tags[99]: ff (1 byte)"


def test_a_fault_is_a_line_at_the_end() -> None:
    body = request(1)[4:] + b"!"
    (*_, last) = lines(len(body).to_bytes(4, "big") + body)
    assert last == "  ! TrailingBytes: MetadataRequest v1: 1 bytes left over after the message (offset 20)"


def test_an_undecodable_frame_has_its_reason_and_the_partial_value() -> None:
    decoder = kwire.FrameDecoder(answers=kwire.codec("MetadataResponse", 1))
    text = "\n".join(tree(decoder.decode(Frame(response(1)[:-2]))))
    assert text.splitlines() == [
        "incomplete frame, it looks like MetadataResponse v1, correlation 1, 18 bytes",
        "  cut short: 18 of 20 bytes",
        "  decoded so far: {brokers=(), controller_id=3}",
        "  00000000  00 00 00 10 00 00 00 01 00 00 00 00 00 00 00 03",
        "  00000010  00 00",
        "            ^ here",
    ]


def test_topic_ids_have_their_names_beside_them() -> None:
    topic_id = bytes(range(16))
    topic = kwire.messages.FetchRequest.FetchTopic(topic_id=topic_id)
    request = kwire.decode_request(kwire.encode_request(kwire.messages.FetchRequest(topics=(topic,)), 13))
    names = {topic_id: "orders"}
    lines = tree(request, topic_of=lambda unnamed: names.get(unnamed))
    named = [line.strip() for line in lines if "topic_id" in line]
    assert named == ["topic_id: AAECAwQFBgcICQoLDA0ODw  orders"]
    assert not any("orders" in line for line in tree(request, topic_of=lambda unnamed: None))
