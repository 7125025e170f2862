"""Emitters of lengths, and of what has one in front: strings, bytes, records."""

from __future__ import annotations

from ..wire import COMPACT_LENGTH, Bytes, Integer, Node, Records, String
from .numbers import code_of
from .runs import Reads
from .source import NoEmitter
from .walk import emit_read

MOST = 2**31 - 1


def read_length(length: Node, out: Reads, *, nullable: bool, most: int = MOST) -> tuple[str, str]:
    """Emit the reading of a length that is null or from 0 to `most`.

    Returns:
        A condition that it is not null ("" where null is refused), and an expression of the length.
    """
    if length is COMPACT_LENGTH:
        variable = read_compact(out, nullable=nullable, most=most)
        return variable if nullable else "", f"{variable} - 1"
    if type(length) is not Integer:
        raise NoEmitter(f"no reading is written for the length {type(length).__name__}")
    variable = out.fixed(code_of(length))
    least = -1 if nullable else 0
    test = f"{variable} < {least}" if most >= length.high else f"not {least} <= {variable} <= {most}"
    out.line(f"if {test}: raise Refused")
    return f"{variable} >= 0" if nullable else "", variable


def read_compact(out: Reads, *, nullable: bool, most: int = MOST) -> str:
    """Emit the reading of a compact length; return its variable, which has one more than the length."""
    variable, signed = out.byte()
    if signed:
        test = f"{variable} < {0 if nullable else 1}"
    else:
        test = f"{variable} > 127" if nullable else f"not 0 < {variable} < 128"
    out.line(f"if {test}: {variable}, p = wide(b, p, {most + 1})")
    if most < 126:
        out.line(f"if {variable} > {most + 1}: raise Refused")
    return variable


@emit_read.register
def _(node: String, out: Reads) -> str:
    return _counted(node, out, ".decode()", node.longest)


@emit_read.register(Bytes)
@emit_read.register(Records)
def _(node: Bytes, out: Reads) -> str:
    return _counted(node, out, "", MOST)


def _counted(node: String | Bytes, out: Reads, decode: str, most: int) -> str:
    there, size = read_length(node.length, out, nullable=node.nullable, most=most)
    value = out.variable()
    if not there:
        out.line(f"q = p + {size}; {value} = b[p:q]{decode}; p = q")
        return value
    with out.block(f"if {there}:"):
        out.line(f"q = p + {size}; {value} = b[p:q]{decode}; p = q")
    out.line(f"else: {value} = None")
    return value
