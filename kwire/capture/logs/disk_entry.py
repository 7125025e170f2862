"""The entries of the files beside the segments, and what their readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ...errors import DecodeError, Tolerated
from ...runtime.former_dataclasses import was_dataclass
from .log_batch import LogBytes

MOST_TEXT = 1 << 26  # the largest checkpoint, in bytes: half a million partitions with the longest names


class OffsetIndexEntry(NamedTuple):
    """The record with `offset` is at byte `position` of the segment, or after it."""

    offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """The largest timestamp (milliseconds since 1970) of the records up to `offset`."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """A transaction that read_committed consumers skip; `last_offset` is the offset of its marker."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class SnapshotHeader(NamedTuple):
    """The header of a snapshot, which precedes the producers."""

    version: int
    crc: int
    producers: int


class EpochStart(NamedTuple):
    """The first offset that the leader of an epoch wrote."""

    epoch: int
    start_offset: int


class PartitionOffset(NamedTuple):
    """The offset of a partition: a recovery point, a high watermark, a log start offset, or a cleaner position."""

    topic: str
    partition: int
    offset: int


class PartitionMetadata(NamedTuple):
    """The id of the topic whose partition is stored in this folder."""

    version: int
    topic_id: str


Value = (
    OffsetIndexEntry
    | TimeIndexEntry
    | AbortedTransaction
    | SnapshotHeader
    | EpochStart
    | PartitionOffset
    | PartitionMetadata
    | msgspec.Struct
    | dict[str, Any]
)


@was_dataclass
class DiskEntry(msgspec.Struct, frozen=True):
    """One entry of a file on a broker's disk.

    Attributes:
        kind: the kind of the file, a name in `KINDS`.
        index: the number of preceding entries.
        position: its offset in the file, in bytes.
        value: its content; a message for producers in snapshots, a dict for quorum states and properties.
        file: the name of the file.
        faults: the tolerated faults.
    """

    kind: str
    index: int
    position: int
    value: Value
    file: str = ""
    faults: tuple[DecodeError, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the value, by their names in snake case; properties keep their names."""
        if isinstance(self.value, dict):
            return self.value
        if not isinstance(self.value, msgspec.Struct):
            return self.value._asdict()
        return {name: value for name, value in msgspec.structs.asdict(self.value).items() if name != "unknown_tags"}


class BadDiskFile(DecodeError):
    """Bytes that do not match the name of their file; `found` is the reason."""

    problem = "{found}"
    quotes = False
    hint = (
        "the broker rebuilds indexes and snapshots from the segments; checkpoints can be deleted with the broker down"
    )


class WrongCount(Tolerated):
    """A count that does not match the following entries."""

    problem = "the count is {need} entries, there are {have}"
    hint = "the file was cut short, or written by hand"


DiskItem = DiskEntry | LogBytes


def bad_bytes(position: int, data: bytes, why: str, file: str, count: int | None = None) -> LogBytes:
    """Return bytes that cannot be read, with the reason."""
    error = BadDiskFile(offset=position, found=why, raw=data)
    return LogBytes(position, len(data) if count is None else count, data, error, None, file)


def read_text_file(portions: Iterable[bytes], file: str) -> bytes:
    """Return the bytes of a text file; raise BadDiskFile if there are too many."""
    data = bytearray()
    for portion in portions:
        data += portion
        if len(data) > MOST_TEXT:
            raise BadDiskFile(offset=len(data), found=f"more than {MOST_TEXT} bytes, which no such file has")
    return bytes(data)


def split_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text with their positions."""
    at = 0
    for line in data.split(b"\n"):
        yield at, line.removesuffix(b"\r")
        at += len(line) + 1
