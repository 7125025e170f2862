"""The faults of frames whose size does not match their bytes."""

from __future__ import annotations

from ...errors import BadFrame, BytesAfterFrame, DecodeError, Truncated
from .frame_reader import cut_frames
from .frame_size import LEAST, LIMIT, get_int32
from .stream_faults import CutShort


def cut_short(data: bytes, cause: str = "") -> CutShort | None:
    """Return the fault of a truncated frame; None if the frame is complete.

    Args:
        data: the available bytes of the frame, including the size field.
        cause: what truncated the frame.

    >>> print(cut_short(bytes.fromhex("0000002c 00000007"), "the connection closed"))
    cut short: 8 of 48 bytes, then the connection closed
    """
    have = len(data)
    if not have:
        return None
    if have < 4:
        return CutShort(need=None, have=have, cause=cause)
    size = get_int32(data, 0)
    if not (LEAST <= size <= LIMIT and have < 4 + size):
        return None
    return CutShort(need=4 + size, have=have, cause=cause)


def size_fault(data: bytes) -> DecodeError | None:
    """Return the error of an invalid size field, if the frame cannot be read because of it."""
    if len(data) < 8:
        return Truncated(offset=0, need=8, have=len(data))
    size = get_int32(data, 0)
    if not LEAST <= size <= LIMIT:
        return BadFrame(offset=0, found=size, need=LEAST, have=LIMIT)
    return bytes_after_frame(data) if size < len(data) - 4 else None


def bytes_after_frame(data: bytes) -> BytesAfterFrame:
    """Return the error of a frame with a valid size, and bytes after it.

    >>> print(bytes_after_frame(bytes.fromhex("00000004 00000007 00000004 00000008 00")))
    9 more bytes (1 whole frame) follow the frame of 8 bytes (offset 0)
    """
    size = get_int32(data, 0)
    start = 4 + size
    frames = sum(1 for frame in cut_frames(data[start:]) if cut_short(frame.data) is None)
    whole = f" ({frames} whole {'frame' if frames == 1 else 'frames'})" if frames else ""
    behind = f"{len(data) - start} more bytes{whole} follow the frame of {start} bytes"
    return BytesAfterFrame(offset=0, found=size, need=LEAST, have=LIMIT, behind=behind)
