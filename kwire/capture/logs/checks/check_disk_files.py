"""Checks a file on a broker's disk: its consistency, and whether it matches the batches of its log.

Sans-IO: the caller passes entries and batches in order; both are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .check_checkpoints import check_epochs, check_offsets
from .check_indexes import check_offset_index, check_time_index
from .check_metadata_files import check_partition_metadata, check_properties, check_quorum_state
from .check_producer_snapshots import check_producer_snapshot
from .check_transaction_index import check_transaction_index
from .inconsistency import Batches, Entries, Inconsistency

_CHECKS = {
    "offset index": check_offset_index,
    "time index": check_time_index,
    "transaction index": check_transaction_index,
    "leader epochs": check_epochs,
    "quorum state": check_quorum_state,
    "directory properties": check_properties,
    "partition metadata": check_partition_metadata,
}


def check_disk_file(
    kind: str, entries: Entries, batches: Batches | None = None, *, base: int = 0, ends: Mapping[str, int] | None = None
) -> Iterator[Inconsistency]:
    """Check a file on a broker's disk for internal consistency, and compare it with its log.

    Args:
        kind: the kind of the file, see `DiskEntry.kind`.
        entries: the decodable entries of the file.
        batches: for an index, the batches of its segment; for other files, the batches of all segments in the folder.
            With None, only internal consistency is checked.
        base: the offset in the name of the file; for a snapshot, the offset at which it was taken.
        ends: for offset checkpoints: the log end offset (last offset + 1) of each folder beside the file.

    Yields:
        Differences, in the order of the entries or of the batches.
    """
    if kind in ("recovery points", "high watermarks", "log start offsets", "cleaner offsets", "offset checkpoint"):
        yield from check_offsets(entries, ends or {})
    elif kind == "producer snapshot":
        yield from check_producer_snapshot(entries, batches, base)
    elif kind in _CHECKS:
        yield from _CHECKS[kind](entries, batches)
