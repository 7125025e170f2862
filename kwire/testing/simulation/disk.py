"""A log directory in memory that outlasts the brokers that use it, and that can fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...broker import MemoryDisk
from ...broker.log.batch_recovery import LogDamage, StoredBatch
from ...codecs.records import parse_records


class BatchPosition(NamedTuple):
    """The position of a batch: the base offset of its segment, and its number in the segment."""

    segment: int
    number: int


class SimulatedDisk(MemoryDisk):
    """A log directory. If `is_broken`, every access fails.

    Attributes:
        logs: the batches of each partition, by the base offset of their segment.
        journals: the same of each journal.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.is_broken = False
        self.logs: dict[tuple[str, int], dict[int, list[bytes]]] = {}
        self.journals: dict[str, dict[int, list[bytes]]] = {}
        self._starts: dict[tuple[str, int], int] = {}

    def check(self) -> None:
        """Raise OSError if the disk is broken."""
        if self.is_broken:
            raise OSError(5, "Input/output error", self.path)

    def open(self, topic: str, index: int) -> SimulatedStore:  # type: ignore[override]
        """Return the store of a partition."""
        self.check()
        return SimulatedStore(self, self.logs.setdefault((topic, index), {0: []}))

    def journal(self, name: str) -> SimulatedStore:
        """Return the store of a journal."""
        self.check()
        return SimulatedStore(self, self.journals.setdefault(name, {0: []}))

    def starts(self) -> dict[tuple[str, int], int]:
        """Return the first offsets of partitions with records deleted by clients."""
        self.check()
        return dict(self._starts)

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Store the first offsets of partitions with records deleted by clients."""
        self.check()
        self._starts = dict(starts)

    def delete(self, topic: str, index: int) -> None:
        """Delete a partition."""
        self.check()
        del self.logs[topic, index]

    def set_aside(self, topic: str, index: int) -> None:
        """Delete a partition that is not recognised."""
        self.delete(topic, index)

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Return the partitions in the directory."""
        self.check()
        return sorted(self.logs)


class SimulatedStore:
    """The store of one replica: a list of batches for each segment."""

    def __init__(self, disk: SimulatedDisk, segments: dict[int, list[bytes]]) -> None:
        self._disk, self._segments = disk, segments

    def append(self, data: bytes, base_offset: int) -> BatchPosition:
        """Store a batch in the last segment."""
        self._disk.check()
        last = self.last_segment()
        if not self._segments[last] and last != base_offset:
            del self._segments[last]
            last = base_offset
        batches = self._segments.setdefault(last, [])
        batches.append(data)
        return BatchPosition(last, len(batches) - 1)

    def read(self, places: Sequence[BatchPosition]) -> bytes:
        """Return the bytes of batches."""
        self._disk.check()
        return b"".join(self._segments[segment][index] for segment, index in places)

    def batches(self) -> Iterator[StoredBatch | LogDamage]:
        """Yield the batches of all segments."""
        self._disk.check()
        for start, batches in sorted(self._segments.items()):
            for index, data in enumerate(batches):
                (batch,) = parse_records(data)
                yield StoredBatch(batch, BatchPosition(start, index), None if index else start)

    def size(self) -> int:
        """Return the stored size in bytes."""
        return sum(len(data) for batches in self._segments.values() for data in batches)

    def drop_before(self, offset: int) -> None:
        """Delete the segments that end before an offset."""
        self._disk.check()
        starts = sorted(self._segments)
        for start, following in pairwise(starts):
            if following <= offset:
                del self._segments[start]

    def truncate(self, last: BatchPosition | None) -> None:
        """Delete everything after a batch."""
        self._disk.check()
        if last is None:
            self._segments.clear()
            self._segments[0] = []
            return
        for start in [start for start in self._segments if start > last.segment]:
            del self._segments[start]
        del self._segments[last.segment][last.number + 1 :]

    def roll(self, base_offset: int) -> None:
        """Start a new segment."""
        self._disk.check()
        self._segments.setdefault(base_offset, [])

    def last_segment(self) -> int:
        """Return the base offset of the last segment."""
        return max(self._segments, default=0)

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[BatchPosition]:
        """Replace the batches of a segment."""
        self._disk.check()
        if not batches:
            del self._segments[base_offset]
            return []
        self._segments[base_offset] = list(batches)
        return [BatchPosition(base_offset, index) for index in range(len(batches))]

    def flush(self) -> None:
        """Fail if the disk is broken; the bytes of a broker process outlast it anyway."""
        self._disk.check()

    def close(self) -> None:
        """Do nothing."""
