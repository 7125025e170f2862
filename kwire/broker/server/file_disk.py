"""A log directory on disk, in Kafka's format: a folder per partition, checkpoint files, a lock.

This module handles files and the headers of batches, but not the contents of topics.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EINVAL
from pathlib import Path

from ...errors import CallError
from ..node import LogDir
from .file_store import FileStore, ReadOnlyStore, flush_folder

_FOLDER = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,9})")
_NOT_OURS = ("__cluster_metadata",)
_JOURNAL = "kwire-{}-"  # files, not a folder: Kafka does not start if a folder does not belong to a partition
_CHECK = "kwire-check"
_MOST_PROPERTIES = 1 << 16  # characters
_LOCK = ".lock"  # Kafka's own name
_STARTS = "log-start-offset-checkpoint"  # Kafka's own name, and its format


if sys.platform != "win32":
    import fcntl


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
        flush_folder(Path(self.path))

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
            decoded = urlsafe_b64decode(f"{text}==")
        except ValueError:
            return None
        return decoded if len(decoded) == 16 else None

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
    matches = (re.fullmatch(rf"{re.escape(name)}\s*[=:]\s*(.*?)\s*", line) for line in lines)
    return next((match[1] for match in matches if match), "")


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
