"""Log directories in Kafka's format: a folder per partition, with segments of record batches named after their first
offset.

This module handles files and the headers of batches, but not the contents of topics. It keeps no file open. As in
Kafka, the operating system decides when data reaches the disk, except for logs with `flush.messages` or `flush.ms`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from errno import EINVAL
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any

from ..broker.settings_and_quotas import LogDir
from ..broker.storage import Damage, Found, OldFormat, read_batches
from ..errors import CallError

if sys.platform != "win32":
    import fcntl

SEGMENT = 1 << 31  # bytes, of a journal; a log begins its segments itself
_FOLDER = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,9})")
_NOT_OURS = ("__cluster_metadata",)
_JOURNAL = "kwire-{}-"  # files, not a folder: Kafka does not start if a folder does not belong to a partition
_CHECK = "kwire-check"
_MOST_PROPERTIES = 1 << 16  # characters
_LOCK = ".lock"  # Kafka's own name
_STARTS = "log-start-offset-checkpoint"  # Kafka's own name, and its format

Place = tuple[int, int, int]  # first offset of the segment, position in it, bytes


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

    def append(self, data: bytes, base_offset: int) -> Place:
        """Write a batch, in a new segment if the last one is full. An empty last segment is renamed instead."""
        if self._active >= 0 and not self._size and self._active != base_offset:
            self._file(self._active).unlink(missing_ok=True)
            self._active = -1
        if self._active < 0 or self._size + len(data) > self.segment_bytes:
            self._active, self._size, self._is_new = base_offset, 0, True
        self._write(data)
        place = self._active, self._size, len(data)
        self._size += len(data)
        return place

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

    def read(self, places: Sequence[Place]) -> bytes:
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

    def batches(self) -> Iterator[Found | Damage]:
        """Yield the stored batches; raises OSError if one has an old format."""
        starts = self._starts()
        if not starts and not self.prefix:
            yield Damage("no segment is there")
        for start in starts:
            self._active, self._size = start, 0
            for one in self._segment(self._file(start)):
                yield one
                if isinstance(one, Damage):
                    return

    def _segment(self, path: Path) -> Iterator[Found | Damage]:
        try:
            with path.open("rb") as stream:
                for one in read_batches(stream.read, path.stat().st_size):
                    if isinstance(one, Damage):
                        yield one
                        return
                    size = len(one.data)
                    yield Found(one, (self._active, self._size, size), None if self._size else self._active)
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

    def truncate(self, last: Place | None) -> None:
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

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[Place]:
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
        _sync(self.folder)
        ends = list(accumulate(map(len, batches), initial=0))
        return [(base_offset, at, end - at) for at, end in pairwise(ends)]

    def flush(self) -> None:
        """Flush the last segment to the disk, and the folder if the segment is new or the log is a journal."""
        if self._active >= 0:
            with self._file(self._active).open("r+b") as stream:
                os.fsync(stream.fileno())
            if self._is_new or self.prefix:
                _sync(self.folder)
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


class FileDisk:
    """A log directory on a disk.

    Args:
        path: the directory; it is created if missing. OSError is raised if that fails.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, topic: str, index: int) -> FileStore:
        """Return the segments of a partition; a new partition gets an empty segment, so that a missing one can be
        detected."""
        folder = Path(self.path) / f"{topic}-{index}"
        is_new = not folder.exists()
        store = FileStore(folder)
        if is_new:
            store.truncate(None)
        return store

    def journal(self, name: str) -> FileStore:
        """Return the files of the cluster's journal, at the top of the directory."""
        return FileStore(Path(self.path), prefix=_JOURNAL.format(name))

    def starts(self) -> dict[tuple[str, int], int]:
        """Return the first offsets of partitions whose older records a client has deleted; raises OSError if the file
        is
        damaged."""
        path = Path(self.path) / _STARTS
        lines = path.read_text("ascii", "replace").splitlines() if path.exists() else []
        rows = [line.split() for line in lines[2:]]
        try:
            return {(topic, int(index)): int(offset) for topic, index, offset in rows}
        except ValueError:
            raise OSError(EINVAL, "a line has no topic, partition and offset", str(path)) from None

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Write the first offsets of partitions atomically."""
        rows = [f"{topic} {index} {offset}\n" for (topic, index), offset in starts.items()]
        made = Path(self.path) / f"{_STARTS}.tmp"
        with made.open("w", encoding="ascii") as stream:
            stream.write(f"0\n{len(rows)}\n{''.join(rows)}")
            stream.flush()
            os.fsync(stream.fileno())
        made.replace(Path(self.path) / _STARTS)
        _sync(Path(self.path))

    def delete(self, topic: str, index: int) -> None:
        """Delete the folder of a partition."""
        shutil.rmtree(Path(self.path) / f"{topic}-{index}")

    def cluster_id(self) -> str:
        """Return the cluster id that Kafka wrote; empty if there is none."""
        return _property(Path(self.path) / "meta.properties", "cluster.id")

    def topic_id(self, topic: str, index: int) -> bytes | None:
        """Return the topic id that Kafka wrote into a partition's folder; None if there is none."""
        text = _property(Path(self.path) / f"{topic}-{index}" / "partition.metadata", "topic_id")
        try:
            found = urlsafe_b64decode(f"{text}==")
        except ValueError:
            return None
        return found if len(found) == 16 else None

    def set_aside(self, topic: str, index: int) -> None:
        """Rename the folder of a partition as Kafka renames stray partitions."""
        folder = Path(self.path) / f"{topic}-{index}"
        folder.rename(folder.with_name(f"{folder.name}.{os.urandom(16).hex()}-stray"))

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Return the partitions, from the names of their folders."""
        root = Path(self.path)
        if not isinstance(self, ReadOnlyDisk):
            root.mkdir(parents=True, exist_ok=True)
        matches = (_FOLDER.fullmatch(path.name) for path in root.iterdir() if path.is_dir())
        return sorted((match[1], int(match[2])) for match in matches if match and match[1] not in _NOT_OURS)

    def space(self) -> tuple[int, int]:
        """Return the size and the free space of the file system, in bytes."""
        total, _, free = shutil.disk_usage(self.path)
        return total, free

    def check(self) -> None:
        """Write and delete a file, to detect a disk failure even if nothing else is written."""
        file = Path(self.path) / _CHECK
        file.write_bytes(b"\0")
        file.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory's lock file, which contains this process's id.

        The file is locked twice: with flock, and with a POSIX lock as by Kafka, so that kwire and Kafka never share a
        directory.

        Raises:
            CallError: another process holds it.
            OSError: the directory does not work.
        """
        if sys.platform == "win32":
            yield
            return
        root = Path(self.path)
        root.mkdir(parents=True, exist_ok=True)
        with (root / _LOCK).open("a+", encoding="ascii", errors="replace") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                file.seek(0)
                raise _in_use(self.path, file.read(20).strip()) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            try:
                yield
            finally:
                with suppress(OSError):
                    file.truncate(0)


