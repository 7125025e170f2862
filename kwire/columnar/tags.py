"""Tagged sections that are not empty, one at a time: few structs have any. Knows bytes, no columns."""

from __future__ import annotations

from typing import Any

from ..compiler.support import Refused, unknown_tag
from ..wire.varints import short_varint

Found = list[tuple[int, int, int]]  # tag, where its value begins, where it ends


def sections(b: bytes, p: int, end: int, node: Any) -> tuple[int, Found, bytes]:
    """Read the tagged section at `p` of a body that ends at `end`; what its fields hold is not looked at.

    Returns:
        Where it ends, the known fields, and the unknown ones as they stand.
    """
    count, p = short_varint(b, p)
    if 2 * count > end - p:
        raise Refused
    found: Found = []
    unknown = bytearray()
    last = -1
    for _ in range(count):
        start = p
        tag, p = short_varint(b, p)
        size, p = short_varint(b, p)
        if tag <= last or size > end - p:
            raise Refused
        last, stop = tag, p + size
        if tag in node.fields:
            found.append((tag, p, stop))
        else:
            unknown += unknown_tag(b, start, stop, tag, node.foreign)
        p = stop
    return p, found, bytes(unknown)
