"""Zstandard (RFC 8878); the headers of frames and blocks determine how much memory decompression needs."""

from __future__ import annotations

from ...errors import BadCompression
from .bounded_decompression import Inflated, OutputBuffer, load_cramjam, refuse, refuse_size, run_cramjam

# Zstandard (RFC 8878). The headers of frames and blocks determine how much memory decompression needs. The library
# keeps a window of its output in addition to the output itself; therefore a window over 8 MiB, which only the highest
# levels use, counts toward the limit.

ZSTD_LEVEL = 3  # Kafka's level
ZSTD_WINDOW = 8 * 1024 * 1024  # the size that every decoder should support (RFC 8878, 3.1.1.1.2)
_ZSTD_BLOCK = 128 * 1024  # largest size of a block
_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_ZSTD_WINDOW_COUNTS = {"hint": "its large window takes the rest of what is allowed; allow more with limit="}
_ZSTD_FULL = "failed to write whole buffer"


def inflate_zstd(data: bytes, limit: int) -> Inflated:
    """Decompress zstd. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a path."""
    if not data:
        refuse("zstd", "there are no bytes")
    max_size, window = _zstd_needs(data)
    allowed = limit if window <= ZSTD_WINDOW else max((limit + ZSTD_WINDOW) // 2, limit + ZSTD_WINDOW - window)
    output = OutputBuffer(min(max_size, allowed))
    try:
        size: int = run_cramjam("zstd", load_cramjam("zstd").zstd.decompress_into, data, output.view)
    except BadCompression as error:
        if error.found[1] == _ZSTD_FULL and max_size > allowed:
            refuse_size("zstd", allowed, len(data), **_ZSTD_WINDOW_COUNTS if allowed < limit else {})
        raise
    return Inflated(output.first(size))


def deflate_zstd(data: bytes) -> bytes:
    """Compress to one zstd frame."""
    return bytes(load_cramjam("zstd").zstd.compress(data, ZSTD_LEVEL))


def _zstd_needs(data: bytes) -> tuple[int, int]:
    """Return the largest possible size of the frames' content, and the largest of their windows.

    The search ends at bytes that are not a frame; the library will report them.
    """
    max_size = window = at = 0
    while at + 8 <= len(data):
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic in _SKIPPABLE:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        if magic != _FRAME:
            break
        at, size, checksum = _zstd_frame_header(data, at + 4)
        window = max(window, size)
        at, content_size = _zstd_blocks(data, at)
        max_size += content_size
        at += checksum
    return max_size, window


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
    content_size = last = 0
    while not last and at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        last = header & 1
        kind = header >> 1 & 3
        size = header >> 3
        content_size += size if kind < 2 else _ZSTD_BLOCK
        at += 3 + (1 if kind == 1 else size)
    return at, content_size
