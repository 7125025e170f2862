"""Topic ids get the names that TopicRecords in Fetch and FetchSnapshot responses of the metadata log have."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import kwire
from kwire import Record, build_batch, messages
from kwire.cli.main import main
from kwire.protocol.message_summary import MessageSummary
from tests.conftest import SHARED, needs_shared

CAPTURES = SHARED / "captures"
METADATA = bytes(15) + b"\1"
ORDERS, PAYMENTS = bytes.fromhex("0a" * 16), bytes.fromhex("0b" * 16)


def topic_record(topic_id: bytes, name: str) -> bytes:
    """Return a TopicRecord by hand, from KIP-631: frame version 1, type 2, version 0, name, topic id, no tags."""
    return b"\x01\x02\x00" + bytes([len(name) + 1]) + name.encode() + topic_id + b"\x00"


def log_of(*values: bytes) -> bytes:
    return build_batch([Record(offset, 1_700_000_000_000, None, value) for offset, value in enumerate(values)])


def fetched(version: int, records: bytes, topic_id: bytes = METADATA) -> Any:
    topic = messages.FetchResponse.FetchableTopicResponse
    partition = messages.FetchResponse.PartitionData(partition_index=0, high_watermark=9, records=records)
    named = {"topic_id": topic_id} if version >= 13 else {"topic": "__cluster_metadata"}
    return messages.FetchResponse(responses=(topic(**named, partitions=(partition,)),))


@pytest.mark.parametrize("version", [12, 13, 17])
def test_names_of_topic_records(version: int) -> None:
    damaged = topic_record(PAYMENTS, "payments")[:-9]
    other = bytes.fromhex("01 09 00" + 16 * "ab" + "00")  # RemoveTopicRecord
    response = fetched(version, log_of(damaged, other, b"", topic_record(ORDERS, "orders")))
    for learn in ("facts", "learn_names", "named_ids"):
        summary = MessageSummary()
        getattr(summary, learn)(kwire.codec("FetchResponse", version), response)
        assert summary.topic_of(ORDERS) == "orders"
        assert summary.topic_of(PAYMENTS) is None


def test_records_of_other_topics_name_nothing() -> None:
    summary = MessageSummary()
    response = fetched(13, log_of(topic_record(ORDERS, "orders")), PAYMENTS)
    summary.learn_names(kwire.codec("FetchResponse", 13), response)
    assert summary.topic_of(ORDERS) is None


def test_a_snapshot_names_topics() -> None:
    topic = messages.FetchSnapshotResponse.TopicSnapshot
    for records, name in (
        (log_of(topic_record(ORDERS, "orders")), "orders"),
        (log_of(topic_record(ORDERS, "orders"))[20:], None),  # it begins within a batch
    ):
        partition = messages.FetchSnapshotResponse.PartitionSnapshot(unaligned_records=records)
        summary = MessageSummary()
        response = messages.FetchSnapshotResponse(topics=(topic(name="__cluster_metadata", partitions=(partition,)),))
        summary.learn_names(kwire.codec("FetchSnapshotResponse", 1), response)
        assert summary.topic_of(ORDERS) == name


@needs_shared
def test_the_metadata_log_beside_a_capture_names_its_topics(capsys: pytest.CaptureFixture[str]) -> None:
    """Followers name topics by id; no message between brokers has the names, the controllers' log has."""
    files = [str(CAPTURES / f"kafka-4.4-kraft.{kind}.pcap") for kind in ("replication", "controllers")]
    assert main(["decode", *files, "--fields", "topic"]) == 0
    named = Counter(name for line in capsys.readouterr().out.splitlines() for name in line.split(",") if name)
    assert not [name for name in named if name.startswith("?")]
    assert named["parcels"] > 300
    assert main(["decode", *files, "--where", "topic == parcels", "--count"]) == 0
    assert int(capsys.readouterr().out) == named["parcels"]
    assert main(["stats", *files, "--by", "topic", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["topic"]: row["requests"] + row["responses"] for row in rows}["parcels"] == named["parcels"]
    assert not [row for row in rows if row["topic"].startswith("?")]
