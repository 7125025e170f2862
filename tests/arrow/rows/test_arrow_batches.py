"""Rows become columns: those that are wanted, in batches of bounded size."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kwire.arrow.read_options import Options
from kwire.arrow.rows.arrow_batches import RowBatchBuilder
from kwire.arrow.rows.frame_rows import Pairing, Row, RowEndpoints
from kwire.arrow.rows.message_column import RawBodies
from kwire.arrow.rows.row_faults import MalformedFrame, RowFault
from kwire.arrow.rows.row_schema import TYPES
from kwire.capture.open_dump import open_dump
from kwire.codecs.native import FrameRows
from kwire.protocol.headers.apis import Api, Apis
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT

CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
METADATA = Api(3, 12, "Metadata", catalog_for())
BAD = RowFault("BAD_FIELD", "because", "topics[0]", 7)


def row(offset: int, data: bytes = b"data", fault: RowFault | None = None, ends: RowEndpoints | None = None) -> Row:
    return Row(offset, data, 1_500_000_123, ends, True, METADATA, 5, "me", fault)


def built(rows: list[Row], columns: list[str] | None = None, **options: Any) -> list[Any]:
    builder = RowBatchBuilder(columns or list(TYPES), RawBodies(), Options.parse(options))
    builder.begin("one")
    builder.rows += rows[:2]
    builder.begin("other")
    builder.rows += rows[2:]
    batches = [*builder.ready(), *builder.rest()]
    assert all(batch.schema == builder.schema for batch in batches)
    return batches


def values(batches: list[Any]) -> list[dict[str, Any]]:
    return [value for batch in batches for value in batch.to_pylist()]


def test_every_column_says_what_a_row_has() -> None:
    ends = RowEndpoints("10.0.0.1:5000", "[::1]:9092", 1_000_000)
    (value,) = values(built([row(9, b"data", BAD, ends)]))
    assert (value["path"], value["offset"], value["length"], value["direction"]) == ("one", 9, 4, "request")
    assert (value["api_key"], value["api_name"], value["api_version"]) == (3, "Metadata", 12)
    assert (value["correlation_id"], value["client_id"], value["_corrupt_record"]) == (5, "me", b"data")
    assert value["timestamp"].timestamp() == 1.5
    connection = value["connection"]
    assert connection.pop("began").timestamp() == 0.001
    assert connection == {"src": "10.0.0.1", "src_port": 5000, "dst": "::1", "dst_port": 9092}
    assert value["_error"] == {"code": "BAD_FIELD", "reason": "because", "field": "topics[0]", "position": 7}
    assert value["message"] is None


def test_files_are_told_apart_in_batches_of_any_size() -> None:
    rows = [row(index) for index in range(7)]
    for most in range(1, 9):
        batches = built(rows, maxRecordsPerBatch=most)
        assert max(batch.num_rows for batch in batches) <= most
        assert [(one["path"], one["offset"]) for one in values(batches)] == [
            ("one" if index < 2 else "other", index) for index in range(7)
        ]


@pytest.mark.parametrize(("count", "ready"), [(2, []), (3, [3]), (4, [3, 1])])
def test_a_batch_goes_out_when_it_is_full(count: int, ready: list[int]) -> None:
    builder = RowBatchBuilder(["offset"], RawBodies(), Options.parse({"maxRecordsPerBatch": 3}))
    builder.begin("one")
    builder.rows += [row(index) for index in range(count)]
    assert [batch.num_rows for batch in builder.ready()] == ready


def test_batches_are_bounded_by_bytes_too() -> None:
    batches = built(
        [row(index, bytes(1000)) for index in range(10)], ["message"], mode="FAILFAST", maxBytesPerBatch=2500
    )
    assert {batch.num_rows for batch in batches} <= {1, 2}
    assert sum(batch.num_rows for batch in batches) == 10


def test_modes() -> None:
    rows = [row(0), row(1, fault=BAD), row(2)]
    assert [one["offset"] for one in values(built(rows, mode="DROPMALFORMED"))] == [0, 2]
    assert values(built([row(1, fault=BAD)], mode="DROPMALFORMED")) == []
    with pytest.raises(MalformedFrame, match="path=one, offset=1, api=Metadata, version=12: because"):
        built(rows, mode="FAILFAST")
    harmless = BAD._replace(code="NOT_KAFKA")
    assert len(values(built([row(0, fault=harmless)], mode="FAILFAST"))) == 1


def test_a_length_may_be_of_bytes_that_are_not_there() -> None:
    gaps = [row(0, b"", BAD._replace(bytes=500)), row(1, b"first", BAD._replace(bytes=2**40))]
    assert [(one["length"], one["_corrupt_record"]) for one in values(built(gaps))] == [
        (500, None),
        (2**31 - 1, b"first"),
    ]


def test_what_is_unknown_is_null() -> None:
    nothing = Row(0, b"x")
    (value,) = values(built([nothing]))
    known = {"path", "offset", "length", "message", "_metadata"}
    assert {name for name, one in value.items() if one is not None} == known
    assert value["_metadata"] == {  # there is no such file
        "file_path": "one",
        "file_name": "one",
        "file_size": None,
        "file_modification_time": None,
    }
    assert pa.types.is_null(pa.array([None]).type)


@pytest.mark.parametrize("keeps_bytes", [True, False])
def test_usual_rows_give_the_same_columns_as_tuples(keeps_bytes: bool) -> None:
    names = [name for name in TYPES if name != "message"]
    direct, by_tuples = (RowBatchBuilder(names, None, Options()) for _ in range(2))
    apis, tuples = Apis(catalog_for()), list[Row]()
    direct.rows.keeps_bytes = keeps_bytes
    for builder in (direct, by_tuples):
        builder.begin("one")
    with open_dump(CAPTURE) as one, open_dump(CAPTURE) as other:
        assert one.captured is not None and other.captured is not None
        usual, called = Pairing(apis, direct.rows), Pairing(apis, tuples.append)
        for batch in one.captured:
            usual.add_batch(batch)
        for batch in other.captured:
            called.add_batch(batch)
    by_tuples.rows += tuples
    assert len(tuples) == len(direct.rows) > 50
    assert direct.rows.size == by_tuples.rows.size == sum(len(row[1]) for row in tuples)
    if keeps_bytes:
        assert list(direct.rows) == tuples
    assert pa.Table.from_batches(direct.rest()) == pa.Table.from_batches(by_tuples.rest())


def test_rows_are_taken_from_any_of_them_on() -> None:
    rows = FrameRows()
    rows += [row(index, bytes(index)) for index in range(6)]
    assert [one[0] for one in rows.take(4)] == [4, 5]
    assert (rows.size, [(start, [one[0] for one in part]) for start, part in rows.parts(9, 3)]) == (
        6,
        [(0, [0, 1, 2]), (3, [3])],
    )
    assert [len(part) for _, part in rows.parts(3, 99)] == [3, 1]
    assert rows[-1] == row(3, bytes(3)) and len(rows.take()) == 4
    assert (len(rows), rows.size, rows.parts(1, 1)) == (0, 0, [])
    with pytest.raises(IndexError):
        rows[0]
