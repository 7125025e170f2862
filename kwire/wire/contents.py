"""The content of a node behind array and null, which every walk of the tree asks for.

A new kind of node is to be written here; until then every walk that meets it raises, and none passes over it.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

from .primitives import Boolean, Float64, Integer, Uuid
from .streams import Node
from .strings import Bytes, String
from .structs import Array, NullableStruct, Struct


class UnknownNode(TypeError):
    """A node of a kind that no walk of the tree knows."""


class Content(NamedTuple):
    """What a node holds, or each of its elements if it `is_array`: the node of that, and the same as `struct` if it is
    one."""

    node: Any
    struct: Struct | None = None
    is_array: bool = False


@singledispatch
def content_of(node: Node) -> Content:
    """Return what a node holds. Raises UnknownNode."""
    raise UnknownNode(f"{type(node).__name__} is no node that the walks of a tree know")


@content_of.register(Boolean | Bytes | Float64 | Integer | String | Uuid)
def _(node: Node) -> Content:
    return Content(node)


@content_of.register
def _(node: Struct) -> Content:
    return Content(node, node)


@content_of.register
def _(node: NullableStruct) -> Content:
    return Content(node.subcon, node.subcon)


@content_of.register
def _(node: Array) -> Content:
    content = content_of(node.element)
    if content.is_array:
        raise UnknownNode("an array of arrays is no node that the walks of a tree know")
    return Content(content.node, content.struct, True)
