"""Pieces of bytes become Arrow arrays: numpy reads what stands at equal distances, whatever else is between.

Knows bytes and types; knows no messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from .. import wire
from .types import scalar_type

WIDE = {">b": "i1", ">h": "i2", ">i": "i4", ">q": "i8", ">H": "i4", ">I": "i8", ">d": "f8"}  # as numpy calls them


def numbers_at(node: Any, data: bytes, count: int, offset: int, stride: int) -> Any:
    """Return numbers that stand `stride` bytes apart, as a numpy array of the type they have in Arrow."""
    return strided(format_of(node), data, count, offset, stride).astype(WIDE[format_of(node)])


def strided(form: str, data: bytes, count: int, offset: int, stride: int) -> Any:
    """Return a view of what stands `stride` bytes apart."""
    return np.ndarray((count,), form, data, offset, (stride,)) if count else np.empty(0, form)


def format_of(node: Any) -> str:
    """Return how numpy calls a number of the wire."""
    code = "d" if isinstance(node, wire.Float64) else node.struct.format[-1:]
    return f">{code}"


def fixed_at(node: Any, data: bytes, count: int, offset: int, stride: int) -> Any:
    """Return values of a fixed size, which stand `stride` bytes apart, as an Arrow array."""
    if isinstance(node, wire.Boolean):
        return to_bits(strided("u1", data, count, offset, stride))
    if isinstance(node, wire.Uuid):
        return binary_at(data, count, offset, stride, node.least)
    return from_numpy(numbers_at(node, data, count, offset, stride), scalar_type(node))


def to_bits(values: Any) -> Any:
    """Return a numpy array of truth values as an Arrow array."""
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def from_numpy(values: Any, type_: Any) -> Any:
    """Return a numpy array of numbers as an Arrow array."""
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)])


def binary_at(data: bytes, count: int, offset: int, stride: int, size: int) -> Any:
    """Return bytes of one size, which stand `stride` bytes apart, as an Arrow array."""
    values = np.ascontiguousarray(strided(f"V{size}", data, count, offset, stride)) if size else np.empty(0, np.uint8)
    return binary_of(values, count, size)


def binary_of(values: Any, count: int, size: int) -> Any:
    """Return a numpy array of bytes of one size as an Arrow array."""
    return pa.Array.from_buffers(pa.binary(), count, [None, evenly(count, size), pa.py_buffer(values.view("u1"))])


def lists_at(node: wire.Array, data: bytes, count: int, offset: int, stride: int, length: int) -> Any:
    """Return arrays of one length, which stand `stride` bytes apart, as an Arrow array of lists."""
    element, size = node.element, node.element.least
    if isinstance(element, wire.Uuid):
        joined = b"".join(data[offset + i * stride : offset + i * stride + size * length] for i in range(count))
        values = binary_at(joined, count * length, 0, size, size)
    else:
        numbers = np.empty((count, length), WIDE[format_of(element)])
        for index in range(length):  # one after the other: numpy is slow where the inner loop is short
            numbers[:, index] = strided(format_of(element), data, count, offset + size * index, stride)
        values = from_numpy(numbers.reshape(-1), scalar_type(element))
    type_ = pa.list_(scalar_type(element))
    return pa.Array.from_buffers(type_, count, [None, evenly(count, length)], children=[values])


@lru_cache(4)
def evenly(count: int, size: int) -> Any:
    """Return the buffer of offsets of things of one size; columns of one batch share them."""
    return pa.py_buffer(np.arange(0, count * size + 1, size, np.int32) if size else np.zeros(count + 1, np.int32))


def nulls(count: int) -> Any:
    """Return an array of binary that is null."""
    zeros = evenly(count, 0)
    return pa.Array.from_buffers(pa.binary(), count, [zeros, zeros, zeros])


def offsets_of(lengths: Any) -> tuple[Any, Any]:
    """Return the buffers of validity and offsets for these lengths, of which a negative one is null."""
    validity = None
    if len(lengths) and lengths.min() < 0:
        validity = pa.py_buffer(np.packbits(lengths >= 0, bitorder="little"))
        lengths = np.maximum(lengths, 0)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return validity, pa.py_buffer(offsets)


def lists_of(lengths: Any, values: Any) -> Any:
    """Return an array of lists of these lengths; a negative one is null."""
    return pa.Array.from_buffers(pa.list_(values.type), len(lengths), [*offsets_of(lengths)], children=[values])


def structs_of(columns: dict[str, Any], count: int) -> Any:
    """Return an array of structs that have these fields."""
    type_ = pa.struct([(name, column.type) for name, column in columns.items()])
    return pa.Array.from_buffers(type_, count, [None], children=list(columns.values()))


def constant(value: Any, type_: Any, count: int) -> Any:
    """Return an array of one value, as messages have it, again and again."""
    if value is None:
        return pa.nulls(count, type_)
    return pa.array([plain(value)], type_).take(pa.array(np.zeros(count, np.int64)))


def plain(value: Any) -> Any:
    """Return a value of a message as pyarrow takes it."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    names: Sequence[str] = getattr(value, "__struct_fields__", ())
    return {name: plain(getattr(value, name)) for name in names} if names else value


def conform(array: Any, type_: Any) -> Any:
    """Return an array as another type, which has more fields: they are null."""
    if array.type.equals(type_):
        return array
    validity = array.buffers()[0]
    if pa.types.is_list(type_):
        values = conform(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), array.buffers()[:2], children=[values])
    children = [
        conform(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else pa.nulls(len(array), field.type)
        for field in type_
    ]
    return pa.Array.from_buffers(type_, len(array), [validity], children=children)


def halves(batch: Any, most: int) -> Iterator[Any]:
    """Halve a batch until it has no more bytes than it may, or one row."""
    if batch.num_rows <= 1 or batch.get_total_buffer_size() <= most or batch.nbytes <= most:
        yield batch
        return
    half = batch.num_rows // 2
    yield from halves(batch.slice(0, half), most)
    yield from halves(batch.slice(half), most)


def without(array: Any, places: set[int]) -> Any:
    """Return an array without the values at some places."""
    bounds = [-1, *sorted(places), len(array)]
    pieces = [array.slice(one + 1, other - one - 1) for one, other in pairwise(bounds)]
    return pa.concat_arrays(pieces)
