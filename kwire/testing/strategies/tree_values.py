"""Strategies of the values of a schema tree's nodes: the fifth walk. A node without one is a TypeError."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from ...codecs import wire

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# lengths where a compact length takes another byte, and where int16 ends
LONG_TEXT = st.sampled_from([126, 127, 128, 300]).map(lambda size: "x" * size)


@singledispatch
def values(node: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of all values that a node can carry."""
    raise TypeError(f"no strategy is written for {type(node).__name__}")


@values.register
def _(node: wire.Integer) -> st.SearchStrategy[Any]:
    return st.integers(node.low, node.high)


@values.register
def _(node: wire.Float64) -> st.SearchStrategy[Any]:
    return st.floats(allow_nan=False)  # which equals nothing, also not what its bytes decode to


@values.register
def _(node: wire.Boolean) -> st.SearchStrategy[Any]:
    return st.booleans()


@values.register
def _(node: wire.Uuid) -> st.SearchStrategy[Any]:
    return st.binary(min_size=16, max_size=16)


@values.register
def _(node: wire.String) -> st.SearchStrategy[Any]:
    return _or_null(node, TEXT | LONG_TEXT)


@values.register
def _(node: wire.Bytes) -> st.SearchStrategy[Any]:
    return _or_null(node, st.binary(max_size=130))


@values.register
def _(node: wire.Array) -> st.SearchStrategy[Any]:
    return _or_null(node, st.lists(values(node.element), max_size=3).map(tuple))


@values.register
def _(node: wire.NullableStruct) -> st.SearchStrategy[Any]:
    return st.none() | values(node.subcon)


@values.register
def _(node: wire.Struct) -> st.SearchStrategy[Any]:
    fields = {str(field.name): values(field.subcon) for field in node.all_fields}
    if node.tagged is not None:
        taken = node.tagged.fields.keys() | node.tagged.foreign
        fields["unknown_tags"] = unknown_tags(set(taken))
    return st.builds(node.message_class, **fields)


def unknown_tags(taken: set[int]) -> st.SearchStrategy[bytes | None]:
    """Return a strategy of raw slices of tags that are not `taken`; None is the most frequent one."""
    numbers = st.integers(0, 2**31 - 2).filter(lambda tag: tag not in taken)
    pairs = st.dictionaries(numbers, st.binary(max_size=6), max_size=3).map(lambda tags: sorted(tags.items()))
    return st.none() | pairs.map(wire.join_tags)


def _or_null(node: Any, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy if node.nullable else strategy
