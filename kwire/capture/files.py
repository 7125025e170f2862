"""Opens and lists files: local ones, and those of object stores and HDFS.

Remote files are read through pyarrow or fsspec; credentials, endpoints and retries are configured as for pyarrow's
file systems.
"""

from __future__ import annotations

import os
from errno import ELOOP
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import DumpError, MissingExtra
from ..runtime.lazy_patterns import lazy_pattern

HTTP_TIMEOUT = 60.0  # seconds without a byte
READ_AHEAD = 4 << 20  # bytes per request, for an object that is read from its start to its end
MAPPED = "dbfs:/", "/dbfs/"  # Databricks' file system and its mount point
S3 = frozenset(["s3", "s3a", "s3n"])  # Hadoop's names for the same store
_URI = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # a single letter is a Windows drive
_QUERY = lazy_pattern(r"\?(?=[a-z_]+=)")  # any other question mark belongs to a glob


class FileEntry(NamedTuple):
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

    Raises:
        TypeError: it is neither text nor a path of text.

    >>> local_path("lake"), local_path("file:///data/a.pcap"), local_path("s3a://lake/a.pcap")
    (PosixPath('lake'), PosixPath('/data/a.pcap'), None)
    """
    if isinstance(path, Path):
        return path
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeError(f"a path, bytes or an open binary file is needed, not {type(path).__name__}")
    match = _URI.match(text)
    if match is None:
        return Path(text)
    scheme = match[1].lower()
    rest = text[match.end() :].lstrip("/")
    if scheme == "dbfs":
        return Path(MAPPED[1] + rest)
    return Path("/" + rest) if scheme == "file" else None


def printable_name(path: str | os.PathLike[str]) -> str:
    r"""Return the name of a file as text that can be written; bytes of it that are not UTF-8 are escaped.

    >>> printable_name("caf\udce9.pcap")
    'caf\\xe9.pcap'
    """
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def open_file(path: str | os.PathLike[str], read_ahead: int = READ_AHEAD) -> BinaryIO:
    """Open a file for reading, local or remote.

    Args:
        path: a path, or a URI such as `s3://bucket/a.pcap`, `s3a:`, `gs:`, `abfss:`, `hdfs:`, `file:`, `https:`.
            pyarrow's options may follow a question mark: `?endpoint_override=127.0.0.1:9000&scheme=http`.
        read_ahead: bytes of an object per request.

    Raises:
        OSError: there is no such file, or it cannot be read.
        MissingExtra: pyarrow is not installed, and the file is not local.
        DumpError: no library opens URIs of this scheme.
    """
    local = local_path(path)
    if local is not None:
        return local.open("rb")
    if os.fspath(path).lower().startswith(("http://", "https://")):
        from urllib.request import urlopen

        served: BinaryIO = urlopen(os.fspath(path), timeout=HTTP_TIMEOUT)
        return served
    store, name = _open_store(os.fspath(path))
    raw: Any = store.open_input_file(name)
    return BufferedReader(raw, read_ahead)


def find_store(path: str) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a path or URI, for reading and writing, and the path in it.

    Raises:
        MissingExtra, DumpError: see `open_file`.
    """
    local = local_path(path)
    if local is None:
        return _open_store(path)
    try:
        from pyarrow.fs import LocalFileSystem
    except ImportError:
        raise MissingExtra(path, "pyarrow", "arrow") from None
    return LocalFileSystem(), local.absolute().as_posix()


def find_entry(path: str | os.PathLike[str]) -> FileEntry | None:
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
        return FileEntry(str(local) if text else "", status.st_size, status.st_mtime_ns, local.is_dir())
    store, name = _open_store(text)
    return _make_entry(store.get_file_info([name])[0], text)


def list_folder(folder: str) -> list[FileEntry]:
    """Return the entries of a folder, sorted by name; raises the exceptions of `open_file`."""
    local = local_path(folder)
    if local is not None:
        entries = (find_entry(path) for path in local.iterdir())
        return sorted(entry for entry in entries if entry is not None)
    from pyarrow.fs import FileSelector

    store, name = _open_store(folder)
    before, query = split_query(folder)
    infos = store.get_file_info(FileSelector(name, allow_not_found=True))
    remote = (_make_entry(info, f"{before.rstrip('/')}/{info.base_name}{query}") for info in infos)
    return sorted(entry for entry in remote if entry is not None)


def split_query(uri: str) -> tuple[str, str]:
    """Split a URI at the question mark; return the URI and the query."""
    match = _QUERY.search(uri) if _URI.match(uri) else None
    return (uri, "") if match is None else (uri[: match.start()], uri[match.start() :])


def _make_entry(info: Any, path: str) -> FileEntry | None:
    from pyarrow.fs import FileType

    if info.type == FileType.NotFound:
        return None
    return FileEntry(path, info.size or 0, info.mtime_ns or 0, info.type == FileType.Directory)


def _open_store(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it."""
    before, query = split_query(uri)
    scheme, _, rest = before.partition("://")
    authority, _, name = rest.partition("/")
    store, root = _connect(scheme.lower(), authority, query)
    return store, "/".join(part for part in (root, name.strip("/")) if part)


@lru_cache(maxsize=64)
def _connect(scheme: str, authority: str, query: str) -> tuple[Any, str]:
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
        return _connect_by_fsspec(scheme, authority, base, str(error))
    return store, root.rstrip("/") or ("/" if scheme in ("hdfs", "viewfs") else "")


def _connect_by_fsspec(scheme: str, authority: str, base: str, problem: str) -> tuple[Any, str]:
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
