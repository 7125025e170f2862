"""Compresses and decompresses records: gzip, snappy (also in snappy-java's framing), lz4 frames and zstd.

Decompression is bounded while it runs: before a library allocates memory, the sizes claimed by the compressed bytes are
checked against the limit. gzip needs no library; snappy, lz4 and zstd need cramjam (extra `compression`), which is
imported on first use. Errors have an offset in the compressed bytes; the caller adds their position and path.
"""

from __future__ import annotations

import io
import zlib
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..errors import BadCompression, LimitExceeded, MissingExtra, WrongType, excerpt

LIMIT = 64 * 1024 * 1024  # largest decompressed size of the records of one batch, in bytes


class Inflated(NamedTuple):
    """Decompressed bytes, and the input after the end of the compressed data."""

    data: bytes
    tail: bytes = b""


class OutputBuffer:
    """An output buffer of a fixed size.

    The operating system commits the memory only as it is written to, and the bytes are returned without a copy.
    """

    def __init__(self, size: int) -> None:
        self._buffer = io.BytesIO(bytes(size))
        self.view = self._buffer.getbuffer()

    def first(self, count: int) -> bytes:
        """Return the first `count` bytes, and free the rest; the buffer cannot be used afterwards."""
        self.view.release()
        self._buffer.truncate(count)
        return self._buffer.getvalue()


def library(codec: str) -> Any:
    """Return cramjam; raise MissingExtra if it is not installed."""
    try:
        import cramjam
    except ImportError:
        raise MissingExtra(f"{codec} compression", "cramjam", "compression") from None
    return cramjam


def run(codec: str, function: Any, *arguments: Any) -> Any:
    """Call a function of the library; convert its errors to BadCompression."""
    try:
        return function(*arguments)
    except (library(codec).DecompressionError, OSError, ValueError, OverflowError) as error:
        refuse(codec, str(error))


def refuse(codec: str, problem: str, offset: int = 0) -> NoReturn:
    """Raise a BadCompression; `offset` is in the compressed bytes."""
    raise BadCompression(found=(codec, problem), offset=offset)


def exceed(codec: str, limit: int, have: int, **facts: Any) -> NoReturn:
    """Raise a LimitExceeded; `have` is the number of compressed bytes."""
    raise LimitExceeded(found=codec, need=limit, have=have, **facts)


# Kafka uses snappy-java's framing; other clients write snappy without the framing.
# header: 82 "SNAPPY" 00, version int32, lowest compatible version int32; block: size int32, snappy.
# Each block starts with its uncompressed size: all sizes are added up before memory is allocated.

SNAPPY_HEADER = bytes.fromhex("82534e41505059000000000100000001")
SNAPPY_BLOCK = 32 * 1024  # bytes in a block of snappy-java
_SNAPPY_MAGIC = SNAPPY_HEADER[:8]


def inflate_snappy(data: bytes, limit: int) -> Inflated:
    """Decompress snappy. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a path."""
    bounds, end = _cut_snappy(data)
    sizes = array("q")
    total = 0
    for start, stop in zip(bounds[::2], bounds[1::2], strict=True):
        sizes.append(_snappy_claim(data, start, stop))
        total += sizes[-1]
        if total > limit:
            exceed("snappy", limit, len(data))
    output, done, view = OutputBuffer(total), 0, memoryview(data)
    decompress = library("snappy").snappy.decompress_raw_into
    for start, stop, size in zip(bounds[::2], bounds[1::2], sizes, strict=True):
        run("snappy", decompress, view[start:stop], output.view[done : done + size])
        done += size
    return Inflated(output.first(total), data[end:])


