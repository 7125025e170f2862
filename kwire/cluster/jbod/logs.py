"""A replica's log as a value: records with the leader epochs they were written in, and the high watermark.

Knows no directories and no brokers. A record is any value; its offset is its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Record = tuple[int, Any]  # leader epoch, value


@dataclass(slots=True)
class PartitionLog:
    """The log of one replica. What lies below `high_watermark` is committed."""

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
        """Add records behind the last one."""
        self.records += records

    def truncate(self, offset: int) -> None:
        """Drop the records from an offset on, and the knowledge that they were committed."""
        del self.records[offset:]
        self.high_watermark = min(self.high_watermark, offset)

    def end_offset_for(self, epoch: int) -> int:
        """Return where the records of an epoch and those before it end (KIP-101).

        >>> PartitionLog([(0, "a"), (2, "b"), (2, "c")]).end_offset_for(1)
        1
        """
        return sum(1 for at, _ in self.records if at <= epoch)

    def agrees_at(self, offset: int, epoch: int) -> bool:
        """Return whether a log that ends at an offset with a record of an epoch is a beginning of this one."""
        return offset == 0 or (offset <= self.end_offset and self.records[offset - 1][0] == epoch)
