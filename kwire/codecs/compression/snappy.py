"""snappy, also in snappy-java's framing, which Kafka uses; other clients write snappy without the framing."""

from __future__ import annotations

from array import array

from .bounded_decompression import Inflated, OutputBuffer, load_cramjam, refuse, refuse_size, run_cramjam

# Kafka uses snappy-java's framing; other clients write snappy without the framing.
# header: 82 "SNAPPY" 00, version int32, lowest compatible version int32; block: size int32, snappy.
# Each block starts with its uncompressed size: all sizes are added up before memory is allocated.

SNAPPY_HEADER = bytes.fromhex("82534e41505059000000000100000001")
SNAPPY_BLOCK = 32 * 1024  # bytes in a block of snappy-java
_SNAPPY_MAGIC = SNAPPY_HEADER[:8]


def inflate_snappy(data: bytes, limit: int) -> Inflated:
    """Decompress snappy. Raises BadCompression, or LimitExceeded for more than `limit` bytes; neither has a path."""
    bounds, end = _cut_snappy(data)
    if len(bounds) == 2:  # most batches: a third of the time of a buffer
        size = _snappy_claim(data, *bounds)
        if size > limit:
            refuse_size("snappy", limit, len(data))
        block = memoryview(data)[bounds[0] : bounds[1]]
        return Inflated(bytes(run_cramjam("snappy", load_cramjam("snappy").snappy.decompress_raw, block)), data[end:])
    sizes = array("q")
    total = 0
    for start, stop in zip(bounds[::2], bounds[1::2], strict=True):
        sizes.append(_snappy_claim(data, start, stop))
        total += sizes[-1]
        if total > limit:
            refuse_size("snappy", limit, len(data))
    output = OutputBuffer(total)
    done = 0
    view = memoryview(data)
    decompress = load_cramjam("snappy").snappy.decompress_raw_into
    for start, stop, size in zip(bounds[::2], bounds[1::2], sizes, strict=True):
        run_cramjam("snappy", decompress, view[start:stop], output.view[done : done + size])
        done += size
    return Inflated(output.first(total), data[end:])


def deflate_snappy(data: bytes) -> bytes:
    """Compress with snappy, with header and blocks."""
    compress = load_cramjam("snappy").snappy.compress_raw
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
    bounds = array("q")
    at = len(SNAPPY_HEADER)
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
