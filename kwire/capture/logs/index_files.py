"""Reads the indexes of segments: offset index, time index and transaction index.

Their layouts are those of Kafka's OffsetIndex, TimeIndex (KIP-33) and AbortedTxn (KIP-98). AbstractIndex maps an index
of the active segment at its full size (`segment.index.bytes`), so that zeros follow its entries.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .disk_entry import AbortedTransaction, DiskEntry, DiskItem, OffsetIndexEntry, TimeIndexEntry, Value, bad_bytes
from .log_batch import LogBytes


@dataclass(frozen=True, slots=True)
class IndexReader:
    """Reads a file whose entries all have the same layout.

    `make` takes the base offset of the segment, then the fields.
    """

    layout: struct.Struct
    make: Callable[..., Value]

    def __call__(self, kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
        """Yield the entries of a file; `kind` and `file` are repeated in them."""
        index, zeros = 0, 0
        for at, raw in self._cut_entries(portions):
            if not any(raw):
                zeros += len(raw)
            elif len(raw) % self.layout.size:
                yield from _report_preallocated(at - zeros, zeros, file)
                zeros = 0
                why = f"{len(raw)} bytes at the end are not a complete entry of {self.layout.size} bytes"
                yield bad_bytes(at, raw, why, file)
            else:
                if zeros == self.layout.size and not index:  # time 0 at the first offset
                    yield DiskEntry(kind, 0, 0, self.make(base, *self.layout.unpack(bytes(zeros))), file)
                    index = 1
                elif zeros:
                    yield bad_bytes(at - zeros, b"", f"{zeros} zeros before an entry", file, zeros)
                yield DiskEntry(kind, index, at, self.make(base, *self.layout.unpack(raw)), file)
                index = index + 1
                zeros = 0
        if zeros:
            yield from _report_preallocated(at - zeros + len(raw), zeros, file)

    def _cut_entries(self, portions: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield entries with their positions; zeros are joined; an incomplete entry is the last one."""
        left = b""
        passed = 0
        size = self.layout.size
        for portion in portions:
            data = left + portion
            whole = len(data) - len(data) % size
            if data.count(0, 0, whole) == whole > 0:  # preallocated space, up to 10 MiB
                yield passed, data[:whole]
            else:
                yield from ((passed + at, data[at : at + size]) for at in range(0, whole, size))
            passed = passed + whole
            left = data[whole:]
        if left:
            yield passed, left


def _report_preallocated(position: int, count: int, file: str) -> Iterator[LogBytes]:
    if count:
        yield LogBytes(position, count, b"", None, None, file)


def build_offset_entry(base: int, relative: int, position: int) -> OffsetIndexEntry:
    """Convert an entry of an offset index, whose offset is relative to that of the segment."""
    return OffsetIndexEntry(base + relative, position)


def build_time_entry(base: int, timestamp: int, relative: int) -> TimeIndexEntry:
    """Convert an entry of a time index, whose offset is relative to that of the segment."""
    return TimeIndexEntry(timestamp, base + relative)


def build_aborted_transaction(base: int, *fields: int) -> AbortedTransaction:
    """Convert an entry of a transaction index, whose offsets are absolute."""
    return AbortedTransaction(*fields)
