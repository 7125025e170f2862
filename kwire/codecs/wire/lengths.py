"""Lengths of text, bytes and arrays: int16, int32, or compact (KIP-482: an unsigned varint of N + 1; 0 is null)."""

from __future__ import annotations

from typing import Any

from ...errors import BadLength, NegativeLength, NullNotAllowed, NullNotWritable, TooLong
from .fixed_size import INT16, INT32
from .java_integers import wrap_int32
from .node import Node
from .reader import Reader
from .varints import UNSIGNED_VARINT, unsigned_varint
from .writer import Writer

INT16_LENGTH = INT16
INT32_LENGTH = INT32


class CompactLength(Node):
    """N + 1 as an unsigned varint; 0 is null (KIP-482). Wraps at 32 bits like Java's int."""

    type_name: str = "compact length"
    least: int = 1
    high: int = 2**31 - 2

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        return wrap_int32(UNSIGNED_VARINT._parse(stream, context, path) - 1)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        stream.out += unsigned_varint(obj + 1)


COMPACT_LENGTH = CompactLength()


def read_length(stream: Reader, length: Node, *, nullable: bool, element_size: int) -> int | None:
    """Read a length; None means null. The claimed length is checked before any memory is allocated.

    Args:
        length: the encoding of the length.
        nullable: whether null is allowed.
        element_size: the minimum size of one counted element, in bytes.
    """
    start = stream.pos
    count: int = length._parse(stream, None, "")
    if count >= 0:
        if count * element_size > stream.end - stream.pos:
            stream.refuse(BadLength, start, found=count, need=count * element_size, have=stream.end - stream.pos)
        return count
    if not nullable:
        stream.refuse(NullNotAllowed, start, found=count, raw=stream.data[start : stream.pos])
    if count != -1:
        stream.fault(NegativeLength, start, found=count, raw=stream.data[start : stream.pos])
    return None


def write_length(stream: Writer, length: Any, count: int | None, *, nullable: bool) -> None:
    """Write a length; None means null."""
    if count is None:
        if not nullable:
            stream.refuse(NullNotWritable, found=None)
        count = -1
    elif count > length.high:
        stream.refuse(TooLong, found=count, need=length.high)
    length._build(count, stream, None, "")
