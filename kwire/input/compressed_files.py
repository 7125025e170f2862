"""Decompresses files: gzip, xz and bzip2 by the standard library; zstd by it too from Python 3.14 on.

Before Python 3.14, zstd needs the extra `compression`.

Files of bgzip (BGZF) and zstd files with a seek table can be read from the middle. BGZF is gzip in members of at most
64 KiB, each with its size in an extra field (https://samtools.github.io/hts-specs/, SAMv1, section 4.1). A seek table
is a skippable frame at the end of a zstd file, with the sizes of all its frames
(`contrib/seekable_format/zstd_seekable_compression_format.md` of zstd). Sizes are verified: members must be
consecutive, the frames of a table must make up the whole file, and no memory is allocated by a claimed size.
"""

from __future__ import annotations

import re
import sys
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, chain
from struct import Struct, iter_unpack
from typing import Any, BinaryIO, Protocol, TypeVar

from ..caches import lazy_pattern
from ..capture.pcap import portions_from, portions_of
from ..errors import DumpError

MOST_MEMORY = 1 << 28  # largest dictionary of an xz file, in bytes
LEADING = 6  # bytes that identify a format
STEP = 1 << 17  # bytes per portion
SLICE = 1 << 14  # bytes that are decompressed at once
MOST_LAYERS = 3
_GZIP_WINDOW = 31  # zlib's setting for a gzip member with its header and checksum
T = TypeVar("T")


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
    start, errors = COMPRESSIONS[kind][1](file)
    member, offset, yielded = start(), 0, False
    try:
        for data in _sliced(portions):
            while data:
                if member.ended:
                    if _is_padding(data, kind, file, offset):
                        break
                    member = start()
                before = len(data)
                for portion in member.feed(data):
                    yield portion
                    yielded = True
                data = member.unused
                offset += before - len(data)
    except errors as error:
        offset += member.sound
        raise DumpError(f"damaged {kind} data: {error}", file=file, offset=offset, hint=_kept(yielded)) from None
    if not member.ended:
        hint = f"the file was cut short there; {_kept(yielded)}"
        raise DumpError(f"the {kind} data ends in the middle", file=file, offset=offset, hint=hint)


def _kept(yielded: bool) -> str:
    return "what comes before is read" if yielded else "nothing before it can be decompressed"


def _sliced(portions: Iterator[bytes]) -> Iterator[bytes]:
    """Yield small slices, so that few bytes are lost with the slice that is damaged, whose offset is reported."""
    for portion in portions:
        for start in range(0, len(portion), SLICE):
            yield portion[start : start + SLICE]


def up_to_damage(items: Iterable[T], errors: list[DumpError]) -> Iterator[T]:
    """Yield what can be read, and add the error that ends it to a list."""
    try:
        yield from items
    except DumpError as error:
        errors.append(error)


def _is_padding(data: bytes, kind: str, file: str, offset: int) -> bool:
    """Whether only zeros follow a member: tapes and block devices pad with them. Raises DumpError if no member begins
    there.
    """
    magic = COMPRESSIONS[kind][0]
    if data.startswith(magic[: len(data)]) or _is_skippable(data, kind):
        return False
    if data.strip(b"\0"):
        raise DumpError(f"something else follows the {kind} data", file=file, offset=offset)
    return True


def _is_skippable(data: bytes, kind: str) -> bool:
    """Whether a frame that zstd skips may begin here, such as a seek table."""
    return kind == "zstd" and 0x50 <= data[0] <= 0x5F and data[1:4] == b"\x2a\x4d\x18"[: len(data) - 1]


class _Gzip:
    def __init__(self) -> None:
        self.inflater = zlib.decompressobj(_GZIP_WINDOW)
        self.sound = 0  # bytes of the slice before the one at which the damage shows

    def feed(self, data: bytes) -> Iterator[bytes]:
        out, self.sound = b"", 0
        # After a full portion, the decompressor may still hold output, even if it has consumed all input.
        while (data or len(out) == STEP) and not self.inflater.eof:
            before, fed = self.inflater.copy(), len(data)
            try:
                out = self.inflater.decompress(data, STEP)
            except zlib.error:
                yield from self._up_to_the_damage(before, data)
                raise
            self.sound += fed - len(self.inflater.unconsumed_tail)
            data = self.inflater.unconsumed_tail
            if out:
                yield out

    def _up_to_the_damage(self, inflater: Any, data: bytes) -> Iterator[bytes]:
        """Decompress byte by byte, because the library returns no bytes of a portion that contains an error."""
        with suppress(zlib.error):
            for index in range(len(data)):
                out = inflater.decompress(data[index : index + 1])
                self.sound += 1
                if out:
                    yield out

    @property
    def ended(self) -> bool:
        return self.inflater.eof

    @property
    def unused(self) -> bytes:
        return self.inflater.unused_data


class _Inflater:
    """The common interface of the decompressors of zstd, xz and bzip2."""

    sound = 0  # unknown: they return nothing of a slice with damage

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
