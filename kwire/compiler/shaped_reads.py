"""Reading arrays whose elements look alike: a loop unpacks whole elements by the last shape.

It guesses, unpacks, and compares the counts that it found; an odd element between others is read by straight lines.
Where the shape no longer fits at all it stops, and `ReadShapes.ahead` looks for another.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import calcsize
from typing import Any

from ..wire import Struct
from .parts import LONGEST, Part
from .runs import Reads
from .shapes import Shape, Shapes
from .source import Function, Source, attribute
from .structs import construct
from .support import CONSTANTS
from .walk import read

PATIENCE = 64  # elements that straight lines read, at most, until a shape is looked for again
SIZES = {"B": 1, "h": 2, "i": 4}
Loop = Callable[[bytes, int, int, list[Any]], int]


def stay(b: bytes, p: int, n: int, a: list[Any]) -> int:
    """Read no element: the loop of no shape."""
    return p


class ReadShapes(Shapes):
    """The shapes of an array that is read.

    Attributes:
        loop: the loop of the last shape: of bytes, a position, the count of elements and those so far, to which it
            appends. It returns the position behind them; they may be fewer than the count.
    """

    loop: Loop = staticmethod(stay)

    def __init__(self, node: Struct, parts: dict[str, Part], title: str) -> None:
        super().__init__(node, parts, title)
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
            was, self.loop = self.loop, self.loop_at(b, p, left)
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

    def loop_at(self, b: bytes, p: int, left: int) -> Loop:
        """Return the loop for the shape of the element at `p`."""
        shape = self.shape(b, p)
        return stay if shape is None else self.loop_for(shape, left) or stay

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

    def make(self, shape: Shape, title: str) -> Loop:
        """Make the loop that reads elements of one shape, and odd ones between them."""
        source = Source(title, view=memoryview, **CONSTANTS)
        _write_loop(self.node, self.parts, shape, source)
        straight = Reads(source, source.fresh("element"))
        straight.line(f"return {read(self.node, straight)}, p")
        loop: Loop = source.run()["elements"]
        return loop


def _write_loop(node: Struct, parts: dict[str, Part], shape: Shape, source: Source) -> None:
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
