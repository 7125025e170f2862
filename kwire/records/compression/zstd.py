"""Zstandard (RFC 8878), bounded: the headers of frames and blocks say how much memory inflating may take.

The library keeps a window of what it wrote, beside what it gives out; a window of more than 8 MiB, which
only the highest levels ask for, therefore counts toward the limit.
"""

from __future__ import annotations

from ...errors.decode import BadCompression
from .buffers import Inflated, Room, exceed, library, refuse, run

LEVEL = 3  # Kafka's
WINDOW = 8 * 1024 * 1024  # what every reader should grant (RFC 8878, 3.1.1.1.2)
_BLOCK = 128 * 1024  # the most that one block holds
_FRAME, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
_WINDOW_COUNTS = {"hint": "its large window takes the rest of what is allowed; allow more with limit="}
_FULL = "failed to write whole buffer"


def inflate(data: bytes, limit: int) -> Inflated:
    """Inflate. Raises BadCompression, or LimitExceeded for more than `limit` bytes, without a place."""
    if not data:
        refuse("zstd", "there are no bytes")
    most, window = _needs(data)
    allowed = limit if window <= WINDOW else max((limit + WINDOW) // 2, limit + WINDOW - window)
    room = Room(min(most, allowed))
    try:
        size: int = run("zstd", library("zstd").zstd.decompress_into, data, room.view)
    except BadCompression as error:
        if error.found[1] == _FULL and most > allowed:
            exceed("zstd", allowed, len(data), **_WINDOW_COUNTS if allowed < limit else {})
        raise
    return Inflated(room.first(size))


def deflate(data: bytes) -> bytes:
    """Compress to one frame."""
    return bytes(library("zstd").zstd.compress(data, LEVEL))


def _needs(data: bytes) -> tuple[int, int]:
    """Return the most bytes that the frames can hold, and the largest of their windows.

    What is no frame ends the search; the library will complain of it.
    """
    most = window = at = 0
    while at + 8 <= len(data):
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic in _SKIPPABLE:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        if magic != _FRAME:
            break
        at, size, checksum = _frame_header(data, at + 4)
        window = max(window, size)
        at, held = _blocks(data, at)
        most += held
        at += checksum
    return most, window


def _frame_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return where the blocks begin, the size of the window, and that of the checksum behind the blocks."""
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


def _blocks(data: bytes, at: int) -> tuple[int, int]:
    """Return where a frame's blocks end, and the most bytes they can hold."""
    held = last = 0
    while not last and at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        held += size if kind < 2 else _BLOCK
        at += 3 + (1 if kind == 1 else size)
    return at, held
