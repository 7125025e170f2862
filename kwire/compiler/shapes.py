"""Arrays whose elements look alike: a loop that unpacks whole elements by the last shape.

A shape is the lengths in an element, in their order. A loop for it guesses, unpacks, compares the lengths that it found
and stops at the first element that has others; the straight lines read that one. Loops are few, and made only for
shapes that are seen often: bytes may be hostile.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import calcsize
from typing import Any, NamedTuple

from ..wire import COMPACT_LENGTH, Array, Boolean, Bytes, Float64, Integer, Records, String, Struct, Uuid
from .numbers import code_of
from .runs import Reads
from .source import Function, Source, attribute
from .structs import construct
from .support import CONSTANTS
from .walk import read

FEW = 3  # elements that are not worth looking for a shape
MOST_SHAPES = 16  # of one array
OFTEN = 64  # elements that a shape is to have had before a loop is made for it
LONGEST = 64  # one length of a shape
PATIENCE = 64  # elements read by straight lines, at most, until a shape is looked for again
Loop = Callable[[bytes, int, int, list[Any]], int]
Shape = tuple[int, ...]


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
    parts = {field.name: _part(field.subcon) for field in node.fields}
    return {name: part for name, part in parts.items() if part} if None not in parts.values() else {}


def _part(node: Any) -> Part | None:
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


class Shapes:
    """The shapes that the elements of one array have had, in all messages of a codec.

    Args:
        node: the elements' struct.
        parts: its fields.
        title: what tracebacks call the loops.

    Attributes:
        loop: the loop of the last shape: of bytes, a position, the count of elements and those so far, to which it
            appends. It returns the position behind them; fewer than the count if one has another shape.
    """

    def __init__(self, node: Struct, parts: dict[str, Part], title: str) -> None:
        self.node, self.parts, self.title = node, parts, title
        self.loop: Loop = stay
        self.seen: dict[Shape, int] = {}
        self.loops: dict[Shape, Loop] = {}
        self.pause, self.rest, self.expected = 1, 0, 0

    def ahead(self, b: bytes, p: int, n: int, a: list[Any]) -> tuple[int, int]:
        """Go on where the loop has left some of `n` elements; `a` are those so far.

        Straight lines read one, since an odd one may stand between others of the last shape. Where that was no help
        the shape of the next one becomes the last one; and where that is none, it is not tried again for a while.

        Returns:
            The position behind what was read, and how many elements straight lines are to read.
        """
        left, count = n - len(a), 1
        stuck = self.loop is stay
        if left == self.expected:  # straight lines have read what they were asked to
            p = self.loop(b, p, n, a)
            stuck = left == n - len(a)
        if stuck and not self.rest:
            was, self.loop = self.loop, self.loop_for(b, p, left)
            p = p if self.loop is was else self.loop(b, p, n, a)
            stuck = left == n - len(a)
            self.rest = self.pause = min(2 * self.pause, PATIENCE) if stuck else 1
        if stuck and self.rest:
            count = self.rest
        left = n - len(a)
        count = min(count, left)
        self.rest -= min(count, self.rest)
        self.expected = left - count
        return p, count

    def loop_for(self, b: bytes, p: int, left: int) -> Loop:
        """Return the loop for the shape of the element at `p`, if it has one."""
        shape = self.shape(b, p)
        if shape is None:
            return stay
        if shape in self.loops or len(self.loops) == MOST_SHAPES:
            return self.loops.get(shape, stay)
        if len(self.seen) > 4 * MOST_SHAPES:
            self.seen.clear()
        self.seen[shape] = self.seen.get(shape, 0) + left
        if self.seen[shape] >= OFTEN:
            self.loops[shape] = loop_for(self.node, self.parts, shape, self.title)
        return self.loops.get(shape, stay)

    def shape(self, b: bytes, p: int) -> Shape | None:
        """Return the shape of the element at `p`; None if it has none that is looked for."""
        shape = []
        for part in self.parts.values():
            if part.length:
                size = SIZES[part.length]
                length = int.from_bytes(b[p : p + size], "big", signed=size > 1) - part.more
                if not -part.nullable <= length <= LONGEST:
                    return None
                shape.append(length)
                p += size + part.size * max(length, 0)
            else:
                p += part.size
        return tuple(shape) if p < len(b) else None


SIZES = {"B": 1, "h": 2, "i": 4}


def stay(b: bytes, p: int, n: int, a: list[Any]) -> int:
    """Read no element: the loop of no shape."""
    return p


def loop_for(node: Struct, parts: dict[str, Part], shape: Shape, title: str) -> Loop:
    """Make the loop that reads elements of one shape, and odd ones between them."""
    source = Source(f"{title}, shape {'-'.join(map(str, shape))}", view=memoryview, **CONSTANTS)
    out = Function(source, source.fresh("elements"), "b, p, n, a")
    codes, targets, odd, message = whole(node, parts, shape, out)
    size = calcsize(f">{codes}")
    with out.block("while True:"):
        out.line(f"start = p; first = len(a); left = min(n - first, (len(b) - p) // {size})")
        with out.block(f"for {targets} in {source.struct(codes, 'iter_unpack')}(view(b)[p:p + {size} * left]):"):
            with out.block(f"if {odd or 'False'}:"):
                out.line(f"p = start + {size} * (len(a) - first)")
                out.line("if len(a) == first: return p")
                out.line("v, q = element(b, p); a.append(v)")
                out.line(f"if q - p != {size}: p = q; break")
            out.line(f"else: a.append({message})")
        out.line(f"else: return start + {size} * left")
        out.line("if len(a) == n: return p")
    straight = Reads(source, source.fresh("element"))
    straight.line(f"return {read(node, straight)}, p")
    loop: Loop = source.run()["elements"]
    return loop


def whole(node: Struct, parts: dict[str, Part], shape: Shape, out: Function) -> tuple[str, str, str, str]:
    """Return how a whole element of a shape is read.

    Returns:
        Its format codes, the variables they are unpacked to, a condition that it has another shape after all, and an
        expression of the message.
    """
    codes, lengths = "", iter(shape)
    targets: list[str] = []
    tests: list[str] = []
    values = {absent.name: out.source.literal(absent.default) for absent in node.absent}
    for name, part in parts.items():
        count = next(lengths) if part.length else 1
        if part.length:
            codes += part.length
            targets.append(out.variable())
            tests.append(f"{targets[-1]} != {count + part.more}")
        variables = [out.variable() for _ in range(min(count, 1) if part.code == "s" else count)]
        codes += part.codes(count)
        targets += variables
        values[name] = part.value(variables, count)
    if node.tagged is not None:
        codes, tests, targets = f"{codes}B", [*tests, "t"], [*targets, "t"]
        values |= {attribute(f.name): out.source.literal(f.default) for f in node.tagged.fields.values()}
    together = ", ".join(targets) + ("," if len(targets) == 1 else "")
    return codes, together, " or ".join(tests), construct(node, out.source, values)
