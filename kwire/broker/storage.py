"""Storage of a replica's log: what a log needs of a disk, a disk in memory, and the scan for valid batches after a
crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import DecodeError
from ..records import RecordBatch
from ..records.layouts import LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC
from ..records.parser import read_whole

CUT_SHORT = "cut short"
HIGHEST_OFFSET = 2**62  # leaves the sum with a batch's last offset delta, and many batches behind it, in 64 bits


class Found(NamedTuple):
    """A batch with its place in the store; `segment_start` is the first offset that its segment's name promises,
    where it is the first batch of that segment."""

    batch: RecordBatch
    place: Any
    segment_start: int | None = None


class Damage(NamedTuple):
    """Why nothing behind the batches before can be believed."""

    reason: str


class OldFormat(Exception):
    """A message of magic 0 or 1, which no broker of this kind has written."""


def read_batches(read: Callable[[int], bytes], size: int) -> Iterator[RecordBatch | Damage]:
    """Read the batches of one segment.

    Args:
        read: gives the next bytes of the segment, fewer only at its end.
        size: how many bytes it has.

    Yields:
        Whole batches of magic 2, and last of all a `Damage` if there are bytes behind them.

    Raises:
        OldFormat: there is a message of an older format, with the right checksum.

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
            yield Damage("no record batch begins there")
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


def believed(found: Iterable[Found | Damage]) -> Iterator[Found | Damage]:
    """Give the batches of a store whose offsets go on, and a `Damage` if that is not all.

    Offsets ascend. A batch behind a gap, as compaction leaves them, is believed only when the next one goes on behind
    it: else the gap is a damaged base offset. The segment that is written to has no gaps, so nor has its last batch.
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
            yield _jump(doubted, end) if doubted else Damage(f"offset {base} where {least} is due")
            return
        if doubted:
            yield doubted
        due = reached if one.segment_start is None else one.segment_start
        end, doubted = reached, (one if due is not None and base != due else None)
        if doubted is None:
            yield one
            end = last + 1
    if doubted:
        yield _jump(doubted, end)


def _jump(doubted: Found, end: int | None) -> Damage:
    due = end if doubted.segment_start is None else doubted.segment_start
    return Damage(f"offset {doubted.batch.base_offset} where {due} is due")


class Store(Protocol):
    """The batches of one replica. All methods raise OSError when the disk fails."""

    def append(self, data: bytes, base_offset: int) -> Any:
        """Keep the bytes of a batch; returns its place, which means something to this store alone."""

    def read(self, places: Sequence[Any]) -> bytes:
        """Return the bytes at some places that follow one another."""

    def batches(self) -> Iterable[Found | Damage]:
        """Give what is there already: whole batches in their order, and a `Damage` where there is more behind them.
        Changes nothing."""

    def size(self) -> int:
        """Return how many bytes are there, damaged ones too."""

    def drop_before(self, offset: int) -> None:
        """Forget batches that end before an offset, where that saves space."""

    def truncate(self, last: Any | None) -> None:
        """Forget all behind the batch at a place; None forgets everything."""

    def roll(self) -> None:
        """Let the next batch begin what `drop_before` can drop apart from what was before."""

    def close(self) -> None:
        """Let go of what the system lent."""


class Disk(Protocol):
    """One log directory. All methods raise OSError when it fails."""

    path: str

    def open(self, topic: str, index: int) -> Store:
        """Return the store of a partition, made if it is not there."""

    def journal(self, name: str) -> Store | None:
        """Return the store of what the cluster remembers over a restart; None if nothing outlasts the process.

        Args:
            name: what is remembered, such as `metadata`.
        """

    def delete(self, topic: str, index: int) -> None:
        """Forget a partition."""

    def set_aside(self, topic: str, index: int) -> None:
        """Keep what is there of a partition, under a name that is no partition's."""

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Name the partitions that are there."""

    def space(self) -> tuple[int, int]:
        """Return how many bytes it has, and how many are free; -1 where nobody knows (KIP-827)."""

    def check(self) -> None:
        """See whether it works."""


class MemoryStore:
    """Batches in memory; a place is the bytes themselves."""

    def append(self, data: bytes, base_offset: int) -> bytes:
        """Keep the bytes of a batch."""
        return data

    def read(self, places: Sequence[bytes]) -> bytes:
        """Join batches."""
        return b"".join(places)

    def batches(self) -> Iterable[Found | Damage]:
        """Give nothing: memory begins empty."""
        return ()

    def size(self) -> int:
        """Return 0: the log's own index holds the bytes."""
        return 0

    def drop_before(self, offset: int) -> None:
        """Do nothing: the log's own index held the bytes."""

    def truncate(self, last: bytes | None) -> None:
        """Do nothing, as before."""

    def roll(self) -> None:
        """Do nothing, as before."""

    def close(self) -> None:
        """Do nothing."""


class MemoryDisk:
    """A log directory that is memory, of any name."""

    def __init__(self, path: str = "memory") -> None:
        self.path = path

    def open(self, topic: str, index: int) -> MemoryStore:
        """Return an empty store."""
        return MemoryStore()

    def journal(self, name: str) -> Store | None:
        """Return none: memory ends with the process."""
        return None

    def delete(self, topic: str, index: int) -> None:
        """Do nothing."""

    def set_aside(self, topic: str, index: int) -> None:
        """Do nothing."""

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Name none: memory begins empty."""
        return ()

    def space(self) -> tuple[int, int]:
        """Say that nobody knows."""
        return -1, -1

    def check(self) -> None:
        """Do nothing: memory works."""
