"""Emitters of values of a fixed size."""

from __future__ import annotations

from typing import Any

from ..wire import Boolean, Float64, Integer, Node, Uuid
from .runs import Reads, Writes
from .walk import emit_read, emit_write


def code_of(node: Any) -> str:
    """Return the format code of a number."""
    return "d" if isinstance(node, Float64) else str(node.struct.format[-1:])


def type_of(node: Node) -> str:
    """Return the type of a number; what packs it takes more than this one."""
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
    return f"BOOL[{out.fixed('B')}]"  # two long: no byte but 0 and 1 is an index of it


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
