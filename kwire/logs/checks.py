"""Checks files on a broker's disk for consistency.

Index entries, snapshots and checkpoints are compared with the batches of their segments; a batch is compared with the
batch rebuilt from its records.

Sans-IO: the caller passes entries and batches in order; both are read once. Compressors may write different bytes for
the same records, so compressed batches are compared after decompression.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ..internal import decode_control_record
from ..records import LIMIT, Record, RecordBatch, build_batch
from ..records.compression import inflate
from ..records.record_layouts_and_checksums import BATCH, MESSAGE
from .disk_files import (
    AbortedTransaction,
    DiskEntry,
    EpochStart,
    OffsetIndexEntry,
    PartitionMetadata,
    PartitionOffset,
    SnapshotHeader,
    TimeIndexEntry,
    topic_uuid,
)

_ABORT = 0  # the type of the control record that ends an aborted transaction
_SEQUENCES = 1 << 31


class Difference(NamedTuple):
    """An inconsistency of an entry; `position` is the entry's offset in the file, in bytes."""

    position: int
    field: str
    reason: str


Entries = Iterable[DiskEntry]
Batches = Iterable[RecordBatch]


def check_disk_file(
    kind: str, entries: Entries, batches: Batches | None = None, *, base: int = 0, ends: Mapping[str, int] | None = None
) -> Iterator[Difference]:
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
        yield from _offsets(entries, ends or {})
    elif kind == "producer snapshot":
        yield from _snapshot(entries, batches, base)
    elif kind in _CHECKS:
        yield from _CHECKS[kind](entries, batches)


class _Walk:
    """Iterates once over the batches of a log; also gives the first offset of compressed old messages."""

    def __init__(self, batches: Batches) -> None:
        self._batches = iter(batches)
        self.batch: RecordBatch | None = None
        self.first = 0
        self.end: int | None = None  # the offset after the last batch that was read
        self.next()

    def next(self) -> None:
        """Advance to the next batch; `batch` is None after the last one."""
        if self.batch is not None:
            self.end = self.batch.last_offset + 1
        self.batch = next(self._batches, None)
        if self.batch is not None:
            base = self.batch.base_offset
            self.first = base if base is not None else self.end or 0


