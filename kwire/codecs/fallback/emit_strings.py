"""Emits code for text and bytes."""

from __future__ import annotations

from ..wire import Bytes, Records, String
from .emit_lengths import MOST, emit_read_length, emit_write_length, write_null
from .reading_functions import ReadingFunction, emit_read
from .writing_functions import WritingFunction, emit_write


@emit_read.register
def _emit_reading_of_string(node: String, out: ReadingFunction) -> str:
    return _read_counted(node, out, ".decode()", node.longest)


@emit_read.register(Bytes)
@emit_read.register(Records)
def _emit_reading_of_bytes(node: Bytes, out: ReadingFunction) -> str:
    return _read_counted(node, out, "", MOST)


def _read_counted(node: String | Bytes, out: ReadingFunction, decode: str, max_length: int) -> str:
    there, length, more = emit_read_length(node.length, out, nullable=node.nullable, max_length=max_length)
    value = out.variable()
    cut = f"{value} = b[{out.at()}:(p := {out.at(-more)} + {length})]{decode}"
    if there:
        out.early(f"if {there}: {cut}")
        out.early(f"else: {value} = None{out.step()}")
    else:
        out.early(cut)
    out.mark_read()
    return value


@emit_write.register
def _emit_writing_of_string(node: String, out: WritingFunction, value: str) -> None:
    _write_counted(node, out, value, "utf8({})")


@emit_write.register(Bytes)
@emit_write.register(Records)
def _emit_writing_of_bytes(node: Bytes, out: WritingFunction, value: str) -> None:
    _write_counted(node, out, value, "{0} if type({0}) is bytes else raw({0})")


def _write_counted(node: String | Bytes, out: WritingFunction, value: str, encode: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_value(node, out, variable, encode)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_value(node, out, variable, encode)


def _write_value(node: String | Bytes, out: WritingFunction, variable: str, encode: str) -> None:
    out.line(f"{variable} = {encode.format(variable)}; n = len({variable})")
    if isinstance(node, String):
        emit_write_length(node.length, out, "n", node.longest, variable)
    else:  # may be long, so it is copied only once
        emit_write_length(node.length, out, "n")
        out.append(variable)
