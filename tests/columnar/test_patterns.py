"""The usual form of elements: what matches is what straight lines take, and ends where they end."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire import wire
from kwire.catalog import catalog_for
from kwire.columnar.patterns import LARGEST, Patterns, form_of
from kwire.columnar.plan import trees_of
from kwire.columnar.scanning import scan_of
from tests.random_values import draw

TREE: Any = kwire.codec("MetadataResponse", 12).schema
BROKER, TOPIC = (
    next(field.subcon for field in TREE.fields if field.name == name).element for name in ("brokers", "topics")
)
PARTITION: Any = next(field.subcon for field in TOPIC.fields if field.name == "partitions").element
CLASS = kwire.messages.MetadataResponse.MetadataResponsePartition


def element(replicas: int = 3, tags: bytes | None = None) -> bytes:
    return bytes(PARTITION.build(CLASS(replica_nodes=(1,) * replicas, unknown_tags=tags)))


def patterns(node: Any) -> Patterns:
    form = form_of(node)
    assert form is not None
    return Patterns(node, form)


def test_what_has_a_usual_form() -> None:
    assert [patterns(node).is_flat for node in (BROKER, PARTITION, TOPIC)] == [True, True, False]
    assert form_of(wire.NullableStruct(PARTITION)) is None
    assert form_of(wire.Array(wire.NullableStruct(PARTITION))) is None
    assert form_of(wire.Array(TOPIC)) is None  # too large
    assert form_of(wire.Struct(CLASS, [*TOPIC.fields] * 6)) is None


def test_forms_are_small() -> None:
    for name in catalog_for().names():
        for tree in trees_of(catalog_for().spec(name)):
            assert len(form_of(tree) or b"") <= LARGEST + 10


def test_many_are_passed_over_at_once_unless_one_is_odd() -> None:
    found = patterns(PARTITION)
    usual, size = element() + element(0) + element(16), len(element() + element(0) + element(16))
    assert found.many(b"?" + usual, 1, 3) == 1 + size
    assert found.many(usual, 0, 4) == 0
    assert found.many(usual[:-1], 0, 3) == 0
    for odd in (element(17), element(tags=b"\7\0"), b"\xff" * 40):
        assert found.many(usual + odd, 0, 4) == 0
        sizes = [len(element()), len(element(0)), len(element(16))]
        assert found.sizes(usual + odd, 0, 9, len(usual + odd)) == sizes
        assert found.sizes(usual + odd, 0, 2, len(usual + odd)) == sizes[:2]
        assert found.sizes(usual + odd, 0, 9, len(usual) - 1) == sizes[:2]
        assert found.sizes(odd + usual, 0, 9, len(usual + odd)) == []


def test_a_shape_is_the_counts_in_an_element() -> None:
    data = element(2)
    shape = patterns(PARTITION).shape(b"??" + data, 2)
    assert shape is not None
    assert (shape.size, shape.bytes) == (len(data), ((14, 3), (23, 1), (24, 1), (25, 0)))
    assert patterns(PARTITION).shape(element(17), 0) is None
    assert patterns(TOPIC).shape(bytes(99), 0) is None


@pytest.mark.parametrize("node", [BROKER, PARTITION, TOPIC], ids=["broker", "partition", "topic"])
@given(seed=st.integers(), cut=st.integers(0, 300), flip=st.integers(0, 2**11))
@settings(max_examples=60, deadline=None)
def test_patterns_end_where_straight_lines_end(node: Any, seed: int, cut: int, flip: int) -> None:
    data = bytearray(b"".join(node.build(draw(node, Random(seed + number))) for number in range(3)))
    data[flip // 8 % len(data)] ^= 1 << flip % 8
    body = bytes(data[: cut or None])
    inner = Patterns(PARTITION, form_of(PARTITION) or b"")

    def over(array: Any) -> Any:
        return lambda b, p, n, end: scan_of(array.element, "inner", over)(b, p, n, end, callable)

    scan, found = scan_of(node, "outer", over), patterns(node)
    for at in range(0, len(body), 7):
        ends = [at]
        for size in found.sizes(body, at, 3, len(body)):
            assert scan(body, ends[-1], 1, len(body), callable) == ends[-1] + size
            ends.append(ends[-1] + size)
        for count in range(1, len(ends)):
            assert found.many(body, at, count) == ends[count]
        assert inner.many(body, at, 0) == at
