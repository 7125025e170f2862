"""The fields of a frame as rows: nested, named, none twice."""

from __future__ import annotations

import kwire
from kwire.render.html.field_rows import PageField, nodes
from tests.protocol.test_frame_decoder import decoded, request
from tests.render.test_annotated_hex import leader_and_isr


def test_structs_precede_their_fields_and_numbers_are_on_one_row() -> None:
    codec = kwire.codec("LeaderAndIsrRequest", 1)
    found = list(nodes(codec.trace(leader_and_isr()), codec))
    assert found[2:6] == [
        PageField(0, "ungrouped_partition_states", 8, 12, "array", "1 item"),
        PageField(1, "[0]", 12, 12, "", ""),
        PageField(2, "topic_name", 12, 15, "string", '"t"'),
        PageField(2, "partition_index", 15, 19, "int32", "2"),
    ]
    assert PageField(2, "replicas", 39, 51, "array", "[1, 2]") in found


def test_numbers_have_their_names() -> None:
    codec = kwire.codec("MetadataResponse", 0)
    data = bytes.fromhex("00000000 00000001 0003 0001 61 00000000")
    values = [(node.name, node.value) for node in nodes(codec.trace(data), codec)]
    assert values[3] == ("error_code", "3 UNKNOWN_TOPIC_OR_PARTITION")
    assert [node.value for node in nodes(codec.trace(data))][3] == "3"


def test_faults_are_words() -> None:
    body = request(1)[4:] + b"!"
    (tail,) = decoded(len(body).to_bytes(4, "big") + body, trace=True)
    *_, last = nodes(tail.spans, tail.codec)
    assert (last.name, last.value) == ("left over", "21 (1 byte)")
    assert last.faults[0].startswith("TrailingBytes: ")
