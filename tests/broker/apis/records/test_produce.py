"""Produce: what is written, what is refused, and with which code."""

from __future__ import annotations

import pytest

from kwire.broker import Settings
from kwire.values import ErrorCode
from tests.broker.served import batch, cluster_of, fetch, produce, values


def test_offsets_go_on() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert produce(cluster, batch(b"a", b"b")).base_offset == 0
    assert produce(cluster, batch(b"c")).base_offset == 2
    assert values(fetch(cluster)) == [b"a", b"b", b"c"]
    assert values(fetch(cluster, 2)) == [b"c"]


def test_no_answer_is_due_without_acks() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert produce(cluster, batch(b"a"), acks=0) is None
    assert values(fetch(cluster)) == [b"a"]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (None, ErrorCode.INVALID_RECORD),
        (b"garbage of some length, and no batch at all", ErrorCode.CORRUPT_MESSAGE),
        (batch(b"a")[:-1] + b"\xff", ErrorCode.CORRUPT_MESSAGE),
        (batch(b"a")[:-1], ErrorCode.INVALID_RECORD),
        (batch(b"a") * 2, ErrorCode.INVALID_RECORD),
        (batch(b"a", magic=1), ErrorCode.INVALID_RECORD),
        (batch(b"a", is_control=True), ErrorCode.INVALID_RECORD),
        (
            batch(b"a", is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        (batch(b"a", is_transactional=True), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (batch(b"a", producer_id=1), ErrorCode.INVALID_RECORD),
        (batch(b"a", last_offset=7), ErrorCode.INVALID_RECORD),
        (batch(b"a" * 3000), ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_what_is_no_good_batch_is_refused(records: bytes | None, code: int) -> None:
    cluster = cluster_of(settings=Settings(max_message_bytes=2000))
    cluster.controller.create("t", {0: [1]})
    row = produce(cluster, records)
    assert (row.error_code, row.base_offset) == (code, -1)
    assert fetch(cluster).records == b""


def test_where_nothing_is_written() -> None:
    cluster = cluster_of(2)
    cluster.controller.create("t", {0: [2]})
    assert produce(cluster, batch(b"a"), topic="none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(cluster, batch(b"a"), topic="", version=13).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    for index in (1, -1):
        assert produce(cluster, batch(b"a"), index=index).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(cluster, batch(b"a")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce(cluster, batch(b"a"), node=2, acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert produce(cluster, batch(b"a"), node=2, version=2).error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_too_few_in_sync() -> None:
    cluster = cluster_of(2, Settings(min_insync_replicas=2))
    cluster.controller.create("t", {0: [1, 2]})
    assert produce(cluster, batch(b"a")).error_code == ErrorCode.NONE
    cluster.fail(*cluster.controller.nodes[2].log_dirs)
    assert produce(cluster, batch(b"a")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(cluster, batch(b"a"), acks=1).error_code == ErrorCode.NONE


def test_all_replicas_are_enough_where_there_are_fewer_than_min_insync_replicas() -> None:
    """Kafka: Partition.effectiveMinIsr, since 3.7."""
    cluster = cluster_of(2, Settings(min_insync_replicas=2))
    cluster.controller.create("t", {0: [1]})
    assert produce(cluster, batch(b"a")).error_code == ErrorCode.NONE


def test_old_batches_are_dropped() -> None:
    cluster = cluster_of(settings=Settings(retention_bytes=200))
    cluster.controller.create("t", {0: [1]})
    for _ in range(10):
        produce(cluster, batch(b"a"))
    log = cluster.controller.topics["t"].partitions[0].log_at(1)
    assert not isinstance(log, int)
    assert (log.size <= 200, log.end, log.start > 5) == (True, 10, True)
    assert fetch(cluster).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert len(values(fetch(cluster, log.start))) == 10 - log.start
