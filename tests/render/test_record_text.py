"""Lines of logs: what a batch is, what its records say, and nothing that could fool a terminal."""

from __future__ import annotations

import pytest

from kwire import LogBatch, Record, RecordHeader, build_batch
from kwire.capture.logs.log_reader import LogReader
from kwire.protocol.nested.topic_record_types import TRANSACTIONS
from kwire.render.record_lines import RecordLines
from kwire.render.record_text import batch_text
from tests.capture.logs.test_log_topic import STATUS, record


def lines_of(data: bytes, topic: str | None = None) -> list[str]:
    lines = RecordLines()
    found: list[str] = []
    for item in LogReader([data], topic=topic):
        for entry in item.entries() if isinstance(item, LogBatch) else [item]:
            found += lines.lines(entry)
    return found


def test_a_day_is_said_when_it_begins() -> None:
    days = [Record(offset, 1700000000000 + offset * 50_000_000, b"k", b"v") for offset in range(3)]
    assert lines_of(build_batch(days)) == [
        "# batch at 0, 94 bytes: offsets 0-2, none",
        "# 2023-11-14",
        '       0 22:13:20.000 "k": "v"',
        "# 2023-11-15",
        '       1 12:06:40.000 "k": "v"',
        "# 2023-11-16",
        '       2 02:00:00.000 "k": "v"',
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"is_transactional": True, "producer_id": 7, "producer_epoch": 1}, "transactional, producer 7 epoch 1"),
        ({"producer_id": 7, "producer_epoch": 1, "base_sequence": 3}, "none, producer 7 epoch 1 sequence 3"),
        ({"timestamp_type": "LogAppendTime"}, "none, LogAppendTime"),
        ({"partition_leader_epoch": 4}, "leader epoch 4"),
        ({"delete_horizon": 1700000000000}, "delete horizon 2023-11-14 22:13:20.000"),
        ({"last_offset": 9}, "offsets 7-9, 1 record, none"),
        ({"compression": "gzip"}, "offset 7, gzip"),
        ({"compression": "gzip", "magic": 1}, "up to offset 7, gzip, magic 1"),
    ],
)
def test_what_a_batch_is(more: dict[str, object], words: str) -> None:
    batch = next(iter(LogReader([build_batch([Record(7, 5)], **more)])))  # type: ignore[arg-type]
    assert isinstance(batch, LogBatch)
    assert batch_text(batch.header).endswith(words)


def test_keys_values_and_headers_of_any_kind() -> None:
    records = [
        Record(0, 5, None, b'{"n":1}', (RecordHeader("a", None), RecordHeader("b", b""))),
        Record(1, -1, b"\0\1", b"a\nb\x1b[31m"),
        Record(2, 5, "\u202e".encode(), b""),
    ]
    assert lines_of(build_batch(records))[2:] == [
        "       0 00:00:00.005 null: '{\"n\":1}'  2 headers",
        "       1 -            0001 (2 bytes): 610a621b5b33316d (8 bytes)",
        "       2 00:00:00.005 e280ae (3 bytes): (0 bytes)",
    ]


def test_control_records_and_tombstones_have_names() -> None:
    marker = build_batch([Record(0, 5, b"\0\0\0\1", bytes(5) + b"\2")], is_control=True)
    assert lines_of(marker)[-1] == "       0 00:00:00.005 COMMIT coordinator_epoch=2"
    assert lines_of(build_batch([record(STATUS[0], None)]), TRANSACTIONS)[-1].endswith("TransactionLog tx: deleted")


def test_undecodable_bytes_have_their_place() -> None:
    data = build_batch([Record(0, 5)])
    assert lines_of(data + bytes(99) + b"\xff" * 40)[-2:] == [
        "# 99 zeros at 68: space allocated ahead",
        "?  !undecodable at 167: 40 bytes are in no batch: length -1; batches have 14 ...",
    ]
