"""Values of records as text and JSON."""

from __future__ import annotations

import pytest

from kwire import messages
from kwire.protocol.nested import coordinator_record, decode_metadata_frame, framed_record
from kwire.protocol.nested.versioned_message import Embedded
from kwire.render.record_text import bytes_json, embedded_json, message_text, time_text


def test_times_that_are_none() -> None:
    assert [time_text(number) for number in (-1, 0, -5, 2**62)] == [
        "-",
        "1970-01-01 00:00:00.000",
        "-5",
        "4611686018427387904",
    ]


@pytest.mark.parametrize(
    ("data", "members"),
    [
        (None, None),
        (b"k\n", {"text": "k\n"}),
        (b"", {"base64": ""}),
        (b"\x1b", {"base64": "Gw=="}),
        (b"\xff", {"base64": "/w=="}),
    ],
)
def test_bytes_are_text_where_they_are_printable(data: bytes | None, members: object) -> None:
    assert bytes_json(data) == members


def test_messages_in_a_line() -> None:
    key = messages.OffsetCommitKey(group="a b", topic="t", partition=3)
    value = messages.OffsetCommitValue(offset=7, metadata="")
    assert message_text(coordinator_record(key, value, 1)).startswith('OffsetCommit "a b" t 3: offset=7 ')
    topic = messages.TopicRecord(name="t", topic_id=bytes(16))
    assert message_text(framed_record(topic)) == 'Topic name="t" topic_id=AAAAAAAAAAAAAAAAAAAAAA'


def test_what_is_not_known_keeps_its_bytes() -> None:
    unknown = decode_metadata_frame(bytes.fromhex("01 7f 00 0102"))
    assert message_text(unknown) == "type 127 v0 0102 (2 bytes)"
    assert embedded_json(unknown.value) == {"version": 0, "base64": "AQI="}
    assert embedded_json(Embedded(None, None, None, b"")) == {"base64": ""}
