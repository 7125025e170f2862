"""Snappy as Kafka writes it: blocks with a size in front, behind a header (snappy-java's); and bare, as others do.

header: 82 "SNAPPY" 00, version int32, lowest compatible version int32; block: size int32, snappy.
Each snappy begins with the size of what it holds: all of them are looked at before anything is allocated.
"""

from __future__ import annotations

from array import array

from .buffers import Inflated, Room, exceed, library, refuse, run

HEADER = bytes.fromhex("82534e41505059000000000100000001")
BLOCK = 32 * 1024  # what snappy-java puts into a block
_MAGIC = HEADER[:8]


def inflate(data: bytes, limit: int) -> Inflated:
    """Inflate. Raises BadCompression, or LimitExceeded for more than `limit` bytes, without a place."""
    bounds, end = _cut(data)
    sizes = array("q")
    total = 0
    for start, stop in zip(bounds[::2], bounds[1::2], strict=True):
        sizes.append(_claim(data, start, stop))
        total += sizes[-1]
        if total > limit:
            exceed("snappy", limit, len(data))
    room, done, view = Room(total), 0, memoryview(data)
    decompress = library("snappy").snappy.decompress_raw_into
    for start, stop, size in zip(bounds[::2], bounds[1::2], sizes, strict=True):
        run("snappy", decompress, view[start:stop], room.view[done : done + size])
        done += size
    return Inflated(room.first(total), data[end:])


def deflate(data: bytes) -> bytes:
    """Compress, with header and blocks."""
    compress = library("snappy").snappy.compress_raw
    out = bytearray(HEADER)
    for start in range(0, len(data), BLOCK):
        block = bytes(compress(data[start : start + BLOCK]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)


def _cut(data: bytes) -> tuple[array[int], int]:
    """Return where each block starts and stops, one after the other, and where they end. What does not begin with
    the header is one block. Behind the blocks snappy-java passes over up to three bytes, and over what begins as a
    header does and is none."""
    if data[:8] != _MAGIC or len(data) < len(HEADER):
        return array("q", (0, len(data))), len(data)
    bounds, at = array("q"), len(HEADER)
    while at + 4 <= len(data):
        start = at + 4
        if data[at:start] != HEADER[:4]:
            at = start + _size(data, at)
            bounds.extend((start, at))
        elif _is_header(data, at):
            at += len(HEADER)
        else:
            break
    return bounds, at


def _size(data: bytes, at: int) -> int:
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    left = len(data) - at - 4
    if not 0 <= size <= left:
        refuse("snappy", f"a block of {size} bytes, {left} are left", at)
    return size


def _is_header(data: bytes, at: int) -> bool:
    """Whether another stream begins here; snappy-java looks at the versions of all but the first."""
    if at + len(HEADER) > len(data):
        refuse("snappy", "a header is cut short", at)
    if data[at : at + 8] != _MAGIC:
        return False
    if int.from_bytes(data[at + 8 : at + 12], "big", signed=True) < 1:
        refuse("snappy", "a header with a version below 1", at)
    return True


def _claim(data: bytes, start: int, stop: int) -> int:
    """Return the size that a snappy says it holds, if it can hold so much."""
    size = shift = 0
    for byte in data[start : min(stop, start + 5)]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        refuse("snappy", "a size that does not end", start)
    if 3 * size > 64 * (stop - start):  # three bytes become 64 at most
        refuse("snappy", f"it claims to hold {size} bytes in {stop - start}", start)
    return size
