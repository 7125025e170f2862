"""Compares leader epochs and offset checkpoints with the log.

LeaderEpochFileCache assigns an entry for each new epoch in a batch: epochs ascend, and their offsets never descend.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import cast

from ..disk_entry import EpochStart, PartitionOffset
from .inconsistency import Batches, Entries, Inconsistency


def check_epochs(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that epochs and offsets ascend, and that each batch has the epoch of its offset."""
    kept: list[EpochStart] = []
    positions: dict[int, int] = {}
    for entry in entries:
        value = cast(EpochStart, entry.value)
        if kept and (value.epoch <= kept[-1].epoch or value.start_offset < kept[-1].start_offset):
            reason = f"epoch {value.epoch} from {value.start_offset} comes after {kept[-1].epoch} from"
            yield Inconsistency(entry.position, "epoch", f"{reason} {kept[-1].start_offset}")
            continue
        kept.append(value)
        positions[value.epoch] = entry.position
    starts = [start.start_offset for start in kept]
    known = set[tuple[int, int]]()
    for batch in batches or ():
        if batch.magic < 2 or batch.partition_leader_epoch < 0 or batch.base_offset is None:
            continue
        at = bisect_right(starts, batch.base_offset) - 1
        if at < 0:
            if kept:
                continue  # before the log start offset: deleted records that are still in the segment
            yield Inconsistency(0, "", f"the batch at offset {batch.base_offset} has an epoch, and none is listed")
            return
        epoch = kept[at].epoch
        if epoch != batch.partition_leader_epoch and (epoch, batch.partition_leader_epoch) not in known:
            known.add((epoch, batch.partition_leader_epoch))
            reason = f"the batch at offset {batch.base_offset} has leader epoch {batch.partition_leader_epoch}"
            yield Inconsistency(positions[epoch], "epoch", f"{reason}, not {epoch}")


def check_offsets(entries: Entries, ends: Mapping[str, int]) -> Iterator[Inconsistency]:
    """Check that no offset exceeds the log end offset of its partition, whose folder is beside the file."""
    seen = set[str]()
    for entry in entries:
        value = cast(PartitionOffset, entry.value)
        name = f"{value.topic}-{value.partition}"
        if name in seen:
            yield Inconsistency(entry.position, "partition", f"{name} occurs twice")
        seen.add(name)
        if value.offset < 0:
            yield Inconsistency(entry.position, "offset", f"offset {value.offset}")
        elif name not in ends:
            if ends:
                yield Inconsistency(entry.position, "partition", f"there is no folder {name} with a log")
        elif value.offset > ends[name]:
            yield Inconsistency(
                entry.position, "offset", f"offset {value.offset}; the log of {name} ends at {ends[name]}"
            )
