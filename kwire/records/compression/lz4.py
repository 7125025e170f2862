"""The lz4 frame format as Kafka reads it: blocks that do not depend on each other, inflated one by one.

frame: 04 22 4d 18, flags, block size, [content size 8], header checksum, blocks, 00000000, [content checksum 4];
block: size uint32 (little-endian; the high bit says stored), bytes, [checksum 4].
In magic 0 the header checksum is taken over the first four bytes too, and not looked at (KAFKA-3160).
"""

from __future__ import annotations

from ..checksums import xxh32
from .buffers import Inflated, Room, exceed, library, refuse, run

MAGIC = bytes.fromhex("04224d18")
BLOCK = 64 * 1024
_VERSION_AND_RESERVED, _INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM = 0xC3, 0x20, 0x10, 0x08, 0x04
_STORED = 0x80000000


def inflate(data: bytes, limit: int, *, magic: int = 2) -> Inflated:
    """Inflate one frame. Raises BadCompression, or LimitExceeded for more than `limit` bytes, without a place."""
    at, longest = _read_header(data, magic)
    extra = 4 if data[4] & _BLOCK_CHECKSUM else 0
    room = Room(min(_most(data, at, longest, extra), limit + longest))
    decompress = library("lz4").lz4.decompress_block_into
    done = 0
    while size := _number(data, at) & ~_STORED:
        stored = data[at + 3] & 0x80
        block = data[at + 4 : at + 4 + size]
        _check_block(data, at, size, longest, extra)
        if stored:
            room.view[done : done + size] = block
            done += size
        else:
            done += run("lz4", decompress, block, room.view[done : done + longest], longest)
        if done > limit:
            exceed("lz4", limit, len(data))
        at += 4 + size + extra
    stop = at + 4 + (4 if data[4] & _CONTENT_CHECKSUM else 0)  # which Kafka does not check either
    if stop > len(data):
        refuse("lz4", "the content checksum is cut off", at)
    return Inflated(room.first(done), data[stop:])


def deflate(data: bytes, *, magic: int = 2) -> bytes:
    """Compress to one frame with blocks of 64 KiB and no checksums but the header's, as Kafka's producer does."""
    compress = library("lz4").lz4.compress_block
    out = bytearray(MAGIC + b"\x60\x40")
    out.append(header_checksum(out, magic))
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK]
        small = bytes(compress(block, store_size=False))
        if len(small) < len(block):
            out += len(small).to_bytes(4, "little") + small
        else:
            out += (len(block) | _STORED).to_bytes(4, "little") + block
    return bytes(out + bytes(4))


def header_checksum(header: bytes | bytearray, magic: int) -> int:
    """Return the checksum of a frame's header (without it); in magic 0 with the mistake of Kafka 0.8 and 0.9."""
    return xxh32(bytes(header if magic == 0 else header[4:])) >> 8 & 255


def _read_header(data: bytes, magic: int) -> tuple[int, int]:
    """Return where the blocks begin, and how much one of them may hold."""
    if data[:4] != MAGIC or len(data) < 7:
        refuse("lz4", "it does not begin with a frame's header")
    flags, sizes = data[4], data[5]
    at = 14 if flags & _CONTENT_SIZE else 6
    if flags & _VERSION_AND_RESERVED != 0x40 or sizes & 0x8F or sizes < 0x40:
        refuse("lz4", f"flags {flags:#04x} and block size {sizes:#04x}", 4)
    if not flags & _INDEPENDENT:
        refuse("lz4", "its blocks depend on each other", 4)
    if at >= len(data) or (magic and data[at] != header_checksum(data[:at], magic)):
        refuse("lz4", "the header checksum is wrong", at)
    return at + 1, 1 << (8 + 2 * (sizes >> 4))


def _most(data: bytes, at: int, longest: int, extra: int) -> int:
    """Return how much the blocks can hold at most. Looks for no faults; inflating finds them."""
    most = 0
    while size := int.from_bytes(data[at : at + 4], "little") & ~_STORED:
        most += longest
        at += 4 + size + extra
    return most


def _number(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        refuse("lz4", "the frame is cut off", at)
    return int.from_bytes(data[at : at + 4], "little")


def _check_block(data: bytes, at: int, size: int, longest: int, extra: int) -> None:
    stop = at + 4 + size
    if size > longest or stop + extra > len(data):
        refuse("lz4", f"a block of {size} bytes; at most {longest}, {len(data) - at - 4} are left", at)
    if extra and xxh32(data[at + 4 : stop]) != _number(data, stop):
        refuse("lz4", "a block's checksum is wrong", stop)
