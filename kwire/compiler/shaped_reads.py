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

PATIENCE = 256  # elements that straight lines read, at most, until a shape is looked for again
LENIENT = 8
LEAST = 32  # elements that are worth a look whether all have the shape
CHUNK = 1024  # elements that are looked at together
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
        tried: in how many arrays, since it was counted last.
        rest: how many elements are to be read by straight lines before that.
    """

    loop: Loop = staticmethod(stay)

    def __init__(self, node: Struct, parts: dict[str, Part], title: str) -> None:
        super().__init__(node, parts, title)
        self.pause, self.rest = 1, 0
        self.tried = self.given_up = 0

    def ahead(self, b: bytes, p: int, n: int, a: list[Any]) -> tuple[int, int]:
        """Go on where the loop has given up, with some of `n` elements left; `a` are those so far.

        The shape of the next element becomes the last one. Where loops give up in every fourth array or more, shapes
        are not looked for again for a while, and ever longer.

        Returns:
            The position behind what was read, and how many elements straight lines are to read.
        """
        self.given_up += 1
        self.loop = self.loop_at(b, p, n - len(a))
        if 4 * self.given_up <= self.tried + LENIENT:
            p = self.loop(b, p, n, a)
            if len(a) == n:
                return p, 0
        self.pause = 1 if self.tried > 16 * self.given_up else min(2 * self.pause, PATIENCE)
        self.given_up = self.tried = 0
        left = n - len(a)
        count = min(left, self.pause)
        self.rest = self.pause - count
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
    _write_runs(node, parts, shape, out)
    out.line("spare = 2")
    with out.block("while True:"):
        out.line(f"start = p; first = len(a); left = min(n - first, (len(b) - p) // {size})")
        with out.block(f"for {targets} in {source.struct(codes, 'iter_unpack')}(view(b)[p:p + {size} * left]):"):
            with out.block(f"if {odd or 'False'}:"):
                out.line(f"p = start + {size} * (len(a) - first)")
                out.line("v, q = element(b, p); a.append(v)")
                out.line("spare -= 1")
                out.line("if spare + (len(a) >> 2) < 0: return q")
                out.line(f"if q - p != {size}: p = q; break")
            out.line(f"else: a.append({message})")
        out.line(f"else: return start + {size} * left")
        out.line("if len(a) == n: return p")


def _write_runs(node: Struct, parts: dict[str, Part], shape: Shape, out: Function) -> None:
    """Write the lines that read elements of the shape only: one slice for each byte of their counts says whether."""
    codes, targets, checks, message = unchecked(node, parts, shape, out)
    size = calcsize(f">{codes}")
    with out.block(f"while n - len(a) >= {LEAST}:"):
        out.line(f"left = min(n - len(a), (len(b) - p) // {size}, {CHUNK}); q = p + {size} * left")
        tests = [f"b[p + {place}:q:{size}].count({byte}) < left" for place, byte in checks]
        out.line(f"if {' or '.join([f'left < {LEAST}', *tests])}: break")
        unpack = out.source.struct(codes, "iter_unpack")
        out.line(f"a += [{message} for {targets} in {unpack}(view(b)[p:q])]; p = q")
    out.line("if len(a) == n: return p")


def unchecked(
    node: Struct, parts: dict[str, Part], shape: Shape, out: Function
) -> tuple[str, str, list[tuple[int, int]], str]:
    """Return how an element that surely has a shape is read: as `whole`, with places of bytes and their values."""
    codes, lengths = "", iter(shape)
    targets: list[str] = []
    checks: list[tuple[int, int]] = []
    values = absent_values(node, out)
    for name, part in parts.items():
        count = next(lengths) if part.length else 1
        if part.length:
            size = SIZES[part.length]
            raw = (count + part.more).to_bytes(size, "big", signed=True)
            checks += [(calcsize(f">{codes}") + place, byte) for place, byte in enumerate(raw)]
            codes += f"{size}x"
        variables = [out.variable() for _ in range(part.values(count))]
        codes += part.codes(count)
        targets += variables
        values[name] = part.value(variables, count)
    if node.tagged is not None:
        checks.append((calcsize(f">{codes}"), 0))
        codes += "x"
    return codes, together(targets), checks, construct(node, out.source, values)


def whole(node: Struct, parts: dict[str, Part], shape: Shape, out: Function) -> tuple[str, str, str, str]:
    """Return how a whole element of a shape is read.

    Returns:
        Its format codes, the variables they are unpacked to, a condition that it has another shape after all, and an
        expression of the message.
    """
    codes, lengths = "", iter(shape)
    targets: list[str] = []
    tests: list[str] = []
    values = absent_values(node, out)
    for name, part in parts.items():
        count = next(lengths) if part.length else 1
        if part.length:
            codes += part.length
            targets.append(out.variable())
            tests.append(f"{targets[-1]} != {count + part.more}")
        variables = [out.variable() for _ in range(part.values(count))]
        codes += part.codes(count)
        targets += variables
        values[name] = part.value(variables, count)
    if node.tagged is not None:
        codes, tests, targets = f"{codes}B", [*tests, "t"], [*targets, "t"]
    return codes, together(targets), " or ".join(tests), construct(node, out.source, values)


def absent_values(node: Struct, out: Function) -> dict[str, str]:
    """Return the defaults of fields that the version lacks, and of tagged ones, where no tags are."""
    fields = [*node.absent, *(node.tagged.fields.values() if node.tagged is not None else ())]
    return {attribute(field.name): out.source.literal(field.default) for field in fields}


def together(targets: list[str]) -> str:
    """Return variables as the target of an assignment."""
    return ", ".join(targets) + ("," if len(targets) == 1 else "") if targets else "_"
