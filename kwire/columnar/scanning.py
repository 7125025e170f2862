"""Writes the source that passes over elements by straight lines, and notes where each begins: one small emitter a node.

Only lengths are read; it raises without saying why. In generated source `b` are the bytes, `p` is a position in them,
`end` is where the body ends. That bodies are shorter than they should be, is noticed at their end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from .. import wire
from ..compiler.source import Function, Source
from ..compiler.support import CONSTANTS
from .patterns import FIXED
from .tags import sections

MOST = 2**31 - 1
Scan = Callable[[bytes, int, int, int, Callable[[int], Any]], int]
Pass = Callable[[Any], Callable[[bytes, int, int, int], int]]


class Walk(Function):
    """A function that walks over bytes: `ahead` bytes from `p` on are behind it already."""

    def __init__(self, source: Source, name: str, parameters: str, over: Pass) -> None:
        super().__init__(source, name, parameters)
        self.ahead, self.over = 0, over

    def at(self) -> str:
        """Return where the next byte is."""
        return f"p + {self.ahead}" if self.ahead else "p"

    def finish(self) -> None:
        """Move `p` to the next byte."""
        if self.ahead:
            self.line(f"p += {self.ahead}")
            self.ahead = 0


def scan_of(element: Any, title: str, over: Pass) -> Scan:
    """Return a function of bytes, a position, a count, where the body ends, and what is called with the position of
    each element; it returns where they end.

    Args:
        element: the elements' node.
        title: for tracebacks.
        over: returns what passes over the elements of an array in it.
    """
    source = Source(title, **CONSTANTS, sections=sections)
    out = Walk(source, source.fresh("elements"), "b, p, n, end, note", over)
    with out.block("for _ in range(n):"):
        out.line("note(p)")
        skip(element, out)
    out.line("return p")
    scan: Scan = source.run()["elements"]
    return scan


@singledispatch
def emit(node: Any, out: Walk) -> None:
    """Write lines that pass over a node."""
    raise TypeError(f"no columns are written for {type(node).__name__}")


def skip(node: Any, out: Walk) -> None:
    """Emit the passing over a node, by its very class: one that is derived may read otherwise."""
    emit.registry.get(type(node), emit.registry[object])(node, out)


@emit.register(wire.Integer)
@emit.register(wire.Float64)
@emit.register(wire.Boolean)
@emit.register(wire.Uuid)
def _(node: Any, out: Walk) -> None:
    out.ahead += node.least


def length(node: Any, out: Walk) -> tuple[str, int]:
    """Emit the reading of a length; return its variable, and what that says beyond the length: null is one less."""
    variable = out.variable()
    if node.length is wire.COMPACT_LENGTH:
        out.line(f"{variable} = b[{out.at()}]")
        out.ahead += 1
        out.finish()
        short = f"{variable} < 128" if node.nullable else f"0 < {variable} < 128"
        out.line(f"if not {short}: {variable}, p = wide(b, p, {MOST + 1})")
        return variable, 1
    out.line(f"{variable}, = {out.source.struct(node.length.struct.format[-1:], 'unpack_from')}(b, {out.at()})")
    out.ahead += node.length.least
    out.finish()
    out.line(f"if {variable} < {-1 if node.nullable else 0}: raise Refused")
    return variable, 0


@emit.register(wire.String)
@emit.register(wire.Bytes)
@emit.register(wire.Records)
def _(node: Any, out: Walk) -> None:
    _jump(node, 1, out)


@emit.register
def _(node: wire.Array, out: Walk) -> None:
    if type(node.element) in FIXED:
        _jump(node, node.element.least, out)
        return
    count, more = length(node, out)
    over = out.source.constant("S", out.over(node), "passes over elements")
    out.line(f"if {count} > {more}: p = {over}(b, p, {less(count, more)}, end)")


def _jump(node: Any, size: int, out: Walk) -> None:
    """Emit the passing over what a length says, of things of one size."""
    count, more = length(node, out)
    there = f"if {count} > {more}: " if node.nullable else ""
    out.line(f"{there}p += {less(f'{size} * {count}' if size > 1 else count, size * more)}")


def less(value: str, more: int) -> str:
    """Return an expression of a value, less `more`."""
    return f"{value} - {more}" if more else value


@emit.register
def _(node: wire.Struct, out: Walk) -> None:
    for field in node.fields:
        skip(field.subcon, out)
    if node.tagged is not None:
        _tagged(node.tagged, out)


def _tagged(node: wire.TaggedFields, out: Walk) -> None:
    """Emit the passing over a tagged section. Most are empty: one byte."""
    ahead, out.ahead = out.ahead, 0
    known = out.source.constant("T", node, f"tags {sorted(node.fields)}, of other versions {sorted(node.foreign)}")
    at = f"p + {ahead}" if ahead else "p"
    out.line(f"if not b[{at}]: p += {ahead + 1}")
    with out.block("else:"):
        behind, found, tag, stop = (out.variable() for _ in "bfts")
        out.line(f"{behind}, {found}, _ = sections(b, {at}, end, {known})")
        with out.block(f"for {tag}, p, {stop} in {found}:"):
            for number, field in node.fields.items():
                with out.block(f"if {tag} == {number}:"):
                    skip(field.subcon, out)
                    out.finish()
                    out.line("pass")
            out.line(f"if p != {stop}: raise Refused")
        out.line(f"p = {behind}")


@emit.register
def _(node: wire.NullableStruct, out: Walk) -> None:
    marker = out.variable()
    out.line(f"{marker} = b[{out.at()}]")
    out.ahead += 1
    out.finish()
    with out.block(f"if {marker} == 1:"):
        skip(node.subcon, out)
    out.line(f"elif {marker} != {node.null & 0xFF}: raise Refused")
