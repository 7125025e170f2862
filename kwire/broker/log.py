"""One replica's log: batches by offset and time, up to its last stable offset where only what is committed is read."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import msgspec

from ..errors import KwireError
from ..records import RecordBatch, parse_records
from .producers import Producers
from .storage import Damage, Store, believed


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch of the log: its offsets, what its header says, its size in bytes, and where it lies in the store."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    crc: int
    size: int
    place: Any

    @property
    def identity(self) -> tuple[int, ...]:
        """What is the same in all replicas."""
        return self.base_offset, self.last_offset, self.leader_epoch, self.crc, self.size


class Log:
    """A log.

    Attributes:
        start, end: the first offset that is there, and the one that the next record gets.
        size: bytes of all batches.
        producers: what producers wrote last, and their transactions.
        damage: why bytes of the store are not in this log, until it is truncated; empty if all are.
        has_gaps: whether offsets are missing inside a segment, as after compaction.
        holes: offsets that are missing between two segments, each as first and last.
        epochs_ascend: whether no batch has a smaller leader epoch than the one before; no checksum is over it.

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
        """Compare what comes next with what is there."""
        if not self.entries:
            return
        self.epochs_ascend &= epoch >= self.entries[-1].leader_epoch
        if segment_start is not None and segment_start > self.end:
            self.holes.append((self.end, segment_start - 1))
        self.has_gaps |= base > (self.end if segment_start is None else segment_start)

    def append(self, batch: RecordBatch) -> int:
        """Keep a batch that has its offsets; returns the first. Raises OSError when the disk fails."""
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
        self.start = self.entries[0].base_offset
        self.end = batch.last_offset + 1
        self.size += size
        self.producers.note(batch)

    @property
    def stable_end(self) -> int:
        """The offset below which all transactions have ended."""
        return self.producers.stable_end(self.end)

    def measure(self, offset: int, most: int, *, at_least_one: bool = True, end: int | None = None) -> int:
        """Return how many bytes `read` gives.

        Args:
            offset: of the first record wanted.
            most: how many bytes.
            at_least_one: give the first batch even if it is larger, so that a reader gets on.
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
        """Return whole batches from the one on that holds an offset, so many bytes or fewer."""
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
        """Return the index of the batch that holds an offset, or of the next one."""
        return bisect_left(self.entries, offset, key=lambda entry: entry.last_offset)

    def find_time(self, timestamp: int) -> tuple[int, int, int]:
        """Return offset, time and leader epoch of the first record that is not older; -1 for each if there is none."""
        for entry in self.entries:
            if entry.max_timestamp >= timestamp:
                return self._record_of(entry, timestamp)
        return -1, -1, -1

    def find_newest(self) -> tuple[int, int, int]:
        """Return offset, time and leader epoch of the record with the highest time; -1 for each if there is none."""
        newest = max(self.entries, key=lambda entry: entry.max_timestamp, default=None)
        return self._record_of(newest, newest.max_timestamp) if newest else (-1, -1, -1)

    def _record_of(self, entry: Entry, timestamp: int) -> tuple[int, int, int]:
        found = entry.base_offset, entry.max_timestamp
        try:
            for batch in parse_records(self.store.read([entry.place])):
                records = (record for record in batch.records() if (record.timestamp or 0) >= timestamp)
                found = next(((record.offset, record.timestamp or 0) for record in records), found)
        except KwireError:
            pass  # its compression is not installed here: the batch is as near as we get
        return *found, entry.leader_epoch

    def like(self, other: Log) -> int:
        """Return how many batches, from the first on, are as in another log, or older than all that it has."""
        count = self._place(other.start)
        place = other._place(self.entries[count].base_offset) if count < len(self.entries) else 0
        for entry, theirs in zip(self.entries[count:], other.entries[place:], strict=False):
            if entry.identity != theirs.identity:
                break
            count += 1
        return count

    def truncate(self, count: int) -> None:
        """Forget all but so many batches from the first on, and what is damaged. Raises OSError when the disk fails."""
        self.store.truncate(self.entries[count - 1].place if count else None)
        self._read()

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch of the batch with an offset; of the last one for the end; -1 if the log is empty."""
        if not self.entries:
            return -1
        return self.entries[min(self._place(offset), len(self.entries) - 1)].leader_epoch

    def drop(self, retention_bytes: int) -> None:
        """Forget the oldest batches, but for the last one, until no more than so many bytes are left."""
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
    """Give a batch its offsets and the epoch of its leader; its checksum is over neither."""
    data = base_offset.to_bytes(8, "big") + batch.data[8:12] + leader_epoch.to_bytes(4, "big") + batch.data[16:]
    return msgspec.structs.replace(
        batch,
        base_offset=base_offset,
        last_offset=base_offset + batch.last_offset_delta,
        partition_leader_epoch=leader_epoch,
        data=data,
    )
