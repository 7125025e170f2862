"""Compaction, retention by segments, flushes, and what of them is there after a restart."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import Record, build_batch, parse_records
from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.controller.topic import Topic
from kwire.broker.log.batch_stamps import stamp_batch
from kwire.broker.log.memory_disk import MemoryStore
from kwire.broker.log.replica_log import ReplicaLog, SegmentLimits
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.driving import Mate, World
from tests.broker.served import M, ask, batch, fetch, produce, values
from tests.broker.stored import Segments, StoredDisk, started

DAY = 24 * 3600 * 1000
Pair = tuple[bytes | None, bytes | None]


def log_of(store: Any = None, segment_bytes: int = 150) -> ReplicaLog:
    return ReplicaLog(store or MemoryStore(), SegmentLimits(segment_bytes))


def write(log: ReplicaLog, *pairs: Pair, **fields: Any) -> None:
    records = [Record(place, 1000, *pair) for place, pair in enumerate(pairs)]
    (one,) = parse_records(build_batch(records, **fields))
    log.append(stamp_batch(one, log.end, 0))


def mark(log: ReplicaLog, producer_id: int, kind: int) -> None:
    record = Record(0, 1000, b"\0\0" + kind.to_bytes(2, "big"), b"\0\0\0\0\0\0")
    data = build_batch([record], producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True)
    (one,) = parse_records(data)
    log.append(stamp_batch(one, log.end, 0))


def records_of(log: ReplicaLog) -> list[tuple[int, bytes | None, bytes | None]]:
    found = parse_records(log.read(log.start, 1 << 20))
    return [(one.offset, one.key, one.value) for each in found if not each.is_control for one in each.records()]


def test_of_each_key_the_last_record_stays_at_its_offset() -> None:
    log = log_of()
    for number in range(6):
        write(log, (b"a", b"%d" % number), (b"b%d" % number, b"x"))
    closed = log.segments[-1]
    assert closed == 5 * 2 or closed < log.end
    log.compact(2000, DAY)
    found = records_of(log)
    last = max(offset for offset, key, _ in found if key == b"a" and offset < closed)
    assert [key for offset, key, _ in found if offset < closed].count(b"a") == 1
    assert {key for _, key, _ in found} == {b"a", *(b"b%d" % number for number in range(6))}
    assert next(offset for offset, key, _ in found if key == b"a") == last
    assert (log.end, log.start, log.cleaned_to) == (12, 0, closed)
    assert log.size == sum(entry.size for entry in log.entries)


@given(st.lists(st.lists(st.tuples(st.binary(max_size=1), st.none() | st.binary(max_size=2)), min_size=1, max_size=4)))
def test_what_is_left_is_what_a_table_has(batches: list[list[Pair]]) -> None:
    files: dict[int, bytearray] = {0: bytearray()}
    log = log_of(Segments(files, 1 << 30))
    for pairs in batches:
        write(log, *pairs)
    write(log, *[(b"end", b"")] * 9)
    before = {key: value for _, key, value in records_of(log)}
    for now in (2000, 2000 + DAY, 2000 + 2 * DAY):
        log.compact(now, DAY)
        again = log_of(Segments(files, 1 << 30))
        assert records_of(again) == records_of(log)
        assert (again.end, again.size, again.damage) == (log.end, log.size, "")
        table = {key: value for _, key, value in records_of(log)}
        assert {key: value for key, value in table.items() if value is not None} == {
            key: value for key, value in before.items() if value is not None
        }
    closed = [offset for offset, key, value in records_of(log) if offset < log.segments[-1] and value is None]
    assert closed == []  # deletions are gone a day after they were compacted first


def test_deletions_stay_as_long_as_consumers_may_need_them() -> None:
    log = log_of()
    write(log, (b"a", b"1"))
    write(log, (b"a", None))
    write(log, (b"z", b"2" * 200))
    log.compact(5000, 100)
    assert [row[:2] for row in records_of(log)] == [(1, b"a"), (2, b"z")]
    log.compact(5099, 100)
    assert len(records_of(log)) == 2
    log.compact(5100, 100)
    assert [row[:2] for row in records_of(log)] == [(2, b"z")]


def test_aborted_records_go_and_open_transactions_are_not_touched() -> None:
    log = log_of(segment_bytes=1)
    write(log, (b"a", b"committed"))
    write(log, (b"a", b"aborted"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    mark(log, 5, 0)
    write(log, (b"b", b"kept"), producer_id=6, producer_epoch=0, base_sequence=0, is_transactional=True)
    mark(log, 6, 1)
    write(log, (b"a", b"open"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    write(log, (b"c", b""))
    for now in (2000, 2000 + 2 * DAY):
        log.compact(now, DAY)
        assert records_of(log) == [(0, b"a", b"committed"), (3, b"b", b"kept"), (5, b"a", b"open"), (6, b"c", b"")]
    assert (log.stable_end, log.cleaned_to) == (5, 5)
    assert log.producers.epoch_of(5) == 0


def test_sequence_numbers_are_known_after_compaction_and_a_restart() -> None:
    files: dict[int, bytearray] = {0: bytearray()}
    log = log_of(Segments(files, 1 << 30), 1)
    for number in range(3):
        write(log, (b"a", b""), producer_id=5, producer_epoch=0, base_sequence=number)
    write(log, (b"a", b""))
    write(log, (b"b", b""))
    log.compact(2000, DAY)
    again = log_of(Segments(files, 1 << 30), 1)
    (due,) = parse_records(build_batch([Record(0)], producer_id=5, producer_epoch=0, base_sequence=3))
    assert (records_of(again), again.producers.check(due)) == ([(3, b"a", b""), (4, b"b", b"")], (0, None))


def test_a_compacted_topic_is_compacted_when_half_of_it_is_new() -> None:
    with Kafka() as kafka:
        kafka.create_topic("t", configs={"cleanup.policy": "compact", "segment.bytes": "200"})
        for number in range(20):
            kafka.produce("t", b"%d" % number, key=b"k")
        kafka.advance(1)
        found = [record.offset for record in kafka.records("t")]
        assert (len(found) < 5, found[-1]) == (True, 19)


def test_a_record_is_compacted_when_it_is_older_than_it_may_be() -> None:
    with Kafka() as kafka:
        kafka.create_topic("t", configs={"cleanup.policy": "compact", "max.compaction.lag.ms": "60000"})
        for number in range(3):
            kafka.produce("t", b"%d" % number, key=b"k")
        kafka.advance(30)
        assert len(kafka.records("t")) == 3
        kafka.advance(60)
        assert [record.offset for record in kafka.records("t")] == [2]


def test_a_gap_before_an_empty_segment_is_no_damage() -> None:
    files: dict[int, bytearray] = {0: bytearray()}
    log = log_of(Segments(files, 1 << 30), 1 << 20)
    for key in (b"a", b"b", b"b"):
        write(log, (key, b""))
    assert log.is_dirty(0.5, 5000)
    log.compact(5000, DAY)
    again = log_of(Segments(files, 1 << 30))
    assert (records_of(again), again.end, again.damage) == ([(0, b"a", b""), (2, b"b", b"")], 3, "")


def test_records_of_a_compacted_topic_have_keys() -> None:
    cluster = started([StoredDisk("/d")])
    cluster.controller.create("t", {0: [1]}, {"cleanup.policy": "compact,delete"})
    assert produce(cluster, batch(b"v")).error_code == ErrorCode.INVALID_RECORD
    assert produce(cluster, build_batch([Record(0, 1, b"k", None)])).error_code == 0
    mixed = [Record(offset, 1, key, b"v") for offset, key in enumerate([None, b"k", None])]
    assert [row.batch_index for row in produce(cluster, build_batch(mixed)).record_errors] == [0, 2]  # KIP-467


@pytest.mark.parametrize(("release", "code"), [(None, ErrorCode.INVALID_TIMESTAMP), ("3.9", ErrorCode.NONE)])
def test_timestamps_are_near_the_time_of_the_broker(release: str | None, code: ErrorCode) -> None:
    """Codes and limits are those of Kafka 4.1.0; before 4.0 the default was unlimited."""
    cluster, now = ServedCluster([Node(1, disks=[StoredDisk("/d")])], Settings(release=release), Random(1)), 10**12
    cluster.time_ms = lambda: now
    for name, configs in (("t", {}), ("near", {"message.timestamp.before.max.ms": "1000"})):
        cluster.controller.create(name, {0: [1]}, configs)
    cluster.controller.create("any", {0: [1]}, {"message.timestamp.type": "LogAppendTime"})

    def sent(name: str, *times: int) -> Any:
        records = [Record(offset, now + time, b"k", None) for offset, time in enumerate(times)]
        return produce(cluster, build_batch(records), topic=name)

    assert sent("t", -(10**9), 3_600_000).error_code == ErrorCode.NONE
    refused = sent("t", 0, 3_600_001, 5, 10**9)
    assert refused.error_code == code
    assert [row.batch_index for row in refused.record_errors] == ([1, 3] if code else [])
    assert sent("near", -1000).error_code == ErrorCode.NONE
    assert [row.batch_index for row in sent("near", 0, -1001).record_errors] == [1]
    assert sent("any", 10**10).error_code == ErrorCode.NONE


def test_the_log_of_commits_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.broker.controller.kraft_controller.INTERNAL_SEGMENT", 1000)
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    (mate,) = world.mates(1)
    for offset in range(100):
        assert mate.commit(offset) == 0
        world.cluster.check()
        assert sum(len(file) for files in disk.logs.values() for file in files.values()) < 4000
    mate.world = World(disks=[disk])
    assert (mate.beat(), mate.world.group().commits.last("t", 0).offset) == (0, 99)  # type: ignore[union-attr]
    assert Mate(mate.world).world is mate.world


def test_segments_expire_as_a_whole() -> None:
    disk = StoredDisk("/d", 1 << 30)
    cluster = started([disk])
    cluster.controller.create("t", {0: [1]}, {"retention.ms": "1000", "segment.ms": "100"})
    for time in (1000, 1050, 1200):
        produce(cluster, build_batch([Record(0, time, None, b"%d" % time)]))
    cluster.time_ms = lambda: 2040
    cluster.check()
    assert values(fetch(cluster)) == [b"1000", b"1050", b"1200"]  # the younger one keeps the older one
    cluster.time_ms = lambda: 2100
    cluster.check()
    assert values(fetch(cluster, 2)) == [b"1200"]
    cluster.time_ms = lambda: 2300
    cluster.check()
    again = started([disk])
    (partition,) = again.controller.topics["t"].partitions
    assert [(one.start, one.end, one.size) for one in partition.online_logs().values()] == [(3, 3, 0)]
    assert produce(again, batch(b"next")).base_offset == 3


def test_deleted_records_stay_deleted_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    cluster = started([disk])
    cluster.controller.create("t", {0: [1]})
    for value in (b"a", b"b", b"c"):
        produce(cluster, batch(value))
    request = M.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(partition_index=0, offset=2)
    rows = (request.DeleteRecordsTopic(name="t", partitions=(part,)),)
    assert ask(cluster, request(topics=rows), 2).topics[0].partitions[0].low_watermark == 2
    again = started([disk])
    assert (values(fetch(again, 2)), fetch(again, 1).error_code) == ([b"c"], ErrorCode.OFFSET_OUT_OF_RANGE)
    again.delete(again.controller.topics["t"])
    again.controller.create("t", {0: [1]})
    assert produce(started([disk]), batch(b"new")).base_offset == 0


def test_quotas_are_there_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    cluster, entity = started([disk]), frozenset({("client-id", "c"), ("user", None)})
    cluster.controller.set_quota(entity, "producer_byte_rate", 1000.0)
    cluster.controller.set_quota(entity, "consumer_byte_rate", 5.0)
    cluster.controller.set_quota(entity, "consumer_byte_rate", None)
    for _ in range(2):
        assert started([disk]).quotas.values == {entity: {"producer_byte_rate": 1000.0}}


def test_the_time_of_the_broker_replaces_that_of_the_client() -> None:
    cluster = ServedCluster([Node(1)], Settings(), Random(1))
    cluster.controller.create("t", {0: [1]}, {"message.timestamp.type": "LogAppendTime"})
    cluster.time_ms = lambda: 5_000_000
    row = produce(cluster, batch(b"a", b"b"))
    assert (row.error_code, row.log_append_time_ms) == (0, 5_000_000)
    (found,) = kwire.parse_records(fetch(cluster).records)
    times = {record.timestamp for record in found.records()}
    assert (found.timestamp_type, times, found.faults) == ("LogAppendTime", {5_000_000}, ())


def test_logs_are_flushed_as_their_topic_says() -> None:
    topic = Topic("t", bytes(16), configs={"flush.messages": "3"})
    store = Segments({0: bytearray()}, 1 << 30)
    log = ReplicaLog(store, topic.limits)
    for _ in range(7):
        write(log, (None, b"v"))
    assert (store.flushed, log.unflushed) == (2, 1)
    for now, flushed in ((10, 2), (59, 2), (60, 3), (100, 3)):
        log.flush_by(now, 50)
        assert store.flushed == flushed
