"""Log directories as Kafka's: a folder a partition, segments named after their first offset, record batches inside.

Knows files and batches by their headers; knows no topics' meaning. No file stays open. What is written is the system's
to keep: as in Kafka, nothing is forced to the disk.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EINVAL
from itertools import pairwise
from pathlib import Path

from ..errors import DecodeError
from ..records import RecordBatch
from ..records.layouts import LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC
from ..records.parsing import read_whole

SEGMENT = 1 << 30  # bytes, Kafka's log.segment.bytes
_FOLDER = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,9})")
_NOT_OURS = ("__cluster_metadata",)
_JOURNAL = "kwire-metadata-"  # files, not a folder: Kafka does not start where a folder is no partition's
_CHECK = "kwire-check"

Place = tuple[int, int, int]  # first offset of the segment, position in it, bytes


class FileStore:
    """The segments of one partition. A batch at the end that is not whole is cut off, as Kafka's recovery does.

    Args:
        folder: where they are.
        segment_bytes: at which size a new one is begun.
        prefix: what names of files begin with.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT, prefix: str = "") -> None:
        self.folder, self.segment_bytes, self.prefix = folder, segment_bytes, prefix
        folder.mkdir(parents=True, exist_ok=True)
        self._active, self._size = -1, 0

    def append(self, data: bytes, base_offset: int) -> Place:
        """Write a batch; begins a new segment when the last one is full."""
        if self._active < 0 or self._size + len(data) > self.segment_bytes:
            self._active, self._size = base_offset, 0
        with self._file(self._active).open("ab", buffering=0) as stream:
            if stream.write(data) != len(data):
                raise OSError(EINVAL, "a batch was written in part", str(self._file(self._active)))
        place = self._active, self._size, len(data)
        self._size += len(data)
        return place

    def read(self, places: Sequence[Place]) -> bytes:
        """Read batches that follow one another, each segment in one go."""
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

    def batches(self) -> Iterator[tuple[RecordBatch, Place]]:
        """Give the batches that are there; raises OSError if one is damaged, but for the last segment's end."""
        starts = self._starts()
        for start in starts:
            self._active, self._size = start, 0
            path = self._file(start)
            yield from self._segment(path)
            if self._size < path.stat().st_size:
                if start != starts[-1]:
                    raise OSError(EINVAL, "there is damage inside the log", str(path))
                os.truncate(path, self._size)

    def _segment(self, path: Path) -> Iterator[tuple[RecordBatch, Place]]:
        with path.open("rb") as stream:
            while data := _next_batch(stream.read(UP_TO_MAGIC), stream.read):
                if data[16] != 2:
                    raise OSError(EINVAL, "only record batches of magic 2 are served", str(path))
                try:
                    batch = read_whole(data)
                except DecodeError:
                    return
                yield batch, (self._active, self._size, len(data))
                self._size += len(data)

    def drop_before(self, offset: int) -> None:
        """Delete segments that end before an offset."""
        for start, following in pairwise(self._starts()):
            if following <= offset:
                self._file(start).unlink()

    def truncate(self, last: Place | None) -> None:
        """Delete what is behind a place."""
        segment, position, size = last or (-1, 0, 0)
        for start in reversed(self._starts()):
            if start > segment:
                self._file(start).unlink()
        if last is not None:
            os.truncate(self._file(segment), position + size)
        self._active, self._size = segment, position + size

    def roll(self) -> None:
        """Begin a new segment."""
        self._active = -1

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _file(self, base_offset: int) -> Path:
        return self.folder / f"{self.prefix}{base_offset:020}.log"

    def _starts(self) -> list[int]:
        """Return the first offsets of the segments that are there."""
        pattern = re.compile(re.escape(self.prefix) + r"(\d{20})\.log")
        matches = (pattern.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)


def _next_batch(head: bytes, read: Callable[[int], bytes]) -> bytes:
    """Return the bytes of the batch that begins so; none if it is not all there."""
    length = int.from_bytes(head[8:LOG_OVERHEAD], "big", signed=True)
    if len(head) < UP_TO_MAGIC or head[16] not in LEAST_LENGTH or length < LEAST_LENGTH[head[16]]:
        return b""
    data = head + read(LOG_OVERHEAD + length - len(head))
    return data if len(data) == LOG_OVERHEAD + length else b""


class FileDisk:
    """A log directory on a disk.

    Args:
        path: the directory; made if it is not there, which raises OSError if it cannot be.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, topic: str, index: int) -> FileStore:
        """Return the segments of a partition."""
        return FileStore(Path(self.path) / f"{topic}-{index}")

    def journal(self) -> FileStore:
        """Return the files with what the cluster remembers, at the top of the directory."""
        return FileStore(Path(self.path), prefix=_JOURNAL)

    def delete(self, topic: str, index: int) -> None:
        """Delete the folder of a partition."""
        shutil.rmtree(Path(self.path) / f"{topic}-{index}")

    def set_aside(self, topic: str, index: int) -> None:
        """Rename the folder of a partition, as Kafka names strays."""
        folder = Path(self.path) / f"{topic}-{index}"
        folder.rename(folder.with_name(f"{folder.name}.{os.urandom(16).hex()}-stray"))

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Name the partitions by their folders."""
        root = Path(self.path)
        root.mkdir(parents=True, exist_ok=True)
        matches = (_FOLDER.fullmatch(path.name) for path in root.iterdir() if path.is_dir())
        return sorted((match[1], int(match[2])) for match in matches if match and match[1] not in _NOT_OURS)

    def space(self) -> tuple[int, int]:
        """Return the size of the file system, and what is free."""
        total, _, free = shutil.disk_usage(self.path)
        return total, free

    def check(self) -> None:
        """Write a file and delete it, for a disk that nobody writes to fails unseen."""
        file = Path(self.path) / _CHECK
        file.write_bytes(b"\0")
        file.unlink()