class ReadOnlyStore(FileStore):
    """The segments of one partition, which are only read: appended batches are kept in memory until the process
    ends."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder, self.segment_bytes, self.prefix = folder, SEGMENT, prefix
        self._active, self._size = -1, 0
        self._left: Place | None = None  # the last position after a truncation
        self._is_truncated = False

    def append(self, data: bytes, base_offset: int) -> Any:
        """Return the bytes of a batch as their position."""
        return data

    def read(self, places: Sequence[Any]) -> bytes:
        """Read batches, from files and from memory."""
        groups = groupby(places, key=lambda place: isinstance(place, bytes))
        return b"".join(
            b"".join(found) if is_memory else super(ReadOnlyStore, self).read([*found]) for is_memory, found in groups
        )

    def batches(self) -> Iterator[Found | Damage]:
        """Yield the stored batches, up to where the log was truncated."""
        if self._is_truncated and self._left is None:
            return
        for one in super().batches() if self.folder.is_dir() else ():
            yield one
            if self._is_truncated and isinstance(one, Found) and one.place == self._left:
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


class ReadOnlyDisk(FileDisk):
    """A read-only log directory on a disk, such as the directory of a real broker. It is not locked."""

    def open(self, topic: str, index: int) -> ReadOnlyStore:
        """Return the segments of a partition; an empty store if it has none."""
        return ReadOnlyStore(Path(self.path) / f"{topic}-{index}")

    def journal(self, name: str) -> ReadOnlyStore:
        """Return a journal that kwire wrote, if there is one."""
        return ReadOnlyStore(Path(self.path), _JOURNAL.format(name))

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Do nothing."""

    def delete(self, topic: str, index: int) -> None:
        """Do nothing."""

    def set_aside(self, topic: str, index: int) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Raise OSError if the directory cannot be listed."""
        next(Path(self.path).iterdir(), None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Do nothing: readers do not lock each other out."""
        yield


def _sync(folder: Path) -> None:
    """Flush the entries of a folder to the disk, as Kafka does for new and renamed files; not possible on Windows."""
    if sys.platform == "win32":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _in_use(path: str, holder: str) -> CallError:
    """Return the hint about the process that uses a directory; the id in the lock file may be older than the lock."""
    if holder == str(os.getpid()):
        return CallError(path, "this log directory is named twice", "give each broker directories of its own")
    who = f"process {holder}" if holder.isdecimal() and Path(f"/proc/{holder}").exists() else "another process"
    return CallError(path, f"{who} uses this log directory ({_LOCK} is locked)", "stop it, or use another directory")


def _property(path: Path, name: str) -> str:
    """Return a property from one of Kafka's small text files; empty if missing."""
    try:
        lines = path.read_text("utf-8", "replace")[:_MOST_PROPERTIES].splitlines()
    except FileNotFoundError:
        return ""
    found = (re.fullmatch(rf"{re.escape(name)}\s*[=:]\s*(.*?)\s*", line) for line in lines)
    return next((match[1] for match in found if match), "")


@contextmanager
def locked(log_dirs: Iterable[LogDir]) -> Iterator[None]:
    """Hold the locks of all log directories on disks; a directory that does not work goes offline.

    Raises:
        CallError: another process, or this process, already uses one of the directories.
    """
    with ExitStack() as stack:
        for log_dir in log_dirs:
            try:
                if isinstance(log_dir.disk, FileDisk):
                    stack.enter_context(log_dir.disk.locked())
            except OSError as error:
                log_dir.is_offline, log_dir.problem = True, str(error.strerror or error)
        yield
