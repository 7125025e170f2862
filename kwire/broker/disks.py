"""Where batches are kept: what a log needs of a disk, and a disk that is memory. Knows no files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from .scanning import Damage, Found


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
