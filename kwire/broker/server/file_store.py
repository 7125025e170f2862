"""The segments of a log on disk, in Kafka's format: record batches in files named after their first offset.

It keeps no file open. As in Kafka, the operating system decides when data reaches the disk, except for logs with
`flush.messages` or `flush.ms`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import EINVAL
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any

from ..log.batch_recovery import LogDamage, OldFormat, StoredBatch, read_batches

SEGMENT = 1 << 31  # bytes, of a journal; a log begins its segments itself
SegmentPosition = tuple[int, int, int]  # first offset of the segment, position in it, bytes


class FileStore:
    """The segments of one partition.

    Args:
        folder: the folder of the segments.
        segment_bytes: the size at which a new segment begins.
        prefix: the prefix of file names.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT, prefix: str = "") -> None:
        self.folder: Path = folder
        self.segment_bytes: int = segment_bytes
        self.prefix: str = prefix
        folder.mkdir(parents=True, exist_ok=True)
        self._active, self._size = -1, 0
        self._is_new = False  # whether the folder has an entry that was not flushed

    def append(self, data: bytes, base_offset: int) -> SegmentPosition:
        """Write a batch, in a new segment if the last one is full. An empty last segment is renamed instead."""
        if self._active >= 0 and not self._size and self._active != base_offset:
            self._file(self._active).unlink(missing_ok=True)
            self._active = -1
        if self._active < 0 or self._size + len(data) > self.segment_bytes:
            self._active, self._size, self._is_new = base_offset, 0, True
        self._write(data)
        location = self._active, self._size, len(data)
        self._size += len(data)
        return location

    def _write(self, data: bytes) -> None:
        """Write at the end of the log, over any bytes that an earlier failure left there."""
        path = self._file(self._active)
        stream = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0) | (0 if self._size else os.O_CREAT), 0o644)
        try:
            os.lseek(stream, self._size, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(stream, left) :]
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(stream, self._size)  # so that half a batch does not precede the next one
            problem = f"a batch was written in part: {error.strerror}"
            raise OSError(error.errno or EINVAL, problem, str(path)) from None
        finally:
            os.close(stream)

    def read(self, places: Sequence[SegmentPosition]) -> bytes:
        """Read consecutive batches, with one read per segment."""
        spans: dict[int, list[int]] = {}
        for segment, position, size in places:
            spans.setdefault(segment, [position, 0])[1] += size
        return b"".join(self._read(segment, position, size) for segment, (position, size) in spans.items())

    def _read(self, segment: int, position: int, size: int) -> bytes:
        with self._file(segment).open("rb", buffering=0) as stream:
            stream.seek(position)
            data = stream.read(size)
        if len(data) != size:
            raise OSError(EINVAL, "the segment is shorter than it was", str(self._file(segment)))
        return data

    def batches(self) -> Iterator[StoredBatch | LogDamage]:
        """Yield the stored batches; raises OSError if one has an old format."""
        starts = self._starts()
        if not starts and not self.prefix:
            yield LogDamage("no segment is there")
        for start in starts:
            self._active, self._size = start, 0
            for item in self._segment(self._file(start)):
                yield item
                if isinstance(item, LogDamage):
                    return

    def _segment(self, path: Path) -> Iterator[StoredBatch | LogDamage]:
        try:
            with path.open("rb") as stream:
                for item in read_batches(stream.read, path.stat().st_size):
                    if isinstance(item, LogDamage):
                        yield item
                        return
                    size = len(item.data)
                    yield StoredBatch(item, (self._active, self._size, size), None if self._size else self._active)
                    self._size += size
        except OldFormat:
            raise OSError(EINVAL, "only record batches of magic 2 are served", str(path)) from None

    def size(self) -> int:
        """Return the size of all segments in bytes."""
        return sum(self._file(start).stat().st_size for start in self._starts())

    def drop_before(self, offset: int) -> None:
        """Delete segments that end before an offset."""
        for start, following in pairwise(self._starts()):
            if following <= offset:
                self._file(start).unlink()

    def truncate(self, last: SegmentPosition | None) -> None:
        """Delete everything after a position; None deletes all batches and leaves an empty segment."""
        segment, position, size = last or (0, 0, 0)
        for start in reversed(self._starts()):
            if start > segment or last is None:
                self._file(start).unlink()
        if last is None:
            self._file(segment).touch()
            self._is_new = True
        else:
            os.truncate(self._file(segment), position + size)
        self._active, self._size = segment, position + size

    def roll(self, base_offset: int) -> None:
        """Begin a new, empty segment; the previous data is flushed, as in Kafka."""
        if self._active >= 0 and not self.prefix:
            self.flush()
        self._active, self._size, self._is_new = base_offset, 0, True
        self._file(base_offset).touch()

    def last_segment(self) -> int:
        """Return the first offset of the last segment; 0 if there is none."""
        return max(self._starts(), default=0)

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[SegmentPosition]:
        """Replace the batches of a segment atomically, so that a crash leaves the old or the new ones; delete the
        segment if it
        becomes empty."""
        path = self._file(base_offset)
        if not batches:
            path.unlink()
            return []
        made = path.with_suffix(".log.cleaned")  # Kafka's name; deleted at its start, as at ours
        with made.open("wb") as stream:
            stream.write(b"".join(batches))
            stream.flush()
            os.fsync(stream.fileno())
        made.replace(path)
        flush_folder(self.folder)
        ends = list(accumulate(map(len, batches), initial=0))
        return [(base_offset, at, end - at) for at, end in pairwise(ends)]

    def flush(self) -> None:
        """Flush the last segment to the disk, and the folder if the segment is new or the log is a journal."""
        if self._active >= 0:
            with self._file(self._active).open("r+b") as stream:
                os.fsync(stream.fileno())
            if self._is_new or self.prefix:
                flush_folder(self.folder)
            self._is_new = False

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _file(self, base_offset: int) -> Path:
        return self.folder / f"{self.prefix}{base_offset:020}.log"

    def _starts(self) -> list[int]:
        """Return the first offsets of the existing segments."""
        pattern = re.compile(re.escape(self.prefix) + r"(\d{20})\.log")
        matches = (pattern.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)


