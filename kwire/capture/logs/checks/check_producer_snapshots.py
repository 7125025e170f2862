"""Compares producer snapshots with the producers of the log before them.

The state of a producer is that of Kafka's ProducerStateEntry, as ProducerStateManager builds it when it replays a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....codecs.records import RecordBatch
from ..disk_entry import DiskEntry, SnapshotHeader
from .inconsistency import Batches, Entries, Inconsistency

_SEQUENCES = 1 << 31  # after 2**31 - 1 comes 0 (DefaultRecordBatch.incrementSequence)


@dataclass(slots=True)
class _Producer:
    """The state of a producer according to the log."""

    epoch: int = -1
    last: RecordBatch | None = None
    begun: int | None = None
    closed: bool = False


@dataclass(slots=True)
class _Producers:
    """The states of producers according to the batches, as a broker that replays the log builds them."""

    by_id: dict[int, _Producer] = field(default_factory=dict)

    def replay(self, batch: RecordBatch) -> None:
        """Update the state of the producer of a batch, as ProducerAppendInfo.append does."""
        if batch.producer_id < 0:
            return
        producer = self.by_id.setdefault(batch.producer_id, _Producer())
        if batch.producer_epoch != producer.epoch:  # ProducerStateEntry.maybeUpdateProducerEpoch
            producer.epoch = batch.producer_epoch
            producer.last = None
        if batch.is_control:  # ProducerAppendInfo.appendEndTxnMarker
            producer.begun = None
            producer.closed = True
            return
        producer.last = batch
        if batch.is_transactional and producer.begun is None:
            producer.begun = batch.base_offset


def check_producer_snapshot(entries: Entries, batches: Batches | None, base: int) -> Iterator[Inconsistency]:
    """Check that each producer appears once in a snapshot, with its last batches in the log before the snapshot's
    offset.
    """
    producers = _Producers()
    for batch in batches or ():
        if batch.last_offset >= base:
            break
        producers.replay(batch)
    seen = set[int]()
    for entry in entries:
        yield from (Inconsistency(fault.offset, fault.path, fault.reason) for fault in entry.faults)
        state: Any = entry.value
        if isinstance(state, SnapshotHeader):
            continue
        if state.producer_id in seen:
            yield Inconsistency(entry.position, "producer_id", f"producer {state.producer_id} occurs twice")
        seen.add(state.producer_id)
        if max(state.last_offset, state.current_txn_first_offset) >= base:
            reason = f"the snapshot is of offsets below {base}"
            yield Inconsistency(entry.position, "last_offset", reason)
        elif state.producer_id in producers.by_id:
            yield from _compare_producer(entry, producers.by_id[state.producer_id])


def _compare_producer(entry: DiskEntry, known: _Producer) -> Iterator[Inconsistency]:
    """Compare a producer in a snapshot with its state in the log."""
    state: Any = entry.value
    expected = {"epoch": known.epoch, "last_offset": -1, "last_sequence": -1}
    if known.last is not None:
        delta = known.last.last_offset - (known.last.base_offset or 0)
        expected["last_offset"] = known.last.last_offset
        expected["last_sequence"] = (known.last.base_sequence + delta) % _SEQUENCES
        expected["offset_delta"] = delta
    if known.begun is not None or known.closed:
        expected["current_txn_first_offset"] = -1 if known.begun is None else known.begun
    for name, value in expected.items():
        if getattr(state, name) != value:
            reason = f"{getattr(state, name)} of producer {state.producer_id}; its last batch in the log has {value}"
            yield Inconsistency(entry.position, name, reason)
