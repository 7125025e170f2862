"""Emitters of values of a fixed size."""

from __future__ import annotations

from ..wire import Boolean, Float64, Integer, Uuid
from .runs import Reads
from .walk import emit_read


def code_of(node: Integer | Float64) -> str:
    """Return the format code of a number."""
    return "d" if isinstance(node, Float64) else str(node.struct.format[-1:])


@emit_read.register(Integer)
@emit_read.register(Float64)
def _(node: Integer | Float64, out: Reads) -> str:
    return out.fixed(code_of(node))


@emit_read.register
def _(node: Boolean, out: Reads) -> str:
    return f"BOOL[{out.fixed('B')}]"  # two long: no byte but 0 and 1 is an index of it


@emit_read.register
def _(node: Uuid, out: Reads) -> str:
    return out.fixed("16s")
