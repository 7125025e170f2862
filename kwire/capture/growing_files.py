"""Reads a file while it grows, or a folder in which captures are rotated, as one stream of bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from time import sleep
from typing import NamedTuple

from ..errors import DumpError
from .packets.pcap import MAGICS
from .packets.pcapng import MAGIC
from .portions import PORTION, read_portions

POLL = 0.2  # seconds between two polls of a growing file
_PCAP_HEADER = 24  # bytes
_HEAD = _PCAP_HEADER + 16  # first bytes of a file that has a packet, by which it is known under another name


def read_growing(path: Path, has_ended: Callable[[], bool], wait: Callable[[], None] | None = None) -> Iterator[bytes]:
    """Read a file while it grows, or a folder in which tcpdump rotates captures (-G, -C), as one stream of bytes.

    The captures of a folder are read in the order of modification time, then name; the headers of all pcap files except
    the first are skipped, so that connections continue from one file to the next.

    Args:
        path: the file or folder. Hidden files in a folder, and files that are not captures, are skipped.
        has_ended: called between reads; true ends the stream, after all that is on disk by then.
        wait: called when there is no new data; by default sleeps for `POLL` seconds.

    Raises:
        DumpError: a capture of a folder has another format or link type than the first, or a file became shorter.
        OSError: it cannot be read.
    """
    wait = wait or (lambda: sleep(POLL))
    if not path.is_dir():
        with path.open("rb", buffering=0) as stream:
            yield from _read_grown(stream, has_ended, wait, lambda: _has_end(stream, path))
        return
    rotation = _RotatedCaptures(path)
    while not has_ended():
        file = rotation.next()
        if file is None:
            wait()
            continue
        yield from rotation.read_file(file, has_ended, wait)
    for file in rotation.unread():  # listed once, so that it ends although a writer goes on
        yield from rotation.read_file(file, has_ended, wait)


def _read_grown(
    stream: FileIO, has_ended: Callable[[], bool], wait: Callable[[], None], is_over: Callable[[], bool]
) -> Iterator[bytes]:
    """Read a file until it is over, or until following has ended and the bytes that it has by then were read."""
    was_over = False
    while not has_ended():
        portion = stream.read(PORTION)
        if portion:
            yield portion
        elif was_over:
            return
        elif not (was_over := is_over()):
            wait()
    yield from read_portions(stream, os.fstat(stream.fileno()).st_size - stream.tell())


def _has_end(stream: FileIO, path: Path) -> bool:
    """Return false: a single growing file has no end. Raises DumpError if the file was truncated."""
    if os.fstat(stream.fileno()).st_size < stream.tell():
        hint = "follow the folder, where captures are rotated or written anew"
        raise DumpError("the file became shorter while it was followed", file=str(path), hint=hint)
    return False


class _ReadFile(NamedTuple):
    """A capture that was begun: its name, how many of its bytes were read, and its first bytes."""

    name: str
    size: int
    head: bytes


class _RotatedCaptures:
    """Tracks the captures of a folder, and which of them were read.

    Attributes:
        read: the number of bytes read from the current file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Path = folder
        self.read: int = 0
        self._header = b""
        self._current: tuple[int, int] | None = None
        self._files: dict[tuple[int, int], _ReadFile] = {}  # by device and inode, which outlast a new name

    def next(self) -> Path | None:
        """Return the oldest unread capture; None if all were read."""
        return next(iter(self.unread()), None)

    def unread(self) -> list[Path]:
        """Return the captures that were not read, the oldest first; a file that was rewritten under its old name counts
        as a new one.
        """
        if self._current is not None:
            self._files[self._current] = self._files[self._current]._replace(size=self.read)
        captures = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):
                if entry.name.startswith(".") or not entry.is_file():
                    continue
                status = entry.stat()
                if self._is_new(entry, status):
                    captures.append((status.st_mtime_ns, _natural_order(entry.name), entry.path))
        return [Path(path) for *_, path in sorted(captures)]

    def read_file(self, file: Path, has_ended: Callable[[], bool], wait: Callable[[], None]) -> Iterator[bytes]:
        """Read a capture of the folder until another one follows it; see `growing`. Nothing, if it was removed."""
        try:
            stream = file.open("rb", buffering=0)
        except FileNotFoundError:
            return
        with stream:
            self._begin(stream, file)
            for portion in _read_grown(stream, has_ended, wait, lambda: self.next() is not None):
                self.read += len(portion)
                yield portion

    def _is_new(self, entry: os.DirEntry[str], status: os.stat_result) -> bool:
        known = self._files.get((status.st_dev, status.st_ino))
        if known is not None and status.st_size < known.size:
            known = None  # written anew
        if known is not None and entry.name == known.name:
            return False
        with Path(entry.path).open("rb") as stream:
            head = stream.read(_HEAD)
        if known is not None and head == known.head:
            return False  # renamed
        return len(head) == _HEAD and (head[:4] in MAGICS or head[:4] == MAGIC)

    def _begin(self, stream: FileIO, file: Path) -> None:
        """Start to read a file, after its header if another file's header was read."""
        status = os.fstat(stream.fileno())
        head = stream.read(_HEAD)
        self._current = (status.st_dev, status.st_ino)
        self._files[self._current] = _ReadFile(file.name, 0, head)
        is_pcap = head[:4] in MAGICS
        has_same_link = not is_pcap or head[20:24] == self._header[20:24]
        if self._header and (head[:4] != self._header[:4] or not has_same_link):
            hint = f"follow the files of one tcpdump; {file.name} is another's"
            raise DumpError("the captures have different formats or link types", file=str(file), hint=hint)
        self.read = _PCAP_HEADER if self._header and is_pcap else 0
        stream.seek(self.read)
        self._header = self._header or head


def _natural_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names by the numbers in them: cap9 before cap10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]
