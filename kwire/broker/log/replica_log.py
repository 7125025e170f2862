"""The log of one replica: batches by offset and time, in segments, with retention and compaction.

Retention deletes whole segments, and compaction skips the last one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from ...codecs.records import RecordBatch, parse_records
from ...errors import KwireError
from .batch_recovery import LogDamage, valid_prefix
from .disk import Store
from .log_cleaner import LogCleaner, latest_offsets
from .producer_state_manager import ProducerStateManager

SEGMENT = 1 << 30  # the default of segment.bytes, in bytes
NEVER = 2**63 - 1  # the highest number, which disables a limit in Kafka's configs


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """A batch in the log: its offsets, header fields, size in bytes, and position in the store."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    crc: int
    size: int
    place: Any

    @property
    def identity(self) -> tuple[int, ...]:
        """The fields that are identical in all replicas."""
        return self.base_offset, self.last_offset, self.leader_epoch, self.crc, self.size


class SegmentLimits(NamedTuple):
    """When segments are rolled and flushed, from the configs of the topic.

    Attributes:
        segment_bytes: the maximum size of a segment in bytes.
        segment_ms: the maximum difference between a segment's timestamps, in milliseconds.
        flush_messages: the number of records after which they are flushed to disk.
    """

    segment_bytes: int = SEGMENT
    segment_ms: int = NEVER
    flush_messages: int = NEVER


NO_LIMITS = SegmentLimits()


