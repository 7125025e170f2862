"""One replica's log: batches by offset and time, up to its last stable offset where only what is committed is read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

import msgspec

from ..errors import KwireError
from ..records import RecordBatch, parse_records
from .producers import Producers
from .storage import Damage, Store, believed


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch of the log: offsets, header fields, size in bytes, and its position in the store."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    crc: int
    size: int
    place: Any

    @property
    def identity(self) -> tuple[int, ...]:
        """The fields that are equal in all replicas."""
        return self.base_offset, self.last_offset, self.leader_epoch, self.crc, self.size


class Log:
    """A log.

    Attributes:
        start, end: the first available offset, and the next offset to be written.
        size: bytes of all batches.
        producers: what producers wrote last, and their transactions.
        damage: why bytes of the store are not part of the log, until it is truncated; empty if all are.
        has_gaps: whether offsets are missing inside a segment, as after compaction.
        holes: ranges of missing offsets between segments, as first and last.
        epochs_ascend: whether leader epochs never decrease; checksums do not cover them.

    >>> from kwire import Record, build_batch
    >>> from kwire.broker.storage import MemoryStore
    >>> log = Log(MemoryStore())
    >>> (batch,) = parse_records(build_batch([Record(0, value=b"a"), Record(1, value=b"b")]))
    >>> log.append(stamped(batch, log.end, 5)), log.append(stamped(batch, log.end, 5)), log.end
    (0, 2, 4)
    >>> [one.base_offset for one in parse_records(log.read(2, 1000))]
    [2]
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._read()

    def _read(self) -> None:
        self.entries: list[Entry] = []
        self.producers: Producers = Producers()
        self.start: int = 0
        self.end: int = 0
        self.size: int = 0
        self.damage: str = ""
        self.has_gaps: bool = False
        self.epochs_ascend: bool = True
        self.holes: list[tuple[int, int]] = []
        for found in believed(self.store.batches()):
            if isinstance(found, Damage):
                self.damage = found.reason
                return
            self._look(found.batch.base_offset or 0, found.batch.partition_leader_epoch, found.segment_start)
            self._note(found.batch, found.place)

    def _look(self, base: int, epoch: int, segment_start: int | None) -> None:
        """Update these attributes for the next batch."""
        if not self.entries:
            return
        self.epochs_ascend &= epoch >= self.entries[-1].leader_epoch
        if segment_start is not None and segment_start > self.end:
            self.holes.append((self.end, segment_start - 1))
        self.has_gaps |= base > (self.end if segment_start is None else segment_start)

    def append(self, batch: RecordBatch) -> int:
        """Append a batch with its offsets; return the first. Raises OSError if the disk fails."""
        base = batch.base_offset or 0
        self._note(batch, self.store.append(batch.data, base))
        return base

    def _note(self, batch: RecordBatch, place: Any) -> None:
        size = len(batch.data)
        self.entries.append(
            Entry(
                batch.base_offset or 0,
                batch.last_offset,
                batch.max_timestamp,
                batch.partition_leader_epoch,
                batch.crc,
                size,
                place,
            )
        )
        if len(self.entries) == 1:
            self.start = max(self.start, batch.base_offset or 0)
        self.end = batch.last_offset + 1
        self.size += size
        self.producers.note(batch)

    @property
    def stable_end(self) -> int:
        """The offset below which all transactions have ended."""
        return self.producers.stable_end(self.end)

    def measure(self, offset: int, most: int, *, at_least_one: bool = True, end: int | None = None) -> int:
        """Return how many bytes `read` returns.

        Args:
            offset: of the first record to read.
            most: the largest number of bytes.
            at_least_one: include the first batch even if it is larger, so that the reader makes progress.
            end: give only batches below this offset; None gives all.
        """
        size = 0
        for place in range(self._place(offset), len(self.entries)):
            more = self.entries[place].size
            if end is not None and self.entries[place].last_offset >= end:
                break
            if size + more > most and (size or not at_least_one):
                break
            size += more
        return size

    def read(self, offset: int, size: int) -> bytes:
        """Return at most so many bytes of whole batches, from the one that contains an offset."""
        first = last = self._place(offset)
        while last < len(self.entries) and self.entries[last].size <= size:
            size -= self.entries[last].size
            last += 1
        return self.store.read([entry.place for entry in self.entries[first:last]]) if last > first else b""

    def end_of(self, offset: int, size: int) -> int:
        """Return the offset behind what `read` gives of so many bytes from an offset on."""
        place = self._place(offset)
        end = offset
        while place < len(self.entries) and self.entries[place].size <= size:
            size -= self.entries[place].size
            end = self.entries[place].last_offset + 1
            place += 1
        return end

    def _place(self, offset: int) -> int:
        """Return the index of the batch that contains an offset, or of the next one."""
        return bisect_left(self.entries, offset, key=lambda entry: entry.last_offset)

    def find_time(self, timestamp: int) -> tuple[int, int, int]:
        """Return offset, timestamp and leader epoch of the first record that is not older; -1 for each if there is
        none."""
        for entry in self.entries:
            if entry.max_timestamp >= timestamp:
                return self._record_of(entry, timestamp)
        return -1, -1, -1

    def find_newest(self) -> tuple[int, int, int]:
        """Return offset, timestamp and leader epoch of the record with the highest timestamp; -1 for each if there is
        none."""
        newest = max(self.entries, key=lambda entry: entry.max_timestamp, default=None)
        return self._record_of(newest, newest.max_timestamp) if newest else (-1, -1, -1)

    def _record_of(self, entry: Entry, timestamp: int) -> tuple[int, int, int]:
        found = entry.base_offset, entry.max_timestamp
        try:
            for batch in parse_records(self.store.read([entry.place])):
                records = (record for record in batch.records() if (record.timestamp or 0) >= timestamp)
                found = next(((record.offset, record.timestamp or 0) for record in records), found)
        except KwireError:
            pass  # its compression is not installed: only the batch's offset is known
        return *found, entry.leader_epoch

    def like(self, other: Log) -> int:
        """Return how many of the first batches equal those of another log, or are older than it."""
        count = self._place(other.start)
        place = other._place(self.entries[count].base_offset) if count < len(self.entries) else 0
        for entry, theirs in zip(self.entries[count:], other.entries[place:], strict=False):
            if entry.identity != theirs.identity:
                break
            count += 1
        return count

    def truncate(self, count: int) -> None:
        """Keep only so many of the first batches, and no damaged bytes. Raises OSError if the disk fails."""
        self.store.truncate(self.entries[count - 1].place if count else None)
        self._read()

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch at an offset; at the end, that of the last batch; -1 if the log is empty."""
        if not self.entries:
            return -1
        return self.entries[min(self._place(offset), len(self.entries) - 1)].leader_epoch

    def delete_before(self, offset: int) -> None:
        """Forget batches that end before an offset, and begin with it; the end stays."""
        if offset <= self.start:
            return
        count = self._place(offset)
        self.size -= sum(entry.size for entry in self.entries[:count])
        del self.entries[:count]
        self.start = offset
        self.store.drop_before(offset)
        self.producers.drop_before(offset)

    def expire(self, before_ms: int) -> None:
        """Forget the oldest batches whose records are all older than a time, in milliseconds since 1970."""
        offset = self.start
        for entry in self.entries:
            if entry.max_timestamp >= before_ms:
                break
            offset = entry.last_offset + 1
        self.delete_before(offset)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the highest leader epoch up to one that has batches, and the offset behind them; -1 for none."""
        place = bisect_right(self.entries, epoch, key=lambda entry: entry.leader_epoch)
        if not place:
            return epoch, self.start
        end = self.entries[place].base_offset if place < len(self.entries) else self.end
        return self.entries[place - 1].leader_epoch, end

    def drop(self, retention_bytes: int) -> None:
        """Drop the oldest batches, except the last one, until at most so many bytes are left."""
        count, size = 0, self.size
        while size > retention_bytes and count < len(self.entries) - 1:
            size -= self.entries[count].size
            count += 1
        if count:
            self.size = size
            del self.entries[:count]
            self.start = self.entries[0].base_offset
            self.store.drop_before(self.start)
            self.producers.drop_before(self.start)


def stamped(batch: RecordBatch, base_offset: int, leader_epoch: int) -> RecordBatch:
    """Set the offsets and leader epoch of a batch; its checksum covers neither."""
    data = base_offset.to_bytes(8, "big") + batch.data[8:12] + leader_epoch.to_bytes(4, "big") + batch.data[16:]
    return msgspec.structs.replace(
        batch,
        base_offset=base_offset,
        last_offset=base_offset + batch.last_offset_delta,
        partition_leader_epoch=leader_epoch,
        data=data,
    )
