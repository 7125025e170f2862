"""Runs of elements of one shape: found by their length bytes, few, and in any mixture."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.columnar.collected import Lists
from kwire.columnar.shaped import FEW, MOST_SHAPES, Group, ShapedTable, parts_of

TREE = kwire.codec("MetadataResponse", 12).schema
TOPIC: Any = next(field.subcon for field in TREE.fields if field.name == "topics").element
PARTITION: Any = next(field.subcon for field in TOPIC.fields if field.name == "partitions").element
CLASS = kwire.messages.MetadataResponse.MetadataResponsePartition


def table() -> ShapedTable:
    parts = parts_of(PARTITION)
    assert parts is not None
    return ShapedTable(PARTITION, parts, None, Lists())


def element(replicas: int = 3, isr: int = 3, tags: bytes | None = None) -> bytes:
    return bytes(PARTITION.build(CLASS(replica_nodes=(1,) * replicas, isr_nodes=(1,) * isr, unknown_tags=tags)))


def test_a_struct_that_holds_structs_has_no_shape() -> None:
    assert parts_of(TOPIC) is None
    assert list(parts_of(PARTITION) or ()) == [field.name for field in PARTITION.fields]


@pytest.mark.parametrize("odd", [element(2, 3), element(3, 2), element(3, 3, b"\x07\x00"), element(0, 0), b""])
@pytest.mark.parametrize("at", [0, 1, 7, 19])
def test_a_run_ends_at_the_first_element_of_another_shape(odd: bytes, at: int) -> None:
    group = Group(parts_of(PARTITION) or {}, (3, 3, 0), True)
    assert group.size == len(element())
    assert group.run(element() * at + odd + element() * (19 - at), 0, 20) == at if odd else 19
    assert group.run(element() * 20, 0, 20) == 20
    assert group.run(element() * 20, 0, 2**31) == 20
    assert group.run(element()[:-1], 0, 1) == 0


def test_shapes_are_few_and_forgotten_where_nothing_of_them_is_held() -> None:
    shaped = table()
    bodies = [element(replicas) * (FEW + 1) for replicas in range(MOST_SHAPES + 4)]

    def straight(b: bytes, p: int, n: int) -> int:
        return p + n * len(b) // (FEW + 1)

    for body in bodies:
        shaped.rest = 0
        assert shaped.collect(body, 0, FEW + 1, straight) == len(body)
    assert len(shaped.groups) == MOST_SHAPES
    assert sum(group is None for group, _, _ in shaped.order) > 0
    shaped.order.clear()
    shaped.rest = 0
    shaped.collect(bodies[-1], 0, FEW + 1, straight)
    assert len(shaped.groups) == 1
