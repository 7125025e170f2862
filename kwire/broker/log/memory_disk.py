"""A log directory in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .batch_recovery import LogDamage, StoredBatch
from .disk import Store


class MemoryStore:
    """Storage of batches in memory; the position of a batch is its bytes."""

    def append(self, data: bytes, base_offset: int) -> bytes:
        """Return the bytes of the batch as its position."""
        return data

    def read(self, places: Sequence[bytes]) -> bytes:
        """Return the concatenated batches."""
        return b"".join(places)

    def batches(self) -> Iterable[StoredBatch | LogDamage]:
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
