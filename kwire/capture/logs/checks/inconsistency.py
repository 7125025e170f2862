"""An inconsistency of a file on a broker's disk, and what the checks take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from ..disk_entry import DiskEntry
from ....records import RecordBatch
from typing import NamedTuple

Entries = Iterable[DiskEntry]
Batches = Iterable[RecordBatch]


class Inconsistency(NamedTuple):
    """An inconsistency of an entry; `position` is the entry's offset in the file, in bytes."""

    position: int
    field: str
    reason: str
