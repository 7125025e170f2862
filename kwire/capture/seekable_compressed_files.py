"""Reads compressed files from the middle: files of bgzip (BGZF), and zstd files with a seek table.

BGZF is gzip in members of at most 64 KiB, each with its size in an extra field (https://samtools.github.io/hts-specs/,
SAMv1, section 4.1). A seek table is a skippable frame at the end of a zstd file, with the sizes of all its frames
(`contrib/seekable_format/zstd_seekable_compression_format.md` of zstd). Sizes are verified: members must be
consecutive, the frames of a table must make up the whole file, and no memory is allocated by a claimed size.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from struct import Struct, iter_unpack
from typing import BinaryIO, Protocol

from ..runtime.lazy_patterns import lazy_pattern
from .compressed_files import COMPRESSIONS, decompress
from .portions import read_portions, read_range

BLOCK = 1 << 16  # largest size of a member of bgzip, compressed or not
CREDIBLE = 2 * BLOCK  # bytes in which members must be consecutive: more than one packet of a capture
WINDOW = 8 * BLOCK  # bytes that are searched at once
MOST_TABLE = 64 << 20  # bytes of a seek table; 5 to 8 million frames
_MEMBER = lazy_pattern(rb"\x1f\x8b\x08\x04.{6}(..)(BC\x02\0)(..)", re.DOTALL)
_MEMBER_HEADER = 18
_UINT16, _FOOTER, _SKIPPABLE = (Struct(form) for form in ("<H", "<IBI", "<II"))
TABLE_MAGIC, FOOTER_MAGIC, HAS_CHECKSUMS = 0x184D2A5E, 0x8F92EAB1, 0x80


class CompressedBlocks(Protocol):
    """Blocks of a file, which are decompressed on their own.

    Attributes:
        end: the position of their end in the file.
    """

    end: int

    def first(self, position: int) -> int:
        """Return the position of the first block at or after a position in the file; `end` if there is none."""

    def position(self, block: int) -> int:
        """Return a number that grows at least as fast as the number of decompressed bytes before a block."""

    def portions(self, start: int) -> Iterator[bytes]:
        """Decompress a block and all following blocks; raises the exceptions of `decompressed`."""

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """Return the decompressed size of the blocks from `start` to `stop`, and their bytes, as `portions` does."""


def find_blocks(stream: BinaryIO, file: str) -> CompressedBlocks | None:
    """Return the blocks of a compressed file; None if it has none and must be read from its start."""
    size = stream.seek(0, 2)
    stream.seek(0)
    head = stream.read(BLOCK + _MEMBER_HEADER)
    if head.startswith(COMPRESSIONS["gzip"][0]) and _read_member_size(head, 0):
        return BgzipMembers(stream, size, file)
    if head.startswith(COMPRESSIONS["zstd"][0]):
        return read_seek_table(stream, size, file)
    return None


def _read_member_size(data: bytes, position: int) -> int:
    """Return the size of a member of bgzip from its header; 0 if no member begins there."""
    match = _MEMBER.match(data, position)
    if match is None or _UINT16.unpack(match[1])[0] != 6:
        return 0
    return int(_UINT16.unpack(match[3])[0]) + 1


class BgzipMembers:
    """The members of a file that bgzip wrote.

    Args:
        stream: the file.
        size: its size in bytes.
        file: its name, for errors.
    """

    def __init__(self, stream: BinaryIO, size: int, file: str) -> None:
        self.end: int = size
        self._stream, self._file = stream, file

    def first(self, position: int) -> int:
        """As `CompressedBlocks.first`."""
        while 0 < position < self.end:
            data = next(read_range(self._stream, position, position + WINDOW), b"")
            is_end = position + len(data) == self.end
            for match in _MEMBER.finditer(data, 0):
                if match.start() + CREDIBLE + BLOCK > len(data) and not is_end:
                    break
                if self._are_members(data, match.start(), is_end):
                    return position + match.start()
            position = self.end if is_end else position + len(data) - CREDIBLE - BLOCK
        return position

    def _are_members(self, data: bytes, start: int, is_end: bool) -> bool:
        position = start
        while position - start < CREDIBLE and position < len(data):
            size = _read_member_size(data, position)
            if not size:
                return False
            position += size
        return position <= len(data) or not is_end

    def position(self, block: int) -> int:
        """See `CompressedBlocks.position`: htslib calls this number a virtual offset."""
        return block * BLOCK

    def portions(self, start: int) -> Iterator[bytes]:
        """As `CompressedBlocks.portions`."""
        return decompress(read_range(self._stream, start, start), "gzip", self._file)

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """See `CompressedBlocks.contents`; reads the compressed bytes immediately."""
        data = b"".join(read_range(self._stream, start, stop, stop))
        position = size = 0
        while position < len(data) and (count := _read_member_size(data, position)):
            position += count
            size += int.from_bytes(data[position - 4 : position], "little")
        return size, decompress(iter([data] if data else []), "gzip", self._file)


def read_seek_table(stream: BinaryIO, size: int, file: str) -> ZstdFrames | None:
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
    table = b"".join(read_portions(stream, length + _SKIPPABLE.size - _FOOTER.size))
    if _SKIPPABLE.unpack_from(table) != (TABLE_MAGIC, length):
        return None
    sizes = [fields[:2] for fields in iter_unpack("<III" if entry == 12 else "<II", table[_SKIPPABLE.size :])]
    starts = [0, *accumulate(compressed for compressed, _ in sizes)]
    if starts[-1] != end:
        return None
    return ZstdFrames(stream, file, starts, [0, *accumulate(decompressed for _, decompressed in sizes)])


class ZstdFrames:
    """The frames of a zstd file with a seek table.

    Args:
        stream: the file.
        file: its name, for errors.
        starts: the positions of the frames in the file, and the end of the last one.
        positions: their positions in the decompressed bytes.
    """

    def __init__(self, stream: BinaryIO, file: str, starts: list[int], positions: list[int]) -> None:
        self.end: int = starts[-1]
        self._stream = stream
        self._file = file
        self._starts = starts
        self._positions = positions

    def first(self, position: int) -> int:
        """As `CompressedBlocks.first`."""
        return self._starts[min(bisect_left(self._starts, position), len(self._starts) - 1)]

    def position(self, block: int) -> int:
        """See `CompressedBlocks.position`: exactly the number of decompressed bytes."""
        return self._positions[bisect_left(self._starts, block)]

    def portions(self, start: int) -> Iterator[bytes]:
        """As `CompressedBlocks.portions`."""
        return self._decompress_between(start, self.end, start)

    def contents(self, start: int, stop: int) -> tuple[int, Iterator[bytes]]:
        """As `CompressedBlocks.contents`."""
        return self.position(stop) - self.position(start), self._decompress_between(start, stop, stop)

    def _decompress_between(self, start: int, stop: int, large: int) -> Iterator[bytes]:
        return decompress(read_range(self._stream, start, large, stop), "zstd", self._file)
