"""Writes the source that cuts bodies into pieces and collects them: one small emitter a node, and one to skip it.

What it takes is what the reference path takes in strict. It raises without saying why. In generated source `b` is a
body and `p` a position in it; that cut bytes are shorter than they should be, is noticed at the end.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import singledispatch
from typing import Any

from .. import wire
from ..wire.text import LONGEST_TEXT
from .collected import Column, Items, Numbers, Sparse, Table, Texts
from .cutting import Walk
from .shaped import TRUTHS, ShapedTable, parts_of
from .types import TAGS, Wanted, arrow_type, names_of, scalar_type

FIXED = (wire.Integer, wire.Float64, wire.Boolean, wire.Uuid)
MOST = 2**31 - 1
CONSTANTS = {"TRUTHS": TRUTHS}


def known(walk: Any, node: Any) -> Any:
    """Return the emitter of a node, by its very class: one that is derived may read otherwise."""
    return walk.registry.get(type(node), walk.registry[object])


def read(node: Any, out: Walk, wanted: Wanted = None) -> Column:
    """Emit the collecting of a node, as far as it is wanted. Raises TypeError for a class that has no emitter."""
    column: Column = known(emit, node)(node, out, wanted)
    return column


@singledispatch
def emit(node: Any, out: Walk, wanted: Wanted) -> Column:
    """Write lines that collect a node from `p`; return its column."""
    raise TypeError(f"no columns are written for {type(node).__name__}")


@singledispatch
def skip(node: Any, out: Walk) -> None:
    """Write lines that pass over a node."""
    raise TypeError(f"no columns are written for {type(node).__name__}")


@emit.register(wire.Integer)
@emit.register(wire.Float64)
@emit.register(wire.Boolean)
@emit.register(wire.Uuid)
def _(node: Any, out: Walk, wanted: Wanted) -> Column:
    return out.fixed(node)


@skip.register(wire.Integer)
@skip.register(wire.Float64)
@skip.register(wire.Boolean)
@skip.register(wire.Uuid)
def _(node: Any, out: Walk) -> None:
    out.ahead += node.least


def length(node: Any, out: Walk, most: int = MOST) -> tuple[str, int]:
    """Emit the reading of a length; return its variable, and what that says beyond the length: null is one less."""
    variable = out.variable()
    if node.length is wire.COMPACT_LENGTH:
        out.line(f"{variable} = b[{out.at()}]")
        out.ahead += 1
        out.finish()
        short = f"{variable} < 128" if node.nullable else f"0 < {variable} < 128"
        out.line(f"if not {short}: {variable}, p = wide(b, p, {most + 1})")
        return variable, 1
    out.line(f"{variable}, = {out.source.struct(node.length.struct.format[-1:], 'unpack_from')}(b, {out.at()})")
    out.ahead += node.length.least
    out.finish()
    out.line(f"if {variable} < {-1 if node.nullable else 0}: raise Refused")
    return variable, 0


def less(value: str, more: int) -> str:
    """Return an expression of a value, less `more`."""
    return f"{value} - {more}" if more else value


@emit.register(wire.String)
@emit.register(wire.Bytes)
@emit.register(wire.Records)
def _(node: Any, out: Walk, wanted: Wanted) -> Column:
    text = isinstance(node, wire.String)
    (size, more), items = length(node, out, node.longest if text else MOST), out.lists.new()
    if text and node.longest < LONGEST_TEXT:
        out.line(f"if {size} > {node.longest + more}: raise Refused")
    with _unless_null(node, out, f"{size} < {more}", items):
        _collect(out, items, less(f"p + {size}", more), "if not v.isascii(): v.decode()" if text else "")
    return Texts(items, scalar_type(node))


def _collect(out: Walk, items: list[Any], end: str, check: str) -> None:
    """Collect the bytes from `p` on to an end, checked by a line, in which they are `v`."""
    if not check:
        out.line(f"q = {end}; {out.append(items, 'b[p:q]')}; p = q")
        return
    out.line(f"q = {end}; v = b[p:q]; p = q")
    out.line(check)
    out.line(out.append(items, "v"))


def _unless_null(node: Any, out: Walk, null: str, items: list[Any]) -> AbstractContextManager[None]:
    """Collect a null; return the block of what is not null."""
    if not node.nullable:
        return nullcontext()
    out.line(f"if {null}: {out.append(items, 'None')}")
    return out.block("else:")


@skip.register(wire.String)
@skip.register(wire.Bytes)
@skip.register(wire.Records)
def _(node: Any, out: Walk) -> None:
    size, more = length(node, out)
    out.line(f"{f'if {size} > {more}: ' if node.nullable else ''}p += {less(size, more)}")


@emit.register
def _(node: wire.Array, out: Walk, wanted: Wanted) -> Column:
    (count, more), items = length(node, out), out.lists.new()
    if type(node.element) in FIXED:
        size = node.element.least
        with _unless_null(node, out, f"{count} < {more}", items):
            check = "if v.translate(None, TRUTHS): raise Refused" if type(node.element) is wire.Boolean else ""
            _collect(out, items, less(f"p + {size} * {count}", size * more), check)
        return Numbers(items, node)
    out.line(out.append(items, less(count, more)))
    call, column = elements(node.element, out, wanted)
    out.line(f"if {count} > {more}: p = {call.format(less(count, more))}")
    return Items(items, column)


@skip.register
def _(node: wire.Array, out: Walk) -> None:
    count, more = length(node, out)
    if type(node.element) in FIXED:
        size = node.element.least
        there = f"if {count} > {more}: " if node.nullable else ""
        out.line(f"{there}p += {less(f'{size} * {count}', size * more)}")
    else:
        call, _ = elements(node.element, out, {})
        out.line(f"if {count} > {more}: p = {call.format(less(count, more))}")


def elements(node: Any, out: Walk, wanted: Wanted) -> tuple[str, Column]:
    """Write the function that collects elements; return the call of it, but for their count, and their column."""
    skipped = wanted is not None and not wanted
    parts = parts_of(node)
    table = ShapedTable(node, parts, wanted, out.lists) if parts is not None else Table()
    inner = Walk(out.source, out.lists, out.source.fresh("elements"), table, "b, p, n")
    inner.line(f"if n * {max(node.least, 1)} > len(b) - p: raise Refused")
    column: Column = table
    with inner.block("for _ in range(n):"):
        if type(node) is wire.Struct:
            fields(node, inner, table, wanted)
        elif skipped:
            skip(node, inner)
        else:
            column = read(node, inner, wanted)
    inner.line("return p")
    if isinstance(table, ShapedTable):
        runs = out.source.constant("S", table.collect, "elements, those of one shape at once")
        return f"{runs}(b, p, {{}}, {inner.name})", table
    return f"{inner.name}(b, p, {{}})", column


@emit.register
def _(node: wire.Struct, out: Walk, wanted: Wanted) -> Column:
    table, outer = Table(), out.table
    out.settle()
    out.table = table
    fields(node, out, table, wanted)
    out.settle()
    out.table = outer
    return table


@skip.register
def _(node: wire.Struct, out: Walk) -> None:
    emit(node, out, {})


def fields(node: wire.Struct, out: Walk, table: Table, wanted: Wanted) -> None:
    """Emit the collecting of a struct's fields into a table."""
    for field in node.fields:
        if wanted is None or field.name in wanted:
            table.fields[field.name] = read(field.subcon, out, None if wanted is None else wanted[field.name])
        else:
            known(skip, field.subcon)(field.subcon, out)
    if node.tagged is not None:
        _tagged(node.tagged, out, table, wanted)
    table.fields = {name: table.fields[name] for name in names_of(node) if name in table.fields}


