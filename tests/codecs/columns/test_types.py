"""The types of columns: of all messages, and such that Spark takes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire.codecs import wire
from kwire.codecs.columns.arrow_types import fields_of, scalar_type
from kwire.codecs.columns.column_plan import trees_of
from kwire.schema.catalog import catalog_for
from kwire.schema.spec_reader import read_spec
from tests.cases import case_by_case

PLAIN = {"bool", "int8", "int16", "int32", "int64", "double", "string", "binary"}
NUMBERS = """{"type": "data", "name": "Numbers", "validVersions": "0", "flexibleVersions": "none", "fields": [
  {"name": "Small", "type": "uint16", "versions": "0+", "about": "The largest is 65535."},
  {"name": "Large", "type": "uint32", "versions": "0+", "about": "The largest is 4294967295."}]}"""


def check(type_: Any) -> None:
    if pa.types.is_struct(type_) or pa.types.is_list(type_):
        for field in map(type_.field, range(type_.num_fields)):
            assert field.nullable
            check(field.type)
    else:
        assert str(type_) in PLAIN


@case_by_case("name", catalog_for().names())
def test_all_versions_together_have_all_fields_and_types_that_spark_takes(name: str) -> None:
    schema = kwire.arrow_schema(name)
    for field in schema:
        assert field.nullable
        check(field.type)
    trees = trees_of(catalog_for().spec(name))
    assert schema.names == ["body_index", *fields_of(trees)]
    for tree in trees:
        own = {field.name for field in tree.all_fields} | ({"unknown_tags"} if tree.tagged else set())
        assert own <= set(schema.names)


def test_every_field_has_one_type_at_all_versions() -> None:
    def types(nodes: list[Any]) -> None:
        kinds = {type(node) for node in nodes} - {wire.NullableStruct}
        assert len(kinds) <= 1, nodes
        inner = [getattr(node, "element", getattr(node, "subcon", node)) for node in nodes]
        if isinstance(inner[0], wire.Struct):
            for below in fields_of(inner).values():
                types(below)

    for name in catalog_for().names():
        types(trees_of(catalog_for().spec(name)))


def test_unsigned_numbers_are_widened() -> None:
    from kwire.codecs.columns.column_reader import Columns

    columns = Columns(read_spec(NUMBERS, "numbers.json"), 0, "", None)
    (batch,) = columns.read([b"\xff" * 6])
    assert batch.rows.to_pylist() == [{"body_index": 0, "small": 65535, "large": 4294967295}]
    assert [str(field.type) for field in columns.schema] == ["int64", "int32", "int64"]


def test_an_unknown_node_has_no_type() -> None:
    class Own(wire.Integer):
        pass

    with pytest.raises(TypeError, match="no Arrow type is known for Own"):
        scalar_type(Own("own", "b"))
