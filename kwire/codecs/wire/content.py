"""What a node of a tree contains: a scalar or a struct, alone or in an array."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

from .arrays import Array
from .fixed_size import Boolean, Float64, Integer, Uuid
from .length_prefixed import Bytes, String
from .node import Node
from .structs import NullableStruct, Struct


class UnknownNode(TypeError):
    """A node whose type a traversal of the tree does not support."""


class Content(NamedTuple):
    """The node of the content, or of each element if `is_array`; `struct` is the same node if it is a struct."""

    node: Any
    struct: Struct | None = None
    is_array: bool = False


@singledispatch
def content_of(node: Node) -> Content:
    """Return the content of a node. Raises UnknownNode."""
    raise UnknownNode(f"{type(node).__name__} is not a supported node type")


@content_of.register(Boolean | Bytes | Float64 | Integer | String | Uuid)
def _content_of_leaf(node: Node) -> Content:
    return Content(node)


@content_of.register
def _content_of_struct(node: Struct) -> Content:
    return Content(node, node)


@content_of.register
def _content_of_nullable_struct(node: NullableStruct) -> Content:
    return Content(node.subcon, node.subcon)


@content_of.register
def _content_of_array(node: Array) -> Content:
    content = content_of(node.element)
    if content.is_array:
        raise UnknownNode("an array of arrays is not a supported node type")
    return Content(content.node, content.struct, True)
