"""Emitters of scalars: numbers of fixed size; strings, bytes and records with a length prefix."""

from __future__ import annotations

from typing import Any

from ...wire import COMPACT_LENGTH, Boolean, Bytes, Float64, Integer, Node, Records, String, Uuid
from .emitter import NoEmitter, Reads, Writes, emit_read, emit_write
from .runtime import packed_lengths


def code_of(node: Any) -> str:
    """Return the format code of a number."""
    return "d" if isinstance(node, Float64) else str(node.struct.format[-1:])


def type_of(node: Node) -> str:
    """Return the type of a number; its packer accepts more types."""
    return "float" if isinstance(node, Float64) else "int"


@emit_read.register(Integer)
@emit_read.register(Float64)
def _(node: Integer | Float64, out: Reads) -> str:
    return out.fixed(code_of(node))


@emit_write.register(Integer)
@emit_write.register(Float64)
def _(node: Integer | Float64, out: Writes, value: str) -> None:
    out.fixed(code_of(node), out.held(value), type_of(node))


@emit_read.register
def _(node: Boolean, out: Reads) -> str:
    return f"BOOL[{out.fixed('B')}]"  # has two items: only the bytes 0 and 1 are valid indexes


@emit_write.register
def _(node: Boolean, out: Writes, value: str) -> None:
    out.fixed("?", out.held(value), "bool")


@emit_read.register
def _(node: Uuid, out: Reads) -> str:
    return out.fixed("16s")


@emit_write.register
def _(node: Uuid, out: Writes, value: str) -> None:
    variable = out.held(value)
    out.line(f"if type({variable}) is not bytes or len({variable}) != 16: uuids({variable})")
    out.fixed("16s", variable)


MOST = 2**31 - 1


def read_length(length: Node, out: Reads, *, nullable: bool, most: int = MOST) -> tuple[str, str, int]:
    """Emit code that reads a length that is null or from 0 to `most`.

    Returns:
        A condition that it is not null ("" if null is refused), a variable, and the offset of the length in it.
    """
    if length is COMPACT_LENGTH:
        variable = _read_compact(out, nullable, most)
        return variable if nullable else "", variable, 1
    if type(length) is not Integer:
        raise NoEmitter(f"no reading is written for the length {type(length).__name__}")
    variable = out.fixed(code_of(length))
    least = -1 if nullable else 0
    test = f"{variable} < {least}" if most >= length.high else f"not {least} <= {variable} <= {most}"
    out.early(f"if {test}: raise Refused")
    return f"{variable} >= 0" if nullable else "", variable, 0


def _read_compact(out: Reads, nullable: bool, most: int) -> str:
    variable, signed = out.byte()
    if signed:
        test = f"{variable} < {0 if nullable else 1}"
    else:
        test = f"{variable} > 127" if nullable else f"{variable} > 127 or {variable} < 1"
    back = f"; p -= {out.behind}" if out.behind else ""
    out.early(f"if {test}: {variable}, p = wide(b, {out.at()}, {most + 1}){back}")
    if most < 126:
        out.early(f"if {variable} > {most + 1}: raise Refused")
    return variable


def write_length(length: Any, out: Writes, size: str, most: int = MOST, behind: str = "") -> None:
    """Emit code that writes the pending values, a length (a variable), and the bytes after it (an expression)."""
    if length is not COMPACT_LENGTH:
        if most < length.high:
            out.line(f"if {size} > {most}: raise Refused")
        packed = out.packed((code_of(length), size))  # its struct refuses lengths that are too large
        if not out.waits:
            table = out.source.constant("K", packed_lengths(code_of(length)), f"pack >{code_of(length)} of 0, 1, 2 ...")
            packed = f"({table}[{size}] if {size} < {len(packed_lengths('h'))} else {packed})"
        out.check()
        out.forget()
        out.line(f"o.append({' + '.join(filter(None, (packed, behind)))})")
        return
    out.check()
    long = out.piece(f"long({size}, {most})", behind)
    out.fixed("B", f"{size} + 1")
    out.line(f"if {size} < {min(most + 1, 127)}: {out.piece(behind)}")
    out.line(f"else: {long}")
    out.forget()


def write_null(length: Node, out: Writes) -> str:
    """Return an expression for the pending values and null."""
    return out.packed(("x", "") if length is COMPACT_LENGTH else (code_of(length), "-1"))


@emit_read.register
def _(node: String, out: Reads) -> str:
    return _read_counted(node, out, ".decode()", node.longest)


@emit_read.register(Bytes)
@emit_read.register(Records)
def _(node: Bytes, out: Reads) -> str:
    return _read_counted(node, out, "", MOST)


def _read_counted(node: String | Bytes, out: Reads, decode: str, most: int) -> str:
    there, length, more = read_length(node.length, out, nullable=node.nullable, most=most)
    value = out.variable()
    cut = f"{value} = b[{out.at()}:(p := {out.at(-more)} + {length})]{decode}"
    if there:
        out.early(f"if {there}: {cut}")
        out.early(f"else: {value} = None{out.step()}")
    else:
        out.early(cut)
    out.arrived()
    return value


@emit_write.register
def _(node: String, out: Writes, value: str) -> None:
    _write_counted(node, out, value, "utf8({})")


@emit_write.register(Bytes)
@emit_write.register(Records)
def _(node: Bytes, out: Writes, value: str) -> None:
    _write_counted(node, out, value, "{0} if type({0}) is bytes else raw({0})")


def _write_counted(node: String | Bytes, out: Writes, value: str, encode: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_there(node, out, variable, encode)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_there(node, out, variable, encode)


def _write_there(node: String | Bytes, out: Writes, variable: str, encode: str) -> None:
    out.line(f"{variable} = {encode.format(variable)}; n = len({variable})")
    if isinstance(node, String):
        write_length(node.length, out, "n", node.longest, variable)
    else:  # may be long: copied only once
        write_length(node.length, out, "n")
        out.append(variable)
