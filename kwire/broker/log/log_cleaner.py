"""Compaction (`cleanup.policy=compact`), as by Kafka's LogCleaner: it keeps the last record of each key, removes
tombstones after some time, and preserves offsets and the offset range of batches. The last batch of each producer is
kept, without records if necessary, so that the producer's sequence numbers are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...codecs.records import Record, RecordBatch, build_batch
from ...errors import KwireError
from .producer_state_manager import AbortedTxn


@dataclass(slots=True)
class LogCleaner:
    """Compacts the batches of one log, which must be passed in offset order.

    Args:
        latest: the last offset of each key.
        aborted: the aborted transactions, whose records are removed.
        last_of: the base offset of the last batch of each producer.
        now_ms: the time, in milliseconds since 1970.
        delete_retention_ms: how long tombstones and transaction markers are kept, in milliseconds.
    """

    latest: Mapping[bytes, int]
    aborted: Sequence[AbortedTxn]
    last_of: Mapping[int, int]
    now_ms: int
    delete_retention_ms: int
    _with_data: set[int] = field(default_factory=set)  # producers with records since their last marker

    def clean(self, batch: RecordBatch) -> bytes:
        """Return the records of a batch that remain; empty if none remain."""
        if batch.is_control:
            return self._clean_marker(batch)
        try:
            records: list[Record] = list(batch.tolerant_records())
        except KwireError:
            return batch.data  # the codec is not installed
        kept = [] if _is_aborted(batch, self.aborted) else [record for record in records if self._stays(batch, record)]
        if kept and batch.is_transactional:
            self._with_data.add(batch.producer_id)
        is_last = self.last_of.get(batch.producer_id) == batch.base_offset
        if not kept and not is_last:
            return b""
        horizon = batch.delete_horizon
        if horizon is None and any(record.value is None for record in kept):
            horizon = self.now_ms + self.delete_retention_ms
        if len(kept) == len(records) and horizon == batch.delete_horizon:
            return batch.data
        return _rebuilt(batch, kept, horizon)

    def _stays(self, batch: RecordBatch, record: Record) -> bool:
        if record.key is None or self.latest.get(record.key, -1) > record.offset:
            return False
        return record.value is not None or batch.delete_horizon is None or batch.delete_horizon > self.now_ms

    def _clean_marker(self, batch: RecordBatch) -> bytes:
        has_data = batch.producer_id in self._with_data
        self._with_data.discard(batch.producer_id)
        if has_data or self.last_of.get(batch.producer_id) == batch.base_offset:
            return batch.data
        if batch.delete_horizon is None:
            return _rebuilt(batch, list(batch.tolerant_records()), self.now_ms + self.delete_retention_ms)
        return batch.data if batch.delete_horizon > self.now_ms else b""


def latest_offsets(batches: Iterable[RecordBatch], aborted: Sequence[AbortedTxn]) -> dict[bytes, int]:
    """Return the last offset of each key, ignoring records of aborted transactions.

    >>> from kwire import Record, build_batch, parse_records
    >>> data = build_batch([Record(0, key=b"a"), Record(1, key=b"b"), Record(2, key=b"a")])
    >>> latest_offsets(parse_records(data), [])
    {b'a': 2, b'b': 1}
    """
    offsets: dict[bytes, int] = {}
    for batch in batches:
        if batch.is_control or _is_aborted(batch, aborted):
            continue
        try:
            offsets.update((record.key, record.offset) for record in batch.tolerant_records() if record.key is not None)
        except KwireError:
            continue
    return offsets


def _is_aborted(batch: RecordBatch, aborted: Sequence[AbortedTxn]) -> bool:
    base = batch.base_offset or 0
    return batch.is_transactional and any(
        transaction.producer_id == batch.producer_id and transaction.first_offset <= base <= transaction.last_offset
        for transaction in aborted
    )


def _rebuilt(batch: RecordBatch, records: list[Record], horizon: int | None) -> bytes:
    return build_batch(
        records,
        compression=batch.compression or "none",
        timestamp_type=batch.timestamp_type,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        base_timestamp=None if horizon is not None else batch.base_timestamp,
        max_timestamp=None if records else batch.max_timestamp,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        delete_horizon=horizon,
    )
