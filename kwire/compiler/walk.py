"""The two walks of the compiler: how a node is read and how it is written, one small emitter a class.

The emitters stand in `numbers`, `text`, `arrays`, `structs` and `tags`. A node is known by its very class: one that is
derived, and may read otherwise, needs emitters of its own.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ..wire import Node
from .runs import Reads, Writes
from .source import NoEmitter


@singledispatch
def emit_read(node: Any, out: Reads) -> str:
    """Write lines that read a node from `p`; return an expression of the value."""
    raise NoEmitter(f"no reading is written for {type(node).__name__}")


@singledispatch
def emit_write(node: Any, out: Writes, value: str) -> None:
    """Write lines that append the bytes of a value, an expression that is to be evaluated once."""
    raise NoEmitter(f"no writing is written for {type(node).__name__}")


def read(node: Node, out: Reads) -> str:
    """Emit the reading of a node. Raises NoEmitter for a class that has no emitter."""
    registry = emit_read.registry
    text: str = registry.get(type(node), registry[object])(node, out)
    return text


def write(node: Node, out: Writes, value: str) -> None:
    """Emit the writing of a node. Raises NoEmitter for a class that has no emitter."""
    registry = emit_write.registry
    registry.get(type(node), registry[object])(node, out, value)
