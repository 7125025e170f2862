"""A replica's log: where epochs end, and where two logs part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.kip112 import PartitionLog


def log_of(epochs: list[int]) -> PartitionLog:
    return PartitionLog([(epoch, offset) for offset, epoch in enumerate(sorted(epochs))])


LOGS = st.lists(st.integers(0, 4), max_size=8).map(log_of)


def test_truncation_lowers_the_high_watermark() -> None:
    log = PartitionLog([(0, "a"), (0, "b"), (1, "c")], 3)
    log.truncate(1)
    assert (log.end_offset, log.high_watermark, log.last_epoch) == (1, 1, 0)
    log.truncate(5)
    assert log.end_offset == 1
    assert PartitionLog().last_epoch == -1


@given(log=LOGS, epoch=st.integers(-1, 5))
def test_an_epoch_ends_where_the_next_begins(log: PartitionLog, epoch: int) -> None:
    end = log.end_offset_for(epoch)
    assert all(at <= epoch for at, _ in log.records[:end])
    assert all(at > epoch for at, _ in log.records[end:])


@given(log=LOGS)
def test_a_log_agrees_with_its_own_beginnings(log: PartitionLog) -> None:
    for offset in range(log.end_offset + 1):
        assert log.agrees_at(offset, log.records[offset - 1][0] if offset else -1)
    assert not log.agrees_at(log.end_offset + 1, 9)
