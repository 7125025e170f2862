"""Fetch: whole batches, limits, long polls, and what is wrong."""

from __future__ import annotations

import pytest

from kwire.broker import Parked, Settings
from kwire.values import ErrorCode
from tests.broker.served import batch, cluster_of, fetch, fetching, produce, values


def test_a_fetch_waits_for_bytes() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    parked = cluster.answer(1, fetching(max_wait_ms=500, min_bytes=100), 11, now=1.0)
    assert isinstance(parked, Parked)
    assert cluster.next_deadline == 1.5
    produce(cluster, batch(b"a"))
    assert not parked.response
    produce(cluster, batch(b"b"))
    assert cluster.waiting.answered == [parked]
    assert values(parked.response.responses[0].partitions[0]) == [b"a", b"b"]


def test_a_fetch_does_not_wait_for_ever() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    parked = cluster.answer(1, fetching(max_wait_ms=500, min_bytes=1), 11, now=1.0)
    cluster.tick(1.4)
    assert not parked.response
    cluster.tick(1.5)
    assert parked.response.responses[0].partitions[0].records == b""
    assert cluster.next_deadline is None


def test_a_fetch_that_waits_is_answered_on_a_failure() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    parked = cluster.answer(1, fetching(max_wait_ms=500, min_bytes=1), 11, now=1.0)
    cluster.fail(*cluster.controller.nodes[1].log_dirs)
    assert parked.response.responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_limits_leave_the_first_batch_whole() -> None:
    cluster = cluster_of(settings=Settings(fetch_max_bytes=150))
    cluster.controller.create("t", {0: [1]})
    for value in (b"a", b"b", b"c"):
        produce(cluster, batch(value))
    assert values(fetch(cluster, most=1)) == [b"a"]
    assert values(fetch(cluster)) == [b"a", b"b"]


@pytest.mark.parametrize(("epoch", "code"), [(-1, 0), (0, 74), (1, 74), (2, 0), (3, 75)])
def test_a_client_that_believes_in_another_leader_epoch(epoch: int, code: int) -> None:
    cluster = cluster_of(3)
    cluster.controller.create("t", {0: [1, 2, 3]})
    produce(cluster, batch(b"a"))
    for node in (1, 2):
        cluster.fail(cluster.controller.nodes[node].log_dirs[0])
    assert cluster.controller.topics["t"].partitions[0].leader_epoch == 2
    assert fetch(cluster, node=3, epoch=epoch).error_code == code  # 74 is FENCED_LEADER_EPOCH, 75 UNKNOWN_LEADER_EPOCH


def test_what_is_wrong() -> None:
    cluster = cluster_of(2)
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a"))
    assert fetch(cluster, 2).error_code == fetch(cluster, -1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(cluster, 1).high_watermark == 1
    assert fetch(cluster, node=2).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch(cluster, topic="x").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(cluster, index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(cluster, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    unknown = cluster.answer(1, fetching(session_id=7, session_epoch=1), 11, now=0.0)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_consumers_are_sent_to_the_replica_in_their_rack() -> None:
    cluster = cluster_of(3, Settings(rack_aware_fetch=True))
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"a"))

    def preferred(rack: str) -> tuple[int, bool]:
        row = fetch(cluster, rack_id=rack)
        return row.preferred_read_replica, bool(row.records)

    assert [preferred(rack) for rack in ("r1", "r2", "r3", "")] == [(-1, True), (2, False), (-1, True), (-1, True)]
    assert values(fetch(cluster, node=2, rack_id="r2")) == [b"a"]
    assert fetch(cluster, node=3).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.stop(2)
    assert preferred("r2") == (-1, True)
