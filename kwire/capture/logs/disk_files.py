"""Reads the files beside the segments on a broker's disk; recognises them by name or content.

These are indexes, producer snapshots, checkpoints, quorum state and properties. Bytes that cannot be read become
`LogBytes` with the reason. `checks` compares entries with the log.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator

import msgspec

from ...codecs.records.crc32c import crc32c
from ...runtime.former_dataclasses import was_dataclass
from ...runtime.lazy_patterns import lazy_pattern
from .checkpoint_files import EPOCH_LINE, OFFSET_LINE, CheckpointReader, build_epoch_start, build_partition_offset
from .disk_entry import BadDiskFile, DiskItem
from .index_files import IndexReader, build_aborted_transaction, build_offset_entry, build_time_entry
from .log_batch import LogBytes
from .metadata_files import read_partition_metadata, read_properties, read_quorum_state
from .producer_snapshots import SNAPSHOT_ENTRY_SIZE, SNAPSHOT_HEADER_SIZE, read_producer_snapshot

MOST_INDEX = 1 << 31  # the largest file whose positions are int32
_OFFSETS = CheckpointReader(OFFSET_LINE, build_partition_offset, "topic, partition and offset")
_SEGMENT = lazy_pattern(r"(\d{1,20})\.(index|timeindex|txnindex|snapshot)(\.(deleted|cleaned|swap))?(\.(gz|zst))?")
_COMPRESSED = lazy_pattern(r"\.(gz|zst)$")
_CONTENT = (
    (lazy_pattern(rb"0\r?\n\d{1,10}\r?\n\d{1,10} \d{1,19}\r?\n"), "leader epochs"),
    (lazy_pattern(rb"0\r?\n\d{1,10}\r?\n[\w.-]{1,249} \d{1,10} -?\d{1,19}\r?\n"), "offset checkpoint"),
    (lazy_pattern(rb"version: \d{1,5}\r?\ntopic_id: "), "partition metadata"),
    (
        lazy_pattern(rb'\{"[^{}\[\]]{0,400}"leaderEpoch":.{0,4000}"data_version":\d{1,5}\}\s*', re.DOTALL),
        "quorum state",
    ),
)
_PROPERTY_BEGINS = b"#vcbnd"  # a comment, or the first letter of a property
_PROPERTY = lazy_pattern(rb"^(version|cluster\.id|broker\.id|node\.id|directory\.id)=", re.MULTILINE)


@was_dataclass
class DiskKind(msgspec.Struct, frozen=True):
    """A kind of file: its reader, and whether the file may be empty."""

    name: str
    read: Callable[[str, int, Iterable[bytes], str], Iterator[DiskItem]]
    may_be_empty: bool = False


_BY_SUFFIX = {
    "index": DiskKind("offset index", IndexReader(struct.Struct(">ii"), build_offset_entry), True),
    "timeindex": DiskKind("time index", IndexReader(struct.Struct(">qi"), build_time_entry), True),
    "txnindex": DiskKind("transaction index", IndexReader(struct.Struct(">hqqqq"), build_aborted_transaction), True),
    "snapshot": DiskKind("producer snapshot", read_producer_snapshot),
}


_BY_NAME = {
    "leader-epoch-checkpoint": DiskKind(
        "leader epochs", CheckpointReader(EPOCH_LINE, build_epoch_start, "an epoch and its first offset"), True
    ),
    "recovery-point-offset-checkpoint": DiskKind("recovery points", _OFFSETS, True),
    "replication-offset-checkpoint": DiskKind("high watermarks", _OFFSETS, True),
    "log-start-offset-checkpoint": DiskKind("log start offsets", _OFFSETS, True),
    "cleaner-offset-checkpoint": DiskKind("cleaner offsets", _OFFSETS, True),
    "quorum-state": DiskKind("quorum state", read_quorum_state),
    "meta.properties": DiskKind("directory properties", read_properties),
    "partition.metadata": DiskKind("partition metadata", read_partition_metadata),
}


_UNNAMED = DiskKind("offset checkpoint", _OFFSETS)


KINDS: dict[str, DiskKind] = {kind.name: kind for kind in (*_BY_SUFFIX.values(), *_BY_NAME.values(), _UNNAMED)}


def recognise_disk_file(name: str, head: bytes = b"") -> DiskKind | None:
    """Recognise a file of a broker's disk; return None if it is unknown.

    Args:
        name: the file name, without folders; a suffix `.gz` or `.zst` is ignored.
        head: the first bytes, used if the name is not recognised. Indexes are recognised only by their names.

    >>> recognise_disk_file("00000000000000000000.timeindex").name
    'time index'
    >>> recognise_disk_file("-", b"version: 0\\ntopic_id: x").name
    'partition metadata'
    """
    named = _SEGMENT.fullmatch(name)
    if named is not None:
        return _BY_SUFFIX[named[2]]
    kind = _BY_NAME.get(_COMPRESSED.sub("", name))
    return kind or _recognise_content(head)


def _recognise_content(head: bytes) -> DiskKind | None:
    for pattern, name in _CONTENT:
        if pattern.match(head):
            return KINDS[name]
    if head[:1] in _PROPERTY_BEGINS and len(set(_PROPERTY.findall(head))) >= 2:
        return KINDS["directory properties"]
    entries = len(head) - SNAPSHOT_HEADER_SIZE
    if head[:2] == b"\0\1" and entries >= 0 and entries % SNAPSHOT_ENTRY_SIZE == 0:
        crc = int.from_bytes(head[2:6], "big")
        return KINDS["producer snapshot"] if crc32c(head[6:]) == crc else None
    return None


def parse_base_offset(name: str) -> int:
    """Return the offset in a file name; 0 if there is none.

    >>> parse_base_offset("00000000000000005000.index"), parse_base_offset("quorum-state")
    (5000, 0)
    """
    digits = re.match(r"\d{1,20}", name)
    return int(digits[0]) if digits else 0


def read_disk_file(kind: DiskKind, portions: Iterable[bytes], name: str, file: str = "") -> Iterator[DiskItem]:
    """Read the entries of a file of a broker's disk.

    Args:
        kind: a result of `recognise_disk_file`.
        portions: the bytes of the file, in portions of any size.
        name: the file name; the name of an index starts with the base offset of its segment.
        file: the name in entries; by default `name`.

    Yields:
        `DiskEntry`; `LogBytes` for bytes that cannot be read and for preallocated space (whose `error` is None).

    >>> index = bytes.fromhex("0000002d 00001052") + bytes(16)
    >>> [*read_disk_file(recognise_disk_file("0.index"), [index], "0.index")][0].value
    OffsetIndexEntry(offset=45, position=4178)
    """
    try:
        yield from kind.read(kind.name, parse_base_offset(name), _limit_size(portions), file or name)
    except BadDiskFile as error:
        yield LogBytes(error.offset, 0, b"", error.with_traceback(None), None, file or name)


def _limit_size(portions: Iterable[bytes]) -> Iterator[bytes]:
    passed = 0
    for portion in portions:
        passed += len(portion)
        if passed > MOST_INDEX:
            raise BadDiskFile(offset=passed, found=f"more than {MOST_INDEX} bytes, which no such file has")
        yield portion


@was_dataclass
class DiskFile(msgspec.Struct, frozen=True):
    """A file on a broker's disk: its kind, its path, and its entries, which can be iterated once."""

    kind: str
    file: str
    items: Iterator[DiskItem]
