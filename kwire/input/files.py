"""Opens files: local files, files of object stores and HDFS, compressed files, and files that grow while they are read.

Files of object stores and HDFS are read through pyarrow or fsspec; credentials, endpoints and retries are configured as
for pyarrow's file systems. gzip, xz and bzip2 are decompressed by the standard library; zstd by it too from Python 3.14
on, before that by the extra `compression`.

Files of bgzip (BGZF) and zstd files with a seek table can be read from the middle. BGZF is gzip in members of at most
64 KiB, each with its size in an extra field (https://samtools.github.io/hts-specs/, SAMv1, section 4.1). A seek table
is a skippable frame at the end of a zstd file, with the sizes of all its frames
(`contrib/seekable_format/zstd_seekable_compression_format.md` of zstd). Sizes are verified: members must be
consecutive, the frames of a table must make up the whole file, and no memory is allocated by a claimed size.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedReader, FileIO
from itertools import accumulate, chain
from pathlib import Path
from struct import Struct, iter_unpack
from time import sleep
from typing import Any, BinaryIO, NamedTuple, Protocol

from ..caches import lazy_pattern
from ..capture.pcap import MAGICS, PORTION, portions_from, portions_of
from ..capture.pcapng import MAGIC
from ..errors import DumpError, MissingExtra

MOST_MEMORY = 1 << 28  # largest dictionary of an xz file, in bytes
LEADING = 6  # bytes that identify a format
STEP = 1 << 17  # bytes per portion
MOST_LAYERS = 3
_GZIP_WINDOW = 31  # zlib's setting for a gzip member with its header and checksum


@dataclass(frozen=True, slots=True)
class Opened:
    """An input whose first bytes were read.

    Attributes:
        head: the first bytes: at least four, unless the input is shorter.
        rest: the portions after them.
        prefix: a description of the compression, such as `gzip around `.
        position: returns the number of bytes read from the file.
    """

    head: bytes
    rest: Iterator[bytes]
    prefix: str = ""
    position: Callable[[], int] = int

    def portions(self) -> Iterator[bytes]:
        """All bytes of the input."""
        return chain([self.head], self.rest)


def unpacked(portions: Iterator[bytes], file: str = "") -> Opened:
    """Read the first bytes of an input, and decompress it completely; raises the exceptions of `decompressed`,
    immediately or later.
    """
    opened = _look(portions, "")
    for _ in range(MOST_LAYERS):
        found = [kind for kind, (magic, _) in COMPRESSIONS.items() if opened.head.startswith(magic)]
        if not found:
            return opened
        opened = _look(decompressed(opened.portions(), found[0], file), f"{opened.prefix}{found[0]} around ")
    raise DumpError(f"compressed {MOST_LAYERS} times or more", file=file)


def _look(portions: Iterator[bytes], prefix: str) -> Opened:
    head = b""
    while len(head) < LEADING and (portion := next(portions, b"")):
        head += portion
    return Opened(head, portions, prefix)


def decompressed(portions: Iterator[bytes], kind: str, file: str = "") -> Iterator[bytes]:
    """Decompress a sequence of members.

    Args:
        portions: the compressed bytes.
        kind: a name in `COMPRESSIONS`.
        file: its name, for errors.

    Yields:
        Portions of the decompressed bytes, none empty, as soon as they are known.

    Raises:
        DumpError: the data is damaged or truncated, other data follows it, or a library is missing; the offset is in
            the compressed bytes. The bytes before it are yielded first.
    """
    magic, start, errors = COMPRESSIONS[kind][0], *COMPRESSIONS[kind][1](file)
    member, offset = start(), 0
    try:
        for portion in portions:
            data: bytes = portion
            while data:
                if member.ended and not (data.startswith(magic[: len(data)]) or _is_skippable(data, kind)):
                    if data.strip(b"\0"):
                        raise DumpError(f"something else follows the {kind} data", file=file, offset=offset)
                    break  # tapes and block devices pad with zeros
                if member.ended:
                    member = start()
                before = len(data)
                yield from member.feed(data)
                data = member.unused
                offset += before - len(data)
    except errors as error:
        raise DumpError(f"damaged {kind} data: {error}", file=file, offset=offset) from None
    if not member.ended:
        hint = "the file was cut short; what comes before is read"
        raise DumpError(f"the {kind} data ends in the middle", file=file, offset=offset, hint=hint)


def _is_skippable(data: bytes, kind: str) -> bool:
    """Whether a frame that zstd skips may begin here, such as a seek table."""
    return kind == "zstd" and 0x50 <= data[0] <= 0x5F and data[1:4] == b"\x2a\x4d\x18"[: len(data) - 1]


class _Gzip:
    def __init__(self) -> None:
        self.inflater = zlib.decompressobj(_GZIP_WINDOW)

    def feed(self, data: bytes) -> Iterator[bytes]:
        out = b""
        # After a full portion, the decompressor may still hold output, even if it has consumed all input.
        while (data or len(out) == STEP) and not self.inflater.eof:
            before = self.inflater.copy()
            try:
                out = self.inflater.decompress(data, STEP)
            except zlib.error:
                yield from _up_to_the_damage(before, data)
                raise
            data = self.inflater.unconsumed_tail
            if out:
                yield out

    @property
    def ended(self) -> bool:
        return self.inflater.eof

    @property
    def unused(self) -> bytes:
        return self.inflater.unused_data


def _up_to_the_damage(inflater: Any, data: bytes) -> Iterator[bytes]:
    """Decompress byte by byte, because the library returns no bytes of a portion that contains an error."""
    with suppress(zlib.error):
        for index in range(len(data)):
            out = inflater.decompress(data[index : index + 1])
            if out:
                yield out


class _Inflater:
    """The common interface of the decompressors of zstd, xz and bzip2."""

    def __init__(self, decompressor: Any) -> None:
        self.inflater = decompressor

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self.inflater.needs_input or self.inflater.eof):
            out = self.inflater.decompress(data, STEP)
            data = b""
            if out:
                yield out

    @property
    def ended(self) -> bool:
        return bool(self.inflater.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self.inflater.unused_data)


_Start = tuple[Callable[[], _Gzip | _Inflater], type[Exception] | tuple[type[Exception], ...]]


def _gzip(file: str) -> _Start:
    return _Gzip, zlib.error


def _zstd(file: str) -> _Start:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        hint = "pip install 'kwire[compression]', or decompress it first: zstd -d"
        raise DumpError("this is zstd, and nothing here can read it", file=file, hint=hint) from None
    return (lambda: _Inflater(zstd.ZstdDecompressor())), zstd.ZstdError


def _xz(file: str) -> _Start:
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        raise DumpError("this is xz, and this Python cannot read it", file=file, hint="decompress it: xz -d") from None
    return (lambda: _Inflater(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY))), lzma.LZMAError


def _bzip2(file: str) -> _Start:
    try:
        import bz2
    except ImportError:
        hint = "decompress it: bzip2 -d"
        raise DumpError("this is bzip2, and this Python cannot read it", file=file, hint=hint) from None
    return (lambda: _Inflater(bz2.BZ2Decompressor())), (OSError, ValueError)


# kind -> (its first bytes, its decompressor)
COMPRESSIONS: dict[str, tuple[bytes, Callable[[str], _Start]]] = {
    "gzip": (b"\x1f\x8b", _gzip),
    "zstd": (b"\x28\xb5\x2f\xfd", _zstd),
    "xz": (b"\xfd7zXZ\0", _xz),
    "bzip2": (b"BZh", _bzip2),
}


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
    text = os.fspath(path)
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
        has_ended: called before each read; true ends the stream.
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
        with file.open("rb", buffering=0) as stream:
            rotation.begin(stream, file)
            for portion in _grown(stream, has_ended, wait, lambda: rotation.next() is not None):
                rotation.read += len(portion)
                yield portion


def _grown(
    stream: FileIO, has_ended: Callable[[], bool], wait: Callable[[], None], is_over: Callable[[], bool]
) -> Iterator[bytes]:
    """Read a file until it has ended and all its bytes were read."""
    was_over = False
    while not has_ended():
        portion = stream.read(PORTION)
        if portion:
            yield portion
        elif was_over:
            return
        elif not (was_over := is_over()):
            wait()


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
        """Return the oldest unread capture; a file that was rewritten under its old name counts as a new one. None if
        all were read.
        """
        if self._current in self._known:
            name, _, head = self._known[self._current]
            self._known[self._current] = name, self.read, head
        found = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):
                if not entry.name.startswith(".") and entry.is_file() and self._is_new(entry, status := entry.stat()):
                    found.append((status.st_mtime_ns, _natural(entry.name), entry.path))
        return Path(min(found)[2]) if found else None

    def _is_new(self, entry: os.DirEntry[str], status: os.stat_result) -> bool:
        known = self._known.get((status.st_dev, status.st_ino))
        if known is not None and status.st_size >= known[1] and entry.name == known[0]:
            return False
        with Path(entry.path).open("rb") as stream:
            head = stream.read(_PCAP_HEADER + 16)
        is_read = known is not None and status.st_size >= known[1] and head == known[2]
        is_capture = head[:4] in MAGICS or head[:4] == MAGIC
        return is_capture and len(head) == _PCAP_HEADER + 16 and not is_read  # it has a packet

    def begin(self, stream: FileIO, file: Path) -> None:
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


BLOCK = 1 << 16  # largest size of a member of bgzip, compressed or not
CREDIBLE = 2 * BLOCK  # bytes in which members must be consecutive: more than one packet of a capture
WINDOW = 8 * BLOCK  # bytes that are searched at once
MOST_TABLE = 64 << 20  # bytes of a seek table; 5 to 8 million frames
_MEMBER = lazy_pattern(rb"\x1f\x8b\x08\x04.{6}(..)(BC\x02\0)(..)", re.DOTALL)
_MEMBER_HEADER = 18
_UINT16, _FOOTER, _SKIPPABLE = (Struct(form) for form in ("<H", "<IBI", "<II"))
TABLE_MAGIC, FOOTER_MAGIC, HAS_CHECKSUMS = 0x184D2A5E, 0x8F92EAB1, 0x80


class Blocks(Protocol):
    """Blocks of a file, which are decompressed on their own.

    Attributes:
        end: the position of their end in the file.
    """

    end: int

    def first(self, place: int) -> int:
        """Return the position of the first block at or after a position in the file; `end` if there is none."""

    def position(self, block: int) -> int:
        """Return a number that grows at least as fast as the number of decompressed bytes before a block."""

    def portions(self, start: int) -> Iterator[bytes]:
        """Decompress a block and all following blocks; raises the exceptions of `decompressed`."""

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """Return the decompressed size of the blocks from `start` to `stop`, and their bytes, as `portions` does."""


def blocks_of(stream: BinaryIO, file: str) -> Blocks | None:
    """Return the blocks of a compressed file; None if it has none and must be read from its start."""
    size = stream.seek(0, 2)
    stream.seek(0)
    head = stream.read(BLOCK + _MEMBER_HEADER)
    if head.startswith(COMPRESSIONS["gzip"][0]) and _member(head, 0):
        return Members(stream, size, file)
    if head.startswith(COMPRESSIONS["zstd"][0]):
        return table_of(stream, size, file)
    return None


def _member(data: bytes, place: int) -> int:
    """Return the size of a member of bgzip from its header; 0 if no member begins there."""
    match = _MEMBER.match(data, place)
    if match is None or _UINT16.unpack(match[1])[0] != 6:
        return 0
    return int(_UINT16.unpack(match[3])[0]) + 1


class Members:
    """The members of a file that bgzip wrote.

    Args:
        stream: the file.
        size: its size in bytes.
        file: its name, for errors.
    """

    def __init__(self, stream: BinaryIO, size: int, file: str) -> None:
        self.end: int = size
        self._stream, self._file = stream, file

    def first(self, place: int) -> int:
        """As `Blocks.first`."""
        while 0 < place < self.end:
            data = next(portions_from(self._stream, place, place + WINDOW), b"")
            is_end = place + len(data) == self.end
            for match in _MEMBER.finditer(data, 0):
                if match.start() + CREDIBLE + BLOCK > len(data) and not is_end:
                    break
                if self._follow(data, match.start(), is_end):
                    return place + match.start()
            place = self.end if is_end else place + len(data) - CREDIBLE - BLOCK
        return place

    def _follow(self, data: bytes, start: int, is_end: bool) -> bool:
        place = start
        while place - start < CREDIBLE and place < len(data):
            size = _member(data, place)
            if not size:
                return False
            place += size
        return place <= len(data) or not is_end

    def position(self, block: int) -> int:
        """See `Blocks.position`: htslib calls this number a virtual offset."""
        return block * BLOCK

    def portions(self, start: int) -> Iterator[bytes]:
        """As `Blocks.portions`."""
        return decompressed(portions_from(self._stream, start, start), "gzip", self._file)

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """See `Blocks.contents`; reads the compressed bytes immediately."""
        data = b"".join(portions_from(self._stream, start, stop, stop))
        place = size = 0
        while place < len(data) and (count := _member(data, place)):
            place += count
            size += int.from_bytes(data[place - 4 : place], "little")
        return size, decompressed(iter([data] if data else []), "gzip", self._file)


def table_of(stream: BinaryIO, size: int, file: str) -> Frames | None:
    """Return the frames of a zstd file by its seek table; None if it has none, or the table does not match the file."""
    stream.seek(max(0, size - _FOOTER.size))
    footer = stream.read(_FOOTER.size)
    if len(footer) < _FOOTER.size:
        return None
    count, flags, magic = _FOOTER.unpack(footer)
    entry = 12 if flags & HAS_CHECKSUMS else 8
    length = count * entry + _FOOTER.size
    end = size - length - _SKIPPABLE.size
    if magic != FOOTER_MAGIC or end <= 0 or length > MOST_TABLE:
        return None
    stream.seek(end)
    table = b"".join(portions_of(stream, length + _SKIPPABLE.size - _FOOTER.size))
    if _SKIPPABLE.unpack_from(table) != (TABLE_MAGIC, length):
        return None
    sizes = [found[:2] for found in iter_unpack("<III" if entry == 12 else "<II", table[_SKIPPABLE.size :])]
    starts = [0, *accumulate(one for one, _ in sizes)]
    return Frames(stream, file, starts, [0, *accumulate(one for _, one in sizes)]) if starts[-1] == end else None


class Frames:
    """The frames of a zstd file with a seek table.

    Args:
        stream: the file.
        file: its name, for errors.
        starts: the positions of the frames in the file, and the end of the last one.
        positions: their positions in the decompressed bytes.
    """

    def __init__(self, stream: BinaryIO, file: str, starts: list[int], positions: list[int]) -> None:
        self.end: int = starts[-1]
        self._stream, self._file, self._starts, self._positions = stream, file, starts, positions

    def first(self, place: int) -> int:
        """As `Blocks.first`."""
        return self._starts[min(bisect_left(self._starts, place), len(self._starts) - 1)]

    def position(self, block: int) -> int:
        """See `Blocks.position`: exactly the number of decompressed bytes."""
        return self._positions[bisect_left(self._starts, block)]

    def portions(self, start: int) -> Iterator[bytes]:
        """As `Blocks.portions`."""
        return self._between(start, self.end, start)

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """As `Blocks.contents`."""
        return self.position(stop) - self.position(start), self._between(start, stop, stop)

    def _between(self, start: int, stop: int, large: int) -> Iterator[bytes]:
        return decompressed(portions_from(self._stream, start, large, stop), "zstd", self._file)
