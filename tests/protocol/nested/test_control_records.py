"""Control records, against what Kafka 3.9.2 wrote and what real brokers left on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kwire.errors import TrailingBytes, Truncated, UnknownVersion
from kwire.protocol.nested import Embedded, decode_control_record, encode_control_record
from kwire.values import kind
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"
# (key, value, type, message): one of each, by Kafka 3.9.2 (records/control.jsonl.gz)
WRITTEN = [
    ("00000001", "000000000094", "COMMIT", "EndTxnMarker"),
    ("00000000", "0000000001b1", "ABORT", "EndTxnMarker"),
    ("00000002", "000000000003030000000100000000030002000000030000", "LEADER_CHANGE", "LeaderChangeMessage"),
    ("00000003", "00000000018bd0ab4c7100", "SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
    ("00000004", "000000", "SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
    ("00000005", "0000000100", "KRAFT_VERSION", "KRaftVersionRecord"),
    (
        "00000006",
        "0000020000000152d986157a48432f145ead72a3df2ba9020b434f4e54524f4c4c455207686f73742d3123850000000001000000",
        "KRAFT_VOTERS",
        "VotersRecord",
    ),
]


def check(key: str, value: str) -> Any:
    raw = bytes.fromhex(key), bytes.fromhex(value)
    record = decode_control_record(*raw)
    assert encode_control_record(record) == raw
    return record


@pytest.mark.parametrize(("key", "value", "name", "message"), WRITTEN)
def test_one_of_each_type(key: str, value: str, name: str, message: str) -> None:
    record = check(key, value)
    assert kind("ControlRecordType")(record.type).name == name
    assert (record.value.name, record.value.version, type(record.value.message).__name__) == (message, 0, message)


@needs_shared
def test_all_that_kafka_wrote() -> None:
    data = gzip.decompress((SHARED / "kafka" / "records" / "control.jsonl.gz").read_bytes())
    found = set()
    for line in data.splitlines():
        for batch in json.loads(line)["batches"]:
            for record in batch["records"]:
                decoded = check(record["key_hex"], record["value_hex"])
                assert kind("ControlRecordType")(decoded.type).name == record["control_type"]
                assert decoded.value.message is not None
                found.add(decoded.type)
    assert found == set(range(7))


def test_control_records_of_real_brokers() -> None:
    rows = [json.loads(line) for line in (DATA / "segment_records.jsonl").read_text("utf-8").splitlines()]
    types = {check(row["key"], row["value"]).value.name for row in rows if row["log"] == "control"}
    assert types == {"EndTxnMarker", "LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord"}


def test_values_are_read() -> None:
    assert check(*WRITTEN[0][:2]).value.message.coordinator_epoch == 148
    change = check(*WRITTEN[2][:2]).value.message
    assert (change.leader_id, [voter.voter_id for voter in change.voters]) == (3, [1, 3])
    assert check(*WRITTEN[6][:2]).value.message.voters[0].endpoints[0].port == 9093


def test_a_newer_marker_is_read_as_ours_and_keeps_its_tail() -> None:
    record = check("0001000100ff", "0007 00000094 beef")
    assert (record.type, record.key.version, record.key.rest) == (1, 1, b"\x00\xff")
    assert (record.value.version, record.value.message.coordinator_epoch, record.value.rest.hex()) == (7, 148, "beef")


def test_what_is_not_known_keeps_its_bytes() -> None:
    assert check("00000063", "0102").value == Embedded(None, None, None, b"\x01\x02")
    assert check("00000003", "0009 0102").value == Embedded("SnapshotHeaderRecord", 9, None, bytes.fromhex("00090102"))
    raw = bytes.fromhex("00000001"), None
    assert encode_control_record(decode_control_record(*raw)) == raw


def test_errors_have_their_place() -> None:
    with pytest.raises(UnknownVersion, match="ControlRecordTypeSchema has no version -1"):
        decode_control_record(bytes.fromhex("ffff0001"), None)
    with pytest.raises(Truncated) as caught:
        decode_control_record(bytes.fromhex("0000"), None)
    assert (caught.value.offset, caught.value.path) == (2, "type")
    with pytest.raises(TrailingBytes) as tail:
        decode_control_record(bytes.fromhex("00000004"), bytes.fromhex("00000000"))
    assert tail.value.offset == 3
