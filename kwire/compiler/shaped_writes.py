"""Writing arrays whose elements look alike: a loop packs whole elements by the last shape.

An element of another shape is written by straight lines. Elements are fixed values and arrays of numbers; those of
other kinds, and of a fixed size, are written by straight lines as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .parts import LONGEST, Part
from .runs import Writes
from .shapes import Shape, Shapes
from .source import Source, attribute
from .structs import check_message
from .support import CONSTANTS
from .tags import is_tagged
from .walk import write

Loop = Callable[[Sequence[Any], list[bytes]], int]


def may_be_shaped(parts: dict[str, Part]) -> bool:
    """Whether elements of these fields have shapes that help in writing them."""
    counted = [part for part in parts.values() if part.length]
    return bool(counted) and not any(part.nullable or part.code == "s" for part in counted)


class WriteShapes(Shapes):
    """The shapes of an array that is written."""

    loop: Loop | None = None

    def write(self, values: Sequence[Any], pieces: list[bytes]) -> bool:
        """Write all elements, if the last shape is one of theirs or known; else none, and return False."""
        loop = self.loop
        if loop is None:
            loop = self.loop = self.loop_of(values[0], len(values))
            if loop is None:
                return False
        odd = loop(values, pieces)
        if 2 * odd > len(values):
            self.loop = self.loop_of(values[-1], len(values))
        return True

    def loop_of(self, message: Any, left: int) -> Loop | None:
        """Return the loop for the shape of an element, if it has one."""
        shape = tuple(len(getattr(message, name)) for name, part in self.parts.items() if part.length)
        return self.loop_for(shape, left) if max(shape) <= LONGEST else None

    def make(self, shape: Shape, title: str) -> Loop:
        """Make the loop that writes elements of one shape, and odd ones between them; it returns how many are odd."""
        source = Source(title, **CONSTANTS)
        out = Writes(source, source.fresh("elements"), "v, o")
        out.line("odd = 0")
        with out.block("for m in v:"):
            check_message(self.node, out, "m")
            self._write_element(shape, out)
        out.line("return odd")
        straight = Writes(source, source.fresh("element"))
        write(self.node, straight, "m")
        straight.finish()
        loop: Loop = source.run()["elements"]
        return loop

    def _write_element(self, shape: Shape, out: Writes) -> None:
        held = {name: out.held(f"m.{attribute(name)}") for name, part in self.parts.items() if part.length}
        counts = dict(zip(held.values(), shape, strict=True))
        tests = [f"{variable} is EMPTY" for variable, count in counts.items() if not count]  # there is one alone
        some = [variable for variable, count in counts.items() if count]
        if some:
            tests.append(f"{' is '.join(f'type({variable})' for variable in some)} is tuple")
            tests += [f"len({variable}) == {counts[variable]}" for variable in some]
        if self.node.tagged is not None:
            tests.append(f"not ({is_tagged(self.node.tagged, out, 'm')})")
        with out.block(f"if {' and '.join(tests)}:"):
            for field in self.node.fields:
                if field.name in held:
                    _write_numbers(self.parts[field.name], counts[held[field.name]], held[field.name], out)
                else:
                    write(field.subcon, out, f"m.{attribute(field.name)}")
            if self.node.tagged is not None:
                out.fixed("x", "")
        out.line("else: odd += 1; element(m, o)")


def _write_numbers(part: Part, count: int, values: str, out: Writes) -> None:
    variables = [out.variable() for _ in range(count)]
    if count:
        out.line(f"{', '.join(variables)}, = {values}")
    out.fixed(part.length, str(count + part.more))
    for variable in variables:
        out.fixed(part.code, variable, "float" if part.code == "d" else "int")
