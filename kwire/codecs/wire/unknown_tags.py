"""The unknown tagged fields of a struct, as one raw slice of bytes: skips, splits and joins them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from .reader import Reader
from .varints import UNSIGNED_VARINT, short_varint, unsigned_varint

HIGHEST_TAG = 2**31 - 2  # Kafka's writer does not write 2147483647


def skip_unknown_tags(
    data: bytes, position: int, count: int, last: int, taken: Collection[int], end: int | None = None
) -> tuple[int, int, int]:
    """Skip unknown tags in canonical form: in ascending order, with varints of the shortest length.

    Args:
        data, position: the bytes, and the start of the tags.
        count: the maximum number of tags to skip.
        last: the number of the previous tag.
        taken: the numbers of known tags.
        end: the end of the bytes; by default the end of `data`.

    Returns:
        The position after the skipped tags, the remainder of `count`, and the number of the last tag.

    >>> skip_unknown_tags(bytes.fromhex("05 02 abcd 09 00 07 00"), 0, 3, -1, ())
    (6, 1, 9)
    """
    end = len(data) if end is None else end
    try:
        while count:
            tag, behind = short_varint(data, position)
            size, behind = short_varint(data, behind)
            behind += size
            if tag <= last or tag > HIGHEST_TAG or tag in taken or behind > end:
                break
            last = tag
            position = behind
            count = count - 1
    except (IndexError, ValueError):
        pass
    return position, count, last


def has_tags(unknown: Any) -> bool:
    """Whether the `unknown_tags` of a struct contain anything, even a value that cannot be written."""
    try:
        return bool(unknown)
    except Exception:
        return True


def split_tags(raw: bytes | bytearray | None) -> list[tuple[int, bytes]]:
    """Split a struct's `unknown_tags` into fields.

    Args:
        raw: the slice, or None.

    Returns:
        (tag, data) of each field, in the order of the bytes. Raises DecodeError for an invalid slice.

    >>> split_tags(bytes.fromhex("05 02 abcd 09 00"))
    [(5, b'\\xab\\xcd'), (9, b'')]
    """
    data = bytes(raw or b"")
    tags = []
    behind = 0
    try:
        while behind < len(data):
            tag, start = short_varint(data, behind)
            size, start = short_varint(data, start)
            if start + size > len(data):
                break
            behind = start + size
            tags.append((tag, data[start:behind]))
    except (IndexError, ValueError):
        pass
    stream = Reader(data, behind, salvage=True)  # for the rest: empty, or not in canonical form
    while stream.pos < stream.end:
        tag, size = (UNSIGNED_VARINT._parse(stream, None, "") for _ in "ts")
        tags.append((tag, stream.take(size)))
    return tags


def join_tags(tags: Iterable[tuple[int, bytes]]) -> bytes | None:
    """Encode (tag, data) pairs as the `unknown_tags` of a struct; None if there are none.

    >>> join_tags([(5, b"\\xab\\xcd"), (9, b"")]).hex(" ")
    '05 02 ab cd 09 00'
    """
    raw = b"".join(unsigned_varint(tag) + unsigned_varint(len(data)) + data for tag, data in tags)
    return raw or None
