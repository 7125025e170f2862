"""Emits code for values of a fixed size: numbers, booleans and UUIDs."""

from __future__ import annotations

from typing import Any

from ..wire import Boolean, Float64, Integer, Node, Uuid
from .reading_functions import ReadingFunction, emit_read
from .writing_functions import WritingFunction, emit_write


def code_of(node: Any) -> str:
    """Return the format code of a number."""
    return "d" if isinstance(node, Float64) else str(node.struct.format[-1:])


def type_of(node: Node) -> str:
    """Return the type of a number; its packer accepts more types."""
    return "float" if isinstance(node, Float64) else "int"


@emit_read.register(Integer)
@emit_read.register(Float64)
def _emit_reading_of_number(node: Integer | Float64, out: ReadingFunction) -> str:
    return out.fixed(code_of(node))


@emit_write.register(Integer)
@emit_write.register(Float64)
def _emit_writing_of_number(node: Integer | Float64, out: WritingFunction, value: str) -> None:
    out.fixed(code_of(node), out.held(value), type_of(node))


@emit_read.register
def _emit_reading_of_boolean(node: Boolean, out: ReadingFunction) -> str:
    return f"BOOL[{out.fixed('B')}]"  # the table has two items: only the bytes 0 and 1 are valid indexes


@emit_write.register
def _emit_writing_of_boolean(node: Boolean, out: WritingFunction, value: str) -> None:
    out.fixed("?", out.held(value), "bool")


@emit_read.register
def _emit_reading_of_uuid(node: Uuid, out: ReadingFunction) -> str:
    return out.fixed("16s")


@emit_write.register
def _emit_writing_of_uuid(node: Uuid, out: WritingFunction, value: str) -> None:
    variable = out.held(value)
    out.line(f"if type({variable}) is not bytes or len({variable}) != 16: uuids({variable})")
    out.fixed("16s", variable)
