"""The lz4 frame format as Kafka reads it: independent blocks, decompressed one by one."""

from __future__ import annotations

from .bounded_decompression import Inflated, OutputBuffer, load_cramjam, refuse, refuse_size, run_cramjam
from .xxh32 import xxh32

# frame: 04 22 4d 18, flags, block size, [content size 8], header checksum, blocks, 00000000, [content checksum 4];
# block: size uint32 (little-endian; the highest bit means stored), bytes, [checksum 4].
# In magic 0 the header checksum also covers the first four bytes, and Kafka does not check it (KAFKA-3160).

LZ4_MAGIC = bytes.fromhex("04224d18")
LZ4_BLOCK = 64 * 1024
_VERSION_AND_RESERVED = 0xC3
_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_LZ4_STORED = 0x80000000


def inflate_lz4(data: bytes, limit: int, *, magic: int = 2) -> Inflated:
    """Decompress an lz4 frame. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a
    path.
    """
    at, block_limit = _read_lz4_header(data, magic)
    checksum_size = 4 if data[4] & _BLOCK_CHECKSUM else 0
    output = OutputBuffer(min(_most_of_lz4(data, at, block_limit, checksum_size), limit + block_limit))
    decompress = load_cramjam("lz4").lz4.decompress_block_into
    done = 0
    head = _little_endian(data, at)
    while size := head & ~_LZ4_STORED:
        block = data[at + 4 : at + 4 + size]
        _check_lz4_block(data, block, at, block_limit, checksum_size)
        if head & _LZ4_STORED:
            output.view[done : done + size] = block
            done += size
        else:
            done += run_cramjam("lz4", decompress, block, output.view[done : done + block_limit], block_limit)
        if done > limit:
            refuse_size("lz4", limit, len(data))
        at += 4 + size + checksum_size
        head = _little_endian(data, at)
    stop = at + 4 + (4 if data[4] & _CONTENT_CHECKSUM else 0)  # which Kafka does not check
    if stop > len(data):
        refuse("lz4", "the content checksum is cut off", at)
    return Inflated(output.first(done), data[stop:])


def deflate_lz4(data: bytes, *, magic: int = 2) -> bytes:
    """Compress to one lz4 frame with blocks of 64 KiB and only a header checksum, as Kafka's producer does."""
    compress = load_cramjam("lz4").lz4.compress_block
    out = bytearray(LZ4_MAGIC + b"\x60\x40")
    out.append(lz4_header_checksum(out, magic))
    for start in range(0, len(data), LZ4_BLOCK):
        block = data[start : start + LZ4_BLOCK]
        small = bytes(compress(block, store_size=False))
        if len(small) < len(block):
            out += len(small).to_bytes(4, "little") + small
        else:
            out += (len(block) | _LZ4_STORED).to_bytes(4, "little") + block
    return bytes(out + bytes(4))


def lz4_header_checksum(header: bytes | bytearray, magic: int) -> int:
    """Return the checksum of a frame header, which excludes the checksum.

    In magic 0, the result has the error of Kafka 0.8 and 0.9.
    """
    return xxh32(bytes(header if magic == 0 else header[4:])) >> 8 & 255


def _read_lz4_header(data: bytes, magic: int) -> tuple[int, int]:
    """Return the position of the first block, and the largest decompressed size of a block."""
    if data[:4] != LZ4_MAGIC or len(data) < 7:
        refuse("lz4", "it does not begin with a frame's header")
    flags = data[4]
    sizes = data[5]
    at = 14 if flags & _CONTENT_SIZE else 6
    if flags & _VERSION_AND_RESERVED != 0x40 or sizes & 0x8F or sizes < 0x40:
        refuse("lz4", f"flags {flags:#04x} and block size {sizes:#04x}", 4)
    if not flags & _INDEPENDENT:
        refuse("lz4", "its blocks depend on each other", 4)
    if at >= len(data) or (magic and data[at] != lz4_header_checksum(data[:at], magic)):
        refuse("lz4", "the header checksum is wrong", at)
    return at + 1, 1 << (8 + 2 * (sizes >> 4))


def _most_of_lz4(data: bytes, at: int, block_size: int, checksum_size: int) -> int:
    """Return the largest possible decompressed size of the blocks. Faults are only found by decompression."""
    max_size = 0
    while size := int.from_bytes(data[at : at + 4], "little") & ~_LZ4_STORED:
        max_size += block_size
        at += 4 + size + checksum_size
    return max_size


def _little_endian(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        refuse("lz4", "the frame is cut off", at)
    return int.from_bytes(data[at : at + 4], "little")


def _check_lz4_block(data: bytes, block: bytes, at: int, block_limit: int, checksum_size: int) -> None:
    size = _little_endian(data, at) & ~_LZ4_STORED
    stop = at + 4 + size
    if size > block_limit or stop + checksum_size > len(data):
        refuse("lz4", f"a block of {size} bytes; at most {block_limit}, {len(data) - at - 4} are left", at)
    if checksum_size and xxh32(block) != _little_endian(data, stop):
        refuse("lz4", "a block's checksum is wrong", stop)
