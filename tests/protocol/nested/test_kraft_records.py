"""Records of the metadata log and the remote log, against what Kafka framed and what real nodes left on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import messages
from kwire.errors import EncodeError, OverlongVarint, TrailingBytes, Truncated
from kwire.protocol.nested import (
    Embedded,
    FramedRecord,
    decode_metadata_frame,
    decode_remote_log_frame,
    encode_frame,
    framed_record,
    record_types,
)
from kwire.schema.catalog import catalog_for
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"
DECODERS = {"__cluster_metadata": decode_metadata_frame, "__remote_log_metadata": decode_remote_log_frame}


def lines(path: Path) -> list[Any]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def check(case: Any) -> None:
    data = bytes.fromhex(case["value_hex"])
    record = DECODERS[case["log"]](data)
    assert (record.log, record.type, record.frame_version) == (case["log"], case["type_id"], 1)
    assert (record.value.name, record.value.version) == (case["message"], case["version"])
    assert kwire.codec(case["message"], case["version"]).to_json(record.value.message) == case["json"]
    assert encode_frame(record) == data
    assert framed_record(record.value.message, case["version"]) == record


def test_records_that_kafka_framed() -> None:
    sample = [case for case in lines(DATA / "record_frames.jsonl") if case["log"] in DECODERS]
    for case in sample:
        check(case)
    there = {(case["log"], case["type_id"]) for case in sample}
    known = {place for place in record_types(catalog_for()) if place[0] in DECODERS}
    assert len(there) > 28 and there <= known


@needs_shared
def test_all_records_that_kafka_framed() -> None:
    records = SHARED / "kafka" / "records"
    cases = lines(records / "metadata-frames.jsonl.gz") + lines(records / "remote-log-metadata-frames.jsonl.gz")
    for case in cases:
        check(case)
    assert len(cases) == 120


def test_records_of_real_nodes() -> None:
    rows = [row for row in lines(DATA / "segment_records.jsonl") if row["log"] == "__cluster_metadata"]
    assert len(rows) > 15
    for row in rows:
        data = bytes.fromhex(row["value"])
        record = decode_metadata_frame(data)
        assert row["key"] is None and record.value.message is not None
        assert encode_frame(record) == data


def test_the_logs_count_from_the_same_numbers() -> None:
    data = bytes.fromhex("01 02 00 0274 " + 16 * "ab" + "00")
    assert decode_metadata_frame(data).value.name == "TopicRecord"
    with pytest.raises(Truncated):
        decode_remote_log_frame(data)  # there 2 is RemotePartitionDeleteMetadataRecord


@pytest.mark.parametrize("decode", [decode_metadata_frame, decode_remote_log_frame])
@pytest.mark.parametrize(
    ("data", "version", "frame_version"),
    [
        ("01 ac02 07 abcd", 7, 1),  # a type that is not known
        ("01 00 7f abcd", 127, 1),  # a version that is not known
        ("00 01 00 abcd", 0, 0),  # the frame of 2.8, whose records had other layouts
        ("02 01 00 abcd", 0, 2),
    ],
)
def test_what_is_not_known_keeps_its_bytes(decode: Any, data: str, version: int, frame_version: int) -> None:
    raw = bytes.fromhex(data)
    record: FramedRecord = decode(raw)
    assert (record.value.message, record.value.version) == (None, version)
    assert (record.value.rest.hex(), record.frame_version) == ("abcd", frame_version)
    assert encode_frame(record) == raw


def test_errors_have_their_offset_in_all_the_bytes() -> None:
    with pytest.raises(Truncated) as caught:
        decode_metadata_frame(bytes.fromhex("01 09"))
    assert (caught.value.offset, caught.value.path) == (2, "version")
    with pytest.raises(TrailingBytes) as tail:
        decode_metadata_frame(bytes.fromhex("01 14 00 00 ff"))
    assert (tail.value.offset, tail.value.message) == (4, "NoOpRecord")
    with pytest.raises(OverlongVarint):
        decode_metadata_frame(bytes.fromhex("8100 14 00 00"))


def test_a_message_of_no_log_makes_no_record() -> None:
    with pytest.raises(EncodeError, match="is needed, not GroupMetadataKey"):
        framed_record(messages.GroupMetadataKey())


def test_a_value_that_is_not_decoded_is_written_as_it_is() -> None:
    record = FramedRecord("__cluster_metadata", 300, Embedded(None, 1, None, b"x"))
    assert encode_frame(record).hex() == "01ac020178"
