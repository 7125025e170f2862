"""Idempotent producers: nothing twice, nothing out of order."""

from __future__ import annotations

from kwire.values import ErrorCode
from tests.broker.served import batch, cluster_of, fetch, produce, values


def write(cluster: object, value: bytes, sequence: int, epoch: int = 0) -> tuple[int, int]:
    row = produce(cluster, batch(value, producer_id=7, producer_epoch=epoch, base_sequence=sequence))  # type: ignore[arg-type]
    return row.error_code, row.base_offset


def test_a_batch_is_written_once() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert [write(cluster, b"a", 0), write(cluster, b"b", 1), write(cluster, b"a", 0)] == [(0, 0), (0, 1), (0, 0)]
    assert values(fetch(cluster)) == [b"a", b"b"]


def test_gaps_and_old_epochs_are_refused() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert write(cluster, b"a", 0, epoch=1) == (0, 0)
    assert write(cluster, b"c", 2, epoch=1) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert write(cluster, b"c", 1, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert write(cluster, b"c", 1, epoch=2) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert write(cluster, b"c", 0, epoch=2) == (0, 1)


def test_numbers_begin_again_behind_the_highest() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert write(cluster, b"a", 2**31 - 1) == (0, 0)
    assert write(cluster, b"b", 0) == (0, 1)
