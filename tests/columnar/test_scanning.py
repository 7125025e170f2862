"""Elements passed over by generated source; and that nothing is made by a count that is only claimed."""

from __future__ import annotations

import tracemalloc

import pytest

import kwire
from kwire import wire
from kwire.catalog import catalog_for
from kwire.columnar.elements import Array, Arrays
from kwire.columnar.fields import Fields
from kwire.columnar.plan import trees_of
from kwire.columnar.rows import Rows
from kwire.columnar.scanning import scan_of

CLAIMS = ["7fffffff", "80000000", "ffffffff0f", "ffffffff07", "7fff"]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("times", [1, 10])
@pytest.mark.parametrize(
    ("name", "version"), [("MetadataResponse", 5), ("MetadataResponse", 12), ("FetchResponse", 12)]
)
def test_claimed_counts_make_nothing(name: str, version: int, claim: str, times: int) -> None:
    columns = kwire.columns(name, version)
    bodies = [bytes(at) + bytes.fromhex(claim) + bytes(40 - at) for at in range(40)] * times
    list(columns.read(bodies))
    tracemalloc.start()
    try:
        for batch in columns.read(bodies):
            assert len(batch.errors) + batch.rows.num_rows == len(bodies)
        assert tracemalloc.get_traced_memory()[1] < times << 20
    finally:
        tracemalloc.stop()


def test_bodies_that_claim_what_belongs_to_the_next_ones_make_nothing_of_it() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    topic = kwire.messages.MetadataResponse.MetadataResponseTopic(name="x" * 30_000)
    good = codec.encode(kwire.messages.MetadataResponse(topics=(topic,)))
    claims = [bytes(5) + bytes.fromhex(f"01 00000000 {count} 0000 feff01 41") for count in ("02", "15", "ff7f")]
    bodies = [*claims * 1000, good]
    columns = kwire.columns("MetadataResponse", 12, "topics[]")
    list(columns.read(bodies[:5]))
    tracemalloc.start()
    try:
        (batch,) = columns.read(bodies)
        assert len(batch.errors) == 3000
        assert batch.rows.column("name").to_pylist() == ["x" * 30_000]
        assert tracemalloc.get_traced_memory()[1] < 16 << 20  # the errors are most of it
    finally:
        tracemalloc.stop()


def test_elements_take_a_byte_at_least_so_that_counts_are_bounded_by_bytes() -> None:
    def check(node: object) -> None:
        if isinstance(node, wire.Array):
            assert node.element.least >= 1
            check(node.element)
        elif isinstance(node, wire.NullableStruct):
            check(node.subcon)
        elif isinstance(node, wire.Struct):
            for field in node.all_fields:
                check(field.subcon)

    for name in catalog_for().names():
        for tree in trees_of(catalog_for().spec(name)):
            check(tree)


def test_a_node_of_somebody_elses_has_no_columns() -> None:
    class Own(wire.Integer):
        pass

    def over(array: Array, rows: Rows) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match="no columns are written for Own"):
        scan_of(Own("own", "b"), "own", lambda node: Array(node, Arrays("own", over)).over)
    for walk in (Fields("own").read, Fields("own").skip):
        with pytest.raises(TypeError, match="no columns are read of Own"):
            walk(Own("own", "b"), None)  # type: ignore[arg-type]
