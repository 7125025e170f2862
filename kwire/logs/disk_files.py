"""Reads the files beside the segments on a broker's disk.

These are indexes, producer snapshots, checkpoints, quorum state and properties.

Files are recognised by name or content. Bytes that cannot be read become `LogBytes` with the
reason. `checks` compares entries with the log.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from ..caches import lazy_pattern
from ..errors import BadChecksum, DecodeError, EncodeError, Tolerated, TrailingBytes
from ..internal.topic_records import codec_for, versions_of
from ..records.record_layouts_and_checksums import crc32c, hex32
from ..wire import Reader
from .segment_reader import LogBytes

MOST_TEXT = 1 << 26  # the largest checkpoint, in bytes: half a million partitions with the longest names
MOST_INDEX = 1 << 31  # the largest file whose positions are int32


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


@dataclass(frozen=True, slots=True)
class DiskEntry:
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


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Reads a file whose entries all have the same layout.

    `make` takes the base offset of the segment, then the fields.
    """

    layout: struct.Struct
    make: Callable[..., Value]

    def __call__(self, kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
        index, zeros = 0, 0
        for at, raw in self._cuts(portions):
            if not any(raw):
                zeros += len(raw)
            elif len(raw) % self.layout.size:
                yield from _allocated(at - zeros, zeros, file)
                zeros, why = 0, f"{len(raw)} bytes at the end are not a complete entry of {self.layout.size} bytes"
                yield _bad(at, raw, why, file)
            else:
                if zeros == self.layout.size and not index:  # time 0 at the first offset
                    yield DiskEntry(kind, 0, 0, self.make(base, *self.layout.unpack(bytes(zeros))), file)
                    index = 1
                elif zeros:
                    yield _bad(at - zeros, b"", f"{zeros} zeros before an entry", file, zeros)
                yield DiskEntry(kind, index, at, self.make(base, *self.layout.unpack(raw)), file)
                index, zeros = index + 1, 0
        yield from _allocated(at - zeros + len(raw), zeros, file) if zeros else ()

    def _cuts(self, portions: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield entries with their positions; zeros are joined; an incomplete entry is the last one."""
        left, passed, size = b"", 0, self.layout.size
        for portion in portions:
            data = left + portion
            whole = len(data) - len(data) % size
            if data.count(0, 0, whole) == whole > 0:  # preallocated space, up to 10 MiB
                yield passed, data[:whole]
            else:
                yield from ((passed + at, data[at : at + size]) for at in range(0, whole, size))
            passed, left = passed + whole, data[whole:]
        if left:
            yield passed, left


def _allocated(position: int, count: int, file: str) -> Iterator[LogBytes]:
    if count:
        yield LogBytes(position, count, b"", None, None, file)


def _bad(position: int, data: bytes, why: str, file: str, count: int | None = None) -> LogBytes:
    error = BadDiskFile(offset=position, found=why, raw=data)
    return LogBytes(position, len(data) if count is None else count, data, error, None, file)


def _offset_entry(base: int, relative: int, position: int) -> OffsetIndexEntry:
    return OffsetIndexEntry(base + relative, position)


def _time_entry(base: int, timestamp: int, relative: int) -> TimeIndexEntry:
    return TimeIndexEntry(timestamp, base + relative)


def _aborted(base: int, *fields: int) -> AbortedTransaction:
    return AbortedTransaction(*fields)


def _snapshot(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Yield the header of a producer snapshot, then its producers."""
    data = _whole(portions, file)
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version not in versions_of("ProducerSnapshot"):
        known = str(versions_of("ProducerSnapshot"))
        why = f"version {version}; {known} is known" if len(data) >= 2 else "no version"
        yield _bad(0, data, f"not a supported producer snapshot: {why}", file)
        return
    reader = Reader(data[2:])
    try:
        message = codec_for("ProducerSnapshot", version).read(reader)
    except DecodeError as error:
        error.offset += 2
        yield LogBytes(0, len(data), data, error.with_traceback(None), None, file)
        return
    rest = reader.read()
    faults: list[DecodeError] = []
    actual = crc32c(data[6:])
    if actual != message.crc:
        faults.append(
            BadChecksum(offset=2, segments=("crc",), found=(hex32(message.crc), hex32(actual)), raw=data[2:6])
        )
    if rest:
        faults.append(TrailingBytes(offset=len(data) - len(rest), need=len(rest), have=len(rest), raw=rest))
    header = SnapshotHeader(version, message.crc, len(message.producer_entries))
    yield DiskEntry(kind, 0, 0, header, file, tuple(faults))
    for index, producer in enumerate(message.producer_entries):
        yield DiskEntry(kind, index + 1, 10 + 46 * index, producer, file)


def _whole(portions: Iterable[bytes], file: str) -> bytes:
    data = bytearray()
    for portion in portions:
        data += portion
        if len(data) > MOST_TEXT:
            raise BadDiskFile(offset=len(data), found=f"more than {MOST_TEXT} bytes, which no such file has")
    return bytes(data)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text with their positions."""
    at = 0
    for line in data.split(b"\n"):
        yield at, line.removesuffix(b"\r")
        at += len(line) + 1


_EPOCH = lazy_pattern(rb"(\d{1,10}) (\d{1,19})")
_OFFSET = lazy_pattern(rb"([\w.-]{1,249}) (\d{1,10}) (-?\d{1,19})")


def _epoch_start(match: re.Match[bytes]) -> EpochStart:
    return EpochStart(int(match[1]), int(match[2]))


def _partition_offset(match: re.Match[bytes]) -> PartitionOffset:
    return PartitionOffset(match[1].decode(), int(match[2]), int(match[3]))


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """Reads a checkpoint: a line with the version, a line with a count, and that many entries in the format of `words`.

    An empty file is a checkpoint that was never written.
    """

    pattern: re.Pattern[bytes]
    make: Callable[[re.Match[bytes]], Value]
    words: str

    def __call__(self, kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
        data = _whole(portions, file)
        lines = [*_lines(data)]
        if lines[-1][1] == b"":
            lines.pop()
        if not lines:
            return
        if lines[0][1] != b"0":
            yield _bad(0, data, "the first line of a checkpoint is its version, 0", file)
        elif len(lines) < 2 or not re.fullmatch(rb"\d{1,10}", lines[1][1]):
            yield _bad(lines[0][0], data, "the second line of a checkpoint is the number of its entries", file)
        else:
            yield from self._entries(kind, lines[2:], file)
            at, count = lines[1]
            need, have = int(count), len(lines) - 2
            if need != have:
                error = WrongCount(offset=at, segments=("count",), need=need, have=have, raw=count)
                yield LogBytes(at, len(count), count, error, None, file)

    def _entries(self, kind: str, lines: list[tuple[int, bytes]], file: str) -> Iterator[DiskItem]:
        index = 0
        for at, line in lines:
            match = self.pattern.fullmatch(line)
            if match is None:
                yield _bad(at, line, f"not a line of {self.words}", file)
                continue
            yield DiskEntry(kind, index, at, self.make(match), file)
            index += 1


def _properties(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Yield the properties of a log directory as one entry; comments are omitted."""
    data, found = _whole(portions, file), dict[str, str]()
    for at, line in _lines(data):
        text = line.strip()
        if not text or text[:1] in (b"#", b"!"):
            continue
        name, separator, value = text.partition(b"=")
        if not separator or not text.isascii():
            yield _bad(at, line, "not a line of NAME=VALUE", file)
        elif name.strip().decode() in found:
            yield _bad(at, line, f"{name.strip().decode()} occurs twice", file)
        else:
            found[name.strip().decode()] = value.strip().decode().replace("\\:", ":").replace("\\=", "=")
    yield DiskEntry(kind, 0, 0, found, file)


_METADATA = lazy_pattern(rb"version: (\d{1,5})\r?\ntopic_id: ([A-Za-z0-9_-]{22})\s*")


def _partition_metadata(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    data = _whole(portions, file)
    match = _METADATA.fullmatch(data)
    if match is None:
        yield _bad(0, data, "two lines are needed: version: 0, and topic_id: with 22 characters of base64", file)
        return
    yield DiskEntry(kind, 0, 0, PartitionMetadata(int(match[1]), match[2].decode()), file)


def _quorum_state(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    data = _whole(portions, file)
    try:
        members = msgspec.json.decode(data)
        version = members.pop("data_version")
        if version not in versions_of("QuorumState"):
            raise ValueError(f"data_version {version}; {versions_of('QuorumState')} is known")
        codec = codec_for("QuorumState", version)
        state = codec.to_json(codec.from_json(members))
        yield DiskEntry(kind, 0, 0, {**state, "data_version": version}, file)
    except (msgspec.DecodeError, EncodeError, ValueError, RecursionError) as error:
        yield _bad(0, data, f"no quorum state: {error}", file)
    except (AttributeError, KeyError, TypeError):
        yield _bad(0, data, "no quorum state: a JSON object with data_version is needed", file)


@dataclass(frozen=True, slots=True)
class DiskKind:
    """A kind of file: its reader, and whether the file may be empty."""

    name: str
    read: Callable[[str, int, Iterable[bytes], str], Iterator[DiskItem]]
    may_be_empty: bool = False


_OFFSETS = _Checkpoint(_OFFSET, _partition_offset, "topic, partition and offset")
_BY_SUFFIX = {
    "index": DiskKind("offset index", _Fixed(struct.Struct(">ii"), _offset_entry), True),
    "timeindex": DiskKind("time index", _Fixed(struct.Struct(">qi"), _time_entry), True),
    "txnindex": DiskKind("transaction index", _Fixed(struct.Struct(">hqqqq"), _aborted), True),
    "snapshot": DiskKind("producer snapshot", _snapshot),
}
_BY_NAME = {
    "leader-epoch-checkpoint": DiskKind(
        "leader epochs", _Checkpoint(_EPOCH, _epoch_start, "an epoch and its first offset"), True
    ),
    "recovery-point-offset-checkpoint": DiskKind("recovery points", _OFFSETS, True),
    "replication-offset-checkpoint": DiskKind("high watermarks", _OFFSETS, True),
    "log-start-offset-checkpoint": DiskKind("log start offsets", _OFFSETS, True),
    "cleaner-offset-checkpoint": DiskKind("cleaner offsets", _OFFSETS, True),
    "quorum-state": DiskKind("quorum state", _quorum_state),
    "meta.properties": DiskKind("directory properties", _properties),
    "partition.metadata": DiskKind("partition metadata", _partition_metadata),
}
_UNNAMED = DiskKind("offset checkpoint", _OFFSETS)
KINDS: dict[str, DiskKind] = {kind.name: kind for kind in (*_BY_SUFFIX.values(), *_BY_NAME.values(), _UNNAMED)}

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
_PROPERTY = lazy_pattern(rb"^(version|cluster\.id|broker\.id|node\.id|directory\.id)=", re.MULTILINE)


def disk_kind(name: str, head: bytes = b"") -> DiskKind | None:
    """Recognise a file of a broker's disk; return None if it is unknown.

    Args:
        name: the file name, without folders; a suffix `.gz` or `.zst` is ignored.
        head: the first bytes, used if the name is not recognised. Indexes are recognised only by their names.

    >>> disk_kind("00000000000000000000.timeindex").name, disk_kind("-", b"version: 0\\ntopic_id: x").name
    ('time index', 'partition metadata')
    """
    named = _SEGMENT.fullmatch(name)
    if named is not None:
        return _BY_SUFFIX[named[2]]
    kind = _BY_NAME.get(_COMPRESSED.sub("", name))
    return kind or _by_content(head)


def _by_content(head: bytes) -> DiskKind | None:
    for pattern, name in _CONTENT:
        if pattern.match(head):
            return KINDS[name]
    if head[:1] in b"#vcbnd" and len(set(_PROPERTY.findall(head))) >= 2:
        return KINDS["directory properties"]
    if len(head) >= 10 and head[:2] == b"\0\1" and (len(head) - 10) % 46 == 0:
        return KINDS["producer snapshot"] if crc32c(head[6:]) == int.from_bytes(head[2:6], "big") else None
    return None


def base_offset_of(name: str) -> int:
    """Return the offset in a file name; 0 if there is none.

    >>> base_offset_of("00000000000000005000.index"), base_offset_of("quorum-state")
    (5000, 0)
    """
    digits = re.match(r"\d{1,20}", name)
    return int(digits[0]) if digits else 0


def read_disk_file(kind: DiskKind, portions: Iterable[bytes], name: str, file: str = "") -> Iterator[DiskItem]:
    """Read the entries of a file of a broker's disk.

    Args:
        kind: a result of `disk_kind`.
        portions: the bytes of the file, in portions of any size.
        name: the file name; the name of an index starts with the base offset of its segment.
        file: the name in entries; by default `name`.

    Yields:
        `DiskEntry`; `LogBytes` for bytes that cannot be read and for preallocated space (whose `error` is None).

    >>> index = bytes.fromhex("0000002d 00001052") + bytes(16)
    >>> [*read_disk_file(disk_kind("0.index"), [index], "0.index")][0].value
    OffsetIndexEntry(offset=45, position=4178)
    """
    try:
        yield from kind.read(kind.name, base_offset_of(name), _bounded(portions), file or name)
    except BadDiskFile as error:
        yield LogBytes(error.offset, 0, b"", error.with_traceback(None), None, file or name)


def _bounded(portions: Iterable[bytes]) -> Iterator[bytes]:
    passed = 0
    for portion in portions:
        passed += len(portion)
        if passed > MOST_INDEX:
            raise BadDiskFile(offset=passed, found=f"more than {MOST_INDEX} bytes, which no such file has")
        yield portion


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A file on a broker's disk: its kind, its path, and its entries, which can be iterated once."""

    kind: str
    file: str
    items: Iterator[DiskItem]


def topic_uuid(text: str) -> bytes | None:
    """Return the 16 bytes of an id in Kafka's format (base64); None if the text is not an id."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if len(data) == 16 else None
