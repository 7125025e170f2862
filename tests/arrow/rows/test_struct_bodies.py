"""The column `message` as structs: all versions in one column, in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.arrow.rows.frame_rows import Row
from kwire.arrow.rows.message_column import StructBodies, put_in_order
from kwire.arrow.rows.row_faults import RowFault
from kwire.errors import BadLength
from kwire.protocol.headers.apis import Api
from kwire.schema.catalog import catalog_for
from tests.arrow.golden import golden_columns
from tests.codecs.columns.rows import members

NAME = "UpdateMetadataRequest"
BODIES = golden_columns()[NAME]
CATALOG = catalog_for()


def row(body: bytes, version: int, name: str = NAME) -> Row:
    api = Api(None, version, name, CATALOG, message=name, bare=True)
    return Row(0, body, api=api)


@given(st.lists(st.sampled_from(BODIES), max_size=12))
def test_structs_are_the_messages_in_the_order_of_rows(bodies: list[tuple[bytes, int]]) -> None:
    faults: dict[int, RowFault] = {}
    structs = StructBodies(NAME, None, CATALOG)
    column = structs.column([row(*body) for body in bodies], faults)
    column.validate(full=True)
    assert column.type == structs.type
    assert len(column) == len(bodies)
    assert faults == {}
    for value, (body, version) in zip(column.to_pylist(), bodies, strict=True):
        codec = kwire.codec(NAME, version)
        assert {name: one for name, one in value.items() if one is not None} == _without_none(codec, body, value)


def _without_none(codec: kwire.Codec, body: bytes, value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that are not null, deeper ones as the column has them."""
    told = members(codec.schema, codec.decode(body))
    for name, one in told.items():
        if isinstance(one, list) and one and isinstance(one[0], dict):
            assert [_common(given, found) for given, found in zip(one, value[name], strict=True)] == [True] * len(one)
            told[name] = value[name]
    return {name: one for name, one in told.items() if one is not None}


def _common(told: dict[str, Any], found: dict[str, Any]) -> bool:
    return all(found[name] == one for name, one in told.items() if not (isinstance(one, list) and one))


def test_what_is_not_this_message_is_null() -> None:
    body, version = BODIES[0]
    rows = [row(b"", 0, "MetadataRequest"), row(body, version), Row(0, b"")]
    faults: dict[int, RowFault] = {}
    column = StructBodies(NAME, ["controller_id"], CATALOG).column(rows, faults)
    assert [value is None for value in column.to_pylist()] == [True, False, True]
    assert faults == {}


def test_what_is_tolerated_is_read_again_as_it_should_have_been() -> None:
    body, version = BODIES[0]
    faults: dict[int, RowFault] = {}
    structs = StructBodies(NAME, None, CATALOG)
    first, second, third = structs.column([row(body, version), row(body + b"!", version), row(b"!", version)], faults)
    assert first.as_py() == second.as_py()
    assert third.as_py() is None
    assert {index: fault.code for index, fault in faults.items()} == {1: "TRAILING_BYTES", 2: "TRUNCATED"}


def test_text_that_grows_too_long_when_read_has_a_fault_and_no_value() -> None:
    name = b"\xff" * 20000
    body = b"\0\0\0\1" + len(name).to_bytes(2, "big") + name
    faults: dict[int, RowFault] = {}
    column = StructBodies("MetadataRequest", None, CATALOG).column([row(body, 1, "MetadataRequest")], faults)
    assert column.to_pylist() == [None]
    assert (faults[0].code, faults[0].field, faults[0].position) == ("BAD_FIELD", "topics[0].name", 6)
    assert faults[0].reason.startswith("MetadataRequest v1: topics[0].name: the text is not UTF-8")


def test_pieces_are_put_in_order() -> None:
    pieces = [(pa.array([1, 2]), [3, 0]), (pa.array([5]), [1])]
    assert put_in_order(pieces, 5, pa.int64()).to_pylist() == [2, 5, None, 1, None]
    assert put_in_order([], 2, pa.int64()).to_pylist() == [None, None]


def test_a_body_that_is_refused_again_has_the_code_of_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Iterator[tuple[Any, list[int], list[tuple[int, kwire.DecodeError]]]]:
        yield pa.nulls(0, structs.type), [], [(0, BadLength(found=9, need=9, have=1))]

    body, version = BODIES[0]
    structs, faults = StructBodies(NAME, None, CATALOG), dict[int, RowFault]()
    monkeypatch.setattr(structs, "_read", refuse)
    assert structs.column([row(body, version)], faults).to_pylist() == [None]
    assert (faults[0].code, faults[0].field) == ("TRUNCATED", None)
