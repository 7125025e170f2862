"""Reads checkpoints: leader epochs, and offsets of partitions (recovery points, high watermarks, and so on).

Kafka's classes: CheckpointFile, with LeaderEpochCheckpointFile (KIP-101) and OffsetCheckpointFile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...runtime.lazy_patterns import lazy_pattern
from .disk_entry import (
    DiskEntry,
    DiskItem,
    EpochStart,
    PartitionOffset,
    Value,
    WrongCount,
    bad_bytes,
    read_text_file,
    split_lines,
)
from .log_batch import LogBytes

EPOCH_LINE = lazy_pattern(rb"(\d{1,10}) (\d{1,19})")
OFFSET_LINE = lazy_pattern(rb"([\w.-]{1,249}) (\d{1,10}) (-?\d{1,19})")


def build_epoch_start(match: re.Match[bytes]) -> EpochStart:
    """Convert a line of a leader epoch checkpoint."""
    return EpochStart(int(match[1]), int(match[2]))


def build_partition_offset(match: re.Match[bytes]) -> PartitionOffset:
    """Convert a line of an offset checkpoint."""
    return PartitionOffset(match[1].decode(), int(match[2]), int(match[3]))


@dataclass(frozen=True, slots=True)
class CheckpointReader:
    """Reads a checkpoint: a line with the version, a line with a count, and that many entries in the format of `words`.

    An empty file is a checkpoint that was never written.
    """

    pattern: re.Pattern[bytes]
    make: Callable[[re.Match[bytes]], Value]
    words: str

    def __call__(self, kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
        """Yield the entries of a file; `kind` and `file` are repeated in them."""
        data = read_text_file(portions, file)
        lines = [*split_lines(data)]
        if lines[-1][1] == b"":
            lines.pop()
        if not lines:
            return
        if lines[0][1] != b"0":
            yield bad_bytes(0, data, "the first line of a checkpoint is its version, 0", file)
        elif len(lines) < 2 or not re.fullmatch(rb"\d{1,10}", lines[1][1]):
            yield bad_bytes(lines[0][0], data, "the second line of a checkpoint is the number of its entries", file)
        else:
            yield from self._read_entries(kind, lines[2:], file)
            at, count = lines[1]
            need = int(count)
            have = len(lines) - 2
            if need != have:
                error = WrongCount(offset=at, segments=("count",), need=need, have=have, raw=count)
                yield LogBytes(at, len(count), count, error, None, file)

    def _read_entries(self, kind: str, lines: list[tuple[int, bytes]], file: str) -> Iterator[DiskItem]:
        index = 0
        for at, line in lines:
            match = self.pattern.fullmatch(line)
            if match is None:
                yield bad_bytes(at, line, f"not a line of {self.words}", file)
                continue
            yield DiskEntry(kind, index, at, self.make(match), file)
            index += 1
