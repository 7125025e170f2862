"""What the elements of an array are made of, if they may look alike: values of a fixed size, and counted ones.

Knows nodes; knows no shapes that elements have had.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..wire import COMPACT_LENGTH, Array, Boolean, Bytes, Float64, Integer, Records, String, Struct, Uuid
from .numbers import code_of

LONGEST = 64  # one count of a shape


class Part(NamedTuple):
    """A field of a struct that may have shapes: a value of a fixed size, or some with their count in front.

    `code` and `size` are of one value; `length` is the format code of the count, or empty; `more` is what it says
    beyond the count; `form` makes of variables what the field holds.
    """

    code: str
    size: int
    form: str = "{}"
    length: str = ""
    more: int = 0
    nullable: bool = False

    def values(self, count: int) -> int:
        """Return how many variables `count` values are unpacked to."""
        return count if not self.length else min(count, 1) if self.code == "s" else count

    def codes(self, count: int) -> str:
        """Return the format codes of `count` values."""
        return self.code if not self.length else f"{count}{self.code}" if count > 0 else ""

    def value(self, variables: list[str], count: int) -> str:
        """Return an expression of what the field holds; a count of -1 is null."""
        if count < 0:
            return "None"
        together = (
            f"{', '.join(variables)}{',' * (len(variables) == 1)}" if self.code != "s" else (*variables, "b''")[0]
        )
        return self.form.format(together if self.length else variables[0])


def parts_of(node: Any) -> dict[str, Part]:
    """Return the fields of a struct by name; nothing if there is one that is neither fixed nor counted."""
    if type(node) is not Struct:
        return {}
    parts = {field.name: part_of(field.subcon) for field in node.fields}
    return {name: part for name, part in parts.items() if part} if None not in parts.values() else {}


def part_of(node: Any) -> Part | None:
    """Return what a field of a node is; None if it is neither fixed nor counted."""
    kind = type(node)
    if kind in (Integer, Float64):
        return Part(code_of(node), node.least)
    if kind is Boolean:
        return Part("B", 1, "BOOL[{}]")
    if kind is Uuid:
        return Part("16s", 16)
    length = getattr(node, "length", None)
    if length is COMPACT_LENGTH:
        counted = ("B", 1, node.nullable)
    elif type(length) is Integer:
        counted = (code_of(length), 0, node.nullable)
    else:
        return None
    if kind is Array and type(node.element) in (Integer, Float64):
        return Part(code_of(node.element), node.element.least, "({})", *counted)
    if kind is String and node.longest >= LONGEST:
        return Part("s", 1, "{}.decode()", *counted)
    return Part("s", 1, "{}", *counted) if kind in (Bytes, Records) else None
