"""Compares offset indexes and time indexes with the batches of their segments.

LogSegment.append adds an entry to both after each `log.index.interval.bytes`. OffsetIndex.append takes only ascending
offsets, TimeIndex.maybeAppend only later timestamps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ....codecs.records import RecordBatch
from ..disk_entry import DiskEntry, OffsetIndexEntry, TimeIndexEntry
from .inconsistency import Batches, Entries, Inconsistency


class _BatchWalk:
    """Iterates once over the batches of a log; also gives the first offset of compressed old messages."""

    def __init__(self, batches: Batches) -> None:
        self._batches = iter(batches)
        self.batch: RecordBatch | None = None
        self.first = 0
        self.end: int | None = None  # the offset after the last batch that was read
        self.next()

    def next(self) -> None:
        """Advance to the next batch; `batch` is None after the last one."""
        if self.batch is not None:
            self.end = self.batch.last_offset + 1
        self.batch = next(self._batches, None)
        if self.batch is not None:
            base = self.batch.base_offset
            self.first = base if base is not None else self.end or 0


def check_offset_index(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that each entry's position is the start of a batch.

    The offset of the entry must be in the batches before the position of the next entry. Without batches, only the
    order of the entries is checked.
    """
    walk = None if batches is None else _BatchWalk(batches)
    before: OffsetIndexEntry | None = None
    ordered: list[DiskEntry] = []
    for entry in entries:
        value = cast(OffsetIndexEntry, entry.value)
        if before is not None and (value.offset <= before.offset or value.position <= before.position):
            reason = (
                f"offset {value.offset} at {value.position} comes after offset {before.offset} at {before.position}"
            )
            yield Inconsistency(entry.position, "offset", reason)
            continue
        before = value
        if walk is not None:
            if ordered:
                yield from _check_chunk(ordered.pop(), walk, value.position)
            ordered.append(entry)
    if walk is not None and ordered:
        yield from _check_chunk(ordered[0], walk, None)


def _check_chunk(entry: DiskEntry, walk: _BatchWalk, stop: int | None) -> Iterator[Inconsistency]:
    value = cast(OffsetIndexEntry, entry.value)
    while walk.batch is not None and walk.batch.position < value.position:
        walk.next()
    if walk.batch is None:
        yield Inconsistency(entry.position, "position", f"the log has no batch at {value.position} or after it")
    elif walk.batch.position != value.position:
        where = f"the next one is at {walk.batch.position}"
        yield Inconsistency(entry.position, "position", f"no batch of the log begins at {value.position}; {where}")
    else:
        first = walk.first
        last = walk.batch.last_offset
        while walk.batch is not None and last < value.offset and (stop is None or walk.batch.position < stop):
            last = walk.batch.last_offset
            walk.next()
        if not first <= value.offset <= last:
            reason = f"offset {value.offset} is not in the batches from {value.position} on: {first} to {last}"
            yield Inconsistency(entry.position, "offset", reason)


def check_time_index(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that each entry's timestamp is the maximum of the batch with its offset and of all earlier batches.

    Without batches, only the order of the entries is checked.
    """
    walk = None if batches is None else _BatchWalk(batches)
    before: TimeIndexEntry | None = None
    greatest = -1
    for entry in entries:
        value = cast(TimeIndexEntry, entry.value)
        if before is not None and (value.timestamp <= before.timestamp or value.offset < before.offset):
            reason = (
                f"time {value.timestamp} of offset {value.offset} comes after {before.timestamp} of {before.offset}"
            )
            yield Inconsistency(entry.position, "timestamp", reason)
            continue
        before = value
        if walk is None:
            continue
        while walk.batch is not None and walk.batch.last_offset < value.offset:
            greatest = max(greatest, walk.batch.max_timestamp)
            walk.next()
        yield from _check_time(entry, walk, greatest)


def _check_time(entry: DiskEntry, walk: _BatchWalk, greatest: int) -> Iterator[Inconsistency]:
    value = cast(TimeIndexEntry, entry.value)
    batch = walk.batch
    if batch is None or walk.first > value.offset:
        end = f"; it ends at {walk.end}" if batch is None else ""
        yield Inconsistency(entry.position, "offset", f"no batch of the log holds offset {value.offset}{end}")
    elif batch.max_timestamp != value.timestamp:
        reason = f"the greatest timestamp of the batch with offset {value.offset} is {batch.max_timestamp}"
        yield Inconsistency(entry.position, "timestamp", reason)
    elif greatest > value.timestamp:
        yield Inconsistency(
            entry.position, "timestamp", f"a batch before offset {value.offset} has timestamp {greatest}"
        )
