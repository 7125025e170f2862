"""Storage of a replica's log: the interface to a disk, an in-memory disk, and the recovery scan for valid batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import DecodeError
from ..records import RecordBatch
from ..records.batch import read_whole
from ..records.record_layouts_and_checksums import LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC

CUT_SHORT = "cut short"
HIGHEST_OFFSET = 2**62  # so that adding a batch's last offset delta, and further batches, does not exceed 64 bits


class Found(NamedTuple):
    """A batch with its position in the store; for the first batch of a segment, `segment_start` is the base offset in
    the segment's file name."""

    batch: RecordBatch
    place: Any
    segment_start: int | None = None


class Damage(NamedTuple):
    """The reason why the bytes after the previous batches are invalid."""

    reason: str


class OldFormat(Exception):
    """Raised for a message of magic 0 or 1, which this broker never writes."""


def read_batches(read: Callable[[int], bytes], size: int) -> Iterator[RecordBatch | Damage]:
    """Read the batches of one segment.

    Args:
        read: returns the next bytes of the segment, fewer only at its end.
        size: the size of the segment in bytes.

    Yields:
        Complete batches of magic 2, and a final `Damage` if there are bytes after them.

    Raises:
        OldFormat: a message has an older format and a valid checksum.

    >>> from io import BytesIO
    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(0, value=b"a")])
    >>> [type(one).__name__ for one in read_batches(BytesIO(data + data[:-1]).read, 2 * len(data) - 1)]
    ['RecordBatch', 'Damage']
    """
    while size > 0:
        head = read(UP_TO_MAGIC)
        length = LOG_OVERHEAD + int.from_bytes(head[8:LOG_OVERHEAD], "big", signed=True)
        if len(head) < UP_TO_MAGIC or length > size:
            yield Damage(CUT_SHORT)
            return
        magic = head[16]
        if magic not in LEAST_LENGTH or length < LOG_OVERHEAD + LEAST_LENGTH[magic]:
            yield Damage("no record batch begins here")
            return
        try:
            batch = read_whole(head + read(length - UP_TO_MAGIC))
        except DecodeError:
            yield Damage("CRC")
            return
        if magic != 2:
            raise OldFormat
        yield batch
        size -= length


def valid_prefix(found: Iterable[Found | Damage], last_segment: int = 0) -> Iterator[Found | Damage]:
    """Yield the batches of a store up to the first invalid offset, and a final `Damage` if there are more.

    Offsets must increase. After a gap, as left by compaction, a batch is accepted only if the next batch is adjacent to
    it; otherwise its base offset may be damaged. The active segment has no gaps, so a last batch after a gap is not
    accepted.

    Args:
        found: the batches.
        last_segment: the first offset of the last segment, which may be empty.
    """
    end: int | None = None
    doubted: Found | None = None
    for one in found:
        if isinstance(one, Damage):
            yield _jump(doubted, end) if doubted else one
            return
        base, last = one.batch.base_offset or 0, one.batch.last_offset
        reached = doubted.batch.last_offset + 1 if doubted else end
        least = max(reached or 0, one.segment_start or 0)
        if not least <= base <= last <= HIGHEST_OFFSET:
            yield _jump(doubted, end) if doubted else Damage(f"offset {base} where {least} is expected")
            return
        if doubted:
            yield doubted
        due = reached if one.segment_start is None else one.segment_start
        end, doubted = reached, (one if due is not None and base != due else None)
        if doubted is None:
            yield one
            end = last + 1
    if doubted:
        yield doubted if doubted.batch.last_offset < last_segment else _jump(doubted, end)


def _jump(doubted: Found, end: int | None) -> Damage:
    due = end if doubted.segment_start is None else doubted.segment_start
    return Damage(f"offset {doubted.batch.base_offset} where {due} is expected")


