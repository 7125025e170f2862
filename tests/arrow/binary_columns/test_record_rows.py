"""Records as rows, of requests, answers and logs; what cannot be read keeps its bytes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire import Record, RecordHeader, build_batch
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.binary_columns.record_rows import RecordReader
from kwire.arrow.read_options import BadOption, Options
from tests.arrow.captures import LOG, conversation, write

BATCH = build_batch([Record(0, 5, b"k", b"v"), Record(1, 6, None, b"w", headers=(RecordHeader("h", b"x"),))])


def rows_in(path: Path, limit: int = 1 << 20, **options: Any) -> list[dict[str, Any]]:
    reading = BatchReader(Options.parse({"body": "raw", **options}))
    reader = RecordReader(reading.schema, limit)
    batches = [batch for pack in reading.divide([str(path)]) for batch in reader.read(reading.read(pack))]
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == reader.schema
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches, schema=reader.schema).to_pylist()
    return rows


def produce(records: bytes, version: int = 7) -> bytes:
    messages = kwire.messages.ProduceRequest
    partition = messages.PartitionProduceData(index=3, records=records)
    message = messages(
        acks=1, timeout_ms=9, topic_data=[messages.TopicProduceData(name="t", partition_data=[partition])]
    )
    return kwire.encode_request(message, version, correlation_id=1, client_id="me")


def fetched(records: bytes) -> list[bytes]:
    messages = kwire.messages
    request = kwire.encode_request(messages.FetchRequest(), 13, correlation_id=2, client_id="me")
    answer = messages.FetchResponse
    partition = answer.PartitionData(partition_index=4, records=records)
    topic = answer.FetchableTopicResponse(topic_id=b"i" * 16, partitions=[partition])
    return [request, kwire.encode_response(answer(responses=[topic]), 13, correlation_id=2)]


def test_records_of_requests_and_answers(tmp_path: Path) -> None:
    frames = [*conversation(2), produce(BATCH), *fetched(BATCH + BATCH[:30])]
    rows = rows_in(write(tmp_path, b"".join(frames)))
    assert [(row["api_name"], row["direction"], row["client_id"]) for row in rows] == [
        ("Produce", "request", "me"),
        ("Produce", "request", "me"),
        ("Fetch", "response", "me"),
        ("Fetch", "response", "me"),
    ]
    first, second, third, _ = (row["record"] for row in rows)
    assert (first["topic"], first["partition"], first["offset"], first["key"], first["value"]) == (
        "t",
        3,
        0,
        b"k",
        b"v",
    )
    assert first["timestamp"].timestamp() == 0.005
    assert second["headers"] == [{"key": "h", "value": b"x"}]
    assert (third["topic"], third["topic_id"], third["partition"]) == (None, b"i" * 16, 4)
    assert {row["_error"] and row["_error"]["code"] for row in rows} == {None}
    assert "message" not in rows[0]


def test_records_of_a_log_are_those_of_read_log() -> None:
    rows = rows_in(LOG)
    records = [entry.record for batch in kwire.read_log(LOG) for entry in batch.entries()]  # type: ignore[union-attr]
    assert [(row["record"]["offset"], row["record"]["key"], row["record"]["value"]) for row in rows] == [
        (record.offset, record.key, record.value) for record in records
    ]
    assert {(row["record"]["topic"], row["record"]["partition"]) for row in rows} == {("__consumer_offsets", 1)}


def test_what_cannot_be_read_is_a_row_with_its_bytes(tmp_path: Path) -> None:
    wrong = bytearray(BATCH)
    wrong[-1] ^= 1
    cut = produce(BATCH)[:-5]
    frames = [produce(bytes(wrong)), produce(b"no batch at all, none"), produce(BATCH + BATCH[:20]), cut]
    rows = rows_in(write(tmp_path, b"".join(frames)))
    checked, junk, tail, whole = rows[:2], rows[2], rows[5], rows[6]
    assert [row["record"]["value"] for row in checked if row["record"]] == [b"v", b"w"]
    assert "checksum" in checked[0]["_error"]["reason"]
    assert (junk["record"], junk["_corrupt_record"]) == (None, b"no batch at all, none")
    assert (tail["record"], tail["_corrupt_record"]) == (None, BATCH[:20])
    assert (whole["_corrupt_record"], whole["_error"]["code"]) == (cut, "CUT_SHORT")
    assert len(rows) == 7


def test_a_bomb_is_a_row_of_its_compressed_bytes(tmp_path: Path) -> None:
    bomb = build_batch([Record(0, 5, None, bytes(4 << 20))], compression="gzip")
    assert len(bomb) < 8192
    rows = rows_in(write(tmp_path, produce(bomb) + produce(BATCH)), limit=1 << 20)
    assert rows[0]["_corrupt_record"] == bomb
    assert "hold more than 1048576 bytes" in rows[0]["_error"]["reason"]
    assert [row["record"] and row["record"]["value"] for row in rows] == [None, b"v", b"w"]


def test_many_records_come_in_batches(tmp_path: Path) -> None:
    batch = build_batch([Record(index, 5, None, b"x") for index in range(9000)])
    path = write(tmp_path, gzip.compress(produce(batch)))
    reading = BatchReader(Options.parse({"body": "raw"}))
    reader = RecordReader(reading.schema)
    sizes = [some.num_rows for some in reader.read(reading.read(reading.divide([str(path)])[0]))]
    assert sizes == [4096, 4096, 808]


def test_columns_must_be_there() -> None:
    with pytest.raises(BadOption, match="read the frames with body=raw"):
        RecordReader(BatchReader(Options.parse({"body": "json"})).schema)
