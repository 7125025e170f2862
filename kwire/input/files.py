"""Opens files: local files, files of object stores and HDFS, and files that grow while they are read.

Files of object stores and HDFS are read through pyarrow or fsspec; credentials, endpoints and retries are configured as
for pyarrow's file systems. `compressed_files` decompresses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import ELOOP
from functools import lru_cache
from io import BufferedReader, FileIO
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO, NamedTuple

from ..caches import lazy_pattern
from ..capture.pcap import MAGICS, PORTION, portions_of
from ..capture.pcapng import MAGIC
from ..errors import DumpError, MissingExtra

READ_AHEAD = 4 << 20  # bytes per request, for an object that is read from its start to its end
MAPPED = "dbfs:/", "/dbfs/"  # Databricks' file system and its mount point
S3 = frozenset(["s3", "s3a", "s3n"])  # Hadoop's names for the same store
_URI = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # a single letter is a Windows drive
_QUERY = lazy_pattern(r"\?(?=[a-z_]+=)")  # any other question mark belongs to a glob


class Entry(NamedTuple):
    """A file or a folder: its path or URI, its size in bytes, and its modification time in nanoseconds since 1970."""

    path: str
    size: int
    changed: int
    is_folder: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return split_query(self.path)[0].rstrip("/").rpartition("/")[2]


def local_path(path: str | os.PathLike[str]) -> Path | None:
    """Return the local path of a path or URI; None if it is in another file system.

    >>> local_path("lake"), local_path("file:///data/a.pcap"), local_path("s3a://lake/a.pcap")
    (PosixPath('lake'), PosixPath('/data/a.pcap'), None)
    """
    if isinstance(path, Path):
        return path
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        hint = "; frames in memory: kwire.FrameReader().feed(data)" if isinstance(path, bytes | bytearray) else ""
        raise TypeError(f"the path of a file is needed, as text or Path, not {type(path).__name__}{hint}")
    match = _URI.match(text)
    if match is None:
        return Path(text)
    scheme, rest = match[1].lower(), text[match.end() :].lstrip("/")
    if scheme == "dbfs":
        return Path(MAPPED[1] + rest)
    return Path("/" + rest) if scheme == "file" else None


def name_of(path: str | os.PathLike[str]) -> str:
    r"""Return the name of a file as text that can be written; bytes of it that are not UTF-8 are escaped.

    >>> name_of("caf\udce9.pcap")
    'caf\\xe9.pcap'
    """
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def open_file(path: str | os.PathLike[str], read_ahead: int = READ_AHEAD) -> BinaryIO:
    """Open a file for reading, local or remote.

    Args:
        path: a path, or a URI such as `s3://bucket/a.pcap`, `s3a:`, `gs:`, `abfss:`, `hdfs:`, `file:`. pyarrow's
            options may follow a question mark: `?endpoint_override=127.0.0.1:9000&scheme=http`.
        read_ahead: bytes of an object per request.

    Raises:
        OSError: there is no such file, or it cannot be read.
        MissingExtra: pyarrow is not installed, and the file is not local.
        DumpError: no library opens URIs of this scheme.
    """
    local = local_path(path)
    if local is not None:
        return local.open("rb")
    store, name = _store(os.fspath(path))
    raw: Any = store.open_input_file(name)
    return BufferedReader(raw, read_ahead)


def store_of(path: str) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a path or URI, for reading and writing, and the path in it.

    Raises:
        MissingExtra, DumpError: see `open_file`.
    """
    local = local_path(path)
    if local is None:
        return _store(path)
    try:
        from pyarrow.fs import LocalFileSystem
    except ImportError:
        raise MissingExtra(path, "pyarrow", "arrow") from None
    return LocalFileSystem(), local.absolute().as_posix()


def entry_of(path: str | os.PathLike[str]) -> Entry | None:
    """Return the entry at a path or URI; None if there is none. Raises the exceptions of `open_file`."""
    local = local_path(path)
    text = os.fspath(path)
    if local is not None:
        try:
            status = local.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno != ELOOP:  # a symbolic link to itself leads to no file
                raise
            return None
        return Entry(str(local) if text else "", status.st_size, status.st_mtime_ns, local.is_dir())
    store, name = _store(text)
    return _entry(store.get_file_info([name])[0], text)


def entries_in(folder: str) -> list[Entry]:
    """Return the entries of a folder, sorted by name; raises the exceptions of `open_file`."""
    local = local_path(folder)
    if local is not None:
        found = (entry_of(path) for path in local.iterdir())
        return sorted(entry for entry in found if entry is not None)
    from pyarrow.fs import FileSelector

    store, name = _store(folder)
    before, query = split_query(folder)
    infos = store.get_file_info(FileSelector(name, allow_not_found=True))
    named = ((info, f"{before.rstrip('/')}/{info.base_name}{query}") for info in infos)
    return sorted(entry for entry in (_entry(*one) for one in named) if entry is not None)


def split_query(uri: str) -> tuple[str, str]:
    """Split a URI at the question mark; return the URI and the query."""
    match = _QUERY.search(uri) if _URI.match(uri) else None
    return (uri, "") if match is None else (uri[: match.start()], uri[match.start() :])


def _entry(info: Any, path: str) -> Entry | None:
    from pyarrow.fs import FileType

    if info.type == FileType.NotFound:
        return None
    return Entry(path, info.size or 0, info.mtime_ns or 0, info.type == FileType.Directory)


def _store(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it."""
    before, query = split_query(uri)
    scheme, _, rest = before.partition("://")
    authority, _, name = rest.partition("/")
    store, root = _opened(scheme.lower(), authority, query)
    return store, "/".join(part for part in (root, name.strip("/")) if part)


@lru_cache(maxsize=64)
def _opened(scheme: str, authority: str, query: str) -> tuple[Any, str]:
    """Connect to a store; return it, and the path in it at which URIs of this authority begin."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.fs import FileSystem
    except ImportError:
        raise MissingExtra(f"{scheme}://", "pyarrow", "arrow") from None
    base = f"{'s3' if scheme in S3 else scheme}://{authority}"
    try:
        store, root = FileSystem.from_uri(base + query)
    except (ArrowInvalid, NotImplementedError) as error:
        return _by_fsspec(scheme, authority, base, str(error))
    return store, root.rstrip("/") or ("/" if scheme in ("hdfs", "viewfs") else "")


def _by_fsspec(scheme: str, authority: str, base: str, problem: str) -> tuple[Any, str]:
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    hint = "pyarrow opens s3, gs, abfss, hdfs and file; with fsspec and its library for this scheme, others open too"
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise DumpError(f"{scheme} is not a supported file system", file=base, hint=hint) from None
    try:
        store, root = url_to_fs(base)
    except (ImportError, ValueError) as error:
        raise DumpError(f"{scheme} is not opened: {problem}; fsspec: {error}", file=base, hint=hint) from None
    return PyFileSystem(FSSpecHandler(store)), root.rstrip("/")


POLL = 0.2  # seconds between two polls of a growing file
_PCAP_HEADER = 24  # bytes


def growing(path: Path, has_ended: Callable[[], bool], wait: Callable[[], None] | None = None) -> Iterator[bytes]:
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
            yield from _grown(stream, has_ended, wait, lambda: _has_end(stream, path))
        return
    rotation = _Rotation(path)
    while not has_ended():
        file = rotation.next()
        if file is None:
            wait()
            continue
        yield from rotation.read_file(file, has_ended, wait)
    for file in rotation.unread():  # listed once, so that it ends although a writer goes on
        yield from rotation.read_file(file, has_ended, wait)


def _grown(
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
    yield from portions_of(stream, os.fstat(stream.fileno()).st_size - stream.tell())


def _has_end(stream: FileIO, path: Path) -> bool:
    """Return false: a single growing file has no end. Raises DumpError if the file was truncated."""
    if os.fstat(stream.fileno()).st_size < stream.tell():
        hint = "follow the folder, where captures are rotated or written anew"
        raise DumpError("the file became shorter while it was followed", file=str(path), hint=hint)
    return False


class _Rotation:
    """Tracks the captures of a folder, and which of them were read.

    Attributes:
        read: the number of bytes read from the current file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Path = folder
        self.read: int = 0
        self._header = b""
        self._current: tuple[int, int] = -1, -1
        self._known: dict[tuple[int, int], tuple[str, int, bytes]] = {}  # by device and inode: name, size, first bytes

    def next(self) -> Path | None:
        """Return the oldest unread capture; None if all were read."""
        return next(iter(self.unread()), None)

    def unread(self) -> list[Path]:
        """Return the captures that were not read, the oldest first; a file that was rewritten under its old name counts
        as a new one.
        """
        if self._current in self._known:
            name, _, head = self._known[self._current]
            self._known[self._current] = name, self.read, head
        found = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):
                if not entry.name.startswith(".") and entry.is_file() and self._is_new(entry, status := entry.stat()):
                    found.append((status.st_mtime_ns, _natural(entry.name), entry.path))
        return [Path(path) for *_, path in sorted(found)]

    def read_file(self, file: Path, has_ended: Callable[[], bool], wait: Callable[[], None]) -> Iterator[bytes]:
        """Read a capture of the folder until another one follows it; see `growing`. Nothing, if it was removed."""
        try:
            stream = file.open("rb", buffering=0)
        except FileNotFoundError:
            return
        with stream:
            self._begin(stream, file)
            for portion in _grown(stream, has_ended, wait, lambda: self.next() is not None):
                self.read += len(portion)
                yield portion

    def _is_new(self, entry: os.DirEntry[str], status: os.stat_result) -> bool:
        known = self._known.get((status.st_dev, status.st_ino))
        if known is not None and status.st_size >= known[1] and entry.name == known[0]:
            return False
        with Path(entry.path).open("rb") as stream:
            head = stream.read(_PCAP_HEADER + 16)
        is_read = known is not None and status.st_size >= known[1] and head == known[2]
        is_capture = head[:4] in MAGICS or head[:4] == MAGIC
        return is_capture and len(head) == _PCAP_HEADER + 16 and not is_read  # it has a packet

    def _begin(self, stream: FileIO, file: Path) -> None:
        """Start to read a file, after its header if another file's header was read."""
        status, head = os.fstat(stream.fileno()), stream.read(_PCAP_HEADER + 16)
        self._current, self.read = (status.st_dev, status.st_ino), 0
        self._known[self._current] = file.name, 0, head
        is_pcap = head[:4] in MAGICS
        kind = (head[:4], head[20:24]) if is_pcap else (head[:4],)
        first = (self._header[:4], self._header[20:24]) if is_pcap else (self._header[:4],)
        if self._header and kind != first:
            hint = f"follow the files of one tcpdump; {file.name} is another's"
            raise DumpError("the captures have different formats or link types", file=str(file), hint=hint)
        self.read = _PCAP_HEADER if self._header and is_pcap else 0
        stream.seek(self.read)
        self._header = self._header or head


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names by the numbers in them: cap9 before cap10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]
