"""The log directories of a broker and the logs in them (KIP-112). Ports LogManager."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .values import TopicPartition

Record = tuple[int, Any]  # leader epoch, value


@dataclass(slots=True)
class PartitionLog:
    """The log of one replica. Records below `high_watermark` are committed."""

    records: list[Record] = field(default_factory=list)
    high_watermark: int = 0

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return len(self.records)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record; -1 if there is none."""
        return self.records[-1][0] if self.records else -1

    def append(self, records: Sequence[Record]) -> None:
        """Append records."""
        self.records += records

    def truncate(self, offset: int) -> None:
        """Drop the records from an offset on; the high watermark is lowered to it if necessary."""
        del self.records[offset:]
        self.high_watermark = min(self.high_watermark, offset)

    def end_offset_for(self, epoch: int) -> int:
        """Return the end offset of the records up to and including an epoch (KIP-101).

        >>> PartitionLog([(0, "a"), (2, "b"), (2, "c")]).end_offset_for(1)
        1
        """
        return sum(1 for at, _ in self.records if at <= epoch)

    def agrees_at(self, offset: int, epoch: int) -> bool:
        """Return whether a log that ends at this offset with a record of this epoch is a prefix of this log."""
        return offset == 0 or (offset <= self.end_offset and self.records[offset - 1][0] == epoch)


@dataclass(slots=True)
class JbodDisk:
    """The disk of a log directory. It outlives the broker; `works` is whether it can be read and written."""

    works: bool = True
    logs: dict[TopicPartition, PartitionLog] = field(default_factory=dict)


class LogManager:
    """The log directories of one incarnation of a broker.

    Args:
        disks: log directory -> its disk, in the order of `log.dirs`. Logs on working disks are loaded.

    >>> manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk(works=False)})
    >>> manager.offline_log_directory_count, manager.get_or_create(("orders", 0), is_new=False) is None
    (1, True)
    >>> manager.get_or_create(("orders", 0), is_new=True) is None, manager.directory_of(("orders", 0))
    (False, '/a')
    """

    def __init__(self, disks: dict[str, JbodDisk]) -> None:
        self.disks = disks
        self.broken: list[str] = []  # directories that could not be written to, until their failure is reported
        self.live: list[str] = [directory for directory, disk in disks.items() if disk.works]

    @property
    def offline_log_directory_count(self) -> int:
        """The metric kafka.log:type=LogManager,name=OfflineLogDirectoryCount: the number of directories known to be
        bad.
        """
        return len(self.disks) - len(self.live)

    def directory_of(self, partition: TopicPartition) -> str | None:
        """Return the good directory that contains a replica."""
        return next((directory for directory in self.live if partition in self.disks[directory].logs), None)

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        """Return the log of a replica, if it is in a good directory."""
        directory = self.directory_of(partition)
        return None if directory is None else self.disks[directory].logs[partition]

    def get_or_create(self, partition: TopicPartition, *, is_new: bool) -> PartitionLog | None:
        """Return the log of a replica, created if necessary; None means a KafkaStorageException.

        Ports LogManager.getOrCreateLog.

        KIP-112: a missing replica is created if it is new, or if no directory is bad: otherwise it may be in the bad
        directory.
        """
        log = self.get(partition)
        if log is not None or not (is_new or not self.offline_log_directory_count):
            return log
        for directory in sorted(self.live, key=lambda path: len(self.disks[path].logs)):
            if self.disks[directory].works:
                return self.disks[directory].logs.setdefault(partition, PartitionLog())
            self.broken.append(directory)
        return None

    def delete(self, partition: TopicPartition) -> bool:
        """Delete a replica from its good directory; False means a KafkaStorageException: the directory has failed."""
        directory = self.directory_of(partition)
        if directory is not None and not self.disks[directory].works:
            self.broken.append(directory)
            return False
        if directory is not None:
            del self.disks[directory].logs[partition]
        return True

    def fail(self, directory: str) -> list[TopicPartition]:
        """Mark a directory as bad; return the partitions whose replicas were in it."""
        if directory not in self.live:
            return []
        self.live.remove(directory)
        return list(self.disks[directory].logs)

    def place(self, partitions: Iterable[TopicPartition], directory: str) -> None:
        """Move replicas to a good directory, as AlterReplicaLogDirs does (KIP-113)."""
        for partition in partitions:
            log = self.get(partition)
            if log is not None:
                self.delete(partition)
                self.disks[directory].logs[partition] = log
