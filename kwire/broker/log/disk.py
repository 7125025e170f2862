"""The interface to the disk of a log directory: its partitions, and the batches of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from .batch_recovery import LogDamage, StoredBatch


class Store(Protocol):
    """Storage for the batches of one replica. All methods raise OSError if the disk fails."""

    def append(self, data: bytes, base_offset: int) -> Any:
        """Store the bytes of a batch; return its position, which only this store interprets."""

    def read(self, places: Sequence[Any]) -> bytes:
        """Return the bytes at adjacent positions."""

    def batches(self) -> Iterable[StoredBatch | LogDamage]:
        """Yield the stored batches in order, and a final `LogDamage` if there are bytes after them. Changes nothing."""

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