class ReplicaLog:
    """The log of a replica.

    Args:
        store: stores the bytes of batches.
        limits: the limits of its segments; the caller replaces them when the topic's configs change.

    Attributes:
        segments: the first offset of each segment.
        cleaned_to: the offset up to which the log is compacted.
        unflushed: the number of records written since the last flush.
        flush_due_ms: when these records must be flushed, in milliseconds since 1970; set by the caller.
        start, end: the first available offset, and the offset of the next record.
        size: the size of all batches in bytes.
        producers: the last batches of producers, and their transactions.
        damage: the reason why some bytes in the store are not part of the log, until they are truncated; empty if there
            are none.
        has_gaps: whether offsets are missing inside a segment, as after compaction.
        holes: ranges of missing offsets between segments, as first and last.
        epochs_ascend: whether leader epochs never decrease; checksums do not cover them.

    >>> from kwire import Record, build_batch, parse_records
    >>> from kwire.broker.log.batch_stamps import stamp_batch
    >>> from kwire.broker.log.memory_disk import MemoryStore
    >>> log = ReplicaLog(MemoryStore())
    >>> (batch,) = parse_records(build_batch([Record(0, value=b"a"), Record(1, value=b"b")]))
    >>> log.append(stamp_batch(batch, log.end, 5)), log.append(stamp_batch(batch, log.end, 5)), log.end
    (0, 2, 4)
    >>> [one.base_offset for one in parse_records(log.read(2, 1000))]
    [2]
    """

    def __init__(self, store: Store, limits: SegmentLimits = NO_LIMITS) -> None:
        self.store = store
        self.limits = limits
        self._load()

    def _load(self) -> None:
        """Reset the state, and read it from the store again."""
        self.entries: list[LogEntry] = []
        self.producers: ProducerStateManager = ProducerStateManager()
        self.start: int = 0
        self.end: int = 0
        self.size: int = 0
        self.damage: str = ""
        self.has_gaps: bool = False
        self.epochs_ascend: bool = True
        self.holes: list[tuple[int, int]] = []
        self.segments: list[int] = []
        self._active_size, self._active_time = 0, -1
        self.cleaned_to: int = 0
        self.unflushed: int = 0
        self.flush_due_ms: int | None = None
        for item in valid_prefix(self.store.batches(), self.store.last_segment()):
            if isinstance(item, LogDamage):
                self.damage = item.reason
                return  # nothing is known of the segments behind it
            base = item.batch.base_offset or 0
            self._look(base, item.batch.partition_leader_epoch, item.segment_start)
            if item.segment_start is not None or not self.segments:
                self._begin_segment(base)
            self._note(item.batch, item.place)
        last = self.store.last_segment()
        if last > self.end:  # the last segment is empty: all earlier ones have expired
            self.start = self.end = last

    def _begin_segment(self, base: int) -> None:
        self.segments.append(base)
        self._active_size, self._active_time = 0, -1

    def _look(self, base: int, epoch: int, segment_start: int | None) -> None:
        """Update the attributes about gaps and epochs for the next batch."""
        if not self.entries:
            return
        self.epochs_ascend &= epoch >= self.entries[-1].leader_epoch
        if segment_start is not None and segment_start > self.end:
            self.holes.append((self.end, segment_start - 1))
        self.has_gaps |= base > (self.end if segment_start is None else segment_start)

    def append(self, batch: RecordBatch) -> int:
        """Append a batch with newly assigned offsets; return its first offset. Raises OSError if the disk fails."""
        base, limits = batch.base_offset or 0, self.limits
        is_full = self._active_size + len(batch.data) > limits.segment_bytes
        is_old = self._active_time >= 0 and batch.max_timestamp - self._active_time > limits.segment_ms
        if not self.segments or (self._active_size and (is_full or is_old)):
            if self.segments:
                self.store.roll(base)
            self._begin_segment(base)
        self._note(batch, self.store.append(batch.data, base))
        self.unflushed += batch.last_offset_delta + 1
        if self.unflushed >= limits.flush_messages:
            self.flush()
        return base

    def flush(self) -> None:
        """Flush appended batches to disk. Raises OSError if the disk fails."""
        self.store.flush()
        self.unflushed, self.flush_due_ms = 0, None

    def _note(self, batch: RecordBatch, location: Any) -> None:
        size = len(batch.data)
        self.entries.append(_entry(batch, location))
        if len(self.entries) == 1:
            self.start = max(self.start, batch.base_offset or 0)
        if not self._active_size:
            self._active_time = batch.max_timestamp
        self._active_size += size
        self.end = batch.last_offset + 1
        self.size += size
        self.producers.note(batch)

    @property
    def stable_end(self) -> int:
        """The last stable offset, below which all transactions have ended."""
        return self.producers.stable_end(self.end)

    def measure(self, offset: int, size_limit: int, *, at_least_one: bool = True, end: int | None = None) -> int:
        """Return the number of bytes that `read` would return.

        Args:
            offset: the offset of the first record to read.
            size_limit: the maximum number of bytes.
            at_least_one: whether to include the first batch even if it is larger, so that the reader makes progress.
            end: the offset at which reading stops; None for the end of the log.
        """
        size = 0
        for index in range(self._place(offset), len(self.entries)):
            more = self.entries[index].size
            if end is not None and self.entries[index].last_offset >= end:
                break
            if size + more > size_limit and (size or not at_least_one):
                break
            size += more
        return size

    def entries_from(self, offset: int, size: int) -> list[LogEntry]:
        """Return the entries of the batches that `read` would return."""
        first = last = self._place(offset)
        while last < len(self.entries) and self.entries[last].size <= size:
            size -= self.entries[last].size
            last += 1
        return self.entries[first:last]

    def read(self, offset: int, size: int) -> bytes:
        """Return whole batches of at most `size` bytes in total, starting with the batch that contains an offset."""
        entries = self.entries_from(offset, size)
        return self.store.read([entry.place for entry in entries]) if entries else b""

    def end_of(self, offset: int, size: int) -> int:
        """Return the offset after the batches that `read` returns."""
        index = self._place(offset)
        end = offset
        while index < len(self.entries) and self.entries[index].size <= size:
            size -= self.entries[index].size
            end = self.entries[index].last_offset + 1
            index += 1
        return end

    def _place(self, offset: int) -> int:
        """Return the index of the batch that contains an offset, or of the next batch."""
        return bisect_left(self.entries, offset, key=lambda entry: entry.last_offset)

    def find_time(self, timestamp: int) -> tuple[int, int, int]:
        """Return offset, timestamp and leader epoch of the first record with at least this timestamp; -1 for each if
        there is none."""
        for entry in self.entries:
            if entry.max_timestamp >= timestamp:
                return self._record_of(entry, timestamp)
        return -1, -1, -1

    def find_newest(self) -> tuple[int, int, int]:
        """Return offset, timestamp and leader epoch of the record with the highest timestamp; -1 for each if there is
        none."""
        newest = max(self.entries, key=lambda entry: entry.max_timestamp, default=None)
        return self._record_of(newest, newest.max_timestamp) if newest else (-1, -1, -1)

    def _record_of(self, entry: LogEntry, timestamp: int) -> tuple[int, int, int]:
        stamped = entry.base_offset, entry.max_timestamp
        try:
            for batch in parse_records(self.store.read([entry.place])):
                records = (record for record in batch.tolerant_records() if (record.timestamp or 0) >= timestamp)
                stamped = next(((record.offset, record.timestamp or 0) for record in records), stamped)
        except KwireError:
            pass  # the codec is not installed: only the offset of the batch is known
        return *stamped, entry.leader_epoch

    def like(self, other: ReplicaLog) -> int:
        """Return how many batches at the start of the log are identical to another log's, or precede its start."""
        count = self._place(other.start)
        index = other._place(self.entries[count].base_offset) if count < len(self.entries) else 0
        for entry, theirs in zip(self.entries[count:], other.entries[index:], strict=False):
            if entry.identity != theirs.identity:
                break
            count += 1
        return count

    def truncate(self, count: int) -> None:
        """Keep only the first `count` batches, and remove damaged bytes. Raises OSError if the disk fails."""
        self.store.truncate(self.entries[count - 1].place if count else None)
        self._load()

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch at an offset; at the end of the log, the epoch of the last batch; -1 if the log is
        empty.
        """
        if not self.entries:
            return -1
        return self.entries[min(self._place(offset), len(self.entries) - 1)].leader_epoch

    def delete_before(self, offset: int) -> None:
        """Delete the batches that end before an offset, which becomes the log start offset; the end offset does not
        change.
        """
        if offset <= self.start:
            return
        count = self._place(offset)
        self.size -= sum(entry.size for entry in self.entries[:count])
        del self.entries[:count]
        self._begin_at(offset)

    def _begin_at(self, offset: int) -> None:
        self.start = offset
        while len(self.segments) > 1 and self.segments[1] <= offset:
            del self.segments[0]
        self.store.drop_before(offset)
        self.producers.drop_before(offset)

    def expire(self, before_ms: int) -> None:
        """Delete the oldest segments whose records are all older than a time, in milliseconds since 1970.

        If this includes the last segment, a new empty segment is rolled, as in Kafka.
        """
        offset = self.start
        for base, end in pairwise([*self.segments, self.end]):
            if any(entry.max_timestamp >= before_ms for entry in self._between(base, end)):
                break
            offset = end
        if offset == self.end > self.start:
            self.store.roll(self.end)
            self._begin_segment(self.end)
        self.delete_before(offset)

    def _between(self, base: int, end: int) -> list[LogEntry]:
        return self.entries[self._place(base) : self._place(end)]

    def flush_by(self, now_ms: int, flush_ms: int) -> None:
        """Flush records whose flush time (`flush.ms`) has passed; times are in milliseconds. Raises OSError if the disk
        fails."""
        if self.unflushed and self.flush_due_ms is None:
            self.flush_due_ms = now_ms + flush_ms
        if self.flush_due_ms is not None and self.flush_due_ms <= now_ms:
            self.flush()

    def is_dirty(self, ratio: float, before_ms: int) -> bool:
        """Return whether the closed segments should be compacted.

        Args:
            ratio: the minimum ratio of bytes not yet compacted.
            before_ms: records older than this time, in milliseconds since 1970, require compaction; the last segment is
                closed if necessary.
        """
        dirty = self.entries[self._place(self.cleaned_to) :]
        is_old = bool(dirty) and 0 <= dirty[0].max_timestamp < before_ms
        if is_old and self._active_size:
            self.store.roll(self.end)
            self._begin_segment(self.end)
        if len(self.segments) < 2:
            return False
        closed = self._place(self.segments[-1])
        size = sum(entry.size for entry in self.entries[:closed])
        new = sum(entry.size for entry in self.entries[self._place(self.cleaned_to) : closed])
        return new > 0 and (is_old or new >= ratio * size)

    def compact(self, now_ms: int, delete_retention_ms: int, least_lag_ms: int = 0) -> None:
        """Compact closed segments: keep only the last record of each key. Raises OSError if the disk fails.

        Args:
            now_ms: the time, in milliseconds since 1970.
            delete_retention_ms: how long tombstones are kept after their first compaction, in milliseconds.
            least_lag_ms: segments with a record younger than this, in milliseconds, and all later segments are not
                compacted.
        """
        closed = [
            (base, self._between(base, end))
            for base, end in pairwise(self.segments)
            if end <= self.stable_end and base >= self.start
        ]
        young = (
            index
            for index, (_, entries) in enumerate(closed)
            if least_lag_ms and any(entry.max_timestamp > now_ms - least_lag_ms for entry in entries)
        )
        closed = closed[: next(young, None)]
        if not closed:
            return
        aborted = self.producers.aborted
        latest = latest_offsets((batch for _, entries in closed for batch in self._batches(entries)), aborted)
        cleaner = LogCleaner(latest, aborted, self._last_batches(), now_ms, delete_retention_ms)
        end = closed[-1][1][-1].last_offset + 1 if closed[-1][1] else self.cleaned_to
        kept = [entry for base, entries in closed for entry in self._compact(cleaner, base, entries)]
        rest = self.entries[self._place(end) :]
        self.entries = kept + rest
        self.size = sum(entry.size for entry in self.entries)
        bases = {entry.base_offset for entry in kept}
        self.segments = [
            base
            for base, following in pairwise([*self.segments, self.end + 1])
            if base >= end or any(base <= offset < following for offset in bases)
        ]
        self.cleaned_to = end

    def _batches(self, entries: list[LogEntry]) -> list[RecordBatch]:
        return list(parse_records(self.store.read([entry.place for entry in entries]))) if entries else []

    def _last_batches(self) -> dict[int, int]:
        """Return the base offset of the last batch of each producer whose last batch is in a closed segment."""
        offsets: dict[int, int] = {}
        for batch in self._batches(self.entries):
            if batch.producer_id >= 0:
                offsets[batch.producer_id] = batch.base_offset or 0
        return offsets

    def _compact(self, cleaner: LogCleaner, base: int, entries: list[LogEntry]) -> list[LogEntry]:
        """Rewrite a segment if any of its records are removed."""
        batches = self._batches(entries)
        cleaned = [cleaner.clean(batch) for batch in batches]
        if all(data == batch.data for data, batch in zip(cleaned, batches, strict=True)):
            return entries
        left = [cleaned_batch for data in cleaned if data for cleaned_batch in parse_records(data)]
        places = self.store.rewrite(base, [cleaned_batch.data for cleaned_batch in left])
        return [_entry(cleaned_batch, location) for cleaned_batch, location in zip(left, places, strict=True)]

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the highest leader epoch, up to `epoch`, that has batches, and their end offset; -1 for both if there
        is none."""
        index = bisect_right(self.entries, epoch, key=lambda entry: entry.leader_epoch)
        if not index:
            return epoch, self.start
        end = self.entries[index].base_offset if index < len(self.entries) else self.end
        return self.entries[index - 1].leader_epoch, end

    def drop(self, retention_bytes: int) -> None:
        """Delete the oldest batches, except the last one, until at most `retention_bytes` bytes remain."""
        count, size = 0, self.size
        while size > retention_bytes and count < len(self.entries) - 1:
            size -= self.entries[count].size
            count += 1
        if count:
            self.size = size
            del self.entries[:count]
            self._begin_at(self.entries[0].base_offset)


def _entry(batch: RecordBatch, location: Any) -> LogEntry:
    return LogEntry(
        batch.base_offset or 0,
        batch.last_offset,
        batch.max_timestamp,
        batch.partition_leader_epoch,
        batch.crc,
        len(batch.data),
        location,
    )
