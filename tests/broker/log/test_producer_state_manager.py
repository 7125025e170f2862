"""Idempotent producers: nothing twice, nothing out of order."""

from __future__ import annotations

import kwire
from kwire.broker.log.batch_stamps import stamp_batch
from kwire.broker.log.producer_state_manager import ProducerStateManager
from kwire.broker.transactions.transaction_coordinator import marker_batch
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


def check_sequence(producers: ProducerStateManager, sequence: int) -> int:
    (sent,) = kwire.parse_records(batch(b"a", producer_id=7, producer_epoch=1, base_sequence=sequence))
    return producers.check(sent)[0]


def test_numbers_begin_at_0_behind_a_marker_with_a_new_epoch() -> None:
    """Of two batches in flight, the second one is not accepted where the first one was refused (KIP-890)."""
    producers = ProducerStateManager()
    (first,) = kwire.parse_records(batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    producers.note(stamp_batch(first, 0, 0))
    producers.note(stamp_batch(marker_batch(7, 1, is_commit=True, coordinator_epoch=0, timestamp=1), 1, 0))
    assert check_sequence(producers, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert check_sequence(producers, 0) == ErrorCode.NONE


def test_any_number_goes_on_where_the_last_batch_was_deleted() -> None:
    producers = ProducerStateManager()
    producers.note(stamp_batch(marker_batch(7, 1, is_commit=True, coordinator_epoch=0, timestamp=1), 100, 0))
    assert check_sequence(producers, 5) == check_sequence(producers, 0) == ErrorCode.NONE
