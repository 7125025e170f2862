"""Reads producer snapshots, as Kafka's ProducerStateManager writes them (writeSnapshot, readSnapshot; KIP-98)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...codecs.records.crc32c import crc32c, hex32
from ...codecs.wire import Reader
from ...errors import BadChecksum, DecodeError, TrailingBytes
from ...protocol.nested.versioned_message import codec_for, versions_of
from .disk_entry import DiskEntry, DiskItem, SnapshotHeader, bad_bytes, read_text_file
from .log_batch import LogBytes

SNAPSHOT_HEADER_SIZE = 10  # bytes: version, checksum, number of producers
SNAPSHOT_ENTRY_SIZE = 46


def read_producer_snapshot(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Yield the header of a producer snapshot, then its producers."""
    data = read_text_file(portions, file)
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version not in versions_of("ProducerSnapshot"):
        known = str(versions_of("ProducerSnapshot"))
        why = f"version {version}; {known} is known" if len(data) >= 2 else "no version"
        yield bad_bytes(0, data, f"not a supported producer snapshot: {why}", file)
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
        yield DiskEntry(kind, index + 1, SNAPSHOT_HEADER_SIZE + SNAPSHOT_ENTRY_SIZE * index, producer, file)
