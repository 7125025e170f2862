"""The generated source: what it takes, and that it makes nothing by a count that is only claimed."""

from __future__ import annotations

import tracemalloc

import pytest

import kwire
from kwire import wire
from kwire.catalog import catalog_for
from kwire.columnar.collected import Lists, Table
from kwire.columnar.cutting import Walk
from kwire.columnar.plan import trees_of
from kwire.columnar.walk import read
from kwire.compiler.source import Source

CLAIMS = ["7fffffff", "80000000", "ffffffff0f", "ffffffff07", "7fff"]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("name", "version"), [("MetadataResponse", 5), ("MetadataResponse", 12), ("FetchResponse", 12)]
)
def test_claimed_counts_make_nothing(name: str, version: int, claim: str) -> None:
    columns = kwire.columns(name, version)
    bodies = [bytes(at) + bytes.fromhex(claim) + bytes(40 - at) for at in range(40)]
    list(columns.read(bodies))
    tracemalloc.start()
    try:
        for batch in columns.read(bodies):
            assert len(batch.errors) + batch.rows.num_rows == len(bodies)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
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

    out = Walk(Source("own"), Lists(), "own", Table())
    with pytest.raises(TypeError, match="no columns are written for Own"):
        read(Own("own", "b"), out)


def test_tags_that_do_not_ascend_or_belong_to_other_versions_are_refused_as_by_codecs() -> None:
    codec = kwire.codec("ApiVersionsResponse", 3)
    tagged = ["0201000001017f00", "01020100", "0200010103010f00", "0105020000", "020502ab000602cd00", "0101"]
    bodies = [bytes.fromhex("0000 01 00000000") + bytes.fromhex(one) for one in tagged]
    bodies += [codec.encode(kwire.messages.ApiVersionsResponse(unknown_tags=bytes.fromhex("0701ff")))]
    good = []
    for index, body in enumerate(bodies):
        try:
            codec.decode(body)
            good.append(index)
        except kwire.DecodeError:
            continue
    (batch,) = kwire.columns("ApiVersionsResponse", 3).read(bodies)
    assert batch.rows.column("body_index").to_pylist() == good
    assert batch.rows.column("unknown_tags").to_pylist()[-1] == bytes.fromhex("0701ff")
    assert [bad.body_index for bad in batch.errors] == [index for index in range(len(bodies)) if index not in good]


def test_a_tag_that_holds_its_default_is_accepted_as_in_strict() -> None:
    data = bytes.fromhex("0000 01 00000000 01 03 01 00")  # tag 3, zkMigrationReady, false
    (batch,) = kwire.columns("ApiVersionsResponse", 3, columns=["zk_migration_ready"]).read([data])
    assert batch.rows.to_pylist() == [{"zk_migration_ready": False}]