class Store(Protocol):
    """Storage for the batches of one replica. All methods raise OSError if the disk fails."""

    def append(self, data: bytes, base_offset: int) -> Any:
        """Store the bytes of a batch; return its position, which only this store interprets."""

    def read(self, places: Sequence[Any]) -> bytes:
        """Return the bytes at adjacent positions."""

    def batches(self) -> Iterable[Found | Damage]:
        """Yield the stored batches in order, and a final `Damage` if there are bytes after them. Changes nothing."""

    def size(self) -> int:
        """Return the stored size in bytes, including damaged bytes."""

    def drop_before(self, offset: int) -> None:
        """Delete whole segments whose batches all end before an offset."""

    def truncate(self, last: Any | None) -> None:
        """Delete everything after the batch at a position; None deletes all."""

    def roll(self, base_offset: int) -> None:
        """Start a new segment at an offset, so that `drop_before` can delete the previous segments."""

    def last_segment(self) -> int:
        """Return the base offset of the last segment; 0 if there is none."""

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[Any]:
        """Replace the batches of a segment other than the last one; return their positions."""

    def flush(self) -> None:
        """Flush written data to disk."""

    def close(self) -> None:
        """Close all files."""


class Disk(Protocol):
    """One log directory. All methods raise OSError if it fails."""

    path: str

    def open(self, topic: str, index: int) -> Store:
        """Return the store of a partition, creating it if necessary."""

    def journal(self, name: str) -> Store | None:
        """Return the store of a journal; None if no data survives the process.

        Args:
            name: the kind of records, such as `metadata`.
        """

    def cluster_id(self) -> str:
        """Return the cluster id that another program wrote; empty if there is none."""

    def topic_id(self, topic: str, index: int) -> bytes | None:
        """Return the topic id that another program wrote; None if there is none."""

    def starts(self) -> dict[tuple[str, int], int]:
        """Return the first offsets of partitions with records deleted by clients."""

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Store the first offsets of partitions with records deleted by clients."""

    def delete(self, topic: str, index: int) -> None:
        """Delete a partition."""

    def set_aside(self, topic: str, index: int) -> None:
        """Rename a partition's folder, so that it is no longer recognised as a partition."""

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Return the partitions in the directory."""

    def space(self) -> tuple[int, int]:
        """Return the total and free bytes of the disk; -1 for unknown (KIP-827)."""

    def check(self) -> None:
        """Raise OSError if the directory does not work."""


class MemoryStore:
    """Storage of batches in memory; the position of a batch is its bytes."""

    def append(self, data: bytes, base_offset: int) -> bytes:
        """Return the bytes of the batch as its position."""
        return data

    def read(self, places: Sequence[bytes]) -> bytes:
        """Return the concatenated batches."""
        return b"".join(places)

    def batches(self) -> Iterable[Found | Damage]:
        """Return nothing: memory is initially empty."""
        return ()

    def size(self) -> int:
        """Return 0, because the log's index holds the bytes."""
        return 0

    def drop_before(self, offset: int) -> None:
        """Do nothing, because the log's index holds the bytes."""

    def truncate(self, last: bytes | None) -> None:
        """Do nothing, because the log's index holds the bytes."""

    def roll(self, base_offset: int) -> None:
        """Do nothing, because the log's index holds the bytes."""

    def last_segment(self) -> int:
        """Return 0: memory is initially empty."""
        return 0

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[bytes]:
        """Return the bytes of the batches as their positions."""
        return list(batches)

    def flush(self) -> None:
        """Do nothing: memory does not survive the process."""

    def close(self) -> None:
        """Do nothing."""


class MemoryDisk:
    """A log directory in memory; its name is arbitrary."""

    def __init__(self, path: str = "memory") -> None:
        self.path = path

    def open(self, topic: str, index: int) -> MemoryStore:
        """Return an empty store."""
        return MemoryStore()

    def journal(self, name: str) -> Store | None:
        """Return None: memory does not survive the process."""
        return None

    def cluster_id(self) -> str:
        """Return nothing: memory is initially empty."""
        return ""

    def topic_id(self, topic: str, index: int) -> bytes | None:
        """Return nothing: memory is initially empty."""
        return None

    def starts(self) -> dict[tuple[str, int], int]:
        """Return nothing: memory is initially empty."""
        return {}

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Do nothing: memory does not survive the process."""

    def delete(self, topic: str, index: int) -> None:
        """Do nothing."""

    def set_aside(self, topic: str, index: int) -> None:
        """Do nothing."""

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Return nothing: memory is initially empty."""
        return ()

    def space(self) -> tuple[int, int]:
        """Return -1: unknown."""
        return -1, -1

    def check(self) -> None:
        """Do nothing: memory cannot fail."""
