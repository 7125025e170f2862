"""Logs: how much is read, what two of them have in common."""

from __future__ import annotations

from typing import Any

import kwire
from kwire.broker.log.batch_recovery import StoredBatch
from kwire.broker.log.batch_stamps import stamp_batch
from kwire.broker.log.memory_disk import MemoryStore
from kwire.broker.log.replica_log import ReplicaLog
from tests.broker.served import batch


class Keeping(MemoryStore):
    """Memory that a log can be read from again."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def append(self, data: bytes, base_offset: int) -> bytes:
        self.kept.append(data)
        return data

    def batches(self) -> Any:
        return [StoredBatch(one, data) for data in self.kept for one in kwire.parse_records(data)]

    def truncate(self, last: bytes | None) -> None:
        del self.kept[self.kept.index(last) + 1 if last is not None else 0 :]


def log_of(*epochs: int, start: int = 0) -> ReplicaLog:
    """A log with a batch of two records for each epoch."""
    log = ReplicaLog(Keeping())
    for epoch in epochs:
        offset = max(log.end, start)
        (one,) = kwire.parse_records(batch(b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=offset))
        log.append(stamp_batch(one, offset, epoch))
    return log


def test_whole_batches_are_measured_and_read() -> None:
    log = log_of(0, 0, 0)
    size = log.entries[0].size
    assert [log.measure(offset, 10 * size) // size for offset in (0, 1, 2, 5, 6)] == [3, 3, 2, 1, 0]
    assert [log.measure(0, most) // size for most in (2 * size, 2 * size - 1, 1)] == [2, 1, 1]
    assert log.measure(0, 1, at_least_one=False) == 0
    assert [len(log.read(offset, log.measure(offset, most))) // size for offset, most in ((0, 1), (2, 9999))] == [1, 2]


def test_what_two_logs_have_in_common() -> None:
    assert log_of(0, 0, 1).like(log_of(0, 0, 1, 1)) == 3
    assert log_of(0, 0, 1).like(log_of(0, 0, 2)) == 2
    assert log_of(0, 0, 1).like(log_of(0)) == 1
    assert log_of(0, 0, 1).like(log_of(0, start=2)) == 2  # the first one is older than all that the other has


def test_a_log_that_is_truncated_forgets_what_producers_wrote() -> None:
    log = log_of(0, 0, 0)
    (second,) = kwire.parse_records(batch(b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=2))
    assert log.producers.check(second) == (0, 2)
    log.truncate(1)
    assert (log.end, len(log.entries), log.producers.check(second)) == (2, 1, (0, None))
    log.truncate(0)
    assert (log.start, log.end, log.size) == (0, 0, 0)


def test_an_empty_log_has_nothing_that_expires() -> None:
    log = log_of()
    log.expire(1 << 60)
    assert (log.start, log.end, log.segments) == (0, 0, [])