class ReadOnlyStore(FileStore):
    """The segments of one partition, which are only read: appended batches are kept in memory until the process
    ends."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder: Path = folder
        self.segment_bytes: int = SEGMENT
        self.prefix: str = prefix
        self._active, self._size = -1, 0
        self._left: SegmentPosition | None = None  # the last position after a truncation
        self._is_truncated = False

    def append(self, data: bytes, base_offset: int) -> Any:
        """Return the bytes of a batch as their position."""
        return data

    def read(self, places: Sequence[Any]) -> bytes:
        """Read batches, from files and from memory."""
        groups = groupby(places, key=lambda location: isinstance(location, bytes))
        return b"".join(
            b"".join(group) if is_memory else super(ReadOnlyStore, self).read([*group]) for is_memory, group in groups
        )

    def batches(self) -> Iterator[StoredBatch | LogDamage]:
        """Yield the stored batches, up to where the log was truncated."""
        if self._is_truncated and self._left is None:
            return
        for item in super().batches() if self.folder.is_dir() else ():
            yield item
            if self._is_truncated and isinstance(item, StoredBatch) and item.place == self._left:
                return

    def truncate(self, last: Any | None) -> None:
        """Record where the log ends."""
        self._is_truncated, self._left = True, last

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[Any]:
        """Return the bytes of the batches as their positions."""
        return list(batches)

    def drop_before(self, offset: int) -> None:
        """Do nothing: the log's own index has the new start."""

    def roll(self, base_offset: int) -> None:
        """Do nothing: appended batches are in memory."""

    def flush(self) -> None:
        """Do nothing: nothing was written."""

    def _starts(self) -> list[int]:
        return super()._starts() if self.folder.is_dir() else []


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, as Kafka does for new and renamed files; not possible on Windows."""
    if sys.platform == "win32":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
