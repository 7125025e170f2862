"""Compares transaction indexes with the aborted transactions of their segments.

LogSegment.updateTxnIndex adds an AbortedTxn to the TransactionIndex for each abort marker (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ....codecs.records import Record, RecordBatch
from ....protocol.nested import decode_control_record
from ..disk_entry import AbortedTransaction, DiskEntry
from .inconsistency import Batches, Entries, Inconsistency

_ABORT = 0  # the type of the control record that ends an aborted transaction


def check_transaction_index(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that each entry is an aborted transaction of the log, and that each aborted transaction has an entry."""
    walk = _check_entries(entries)
    if batches is None:
        yield from (problem for problem, _ in walk if problem is not None)
        return
    problem, entry = next(walk, (None, None))
    for first, marker in _find_aborted(batches):
        while entry is not None and _last(entry) < marker.last_offset:
            yield from _report_no_marker(problem, entry)
            problem, entry = next(walk, (None, None))
        if entry is not None and _last(entry) == marker.last_offset:
            yield from _compare_marker(problem, entry, first, marker)
            problem, entry = next(walk, (None, None))
        elif first is not None:
            reason = f"the transaction of producer {marker.producer_id}, offsets {first} to {marker.last_offset}, "
            yield Inconsistency(0, "", f"{reason}was aborted and is not in the index")
    while entry is not None:
        yield from _report_no_marker(problem, entry)
        problem, entry = next(walk, (None, None))


def _check_entries(entries: Entries) -> Iterator[tuple[Inconsistency | None, DiskEntry]]:
    """Yield entries, each with its internal inconsistencies."""
    before = -1
    for entry in entries:
        value = cast(AbortedTransaction, entry.value)
        problem = None
        if value.version != 0:
            problem = Inconsistency(entry.position, "version", f"version {value.version}; 0 is known")
        elif value.last_offset <= before:
            reason = f"offset {value.last_offset} comes after offset {before}"
            problem = Inconsistency(entry.position, "last_offset", reason)
        elif not 0 <= value.first_offset <= value.last_offset:
            reason = f"the transaction would end at {value.last_offset}, before it begins at {value.first_offset}"
            problem = Inconsistency(entry.position, "first_offset", reason)
        elif not 0 <= value.last_stable_offset <= value.last_offset + 1:
            reason = f"the last stable offset {value.last_stable_offset} is after the transaction's end"
            problem = Inconsistency(entry.position, "last_stable_offset", reason)
        before = max(before, value.last_offset)
        yield problem, entry


def _last(entry: DiskEntry) -> int:
    return cast(AbortedTransaction, entry.value).last_offset


def _report_no_marker(problem: Inconsistency | None, entry: DiskEntry) -> Iterator[Inconsistency]:
    reason = f"the log has no abort marker at offset {_last(entry)}"
    yield problem or Inconsistency(entry.position, "last_offset", reason)


def _compare_marker(
    problem: Inconsistency | None, entry: DiskEntry, first: int | None, marker: RecordBatch
) -> Iterator[Inconsistency]:
    value = cast(AbortedTransaction, entry.value)
    if problem is not None:
        yield problem
    elif value.producer_id != marker.producer_id:
        reason = f"the marker at offset {marker.last_offset} is of producer {marker.producer_id}"
        yield Inconsistency(entry.position, "producer_id", reason)
    elif first is not None and value.first_offset != first:
        yield Inconsistency(entry.position, "first_offset", f"the transaction began at offset {first}")


def _find_aborted(batches: Batches) -> Iterator[tuple[int | None, RecordBatch]]:
    """Yield the start of each aborted transaction (None if its records are not in the log) and its marker."""
    begun: dict[int, int] = {}
    for batch in batches:
        if batch.is_control and batch.producer_id >= 0:
            first = begun.pop(batch.producer_id, None)
            if _read_marker(batch) == _ABORT:
                yield first, batch
        elif batch.is_transactional and batch.base_offset is not None:
            begun.setdefault(batch.producer_id, batch.base_offset)


def _read_marker(batch: RecordBatch) -> int | None:
    """Return the type of the control record of a batch; None if it cannot be read."""
    first = next(batch.records(salvage=True), None)
    if not isinstance(first, Record) or first.key is None or len(first.key) < 4:
        return None
    return decode_control_record(first.key, None).type
