"""Emitters of arrays. Numbers go by one struct; anything else by a loop over its elements."""

from __future__ import annotations

from struct import calcsize
from typing import Any

from ..wire import COMPACT_LENGTH, Array, Boolean, Float64, Integer, Struct, Uuid
from .numbers import code_of, type_of
from .runs import Reads, Writes
from .source import Source, attribute
from .structs import construct
from .support import SHORT, packers, unpackers
from .text import read_length, write_length, write_null
from .walk import emit_read, emit_write, read, write

DEEPEST = 6  # loops within loops of one function; Python allows twenty


@emit_read.register
def _(node: Array, out: Reads) -> str:
    if type(node.element) in (Integer, Float64):
        return _read_numbers(node, out)
    there, length, more = read_length(node.length, out, nullable=node.nullable)
    count = f"{length} - {more}" if more else length
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
        out.line(f"{value}, p = {read_counted(node, out.source)}(b, p, {count})")
        return
    _loop(node, out, count)
    out.line(f"{value} = tuple(a{out.loops + 1})")


def read_counted(node: Array, source: Source) -> str:
    """Write the function that reads some elements; return its name."""
    out = Reads(source, source.fresh("elements"), "b, p, n")
    if type(node.element) in (Integer, Float64):
        out.line(f"return numbers(b, p, n, '{code_of(node.element)}', {node.element.least}, False)")
    else:
        _loop(node, out, "n")
        out.line("return tuple(a1), p")
    return out.name


def _loop(node: Array, out: Reads, count: str) -> None:
    """Emit the reading of elements; with what they have, `a` and `n` and so on, numbered by the depth of the loop."""
    out.loops += 1
    out.line(f"a{out.loops} = []; n{out.loops} = {count}")
    element: Any = node.element
    fields = _fixed_fields(element)
    if fields:
        _fixed_loop(element, fields, out)
    else:
        _straight_loop(node.element, out, f"n{out.loops}")
    out.loops -= 1


def _straight_loop(element: Any, out: Reads, left: str) -> None:
    with out.block(f"while {left}:"):
        out.line(f"{left} -= 1")
        message = read(element, out)
        out.line(f"a{out.loops}.append({message})")


def _fixed_fields(node: Any) -> dict[str, tuple[str, str]]:
    """Return the fields of a struct, each with its format code and the form of its value; nothing if one of them may
    have another size."""
    found = {}
    for field in node.fields if type(node) is Struct else ():
        kind = type(field.subcon)
        if kind in (Integer, Float64):
            found[attribute(field.name)] = code_of(field.subcon), "{}"
        elif kind in _FORMS:
            found[attribute(field.name)] = _FORMS[kind]
        else:
            return {}
    return found


_FORMS = {Boolean: ("B", "BOOL[{}]"), Uuid: ("16s", "{}")}


def _fixed_loop(node: Struct, fields: dict[str, tuple[str, str]], out: Reads) -> None:
    """Elements that are all of one size are unpacked by one iterator, up to the first that has tags: 1.6 times as fast
    as one by one, for ApiVersions."""
    codes = "".join(code for code, _ in fields.values()) + ("B" if node.tagged is not None else "")
    absent = [*node.absent, *(node.tagged.fields.values() if node.tagged is not None else ())]
    values = {attribute(one.name): out.source.literal(one.default) for one in absent}
    targets = []
    for name, (_, form) in fields.items():
        targets.append(out.variable())
        values[name] = form.format(targets[-1])
    tagged = ["t"] if node.tagged is not None else []
    size = calcsize(f">{codes}")
    a, n = f"a{out.loops}", f"n{out.loops}"
    unpack = out.source.struct(codes, "iter_unpack")
    with out.block(f"for {', '.join(targets + tagged)}, in {unpack}(b[p:p + {size} * {n}]):"):
        if tagged:
            out.line("if t: break")
        out.line(f"{a}.append({construct(node, out.source, values)})")
    out.line(f"p += {size} * len({a}); {n} -= len({a})")
    if tagged:
        _straight_loop(node, out, n)
    else:
        out.line(f"if {n}: raise Refused")


def _read_numbers(node: Array, out: Reads) -> str:
    """A short array is one call of a struct from a table, by its count."""
    code, size = code_of(node.element), node.element.least
    value = out.variable()
    compact = node.length is COMPACT_LENGTH
    table = out.source.constant("N", unpackers(code, compact), f"unpack_from >0{code}, >1{code}, >2{code} ...")
    count = out.byte()[0] if compact else out.fixed("i")
    # Two comparisons, and no chain of them: Python is twice as fast at jumps on each.
    test = f"{count} > 0 and {count} <= {SHORT}" if compact else f"{count} >= 0 and {count} < {SHORT}"
    out.settle()
    start, back = out.at(), out.behind - size * compact
    step = f"{size} * {count}" + (f" {'+' if back > 0 else '-'} {abs(back)}" if back else "")
    out.early(f"if {test}: {value} = {table}[{count}](b, {start}); p += {step}")
    long = "compact_numbers" if compact else "numbers"
    out.early(f"else: {value}, p = {long}(b, {start}, {count}, '{code}', {size}, {node.nullable})")
    out.arrived()
    return value


@emit_write.register
def _(node: Array, out: Writes, value: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_there(node, out, variable)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_there(node, out, variable)


def _write_there(node: Array, out: Writes, variable: str) -> None:
    out.line(f"if type({variable}) is not tuple: sequence({variable})")
    if type(node.element) in (Integer, Float64):
        _write_numbers(node, out, variable)
        return
    out.line(f"n = len({variable})")
    write_length(node.length, out, "n")
    if out.loops == DEEPEST:
        inner = Writes(out.source, out.source.fresh("elements"), "v, o")
        _write_loop(node, inner, "v")
        out.line(f"{inner.name}({variable}, o)")
    else:
        _write_loop(node, out, variable)


def _write_loop(node: Array, out: Writes, items: str) -> None:
    out.loops += 1
    item = out.variable()
    with out.block(f"for {item} in {items}:"):
        write(node.element, out, item)
    out.loops -= 1


def _write_numbers(node: Array, out: Writes, variable: str) -> None:
    """A short array is one call of a struct from a table, its count among its numbers."""
    code, type_name = code_of(node.element), type_of(node.element)
    prefix, count = ("B", "n + 1") if node.length is COMPACT_LENGTH else ("i", "n")
    table = out.source.constant("Q", packers(prefix, code), f"pack >{prefix}0{code}, >{prefix}1{code} ...")
    out.check()
    out.line(f"for x in {variable}:")
    out.line(f"    if type(x) is not {type_name}: {type_name}s(x)")
    out.line(f"n = len({variable})")
    out.line(f"if n < {SHORT}: {out.piece(f'{table}[n]({count}, *{variable})')}")
    long = "long_compact" if node.length is COMPACT_LENGTH else "long_numbers"
    call = f"{long}(n, '{code}', {variable})"
    out.line(f"else: {out.piece(call)}")
    out.forget()
