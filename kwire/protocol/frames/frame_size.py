"""The size field of a frame and its limits; big-endian integers at an offset."""

from __future__ import annotations

from ...errors import BadFrame

LIMIT = 100 * 1024 * 1024  # Kafka's socket.request.max.bytes
LEAST = 4  # bytes of a correlation id, which is the smallest response


def check_size(data: bytes | bytearray, start: int, limit: int = LIMIT, minimum: int = LEAST) -> int:
    """Return the size field of a frame. Raises BadFrame if it is below `minimum` or above `limit`."""
    size = int.from_bytes(data[start : start + 4], "big", signed=True)
    if not minimum <= size <= limit:
        raise BadFrame(offset=start, found=size, need=minimum, have=limit)
    return size


def get_int16(data: bytes, offset: int) -> int:
    """Read a big-endian int16."""
    return int.from_bytes(data[offset : offset + 2], "big", signed=True)


def get_int32(data: bytes, offset: int) -> int:
    """Read a big-endian int32."""
    return int.from_bytes(data[offset : offset + 4], "big", signed=True)
