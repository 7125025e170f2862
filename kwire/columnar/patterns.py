"""The usual form of an element as a regular expression, which passes over many elements in one call.

Usual is what has short counts and no tags; all else does not match. A count is one branch: `\\x04.{12}`, three numbers
and the byte in front that says so. A pattern takes what the source of `scanning` takes, or nothing. Knows trees only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import wire

FIXED = (wire.Integer, wire.Float64, wire.Boolean, wire.Uuid)
TEXTS = (wire.String, wire.Bytes, wire.Records)
LONGEST = 64  # bytes, of what a count tells
MOST = 32  # elements that one call passes over, and that are in an element
LEAST = 8  # of those, or it is not worth a pattern
LARGEST = 1 << 16  # bytes of a form: compiling it takes 20 ms
Match = Callable[[bytes, int], "re.Match[bytes] | None"]


class Shape(NamedTuple):
    """What elements alike have in common: their size, and the bytes of the counts in them, each with its place."""

    size: int
    bytes: tuple[tuple[int, int], ...]


class Patterns:
    """The patterns of elements of one form, compiled when they are needed.

    Attributes:
        is_flat: whether there are no arrays of structs in an element.
    """

    def __init__(self, node: Any, form: bytes) -> None:
        self._node, self._form = node, form
        self.is_flat = form_of(node, marked=True) is not None
        self._many: dict[int, Match] = {}
        self._compiled: dict[bytes, re.Pattern[bytes]] = {}

    def _pattern(self, form: bytes) -> re.Pattern[bytes]:
        if form not in self._compiled:
            self._compiled[form] = re.compile(form, re.DOTALL)
        return self._compiled[form]

    def many(self, b: bytes, p: int, count: int) -> int:
        """Return where so many elements from `p` on end; 0 if one has not the usual form."""
        if count not in self._many:
            self._many[count] = re.compile(b"(?:%s){%d}" % (self._form, count), re.DOTALL).match
        match = self._many[count](b, p)
        return match.end() if match else 0

    def sizes(self, b: bytes, p: int, count: int, end: int) -> list[int]:
        """Return the sizes of elements from `p` on, at most so many, up to the first that has not the usual form."""
        found: list[bytes] = self._pattern(self._form + b"|.+").findall(b, p, end)
        del found[count:]
        if found and not self._pattern(self._form).fullmatch(found[-1]):
            found.pop()  # all behind the last one that has it
        return list(map(len, found))

    def shape(self, b: bytes, p: int) -> Shape | None:
        """Return the shape of the element at `p`; None if it has not the usual form, or holds structs."""
        form = form_of(self._node, marked=True)
        match = self._pattern(form).match(b, p) if form else None
        if match is None:
            return None
        counts = [(match.start(group) - p, match[group]) for group in range(1, len(match.groups()) + 1)]
        marks = [(place, byte) for start, count in counts for place, byte in enumerate(count, start)]
        return Shape(match.end() - p, tuple(marks))


def form_of(node: Any, *, marked: bool = False) -> bytes | None:
    """Return the usual form of a node as a regular expression; None: it has none.

    Args:
        node: a node of the tree.
        marked: with a group in front of each count; what holds arrays of structs has none, then.
    """
    if type(node) in FIXED:
        return b".{%d}+" % node.least
    if type(node) in TEXTS:
        return _counted(node, marked, LONGEST, lambda count: b".{%d}+" % count)
    if type(node) is wire.Array and type(node.element) in FIXED:
        size = node.element.least
        return _counted(node, marked, LONGEST // size, lambda count: b".{%d}+" % (size * count))
    if type(node) is wire.Array:
        form = None if marked else form_of(node.element)
        most = min(MOST, LARGEST // len(form)) if form else 0
        return _counted(node, marked, most, lambda count: b"(?:%s){%d}" % (form, count)) if most >= LEAST else None
    return _struct(node, marked) if type(node) is wire.Struct else None


def _struct(node: wire.Struct, marked: bool) -> bytes | None:
    forms = [form_of(field.subcon, marked=marked) for field in node.fields]
    if None in forms or sum(map(len, filter(None, forms))) > LARGEST:
        return None
    tags = rb"" if node.tagged is None else rb"(?=(.))\0" if marked else rb"\0"
    return b"".join(form for form in forms if form) + tags


def _counted(node: Any, marked: bool, most: int, form: Callable[[int], bytes]) -> bytes:
    """Return the form of what has a count in front, at most so many; and the form of those."""
    compact = node.length is wire.COMPACT_LENGTH
    prefix = 1 if compact else node.length.least
    branches = [
        re.escape((count + compact).to_bytes(prefix, "big", signed=True)) + (form(count) if count > 0 else b"")
        for count in range(-1 if node.nullable else 0, most + 1)
    ]
    return (b"(?=(.{%d}))" % prefix if marked else b"") + b"(?:%s)" % b"|".join(branches)