def deflate_snappy(data: bytes) -> bytes:
    """Compress with snappy, with header and blocks."""
    compress = library("snappy").snappy.compress_raw
    out = bytearray(SNAPPY_HEADER)
    for start in range(0, len(data), SNAPPY_BLOCK):
        block = bytes(compress(data[start : start + SNAPPY_BLOCK]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)


def _cut_snappy(data: bytes) -> tuple[array[int], int]:
    """Return the start and end of each block in one array, and the end of the last block.

    Bytes without the header are one block. After the blocks, snappy-java skips up to three bytes, and an invalid
    header.
    """
    if data[:8] != _SNAPPY_MAGIC or len(data) < len(SNAPPY_HEADER):
        return array("q", (0, len(data))), len(data)
    bounds, at = array("q"), len(SNAPPY_HEADER)
    while at + 4 <= len(data):
        start = at + 4
        if data[at:start] != SNAPPY_HEADER[:4]:
            at = start + _snappy_size(data, at)
            bounds.extend((start, at))
        elif _is_snappy_header(data, at):
            at += len(SNAPPY_HEADER)
        else:
            break
    return bounds, at


def _snappy_size(data: bytes, at: int) -> int:
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    left = len(data) - at - 4
    if not 0 <= size <= left:
        refuse("snappy", f"a block of {size} bytes, {left} are left", at)
    return size


def _is_snappy_header(data: bytes, at: int) -> bool:
    """Whether another stream starts here; snappy-java checks the versions of all streams except the first."""
    if at + len(SNAPPY_HEADER) > len(data):
        refuse("snappy", "a header is cut short", at)
    if data[at : at + 8] != _SNAPPY_MAGIC:
        return False
    if int.from_bytes(data[at + 8 : at + 12], "big", signed=True) < 1:
        refuse("snappy", "a header with a version below 1", at)
    return True


def _snappy_claim(data: bytes, start: int, stop: int) -> int:
    """Return the uncompressed size that a snappy block claims, if it is possible."""
    size = shift = 0
    for byte in data[start : min(stop, start + 5)]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        refuse("snappy", "a size that does not end", start)
    if 3 * size > 64 * (stop - start):  # three bytes expand to at most 64
        refuse("snappy", f"it claims to hold {size} bytes in {stop - start}", start)
    return size


# The lz4 frame format as Kafka reads it: independent blocks, decompressed one by one.
# frame: 04 22 4d 18, flags, block size, [content size 8], header checksum, blocks, 00000000, [content checksum 4];
# block: size uint32 (little-endian; the highest bit means stored), bytes, [checksum 4].
# In magic 0 the header checksum also covers the first four bytes, and Kafka does not check it (KAFKA-3160).

LZ4_MAGIC = bytes.fromhex("04224d18")
LZ4_BLOCK = 64 * 1024
_VERSION_AND_RESERVED, _INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM = 0xC3, 0x20, 0x10, 0x08, 0x04
_LZ4_STORED = 0x80000000


def inflate_lz4(data: bytes, limit: int, *, magic: int = 2) -> Inflated:
    """Decompress an lz4 frame. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a
    path.
    """
    at, longest = _read_lz4_header(data, magic)
    extra = 4 if data[4] & _BLOCK_CHECKSUM else 0
    output = OutputBuffer(min(_most_of_lz4(data, at, longest, extra), limit + longest))
    decompress = library("lz4").lz4.decompress_block_into
    done = 0
    while size := _little_endian(data, at) & ~_LZ4_STORED:
        stored = data[at + 3] & 0x80
        block = data[at + 4 : at + 4 + size]
        _check_lz4_block(data, at, size, longest, extra)
        if stored:
            output.view[done : done + size] = block
            done += size
        else:
            done += run("lz4", decompress, block, output.view[done : done + longest], longest)
        if done > limit:
            exceed("lz4", limit, len(data))
        at += 4 + size + extra
    stop = at + 4 + (4 if data[4] & _CONTENT_CHECKSUM else 0)  # Kafka does not check it either
    if stop > len(data):
        refuse("lz4", "the content checksum is cut off", at)
    return Inflated(output.first(done), data[stop:])


def deflate_lz4(data: bytes, *, magic: int = 2) -> bytes:
    """Compress to one lz4 frame with blocks of 64 KiB and only a header checksum, as Kafka's producer does."""
    compress = library("lz4").lz4.compress_block
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
    flags, sizes = data[4], data[5]
    at = 14 if flags & _CONTENT_SIZE else 6
    if flags & _VERSION_AND_RESERVED != 0x40 or sizes & 0x8F or sizes < 0x40:
        refuse("lz4", f"flags {flags:#04x} and block size {sizes:#04x}", 4)
    if not flags & _INDEPENDENT:
        refuse("lz4", "its blocks depend on each other", 4)
    if at >= len(data) or (magic and data[at] != lz4_header_checksum(data[:at], magic)):
        refuse("lz4", "the header checksum is wrong", at)
    return at + 1, 1 << (8 + 2 * (sizes >> 4))


def _most_of_lz4(data: bytes, at: int, longest: int, extra: int) -> int:
    """Return the largest possible decompressed size of the blocks. Faults are only found by decompression."""
    most = 0
    while size := int.from_bytes(data[at : at + 4], "little") & ~_LZ4_STORED:
        most += longest
        at += 4 + size + extra
    return most


def _little_endian(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        refuse("lz4", "the frame is cut off", at)
    return int.from_bytes(data[at : at + 4], "little")


def _check_lz4_block(data: bytes, at: int, size: int, longest: int, extra: int) -> None:
    stop = at + 4 + size
    if size > longest or stop + extra > len(data):
        refuse("lz4", f"a block of {size} bytes; at most {longest}, {len(data) - at - 4} are left", at)
    if extra and xxh32(data[at + 4 : stop]) != _little_endian(data, stop):
        refuse("lz4", "a block's checksum is wrong", stop)


# Zstandard (RFC 8878). The headers of frames and blocks determine how much memory decompression needs. The library
# keeps a window of its output in addition to the output itself; therefore a window over 8 MiB, which only the highest
# levels use, counts toward the limit.

ZSTD_LEVEL = 3  # Kafka's level
ZSTD_WINDOW = 8 * 1024 * 1024  # the size that every decoder should support (RFC 8878, 3.1.1.1.2)
_ZSTD_BLOCK = 128 * 1024  # largest size of a block
_FRAME, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
_ZSTD_WINDOW_COUNTS = {"hint": "its large window takes the rest of what is allowed; allow more with limit="}
_ZSTD_FULL = "failed to write whole buffer"


def inflate_zstd(data: bytes, limit: int) -> Inflated:
    """Decompress zstd. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a path."""
    if not data:
        refuse("zstd", "there are no bytes")
    most, window = _zstd_needs(data)
    allowed = limit if window <= ZSTD_WINDOW else max((limit + ZSTD_WINDOW) // 2, limit + ZSTD_WINDOW - window)
    output = OutputBuffer(min(most, allowed))
    try:
        size: int = run("zstd", library("zstd").zstd.decompress_into, data, output.view)
    except BadCompression as error:
        if error.found[1] == _ZSTD_FULL and most > allowed:
            exceed("zstd", allowed, len(data), **_ZSTD_WINDOW_COUNTS if allowed < limit else {})
        raise
    return Inflated(output.first(size))


def deflate_zstd(data: bytes) -> bytes:
    """Compress to one zstd frame."""
    return bytes(library("zstd").zstd.compress(data, ZSTD_LEVEL))


def _zstd_needs(data: bytes) -> tuple[int, int]:
    """Return the largest possible size of the frames' content, and the largest of their windows.

    The search ends at bytes that are not a frame; the library will report them.
    """
    most = window = at = 0
    while at + 8 <= len(data):
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic in _SKIPPABLE:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        if magic != _FRAME:
            break
        at, size, checksum = _zstd_frame_header(data, at + 4)
        window = max(window, size)
        at, held = _zstd_blocks(data, at)
        most += held
        at += checksum
    return most, window


def _zstd_frame_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the start of the blocks, the size of the window, and the size of the checksum after the blocks."""
    flags = data[at]
    single = flags & 0x20
    dictionary = (0, 1, 2, 4)[flags & 3]
    content = (1 if single else 0, 2, 4, 8)[flags >> 6]
    at += 1
    window = 0
    if not single:
        exponent, mantissa = divmod(data[at], 8)
        window = (1 << (10 + exponent)) * (8 + mantissa) // 8
        at += 1
    at += dictionary
    if single:
        window = int.from_bytes(data[at : at + content], "little")
    return at + content, window, 4 if flags & 4 else 0


def _zstd_blocks(data: bytes, at: int) -> tuple[int, int]:
    """Return the end of a frame's blocks, and their largest possible decompressed size."""
    held = last = 0
    while not last and at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        held += size if kind < 2 else _ZSTD_BLOCK
        at += 3 + (1 if kind == 1 else size)
    return at, held


# The codecs by name and number; gzip.

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
_STEP = 64 * 1024


def name_of(codec: int, magic: int) -> str | None:
    """Return the name of a compression by its number; None if the magic does not support it.

    >>> name_of(4, 2), name_of(4, 1)
    ('zstd', None)
    """
    return NAMES[codec] if codec < (5 if magic >= 2 else 4) else None


def inflate(name: str, data: bytes, *, magic: int = 2, limit: int = LIMIT) -> Inflated:
    """Decompress records.

    Args:
        name: one of `NAMES` except `none`.
        data: the compressed bytes.
        magic: the magic of the batch; magic 0 has a variant of lz4.
        limit: the maximum decompressed size, in bytes.

    Raises:
        BadCompression, LimitExceeded: the data is invalid or too large; no path, and `offset` is relative to `data`.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name == "lz4":
        return inflate_lz4(data, limit, magic=magic)
    return _INFLATE[name](data, limit)


def deflate(name: str, data: bytes, *, magic: int = 2) -> bytes:
    """Compress records as Kafka's producer does.

    Raises:
        WrongType: the magic does not support this compression.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name not in NAMES[1 : 5 if magic >= 2 else 4]:
        raise WrongType(need=f"a compression of magic {magic}", found=excerpt(name), segments=("compression",))
    if name == "lz4":
        return deflate_lz4(data, magic=magic)
    return _DEFLATE[name](data)


def _inflate_gzip(data: bytes, limit: int) -> Inflated:
    """Decompress gzip members; the result includes the bytes after them.

    Like Java's reader, another member is only read if at least 19 bytes are left.
    """
    gzip = _Gzip(data, limit)
    gzip.inflate_member()
    while len(data) - gzip.at > 18 and data[gzip.at : gzip.at + 3] == b"\x1f\x8b\x08":
        gzip.inflate_member()
    return Inflated(gzip.out.getvalue(), data[gzip.at :])


class _Gzip:
    """Decompresses gzip; `at` is the position of the next member."""

    def __init__(self, data: bytes, limit: int) -> None:
        self.data, self.limit = data, limit
        self.at = 0
        self.out = io.BytesIO()

    def inflate_member(self) -> None:
        """Decompress one member. The first portions are small, because there may be many small members."""
        engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
        portion = 256
        while not engine.eof:
            chunk = self.data[self.at : self.at + portion]
            if not chunk:
                refuse("gzip", "it is cut off", self.at)
            self.at += len(chunk)
            portion = min(2 * portion, _STEP)
            self._inflate(engine, chunk)
        self.at -= len(engine.unused_data)

    def _inflate(self, engine: Any, chunk: bytes) -> None:
        start, more = self.at - len(chunk), True
        while more:
            try:
                piece = engine.decompress(chunk, _STEP)
            except zlib.error as error:
                refuse("gzip", str(error), start)
            self.out.write(piece)
            if self.out.tell() > self.limit:
                exceed("gzip", self.limit, len(self.data))
            chunk = engine.unconsumed_tail
            more = not engine.eof and (bool(chunk) or len(piece) == _STEP)


def _deflate_gzip(data: bytes) -> bytes:
    return zlib.compress(data, wbits=zlib.MAX_WBITS | 16)


_INFLATE: dict[str, Callable[[bytes, int], Inflated]] = {
    "gzip": _inflate_gzip,
    "snappy": inflate_snappy,
    "zstd": inflate_zstd,
}
_DEFLATE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _deflate_gzip,
    "snappy": deflate_snappy,
    "zstd": deflate_zstd,
}


_MASK = 0xFFFFFFFF
_PRIMES = 2654435761, 2246822519, 3266489917, 668265263, 374761393


def xxh32(data: bytes) -> int:
    """Return the xxHash32 of bytes, with seed 0. Only suitable for headers: about 5 MB per second.

    >>> hex(xxh32(b"")), hex(xxh32(b"Nobody inspects the spammish repetition"))
    ('0x2cc5d05', '0xe2293b2f')
    """
    prime1, prime2, prime3, prime4, prime5 = _PRIMES
    whole = len(data) // 16 * 16
    value = _stripes(memoryview(data)[:whole].cast("I")) if whole else prime5
    value += len(data)
    at = whole
    while at + 4 <= len(data):
        value = _rotated(value + int.from_bytes(data[at : at + 4], "little") * prime3, 17) * prime4
        at += 4
    for byte in data[at:]:
        value = _rotated(value + byte * prime5, 11) * prime1
    value &= _MASK
    value = (value ^ value >> 15) * prime2 & _MASK
    value = (value ^ value >> 13) * prime3 & _MASK
    return value ^ value >> 16


def _stripes(words: Any) -> int:
    """Mix all groups of 16 bytes, each as four little-endian numbers."""
    prime1, prime2 = _PRIMES[:2]
    lanes = [prime1 + prime2 & _MASK, prime2, 0, -prime1 & _MASK]
    for at in range(0, len(words), 4):
        for lane in range(4):
            lanes[lane] = _rotated(lanes[lane] + words[at + lane] * prime2, 13) * prime1 & _MASK
    return sum(_rotated(value, bits) for value, bits in zip(lanes, (1, 7, 12, 18), strict=True))


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK
