"""Opens and lists files by path or URI: local ones by themselves, object stores and HDFS through pyarrow or fsspec.

Credentials, endpoints and retries are configured as for pyarrow's file systems.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..caches import lazy_pattern
from ..errors import DumpError, MissingExtra

READ_AHEAD = 4 << 20  # bytes per request, for an object that is read from its start to its end
MAPPED = "dbfs:/", "/dbfs/"  # Databricks' file system and its mount point
S3 = frozenset(["s3", "s3a", "s3n"])  # Hadoop's names for the same store
GLOB = frozenset("*?[{")
_URI = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # one letter is a drive of Windows
_QUERY = lazy_pattern(r"\?(?=[a-z_]+=)")  # a question mark before anything else is a glob's
_ROOT = lazy_pattern(r"(?:[A-Za-z][A-Za-z0-9+.-]+://[^/]*/?|/+)?")
_CHOICE = lazy_pattern(r"\{([^{}]*)\}")


class Entry(NamedTuple):
    """A file or a folder: its path or URI, its size in bytes, when it was changed, in nanoseconds since 1970."""

    path: str
    size: int
    changed: int
    is_folder: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return _split(self.path)[0].rstrip("/").rpartition("/")[2]


def local_path(path: str | os.PathLike[str]) -> Path | None:
    """Return the path of this machine that a path or a URI means; None if it is in another file system.

    >>> local_path("lake"), local_path("file:///data/a.pcap"), local_path("s3a://lake/a.pcap")
    (PosixPath('lake'), PosixPath('/data/a.pcap'), None)
    """
    if isinstance(path, Path):
        return path
    text = os.fspath(path)
    match = _URI.match(text)
    if match is None:
        return Path(text)
    scheme, rest = match[1].lower(), text[match.end() :].lstrip("/")
    if scheme == "dbfs":
        return Path(MAPPED[1] + rest)
    return Path("/" + rest) if scheme == "file" else None


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
    """Return the `pyarrow.fs.FileSystem` of a path or URI, to write there too, and the path in it.

    Raises:
        MissingExtra, DumpError: as `open_file`.
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
    """Return the entry at a path or URI; None if there is none. Raises as `open_file`."""
    local = local_path(path)
    text = os.fspath(path)
    if local is not None:
        try:
            status = local.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Entry(str(local) if text else "", status.st_size, status.st_mtime_ns, local.is_dir())
    store, name = _store(text)
    return _entry(store.get_file_info([name])[0], text)


def entries_in(folder: str) -> list[Entry]:
    """List a folder, by name; raises as `open_file`."""
    local = local_path(folder)
    if local is not None:
        found = (entry_of(path) for path in local.iterdir())
        return sorted(entry for entry in found if entry is not None)
    from pyarrow.fs import FileSelector

    store, name = _store(folder)
    before, query = _split(folder)
    infos = store.get_file_info(FileSelector(name, allow_not_found=True))
    named = ((info, f"{before.rstrip('/')}/{info.base_name}{query}") for info in infos)
    return sorted(entry for entry in (_entry(*one) for one in named) if entry is not None)


def globbed(pattern: str) -> Iterator[Entry]:
    """Yield what a glob of Hadoop's means: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}`, and `**` for any folders; as `open_file`
    raises."""
    for text in choices(pattern):
        before, query = _split(text)
        root = _ROOT.match(before)
        assert root is not None
        if local_path(before) is not None:
            before = before.replace(os.sep, "/")
        yield from _below(root[0], [name for name in before[root.end() :].split("/") if name], query)


def choices(pattern: str) -> list[str]:
    """Expand alternatives in braces, as in Hadoop's globs.

    >>> choices("day-{1,2}/*.pcap")
    ['day-1/*.pcap', 'day-2/*.pcap']
    """
    match = _CHOICE.search(pattern)
    if match is None:
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [text for word in match[1].split(",") for text in choices(before + word + after)]


def matches(name: str, pattern: str) -> bool:
    """Say whether a file's name matches a glob of Hadoop's, whatever the case of letters means elsewhere.

    >>> matches("b2.pcap", "b[^1].{pcap,pcapng}"), matches("b1.pcap", "b[^1].pcap")
    (True, False)
    """
    return any(fnmatchcase(name, text.replace("[^", "[!")) for text in choices(pattern))


def _below(folder: str, names: list[str], query: str) -> Iterator[Entry]:
    """Yield the entries of a folder that match the rest of a glob."""
    if not names:
        return
    first, *rest = names
    if not GLOB.intersection(first):
        path = _joined(folder, first)
        found = None if rest else entry_of(path + query)
        yield from _below(path, rest, query) if found is None else [found]
        return
    if first == "**":
        yield from _below(folder, rest, query)
    here = entry_of((folder or ".") + query)
    for entry in entries_in((folder or ".") + query) if here is not None and here.is_folder else ():
        path = _joined(folder, entry.name)
        if first == "**":
            yield from _below(path, names, query) if entry.is_folder else ()
        elif matches(entry.name, first):
            yield from _below(path, rest, query) if rest else [entry._replace(path=path + query)]


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name


def _split(uri: str) -> tuple[str, str]:
    """Take off what follows a question mark."""
    match = _QUERY.search(uri) if _URI.match(uri) else None
    return (uri, "") if match is None else (uri[: match.start()], uri[match.start() :])


def _entry(info: Any, path: str) -> Entry | None:
    from pyarrow.fs import FileType

    if info.type == FileType.NotFound:
        return None
    return Entry(path, info.size or 0, info.mtime_ns or 0, info.type == FileType.Directory)


def _store(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path there."""
    before, query = _split(uri)
    scheme, _, rest = before.partition("://")
    authority, _, name = rest.partition("/")
    store, root = _opened(scheme.lower(), authority, query)
    return store, "/".join(part for part in (root, name.strip("/")) if part)


@lru_cache(maxsize=64)
def _opened(scheme: str, authority: str, query: str) -> tuple[Any, str]:
    """Connect to a store; returns it, and where in it the URIs of this authority begin."""
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
        raise DumpError(f"{scheme} is no file system that is opened here", file=base, hint=hint) from None
    try:
        store, root = url_to_fs(base)
    except (ImportError, ValueError) as error:
        raise DumpError(f"{scheme} is not opened: {problem}; fsspec: {error}", file=base, hint=hint) from None
    return PyFileSystem(FSSpecHandler(store)), root.rstrip("/")
