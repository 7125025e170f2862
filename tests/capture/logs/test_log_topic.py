"""Whose log it is: told, or shown by control records, keys and values; what cannot be known stays bytes."""

from __future__ import annotations

import pytest

from kwire import LogBatch, LogRecord, Record, build_batch, messages
from kwire.capture.logs.log_reader import LogReader
from kwire.capture.logs.log_topic import INTERNAL, topic_of_folder
from kwire.protocol.nested import coordinator_record, encode_frame, encode_record, framed_record

COMMIT = messages.OffsetCommitKey(group="g", topic="t", partition=1), messages.OffsetCommitValue(offset=7)
STATUS = messages.TransactionLogKey(transactional_id="tx"), messages.TransactionLogValue(producer_id=3)
LEADER = b"\0\0\0\2", bytes.fromhex("0000 00000001 01 01 00")


def record(key: object, value: object | None, version: int = 1, offset: int = 0) -> Record:
    return Record(offset, 1700000000000, *encode_record(coordinator_record(key, value, version)))


def read(*batches: bytes, topic: str | None = None) -> tuple[LogReader, list[LogRecord]]:
    log = LogReader(batches, topic=topic)
    entries = [entry for batch in log if isinstance(batch, LogBatch) for entry in batch.entries()]
    assert all(isinstance(entry, LogRecord) for entry in entries)
    return log, entries  # type: ignore[return-value]


@pytest.mark.parametrize(("told", "topic"), [(COMMIT, "__consumer_offsets"), (STATUS, "__transaction_state")])
def test_keys_and_values_identify_the_topic(told: tuple[object, object], topic: str) -> None:
    log, (entry,) = read(build_batch([record(*told)]))
    assert (log.topic.name, log.topic.found, entry.batch.topic) == (topic, True, topic)
    assert entry.message is not None
    assert (entry.message.key.message, entry.message.value.message) == told  # type: ignore[union-attr]


def test_tombstones_alone_do_not_identify_the_topic() -> None:
    batch = build_batch([record(COMMIT[0], None)])
    assert read(batch)[1][0].message is None
    assert read(batch, topic="__consumer_offsets")[1][0].message is not None
    log, entries = read(batch, build_batch([record(*COMMIT, offset=1)]))
    assert [entry.message is not None for entry in entries] == [False, True]
    assert log.topic.name == "__consumer_offsets"


def test_one_record_that_does_not_fit_leaves_a_log_as_it_is() -> None:
    log, entries = read(build_batch([record(*COMMIT), Record(1, key=b"k")]), build_batch([record(*COMMIT, offset=2)]))
    assert log.topic.name is None
    assert [entry.message for entry in entries] == [None] * 3


def test_another_topic_than_kafkas_leaves_records_as_they_are() -> None:
    assert read(build_batch([record(*COMMIT)]), topic="orders")[1][0].message is None


def test_what_should_be_kafkas_and_is_not_has_a_fault() -> None:
    _, (entry,) = read(build_batch([Record(0, key=b"\0\1\0\x09g", value=b"")]), topic="__consumer_offsets")
    assert entry.message is None
    assert entry.fault is not None
    assert entry.record.key == b"\0\1\0\x09g"


def test_a_change_of_leader_identifies_the_metadata_log() -> None:
    control = build_batch([Record(0, 1, *LEADER)], is_control=True)
    frame = encode_frame(framed_record(messages.TopicRecord(name="t", topic_id=bytes(16))))
    log, entries = read(control, build_batch([Record(1, value=frame)]))
    assert log.topic.name == "__cluster_metadata"
    assert [type(entry.message).__name__ for entry in entries] == ["ControlRecord", "FramedRecord"]
    assert read(build_batch([Record(1, value=frame)]))[0].topic.name == "__cluster_metadata"


def test_markers_of_transactions_are_read_in_any_log() -> None:
    _, (entry,) = read(build_batch([Record(0, 1, b"\0\0\0\1", bytes(6))], is_control=True, is_transactional=True))
    assert entry.message is not None
    assert entry.message.type == 1


def test_folders_are_named_after_topics() -> None:
    assert [topic_of_folder(f"{name}-12") for name in INTERNAL] == list(INTERNAL)
    assert topic_of_folder("__consumer_offsets-1.02a58482f7bb4219bcab11187aab6e15-delete") == "__consumer_offsets"
    assert [topic_of_folder(name) for name in ("orders-0", "__mine-0", "__consumer_offsets", "")] == [None] * 4