def _tagged(node: wire.TaggedFields, out: Walk, table: Table, wanted: Wanted) -> None:
    """Emit the collecting of a tagged section. Most are empty: one byte; others are read by a function."""
    row = out.row() if wanted is None or wanted.keys() & {TAGS, *(f.name for f in node.fields.values())} else ""
    inner = Walk(out.source, out.lists, out.source.fresh("tagged"), Table())
    foreign = out.source.constant("F", node.foreign, f"tags of other versions: {sorted(node.foreign)}")
    inner.line("n, p = varint(b, p); last = -1; unknown = b''")
    with inner.block("for _ in range(n):"):
        inner.line("start = p; tag, p = varint(b, p); size, p = varint(b, p); stop = p + size")
        inner.line("if tag <= last: raise Refused")
        inner.line("last = tag")
        for tag, field in node.fields.items():
            with inner.block(f"if tag == {tag}:"):
                _known_tag(field, inner, table, wanted, row)
                inner.finish()
                inner.line("if p != stop: raise Refused")
                inner.line("continue")
        inner.line(f"unknown += unknown_tag(b, start, stop, tag, {foreign}); p = stop")
    if wanted is None or TAGS in wanted:
        there = Texts(out.lists.new(), scalar_type(wire.Bytes()))
        sparse = table.fields[TAGS] = Sparse(out.lists.new(), there, None, there.type)
        inner.line(f"if unknown: {inner.append(there.items, 'unknown')}; {inner.append(sparse.rows, row)}")
    inner.line("return p")
    out.line(f"if b[{out.at()}]: p = {inner.name}(b, {out.at()})")
    out.line(f"else: p += {out.ahead + 1}")
    out.ahead = 0


def _known_tag(field: Any, out: Walk, table: Table, wanted: Wanted, row: str) -> None:
    if wanted is not None and field.name not in wanted:
        known(skip, field.subcon)(field.subcon, out)
        return
    deeper = None if wanted is None else wanted[field.name]
    rows = out.lists.new()
    out.line(out.append(rows, row, always=False))
    out.table = Table()
    there = read(field.subcon, out, deeper)
    table.fields[field.name] = Sparse(rows, there, field.default, arrow_type([field.subcon], deeper))


@emit.register
def _(node: wire.NullableStruct, out: Walk, wanted: Wanted) -> Column:
    row, rows, outer = out.row(), out.lists.new(), out.table
    out.line(f"{(marker := out.variable())} = b[{out.at()}]")
    out.ahead += 1
    out.finish()
    with out.block(f"if {marker} == 1:"):
        out.line(out.append(rows, row, always=False))
        there = read(node.subcon, out, wanted)
    out.table = outer
    out.line(f"elif {marker} != {node.null & 0xFF}: raise Refused")
    return Sparse(rows, there, None, arrow_type([node], wanted))


@skip.register
def _(node: wire.NullableStruct, out: Walk) -> None:
    emit(node, out, {})
