from __future__ import annotations

import pytest

from kwire.codecs.records import RecordHeader, record_layouts
from kwire.codecs.records.record_layouts import MESSAGES, RECORD, MessageFields, RecordFields


def test_a_record_has_kafkas_layout() -> None:
    fields = RecordFields(0, 5, -3, b"k", None, (RecordHeader("h\u00e9", b"v"), RecordHeader("", None)))
    data = RECORD.build(fields)
    assert data.hex(" ") == "00 0a 05 02 6b 01 04 06 68 c3 a9 02 76 00 01"
    assert RECORD.parse(data) == fields


@pytest.mark.parametrize(
    "magic, fields, text",
    [
        (0, MessageFields(b"k", None), "00000001 6b ffffffff"),
        (1, MessageFields(None, b"v", 5), "0000000000000005 ffffffff 00000001 76"),
    ],
)
def test_a_message_has_kafkas_layout(magic: int, fields: MessageFields, text: str) -> None:
    assert MESSAGES[magic].build(fields) == bytes.fromhex(text)
    assert MESSAGES[magic].parse(bytes.fromhex(text)) == fields


def test_a_headers_name_may_be_longer_than_other_text() -> None:
    fields = RecordFields(0, 0, 0, None, None, (RecordHeader("x" * 40_000, None),))
    assert RECORD.parse(RECORD.build(fields)) == fields


def test_sizes_agree() -> None:
    assert record_layouts.BATCH.size == 61
    assert record_layouts.LEAST_LENGTH == {0: 14, 1: 22, 2: 49}
    for magic in (0, 1):
        assert (
            record_layouts.LEAST_LENGTH[magic]
            == record_layouts.MESSAGE.size - record_layouts.LOG_OVERHEAD + MESSAGES[magic].least
        )
