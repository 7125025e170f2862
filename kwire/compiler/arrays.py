"""Emitters of arrays. Numbers go by one struct; anything else by a loop over its elements."""

from __future__ import annotations

from ..wire import COMPACT_LENGTH, Array, Float64, Integer
from .numbers import code_of
from .runs import Reads
from .support import SHORT, unpackers
from .text import read_length
from .walk import emit_read, read

DEEPEST = 6  # loops within loops of one function; Python allows twenty


@emit_read.register
def _(node: Array, out: Reads) -> str:
    if type(node.element) in (Integer, Float64):
        return _read_numbers(node, out)
    there, count = read_length(node.length, out, nullable=node.nullable)
    value = out.variable()
    if not there:
        _read_elements(node, out, value, count)
        return value
    with out.block(f"if {there}:"):
        _read_elements(node, out, value, count)
    out.line(f"else: {value} = None")
    return value


def _read_elements(node: Array, out: Reads, value: str, count: str) -> None:
    if out.loops == DEEPEST:
        inner = Reads(out.source, out.source.fresh("elements"), "b, p, n")
        _loop(node, inner, "n")
        inner.line("return tuple(a), p")
        out.line(f"{value}, p = {inner.name}(b, p, {count})")
        return
    items = _loop(node, out, count)
    out.line(f"{value} = tuple({items})")


def _loop(node: Array, out: Reads, count: str) -> str:
    items = f"a{out.loops + 1}"
    out.line(f"{items} = []")
    out.loops += 1
    with out.block(f"for _ in range({count}):"):
        element = read(node.element, out)
        out.line(f"{items}.append({element})")
    out.loops -= 1
    return items


def _read_numbers(node: Array, out: Reads) -> str:
    """A short array is one call of a struct from a table, by its count."""
    code, size = code_of(node.element), node.element.least
    value = out.variable()
    table = out.source.constant("N", unpackers(code), f"unpack_from >0{code}, >1{code}, >2{code} ...")
    if node.length is COMPACT_LENGTH:
        count, _ = out.byte()
        test, index, back = f"0 < {count} <= {SHORT}", f"{count} - 1", f" - {size}"
        long = "compact_numbers"
    else:
        count = out.fixed("i")
        test, index, back = f"0 <= {count} < {SHORT}", count, ""
        long = "numbers"
    with out.block(f"if {test}:"):
        out.line(f"{value} = {table}[{index}](b, p); p += {size} * {count}{back}")
    out.line(f"else: {value}, p = {long}(b, p, {count}, '{code}', {size}, {node.nullable})")
    return value
