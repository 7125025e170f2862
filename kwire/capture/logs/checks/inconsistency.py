"""An inconsistency of a file on a broker's disk, and what the checks take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ....codecs.records import RecordBatch
from ..disk_entry import DiskEntry

Entries = Iterable[DiskEntry]
Batches = Iterable[RecordBatch]


class Inconsistency(NamedTuple):
    """An inconsistency of an entry; `position` is the entry's offset in the file, in bytes."""

    position: int
    field: str
    reason: str
