"""Emits code for the lengths of text, bytes and arrays, and for null."""

from __future__ import annotations

from typing import Any

from ..wire import COMPACT_LENGTH, Integer, Node
from .emit_numbers import code_of
from .generated_helpers import packed_lengths
from .reading_functions import ReadingFunction
from .source_builder import NoEmitter
from .writing_functions import WritingFunction

MOST = 2**31 - 1


def emit_read_length(
    length: Node, out: ReadingFunction, *, nullable: bool, max_length: int = MOST
) -> tuple[str, str, int]:
    """Emit code that reads a length that is null or from 0 to `max_length`.

    Returns:
        A condition that the length is not null ("" if null is refused), a variable, and the offset of the length in it.
    """
    if length is COMPACT_LENGTH:
        variable = _read_compact(out, nullable, max_length)
        return variable if nullable else "", variable, 1
    if type(length) is not Integer:
        raise NoEmitter(f"no reading is written for the length {type(length).__name__}")
    variable = out.fixed(code_of(length))
    lowest = -1 if nullable else 0
    test = f"{variable} < {lowest}" if max_length >= length.high else f"not {lowest} <= {variable} <= {max_length}"
    out.early(f"if {test}: raise Declined")
    return f"{variable} >= 0" if nullable else "", variable, 0


def _read_compact(out: ReadingFunction, nullable: bool, max_length: int) -> str:
    variable, signed = out.byte()
    if signed:
        test = f"{variable} < {0 if nullable else 1}"
    else:
        test = f"{variable} > 127" if nullable else f"{variable} > 127 or {variable} < 1"
    back = f"; p -= {out.behind}" if out.behind else ""
    out.early(f"if {test}: {variable}, p = wide(b, {out.at()}, {max_length + 1}){back}")
    if max_length < 126:
        out.early(f"if {variable} > {max_length + 1}: raise Declined")
    return variable


def emit_write_length(length: Any, out: WritingFunction, size: str, max_length: int = MOST, behind: str = "") -> None:
    """Emit code that writes the pending values, a length (a variable), and the bytes after it (an expression)."""
    if length is not COMPACT_LENGTH:
        if max_length < length.high:
            out.line(f"if {size} > {max_length}: raise Declined")
        packed = out.pack_pending((code_of(length), size))  # its struct refuses lengths that are too large
        if not out.waits:
            table = out.source.constant("K", packed_lengths(code_of(length)), f"pack >{code_of(length)} of 0, 1, 2 ...")
            packed = f"({table}[{size}] if {size} < {len(packed_lengths('h'))} else {packed})"
        out.check()
        out.forget()
        out.line(f"o.append({' + '.join(filter(None, (packed, behind)))})")
        return
    out.check()
    long = out.piece(f"long({size}, {max_length})", behind)
    out.fixed("B", f"{size} + 1")
    out.line(f"if {size} < {min(max_length + 1, 127)}: {out.piece(behind)}")
    out.line(f"else: {long}")
    out.forget()


def write_null(length: Node, out: WritingFunction) -> str:
    """Return an expression for the pending values and null."""
    return out.pack_pending(("x", "") if length is COMPACT_LENGTH else (code_of(length), "-1"))
