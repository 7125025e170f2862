"""What generated source calls where a value is long or odd: all that is not worth a line of its own everywhere.

Raises `Refused` or whatever Python raises, and says nothing: the reference path goes again and explains.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct, unpack_from
from typing import Any

from ..wire.tags import HIGHEST_TAG

SHORT = 32  # arrays of fewer numbers have a struct each
BOOL = (False, True)


class Refused(Exception):
    """Bytes or values that the compiled path leaves to the reference path; never seen outside."""


def refuse(*_: Any) -> Any:
    """Leave whatever it is to the reference path."""
    raise Refused


@cache
def unpackers(code: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Return what unpacks 0, 1, 2 ... numbers of a format code."""
    return tuple(Struct(f">{count}{code}").unpack_from for count in range(SHORT))


def varint(b: bytes, p: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits in as few bytes as it takes; return it and where it ends."""
    value = b[p]
    p += 1
    if value < 128:
        return value, p
    value &= 127
    shift = 7
    while (byte := b[p]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        p += 1
        if shift > 28:
            raise Refused
    value |= byte << shift
    if not byte or value >= 2**32:
        raise Refused
    return value, p + 1


def wide(b: bytes, p: int, most: int) -> tuple[int, int]:
    """Read a varint of two bytes or more, whose first byte is behind `p`; it must not be above `most`."""
    value, p = varint(b, p - 1)
    if not 127 < value <= most:
        raise Refused
    return value, p


def compact_numbers(b: bytes, p: int, _: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers that is null or not short, and whose compact count begins before `p`."""
    count, p = varint(b, p - 1)
    return numbers(b, p, count - 1, code, size, nullable)


def numbers(b: bytes, p: int, count: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers whose count is known."""
    if count < 0:
        if count == -1 and nullable:
            return None, p
        raise Refused
    return unpack_from(f">{count}{code}", b, p), p + size * count


def unknown_tags(b: bytes, p: int, foreign: frozenset[int]) -> tuple[bytes, int]:
    """Read a tagged section of unknown tags only; return them as they stand, and where they end."""
    count, p = varint(b, p)
    begin, last = p, -1
    for _ in range(count):
        tag, p = varint(b, p)
        size, p = varint(b, p)
        p += size
        if tag <= last or tag > HIGHEST_TAG or tag in foreign:
            raise Refused
        last = tag
    return b[begin:p], p


def unknown_tag(b: bytes, start: int, stop: int, tag: int, foreign: frozenset[int]) -> bytes:
    """Return an unknown tagged field as it stands."""
    if tag > HIGHEST_TAG or tag in foreign or stop > len(b):
        raise Refused
    return b[start:stop]


CONSTANTS: dict[str, Any] = {
    "BOOL": BOOL,
    "Refused": Refused,
    "varint": varint,
    "wide": wide,
    "compact_numbers": compact_numbers,
    "numbers": numbers,
    "unknown_tags": unknown_tags,
    "unknown_tag": unknown_tag,
}
