"""Helpers that generated functions call for long or unusual values, which are not worth inlining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from struct import Struct, pack, unpack_from
from typing import Any

from ..native import Declined
from ..wire import Writer
from ..wire.tagged_fields import is_default
from ..wire.unknown_tags import HIGHEST_TAG, skip_unknown_tags
from ..wire.varints import short_varint as varint
from ..wire.varints import unsigned_varint

SHORT = 32  # shorter arrays of numbers have one struct for each length


def refuse(*_: Any) -> Any:
    """Raise `Declined`."""
    raise Declined


@cache
def unpackers(code: str, compact: bool) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Return unpackers for 0, 1, 2 ... numbers of a format code; if compact, indexed by the count plus one."""
    unpackers = tuple(Struct(f">{count}{code}").unpack_from for count in range(SHORT))
    return (refuse, *unpackers) if compact else unpackers


def wide(b: bytes, p: int, max_value: int) -> tuple[int, int]:
    """Read a varint of two or more bytes, whose first byte is before `p`; it must not exceed `max_value`."""
    value, p = varint(b, p - 1)
    if not 127 < value <= max_value:
        raise Declined
    return value, p


def compact_numbers(b: bytes, p: int, _: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers that is null or long, and whose compact count starts before `p`."""
    count, p = varint(b, p - 1)
    return numbers(b, p, count - 1, code, size, nullable)


def numbers(b: bytes, p: int, count: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers with a given count."""
    if count < 0:
        if count == -1 and nullable:
            return None, p
        raise Declined
    return unpack_from(f">{count}{code}", b, p), p + size * count


def unknown_tags(b: bytes, p: int, foreign: frozenset[int]) -> tuple[bytes, int]:
    """Read a tagged section with only unknown tags; return their raw bytes and the position after them."""
    count, p = varint(b, p)
    stop, left, _ = skip_unknown_tags(b, p, count, -1, foreign)
    if left:
        raise Declined
    return b[p:stop], stop


def unknown_tag(b: bytes, start: int, stop: int, tag: int, foreign: frozenset[int]) -> bytes:
    """Return the raw bytes of an unknown tagged field."""
    if tag > HIGHEST_TAG or tag in foreign or stop > len(b):
        raise Declined
    return b[start:stop]


@cache
def packers(prefix: str, code: str) -> tuple[Callable[..., bytes], ...]:
    """Return packers for a count, with the format code `prefix`, and 0, 1, 2 ... numbers."""
    return tuple(Struct(f">{prefix}{count}{code}").pack for count in range(SHORT))


@cache
def packed_lengths(code: str) -> tuple[bytes, ...]:
    """Return short lengths as bytes: a lookup takes a third of the time of packing."""
    return tuple(pack(f">{code}", length) for length in range(128))


def ints(*values: Any) -> None:
    """Refuse values that are not integers: structs would accept booleans and others."""
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise Declined


def floats(*values: Any) -> None:
    """Refuse values that are not floats: structs would accept integers."""
    if not all(isinstance(value, float) for value in values):
        raise Declined


def bools(*values: Any) -> None:
    """Refuse values that are not booleans: structs would accept anything."""
    if not all(isinstance(value, bool) for value in values):
        raise Declined


def uuids(value: Any) -> None:
    """Refuse values that are not 16 bytes: structs would truncate or pad them."""
    if not isinstance(value, bytes) or len(value) != 16:
        raise Declined


def raw(value: Any) -> bytes:
    """Return any bytes-like object as bytes."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise Declined
    return bytes(value)


def keep(message: Any, fields: Sequence[tuple[str, Any]]) -> None:
    """Refuse a message with a field that this version does not have, unless the field has its default."""
    for name, default in fields:
        value = getattr(message, name)
        if not is_default(value, default) and not (name == "unknown_tags" and value == b""):
            raise Declined


def check_sequence(value: Any) -> None:
    """Refuse a value that is not written as an array."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence):
        raise Declined


def long(size: int, max_size: int) -> bytes:
    """Write a compact length."""
    if size > max_size:
        raise Declined
    return unsigned_varint(size + 1)


def long_compact(count: int, code: str, values: Sequence[Any]) -> bytes:
    """Write an array of numbers with a compact count."""
    return unsigned_varint(count + 1) + pack(f">{count}{code}", *values)


def long_numbers(count: int, code: str, values: Sequence[Any]) -> bytes:
    """Write an array of numbers with a count of four bytes."""
    return pack(f">i{count}{code}", count, *values)


def unknown(value: Any, section: Callable[..., bytes]) -> bytes:
    """Write a tagged section with only unknown tags."""
    return section(value, Writer()) if value else b"\0"


def section(fields: list[tuple[int, bytes]], unknown: Any, checked: Callable[..., list[tuple[int, bytes]]]) -> bytes:
    """Write a tagged section: known fields by ascending tag, with unknown fields between them."""
    entries = [(tag, unsigned_varint(len(value)) + value) for tag, value in fields]
    if unknown:
        entries += checked(unknown, Writer())
        entries.sort(key=itemgetter(0))
    return unsigned_varint(len(entries)) + b"".join(unsigned_varint(tag) + sized for tag, sized in entries)


_FUNCTIONS = (
    *(refuse, wide, compact_numbers, numbers, unknown_tags, unknown_tag),
    *(
        ints,
        floats,
        bools,
        uuids,
        raw,
        keep,
        check_sequence,
        long,
        long_compact,
        long_numbers,
        unknown,
        section,
        is_default,
    ),
)


CONSTANTS: dict[str, Any] = {
    "BOOL": (False, True),
    "BYTE": tuple(bytes([value]) for value in range(128)),
    "EMPTY": (),
    "Declined": Declined,
    "utf8": str.encode,
    "varint": varint,
    **{function.__name__: function for function in _FUNCTIONS},
}