def _offset_index(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that each entry's position is the start of a batch.

    The offset of the entry must be in the batches before the position of the next entry.
    """
    walk = None if batches is None else _Walk(batches)
    before: OffsetIndexEntry | None = None
    ordered: list[DiskEntry] = []
    for entry in entries:
        value = cast(OffsetIndexEntry, entry.value)
        if before is not None and (value.offset <= before.offset or value.position <= before.position):
            reason = (
                f"offset {value.offset} at {value.position} comes after offset {before.offset} at {before.position}"
            )
            yield Difference(entry.position, "offset", reason)
            continue
        before = value
        if walk is not None:
            if ordered:
                yield from _chunk(ordered.pop(), walk, value.position)
            ordered.append(entry)
    if walk is not None and ordered:
        yield from _chunk(ordered[0], walk, None)


def _chunk(entry: DiskEntry, walk: _Walk, stop: int | None) -> Iterator[Difference]:
    value = cast(OffsetIndexEntry, entry.value)
    while walk.batch is not None and walk.batch.position < value.position:
        walk.next()
    if walk.batch is None:
        yield Difference(entry.position, "position", f"the log has no batch at {value.position} or after it")
    elif walk.batch.position != value.position:
        where = f"the next one is at {walk.batch.position}"
        yield Difference(entry.position, "position", f"no batch of the log begins at {value.position}; {where}")
    else:
        first, last = walk.first, walk.batch.last_offset
        while walk.batch is not None and last < value.offset and (stop is None or walk.batch.position < stop):
            last = walk.batch.last_offset
            walk.next()
        if not first <= value.offset <= last:
            reason = f"offset {value.offset} is not in the batches from {value.position} on: {first} to {last}"
            yield Difference(entry.position, "offset", reason)


def _time_index(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that each entry's timestamp is the maximum of the batch with its offset and of all earlier batches."""
    walk = None if batches is None else _Walk(batches)
    before: TimeIndexEntry | None = None
    greatest = -1
    for entry in entries:
        value = cast(TimeIndexEntry, entry.value)
        if before is not None and (value.timestamp <= before.timestamp or value.offset < before.offset):
            reason = (
                f"time {value.timestamp} of offset {value.offset} comes after {before.timestamp} of {before.offset}"
            )
            yield Difference(entry.position, "timestamp", reason)
            continue
        before = value
        if walk is None:
            continue
        while walk.batch is not None and walk.batch.last_offset < value.offset:
            greatest = max(greatest, walk.batch.max_timestamp)
            walk.next()
        yield from _time(entry, walk, greatest)


def _time(entry: DiskEntry, walk: _Walk, greatest: int) -> Iterator[Difference]:
    value, batch = cast(TimeIndexEntry, entry.value), walk.batch
    if batch is None or walk.first > value.offset:
        end = f"; it ends at {walk.end}" if batch is None else ""
        yield Difference(entry.position, "offset", f"no batch of the log holds offset {value.offset}{end}")
    elif batch.max_timestamp != value.timestamp:
        reason = f"the greatest timestamp of the batch with offset {value.offset} is {batch.max_timestamp}"
        yield Difference(entry.position, "timestamp", reason)
    elif greatest > value.timestamp:
        yield Difference(entry.position, "timestamp", f"a batch before offset {value.offset} has timestamp {greatest}")


def _transaction_index(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that each entry is an aborted transaction of the log, and that each aborted transaction has an entry."""
    walk = _within(entries)
    if batches is None:
        yield from (found for found, _ in walk if found is not None)
        return
    found, entry = next(walk, (None, None))
    for first, marker in _aborted(batches):
        while entry is not None and _last(entry) < marker.last_offset:
            yield from _and_no_marker(found, entry)
            found, entry = next(walk, (None, None))
        if entry is not None and _last(entry) == marker.last_offset:
            yield from _against_marker(found, entry, first, marker)
            found, entry = next(walk, (None, None))
        elif first is not None:
            reason = f"the transaction of producer {marker.producer_id}, offsets {first} to {marker.last_offset}, "
            yield Difference(0, "", f"{reason}was aborted and is not in the index")
    while entry is not None:
        yield from _and_no_marker(found, entry)
        found, entry = next(walk, (None, None))


def _within(entries: Entries) -> Iterator[tuple[Difference | None, DiskEntry]]:
    """Yield entries, each with its internal inconsistencies."""
    before = -1
    for entry in entries:
        value = cast(AbortedTransaction, entry.value)
        found = None
        if value.version != 0:
            found = Difference(entry.position, "version", f"version {value.version}; 0 is known")
        elif value.last_offset <= before:
            reason = f"offset {value.last_offset} comes after offset {before}"
            found = Difference(entry.position, "last_offset", reason)
        elif not 0 <= value.first_offset <= value.last_offset:
            reason = f"the transaction would end at {value.last_offset}, before it begins at {value.first_offset}"
            found = Difference(entry.position, "first_offset", reason)
        elif not 0 <= value.last_stable_offset <= value.last_offset + 1:
            reason = f"the last stable offset {value.last_stable_offset} is after the transaction's end"
            found = Difference(entry.position, "last_stable_offset", reason)
        before = max(before, value.last_offset)
        yield found, entry


def _last(entry: DiskEntry) -> int:
    return cast(AbortedTransaction, entry.value).last_offset


def _and_no_marker(found: Difference | None, entry: DiskEntry) -> Iterator[Difference]:
    reason = f"the log has no abort marker at offset {_last(entry)}"
    yield found or Difference(entry.position, "last_offset", reason)


def _against_marker(
    found: Difference | None, entry: DiskEntry, first: int | None, marker: RecordBatch
) -> Iterator[Difference]:
    value = cast(AbortedTransaction, entry.value)
    if found is not None:
        yield found
    elif value.producer_id != marker.producer_id:
        reason = f"the marker at offset {marker.last_offset} is of producer {marker.producer_id}"
        yield Difference(entry.position, "producer_id", reason)
    elif first is not None and value.first_offset != first:
        yield Difference(entry.position, "first_offset", f"the transaction began at offset {first}")


def _aborted(batches: Batches) -> Iterator[tuple[int | None, RecordBatch]]:
    """Yield the start of each aborted transaction (None if its records are not in the log) and its marker."""
    begun: dict[int, int] = {}
    for batch in batches:
        if batch.is_control and batch.producer_id >= 0:
            first = begun.pop(batch.producer_id, None)
            if _marker(batch) == _ABORT:
                yield first, batch
        elif batch.is_transactional and batch.base_offset is not None:
            begun.setdefault(batch.producer_id, batch.base_offset)


def _marker(batch: RecordBatch) -> int | None:
    """Return the type of the control record of a batch; None if it cannot be read."""
    first = next(batch.records(salvage=True), None)
    if not isinstance(first, Record) or first.key is None or len(first.key) < 4:
        return None
    return decode_control_record(first.key, None).type


def _epochs(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that epochs and offsets ascend, and that each batch has the epoch of its offset."""
    kept: list[EpochStart] = []
    places: dict[int, int] = {}
    for entry in entries:
        value = cast(EpochStart, entry.value)
        if kept and (value.epoch <= kept[-1].epoch or value.start_offset < kept[-1].start_offset):
            reason = f"epoch {value.epoch} from {value.start_offset} comes after {kept[-1].epoch} from"
            yield Difference(entry.position, "epoch", f"{reason} {kept[-1].start_offset}")
            continue
        kept.append(value)
        places[value.epoch] = entry.position
    starts, known = [one.start_offset for one in kept], set[tuple[int, int]]()
    for batch in batches or ():
        if batch.magic < 2 or batch.partition_leader_epoch < 0 or batch.base_offset is None:
            continue
        at = bisect_right(starts, batch.base_offset) - 1
        if at < 0:
            if kept:
                continue  # before the log start offset: deleted records that are still in the segment
            yield Difference(0, "", f"the batch at offset {batch.base_offset} has an epoch, and none is listed")
            return
        epoch = kept[at].epoch
        if epoch != batch.partition_leader_epoch and (epoch, batch.partition_leader_epoch) not in known:
            known.add((epoch, batch.partition_leader_epoch))
            reason = f"the batch at offset {batch.base_offset} has leader epoch {batch.partition_leader_epoch}"
            yield Difference(places[epoch], "epoch", f"{reason}, not {epoch}")


@dataclass(slots=True)
class _Producer:
    """The state of a producer according to the log."""

    epoch: int = -1
    last: RecordBatch | None = None
    begun: int | None = None
    closed: bool = False


@dataclass(slots=True)
class _Producers:
    """The states of producers according to the batches, as a broker that replays the log builds them."""

    found: dict[int, _Producer] = field(default_factory=dict)

    def see(self, batch: RecordBatch) -> None:
        if batch.producer_id < 0:
            return
        known = self.found.setdefault(batch.producer_id, _Producer())
        if batch.producer_epoch != known.epoch:
            known.epoch, known.last = batch.producer_epoch, None
        if batch.is_control:
            known.begun, known.closed = None, True
            return
        known.last = batch
        if batch.is_transactional and known.begun is None:
            known.begun = batch.base_offset


def _snapshot(entries: Entries, batches: Batches | None, base: int) -> Iterator[Difference]:
    """Check that each producer appears once in a snapshot, with its last batches in the log before the snapshot's
    offset.
    """
    producers = _Producers()
    for batch in batches or ():
        if batch.last_offset >= base:
            break
        producers.see(batch)
    seen = set[int]()
    for entry in entries:
        yield from (Difference(fault.offset, fault.path, fault.reason) for fault in entry.faults)
        state: Any = entry.value
        if isinstance(state, SnapshotHeader):
            continue
        if state.producer_id in seen:
            yield Difference(entry.position, "producer_id", f"producer {state.producer_id} occurs twice")
        seen.add(state.producer_id)
        if max(state.last_offset, state.current_txn_first_offset) >= base:
            reason = f"the snapshot is of offsets below {base}"
            yield Difference(entry.position, "last_offset", reason)
        elif state.producer_id in producers.found:
            yield from _state(entry, producers.found[state.producer_id])


def _state(entry: DiskEntry, known: _Producer) -> Iterator[Difference]:
    """Compare a producer in a snapshot with its state in the log."""
    state: Any = entry.value
    expected = {"epoch": known.epoch, "last_offset": -1, "last_sequence": -1}
    if known.last is not None:
        delta = known.last.last_offset - (known.last.base_offset or 0)
        expected["last_offset"] = known.last.last_offset
        expected["last_sequence"] = (known.last.base_sequence + delta) % _SEQUENCES
        expected["offset_delta"] = delta
    if known.begun is not None or known.closed:
        expected["current_txn_first_offset"] = -1 if known.begun is None else known.begun
    for name, value in expected.items():
        if getattr(state, name) != value:
            reason = f"{getattr(state, name)} of producer {state.producer_id}; its last batch in the log has {value}"
            yield Difference(entry.position, name, reason)


def _quorum(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that the epoch of a quorum state is not older than the log's, and that its leader is a voter."""
    greatest = max((batch.partition_leader_epoch for batch in batches or ()), default=-1)
    for entry in entries:
        state = entry.fields
        if state["leaderEpoch"] < greatest:
            yield Difference(0, "leaderEpoch", f"epoch {state['leaderEpoch']}; the log has epoch {greatest}")
        voters = [voter["voterId"] for voter in state.get("currentVoters") or ()]
        if voters and state["leaderId"] not in (-1, *voters):
            yield Difference(0, "leaderId", f"leader {state['leaderId']} is not one of the voters {voters}")


def _offsets(entries: Entries, ends: Mapping[str, int]) -> Iterator[Difference]:
    """Check that no offset exceeds the log end offset of its partition, whose folder is beside the file."""
    seen = set[str]()
    for entry in entries:
        value = cast(PartitionOffset, entry.value)
        name = f"{value.topic}-{value.partition}"
        if name in seen:
            yield Difference(entry.position, "partition", f"{name} occurs twice")
        seen.add(name)
        if value.offset < 0:
            yield Difference(entry.position, "offset", f"offset {value.offset}")
        elif name not in ends:
            if ends:
                yield Difference(entry.position, "partition", f"there is no folder {name} with a log")
        elif value.offset > ends[name]:
            yield Difference(entry.position, "offset", f"offset {value.offset}; the log of {name} ends at {ends[name]}")


_NEEDED = {"0": ("broker.id",), "1": ("cluster.id", "node.id")}


def _properties(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    """Check that version 0 (ZooKeeper) has a broker id, and version 1 (KRaft) a node id and a cluster id.

    Directory ids must be UUIDs.
    """
    for entry in entries:
        found = entry.fields
        version = found.get("version")
        if version not in _NEEDED:
            yield Difference(
                0, "version", "there is none" if version is None else f"version {version}; 0 and 1 are known"
            )
            continue
        for name in _NEEDED[version]:
            if not found.get(name):
                yield Difference(0, name, f"version {version} needs {name}")
        for name in ("broker.id", "node.id"):
            if not found.get(name, "0").isdecimal():
                yield Difference(0, name, f"{found[name]} is not the id of a node")
        if "directory.id" in found and topic_uuid(found["directory.id"]) is None:
            yield Difference(0, "directory.id", f"{found['directory.id']} is not a UUID in base64")


def _metadata(entries: Entries, batches: Batches | None) -> Iterator[Difference]:
    for entry in entries:
        value = cast(PartitionMetadata, entry.value)
        if value.version != 0:
            yield Difference(0, "version", f"version {value.version}; 0 is known")
        if not any(topic_uuid(value.topic_id) or b""):
            yield Difference(0, "topic_id", f"{value.topic_id} is the id of no topic")


_CHECKS = {
    "offset index": _offset_index,
    "time index": _time_index,
    "transaction index": _transaction_index,
    "leader epochs": _epochs,
    "quorum state": _quorum,
    "directory properties": _properties,
    "partition metadata": _metadata,
}


_SAME = (
    "base_offset last_offset partition_leader_epoch base_timestamp max_timestamp producer_id producer_epoch "
    "base_sequence is_transactional is_control delete_horizon"
).split()
_CRC = {0: (12, 16), 1: (12, 16), 2: (17, 21)}


class Compared(NamedTuple):
    """The original and the rebuilt bytes; `inside` is true if they are decompressed records."""

    was: bytes
    again: bytes
    inside: bool = False


def rebuild(batch: RecordBatch, *, limit: int = LIMIT) -> Compared:
    """Build a batch again from its decoded records.

    Args:
        batch: the batch, with its bytes.
        limit: the maximum decompressed size of its records, in bytes.

    Returns:
        The bytes to compare: the batches, or the decompressed records if the batches differ only in the compressed
        part.

    Raises:
        DecodeError: the records cannot be read.
        EncodeError: a decoded value cannot be encoded.
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch, parse_records
    >>> compared = rebuild(next(parse_records(build_batch([Record(7, key=b"k")], compression="gzip"))))
    >>> compared.was == compared.again, compared.inside
    (True, False)
    """
    records: list[Record] = list(batch.records(limit=limit))
    again = build_batch(records, **_arguments(batch))
    if not batch.compression_id or not records or again == batch.data:
        return Compared(batch.data, again)
    if _head(batch.data, batch.magic) != _head(again, batch.magic):
        return Compared(batch.data, again)
    return Compared(_inside(batch, batch.data, limit), _inside(batch, again, limit), inside=True)


def _arguments(batch: RecordBatch) -> dict[str, Any]:
    common = {"magic": batch.magic, "compression": batch.compression or "", "timestamp_type": batch.timestamp_type}
    common["attributes"] = batch.attributes
    if batch.magic == 2:
        return common | {name: getattr(batch, name) for name in _SAME}
    return common | ({"last_offset": batch.last_offset} if batch.compression_id else {})


def _head(data: bytes, magic: int) -> bytes:
    """Return the header without length and checksum, which depend on the compressed bytes."""
    crc = _CRC[magic]
    return data[:8] + data[12 : crc[0]] + data[crc[1] : BATCH.size if magic == 2 else MESSAGE.size + 8 * magic]


def _inside(batch: RecordBatch, data: bytes, limit: int) -> bytes:
    payload = data[BATCH.size :]
    if batch.magic < 2:
        key = MESSAGE.size + 8 * batch.magic
        size = int.from_bytes(data[key : key + 4], "big", signed=True)
        payload = data[key + 8 + max(size, 0) :]
    return inflate(batch.compression or "", payload, magic=batch.magic, limit=limit).data
