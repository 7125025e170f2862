"""Emits code for arrays: loops, and one struct for many numbers."""

from __future__ import annotations

from struct import calcsize
from typing import Any

from ..wire import COMPACT_LENGTH, Array, Boolean, Float64, Integer, Struct, Uuid
from .emit_lengths import emit_read_length, emit_write_length, write_null
from .emit_numbers import code_of, type_of
from .emit_structs import construct
from .generated_helpers import SHORT, packers, unpackers
from .reading_functions import ReadingFunction, emit_read, read_node
from .source_builder import GeneratedSource, checked_attribute
from .writing_functions import WritingFunction, emit_write, write_node

DEEPEST = 6  # nested loops per function; Python allows twenty
_FORMS = {Boolean: ("B", "BOOL[{}]"), Uuid: ("16s", "{}")}


@emit_read.register
def _emit_reading_of_array(node: Array, out: ReadingFunction) -> str:
    if type(node.element) in (Integer, Float64):
        return _read_numbers(node, out)
    there, length, more = emit_read_length(node.length, out, nullable=node.nullable)
    count = f"{length} - {more}" if more else length
    value = out.variable()
    if not there:
        _read_elements(node, out, value, count)
        return value
    with out.block(f"if {there}:"):
        _read_elements(node, out, value, count)
    out.line(f"else: {value} = None")
    return value


def _read_elements(node: Array, out: ReadingFunction, value: str, count: str) -> None:
    if out.loops == DEEPEST:
        out.line(f"{value}, p = {read_counted(node, out.source)}(b, p, {count})")
        return
    _loop(node, out, count)
    out.line(f"{value} = tuple(a{out.loops + 1})")


def read_counted(node: Array, source: GeneratedSource) -> str:
    """Emit the function that reads some elements; return its name."""
    out = ReadingFunction(source, source.fresh("elements"), "b, p, n")
    if type(node.element) in (Integer, Float64):
        out.line(f"return numbers(b, p, n, '{code_of(node.element)}', {node.element.least}, False)")
    else:
        _loop(node, out, "n")
        out.line("return tuple(a1), p")
    return out.name


def _loop(node: Array, out: ReadingFunction, count: str) -> None:
    """Emit a loop over elements; its variables `a`, `n` and so on are numbered by nesting depth."""
    out.loops += 1
    out.line(f"a{out.loops} = []; n{out.loops} = {count}")
    element: Any = node.element
    fields = _fixed_fields(element)
    if fields:
        _fixed_loop(element, fields, out)
    else:
        _straight_loop(node.element, out, f"n{out.loops}")
    out.loops -= 1


def _straight_loop(element: Any, out: ReadingFunction, left: str) -> None:
    with out.block(f"while {left}:"):
        out.line(f"{left} -= 1")
        message = read_node(element, out)
        out.line(f"a{out.loops}.append({message})")


def _fixed_fields(node: Any) -> dict[str, tuple[str, str]]:
    """Return the fields of a struct with their format codes and value expressions; empty if one has a variable size."""
    formats = {}
    for field in node.fields if type(node) is Struct else ():
        kind = type(field.subcon)
        if kind in (Integer, Float64):
            formats[checked_attribute(field.name)] = code_of(field.subcon), "{}"
        elif kind in _FORMS:
            formats[checked_attribute(field.name)] = _FORMS[kind]
        else:
            return {}
    return formats


def _fixed_loop(node: Struct, fields: dict[str, tuple[str, str]], out: ReadingFunction) -> None:
    """Unpack elements of fixed size with one iterator, up to the first with tags.

    This is 1.6 times as fast as one by one, for ApiVersions.
    """
    codes = "".join(code for code, _ in fields.values()) + ("B" if node.tagged is not None else "")
    absent = [*node.absent, *(node.tagged.fields.values() if node.tagged is not None else ())]
    values = {checked_attribute(field.name): out.source.literal(field.default) for field in absent}
    targets = []
    for name, (_, form) in fields.items():
        targets.append(out.variable())
        values[name] = form.format(targets[-1])
    tagged = ["t"] if node.tagged is not None else []
    size = calcsize(f">{codes}")
    a = f"a{out.loops}"
    n = f"n{out.loops}"
    unpack = out.source.struct(codes, "iter_unpack")
    with out.block(f"for {', '.join(targets + tagged)}, in {unpack}(b[p:p + {size} * {n}]):"):
        if tagged:
            out.line("if t: break")
        out.line(f"{a}.append({construct(node, out.source, values)})")
    out.line(f"p += {size} * len({a}); {n} -= len({a})")
    if tagged:
        _straight_loop(node, out, n)
    else:
        out.line(f"if {n}: raise Declined")


def _read_numbers(node: Array, out: ReadingFunction) -> str:
    """Unpack a short array with one struct from a table, indexed by its count."""
    code = code_of(node.element)
    size = node.element.least
    value = out.variable()
    compact = node.length is COMPACT_LENGTH
    table = out.source.constant("N", unpackers(code, compact), f"unpack_from >0{code}, >1{code}, >2{code} ...")
    count = out.byte()[0] if compact else out.fixed("i")
    # Two comparisons instead of a chained one: Python's jumps are twice as fast.
    test = f"{count} > 0 and {count} <= {SHORT}" if compact else f"{count} >= 0 and {count} < {SHORT}"
    out.settle()
    start = out.at()
    back = out.behind - size * compact
    step = f"{size} * {count}" + (f" {'+' if back > 0 else '-'} {abs(back)}" if back else "")
    out.early(f"if {test}: {value} = {table}[{count}](b, {start}); p += {step}")
    long = "compact_numbers" if compact else "numbers"
    out.early(f"else: {value}, p = {long}(b, {start}, {count}, '{code}', {size}, {node.nullable})")
    out.mark_read()
    return value


@emit_write.register
def _emit_writing_of_array(node: Array, out: WritingFunction, value: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_array(node, out, variable)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_array(node, out, variable)


def _write_array(node: Array, out: WritingFunction, variable: str) -> None:
    out.line(f"if type({variable}) is not tuple: check_sequence({variable})")
    if type(node.element) in (Integer, Float64):
        _write_numbers(node, out, variable)
        return
    out.line(f"n = len({variable})")
    emit_write_length(node.length, out, "n")
    if out.loops == DEEPEST:
        inner = WritingFunction(out.source, out.source.fresh("elements"), "v, o")
        _write_loop(node, inner, "v")
        out.line(f"{inner.name}({variable}, o)")
    else:
        _write_loop(node, out, variable)


def _write_loop(node: Array, out: WritingFunction, items: str) -> None:
    out.loops += 1
    item = out.variable()
    with out.block(f"for {item} in {items}:"):
        write_node(node.element, out, item)
    out.loops -= 1


def _write_numbers(node: Array, out: WritingFunction, variable: str) -> None:
    """Pack a short array and its count with one struct from a table."""
    code = code_of(node.element)
    type_name = type_of(node.element)
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
