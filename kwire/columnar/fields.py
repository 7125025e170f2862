"""Nodes of the tree read of all rows at once: one small reader a node, and one to pass over it.

What they take is what the reference path takes in strict. Rows that are wrong are put where nothing is, or their bodies
are called bad; nobody says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from .. import wire
from .arrays import constant, lists_of, nulls, structs_of
from .elements import WRONG, Arrays
from .patterns import FIXED
from .rows import Even, Rows
from .tags import sections
from .types import TAGS, Wanted, arrow_type, names_of


class Fields:
    """What reads rows of one tree. One reading uses it at a time; `title` is for tracebacks."""

    def __init__(self, title: str) -> None:
        self.arrays = Arrays(title, self.skip)
        self._types: dict[tuple[int, int], Any] = {}

    def read(self, node: Any, rows: Rows | Even, wanted: Wanted = None) -> Any:
        """Read a node, as far as it is wanted, into an Arrow array. Raises TypeError for a class that has no reader."""
        return known(read, node)(node, rows, wanted, self)

    def skip(self, node: Any, rows: Rows | Even) -> None:
        """Pass over a node."""
        known(skip, node)(node, rows, self)

    def members(self, node: wire.Struct, rows: Rows | Even, wanted: Wanted) -> dict[str, Any]:
        """Read the fields of a struct, by name."""
        found: dict[str, Any] = {}
        for field in node.fields:
            if wanted is None or field.name in wanted:
                found[field.name] = self.read(field.subcon, rows, None if wanted is None else wanted[field.name])
            else:
                self.skip(field.subcon, rows)
        if node.tagged is not None:
            found |= self.tagged(node.tagged, rows, wanted)
        return {name: found[name] for name in names_of(node) if found.get(name) is not None}

    def tagged(self, node: wire.TaggedFields, rows: Rows | Even, wanted: Wanted) -> dict[str, Any]:
        """Read tagged sections: most are empty."""
        if isinstance(rows, Even):
            which: Any = ()
            rows.jump(1)
        else:
            which = np.nonzero(rows.byte())[0]
            if len(which) and rows.is_guess:
                rows.put(which, rows.buffer.nowhere)
                which = ()
        known, unknown = tags_of(node, rows, which) if len(which) else ({}, {})
        found: dict[str, Any] = {}
        for tag, field in node.fields.items():
            keep = wanted is None or field.name in wanted
            deeper = wanted[field.name] if wanted and keep else None
            type_ = self.type_of(field.subcon, deeper) if keep else None
            if tag in known:
                found[field.name] = self.of_some(field, rows, known[tag], deeper, type_)
            elif keep:
                found[field.name] = constant(field.default, type_, len(rows))
        if unknown and (wanted is None or TAGS in wanted):
            texts = pa.array(list(unknown.values()), pa.binary())
            found[TAGS] = sparse(texts, np.array(list(unknown), np.int64), None, pa.binary(), len(rows))
        elif wanted is None or TAGS in wanted:
            found[TAGS] = nulls(len(rows))
        return found

    def type_of(self, node: Any, wanted: Wanted) -> Any:
        """Return the Arrow type of a node, as far as it is wanted; both belong to the plan, and stay."""
        key = id(node), id(wanted)
        if key not in self._types:
            self._types[key] = arrow_type([node], wanted)
        return self._types[key]

    def of_some(self, field: Any, rows: Any, there: list[tuple[int, int, int]], wanted: Wanted, type_: Any) -> Any:
        """Read a tagged field that some rows have, as far as it is wanted; of those that have not, the default."""
        which, begins, stops = np.array(there, np.int64).T
        some = rows.some(which, begins, stops)
        values = None
        if type_ is None:
            self.skip(field.subcon, some)
        else:
            values = sparse(self.read(field.subcon, some, wanted), which, field.default, type_, len(rows))
        wrong = some.at != stops
        if wrong.any():
            rows.put(which[wrong], rows.buffer.nowhere)
        return values


def known(walk: Any, node: Any) -> Callable[..., Any]:
    """Return the reader of a node, by its very class: one that is derived may read otherwise."""
    found: Callable[..., Any] = walk.registry.get(type(node), walk.registry[object])
    return found


def tags_of(node: wire.TaggedFields, rows: Any, which: Any) -> tuple[dict[int, list[Any]], dict[int, bytes]]:
    """Move rows behind their tagged sections, of which these are not empty.

    Returns:
        Of each tag that is known the rows that have it, with where it begins and ends; and of rows with unknown ones
        what these are.
    """
    known: dict[int, list[Any]] = {}
    unknown: dict[int, bytes] = {}
    buffer, after = rows.buffer, []
    ends = [buffer.size] * len(which) if rows.ends is None else rows.ends[which].tolist()
    for row, at, end in zip(which.tolist(), rows.at[which].tolist(), ends, strict=True):
        try:
            behind, found, rest = sections(buffer.data, at - 1, end, node)
        except WRONG:
            after.append(buffer.nowhere)
            continue
        after.append(min(behind, buffer.nowhere))
        for tag, begin, stop in found:
            known.setdefault(tag, []).append((row, begin, stop))
        if rest:
            unknown[row] = rest
    rows.put(which, np.array(after, np.int64))
    return known, unknown


def sparse(values: Any, which: Any, default: Any, type_: Any, count: int) -> Any:
    """Return values in their places among `count` rows; the others have the default."""
    if not len(which):
        return constant(default, type_, count)
    places = np.zeros(count, np.int64)
    places[which] = np.arange(1, len(which) + 1)
    return pa.concat_arrays([constant(default, type_, 1), values]).take(pa.array(places))


@singledispatch
def read(node: Any, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    """Read a node of all rows; return an Arrow array."""
    raise TypeError(f"no columns are read of {type(node).__name__}")


@singledispatch
def skip(node: Any, rows: Any, fields: Fields) -> None:
    """Pass over a node in all rows."""
    raise TypeError(f"no columns are read of {type(node).__name__}")


@read.register(wire.Integer)
@read.register(wire.Float64)
@read.register(wire.Boolean)
@read.register(wire.Uuid)
def _(node: Any, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    return rows.fixed(node)


@skip.register(wire.Integer)
@skip.register(wire.Float64)
@skip.register(wire.Boolean)
@skip.register(wire.Uuid)
def _(node: Any, rows: Any, fields: Fields) -> None:
    rows.jump(node.least)


@read.register(wire.String)
@read.register(wire.Bytes)
@read.register(wire.Records)
def _(node: Any, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    return rows.texts(node)


@skip.register(wire.String)
@skip.register(wire.Bytes)
@skip.register(wire.Records)
def _(node: Any, rows: Any, fields: Fields) -> None:
    rows.pass_over(node, 1)


@read.register
def _(node: wire.Array, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    if type(node.element) in FIXED:
        return rows.numbers(node)
    lengths = rows.lengths(node)
    counts = np.maximum(lengths, 0)
    elements = fields.arrays.of(node).find(rows, counts)
    lengths = np.where(lengths < 0, lengths, counts)
    if not len(elements):
        return lists_of(lengths, pa.nulls(0, fields.type_of(node.element, wanted)))
    return lists_of(lengths, fields.read(node.element, elements, wanted))


@skip.register
def _(node: wire.Array, rows: Any, fields: Fields) -> None:
    if type(node.element) in FIXED:
        rows.pass_over(node, node.element.least)
    else:
        fields.arrays.of(node).pass_over(rows, np.maximum(rows.lengths(node), 0))


@read.register
def _(node: wire.Struct, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    return structs_of(fields.members(node, rows, wanted), len(rows))


@skip.register
def _(node: wire.Struct, rows: Any, fields: Fields) -> None:
    for field in node.fields:
        fields.skip(field.subcon, rows)
    if node.tagged is not None:
        fields.tagged(node.tagged, rows, {})


@read.register
def _(node: wire.NullableStruct, rows: Any, wanted: Wanted, fields: Fields) -> Any:
    which, some = there(node, rows)
    type_ = fields.type_of(node, wanted)
    values = fields.read(node.subcon, some, wanted) if len(which) else pa.nulls(0, type_)
    rows.put(which, some.at)
    return sparse(values, which, None, type_, len(rows))


@skip.register
def _(node: wire.NullableStruct, rows: Any, fields: Fields) -> None:
    which, some = there(node, rows)
    if len(which):
        fields.skip(node.subcon, some)
        rows.put(which, some.at)


def there(node: wire.NullableStruct, rows: Any) -> tuple[Any, Rows]:
    """Return the rows that have a struct, and where it stands in them."""
    markers = rows.byte()
    which = np.nonzero(markers == 1)[0]
    if len(wrong := np.nonzero((markers != 1) & (markers != node.null & 0xFF))[0]):
        rows.put(wrong, rows.buffer.nowhere)
    return which, rows.some(which, rows.at[which], None if rows.ends is None else rows.ends[which])
