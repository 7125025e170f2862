"""Lengths and counts, and the rule that -1 means null.

Old encodings have an int16 or int32 with the length; compact ones an unsigned varint with the length plus one.
"""

from __future__ import annotations

from typing import Any

from ..errors import NullNotWritable, TooLong
from ..faults import BadLength, NegativeLength, NullNotAllowed
from .numbers import INT16, INT32
from .streams import Node, Reader, Writer
from .varints import UNSIGNED_VARINT, unsigned_varint


class CompactLength(Node):
    """N + 1 as an unsigned varint; 0 is null (KIP-482). Wraps at 32 bits as Java's int does."""

    type_name: str = "compact length"
    least: int = 1
    high: int = 2**31 - 2

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        return int32(UNSIGNED_VARINT._parse(stream, context, path) - 1)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        stream.out += unsigned_varint(obj + 1)


INT16_LENGTH = INT16
INT32_LENGTH = INT32
COMPACT_LENGTH = CompactLength()


def int32(value: int) -> int:
    """Wrap a number to 32 bits, as Java's int does.

    >>> int32(2**31), int32(-(2**31) - 1)
    (-2147483648, 2147483647)
    """
    return (value + 2**31) % 2**32 - 2**31


def read_length(stream: Reader, length: Node, *, nullable: bool, least: int) -> int | None:
    """Read a length; None is null. The claim is checked before anything of its size is made.

    Args:
        length: how it is written.
        nullable: whether null is allowed.
        least: the fewest bytes that one counted thing takes.
    """
    start = stream.pos
    count: int = length._parse(stream, None, "")
    if count >= 0:
        if count * least > stream.end - stream.pos:
            stream.refuse(BadLength, start, found=count, need=count * least, have=stream.end - stream.pos)
        return count
    if not nullable:
        stream.refuse(NullNotAllowed, start, found=count, raw=stream.data[start : stream.pos])
    if count != -1:
        stream.fault(NegativeLength, start, found=count, raw=stream.data[start : stream.pos])
    return None


def write_length(stream: Writer, length: Any, count: int | None, *, nullable: bool) -> None:
    """Write a length; None is null."""
    if count is None:
        if not nullable:
            stream.refuse(NullNotWritable, found=None)
        count = -1
    elif count > length.high:
        stream.refuse(TooLong, found=count, need=length.high)
    length._build(count, stream, None, "")
