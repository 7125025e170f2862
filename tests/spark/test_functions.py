"""Bytes become structs and structs bytes in any query; a bad cell spoils no other."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.arrow.read_options import BadOption
from kwire.errors import UnknownMessage
from kwire.spark import from_kwire, kwire_header, schema_of_kwire, to_kwire
from tests.arrow.captures import FRAMES, PCAP
from tests.arrow.golden import golden_columns

NAME = "UpdateMetadataRequest"


@pytest.fixture(scope="module")
def bodies(spark: Any) -> Any:
    """Bodies of all versions, a bad one, and null."""
    rows: list[Any] = [(index, body, version) for index, (body, version) in enumerate(golden_columns()[NAME])]
    rows += [(1000, b"bad", 8), (1001, None, 8), (1002, rows[0][1], None)]
    return spark.createDataFrame(rows, "id int, body binary, version short").repartition(2)


def test_a_column_of_versions_and_back(bodies: Any) -> None:
    df = bodies.select("*", from_kwire("body", NAME, version="version").alias("m"))
    again = df.select("*", to_kwire("m", NAME, version="version").alias("again"))
    rows = sorted(again.toArrow().to_pylist(), key=lambda row: row["id"])
    assert [row["again"] for row in rows[:-3]] == [row["body"] for row in rows[:-3]]
    assert [row["m"] for row in rows[-3:]] == [None, None, None]
    assert len(rows) > 10


def test_errors_are_told_beside_the_value(bodies: Any) -> None:
    column = from_kwire("body", NAME, version="version", options={"includeErrors": True}, fields=["controller_id"])
    df = bodies.select("id", column.alias("m"))
    assert df.schema["m"].dataType.names == ["controller_id", "_corrupt_record", "_error"]
    bad = df.where("m._error is not null").select("id", "m._corrupt_record", "m._error.code").collect()
    assert [tuple(row) for row in bad] == [(1000, bytearray(b"bad"), "TRUNCATED")]


def test_failfast_ends_the_job(bodies: Any) -> None:
    column = from_kwire("body", NAME, version=8, options={"mode": "failfast"})
    with pytest.raises(Exception, match="KWIRE_MALFORMED_FRAME"):
        bodies.select(column).collect()


def test_frames_say_their_header_and_version(spark: Any) -> None:
    frames = spark.read.format("kwire").option("body", "raw").load(str(PCAP)).where("direction = 'request'")
    headers = frames.select("*", kwire_header("message").alias("h"))
    same = "h.api_key = api_key and h.api_name = api_name and h.api_version = api_version"
    same += " and h.correlation_id = correlation_id and h.client_id <=> client_id and h.length = length"
    assert headers.where(f"not ({same})").count() == 0
    column = from_kwire("message", "UpdateMetadata", "request", options={"framed": True})
    counts = frames.select("api_name", column.alias("m")).groupBy("api_name").agg({"m": "count"}).collect()
    decoded = {row[0]: row[1] for row in counts}
    assert decoded.pop("UpdateMetadata") > 0
    assert set(decoded.values()) == {0}


def test_headers_of_anything(spark: Any) -> None:
    first = next(kwire.read_dump(FRAMES)).data
    answer = bytes.fromhex("0000000800000007 00000000")
    unknown = bytes.fromhex("0000000c 7fff 0000 00000001 0002 6d65")
    rows = [(0, first), (1, first[:-1]), (2, b""), (3, None), (4, unknown), (5, answer)]
    df = spark.createDataFrame(rows, "id int, frame binary").coalesce(1)
    found = df.select("id", kwire_header("frame").alias("h"), kwire_header("frame", "response").alias("r"))
    headers = [(row["h"] and tuple(row["h"]), row["r"] and row["r"][4]) for row in found.orderBy("id").collect()]
    assert headers[0] == ((116, 4, "LeaderAndIsr", 7, 22, "1"), 4 << 16 | 7)
    assert headers[1:4] == [(None, None)] * 3
    assert headers[4][0] == (16, 32767, None, 0, 1, None)
    assert headers[5][1] == 7


def test_the_schema_is_told(spark: Any) -> None:
    df = spark.range(1).select(schema_of_kwire("StopReplica", "response").alias("s"))
    fields = "error_code:smallint,partition_errors:array<struct<"
    assert df.first()["s"].startswith(f"struct<{fields}topic_name:string,partition_index:int,error_code:smallint")


def test_what_cannot_be_is_refused_at_once() -> None:
    with pytest.raises(BadOption, match="do not contain their version"):
        from_kwire("value", "MetadataResponse")
    with pytest.raises(BadOption, match="did you mean includeErrors"):
        from_kwire("value", "MetadataResponse", version=1, options={"includeError": True})
    with pytest.raises(BadOption, match="PARSE_MODE_UNSUPPORTED"):
        from_kwire("value", "MetadataResponse", version=1, options={"mode": "DROPMALFORMED"})
    with pytest.raises(UnknownMessage, match="did you mean Metadata"):
        to_kwire("value", "Metadatas", version=1)
    with pytest.raises(BadOption, match="request or response"):
        kwire_header("value", "both")  # type: ignore[arg-type]


def test_a_struct_is_made_by_hand(spark: Any) -> None:
    made = spark.range(2).selectExpr("named_struct('broker_id', int(id), 'broker_epoch', 5L) as m")
    cells = made.select(to_kwire("m", "ControlledShutdownRequest", version=2).alias("b")).collect()
    codec = kwire.codec("ControlledShutdownRequest", 2)
    values = [codec.decode(bytes(row["b"])) for row in cells]
    assert sorted((value.broker_id, value.broker_epoch) for value in values) == [(0, 5), (1, 5)]


def test_what_would_be_lost_is_null_or_ends_the_job(spark: Any) -> None:
    made = spark.range(2).selectExpr("named_struct('allow_auto_topic_creation', id = 0) as m")
    kept = made.select(to_kwire("m", "Metadata", "request", 1, {"mode": "PERMISSIVE"}).alias("b")).collect()
    assert sorted(row["b"] is None for row in kept) == [False, True]
    with pytest.raises(Exception, match="the first version that has it is 4"):
        made.select(to_kwire("m", "Metadata", "request", 1)).collect()


def test_functions_of_sql_take_columns_alone(spark: Any) -> None:
    """A frame to its header and its JSON, and JSON to the body; api, version and direction are columns."""
    frames = spark.read.format("kwire").option("body", "raw").load(str(FRAMES))
    frames.createOrReplaceTempView("raw_frames")
    api = "concat(api_name, initcap(direction))"
    found = spark.sql(
        f"select *, kwire_header(message, direction) as head, kwire_decode(message, {api}, api_version, true) as text, "
        f"kwire_encode(kwire_decode(message, {api}, api_version, true), {api}, api_version) as body from raw_frames"
    ).collect()
    assert found
    for row in found:
        assert row.head.correlation_id == row.correlation_id
        assert row.message.endswith(row.body)
        codec = kwire.codec(f"{row.api_name}{row.direction.title()}", row.api_version)
        assert row.text == codec.json_text(bytes(row.body))


def test_functions_of_sql_at_their_limits(spark: Any) -> None:
    name = "ConsumerProtocolAssignment"  # whose version is in front of it
    (row,) = spark.sql(
        f"select kwire_decode(x'00000000000000000000', '{name}'), kwire_decode(x'ff', '{name}'), "
        "kwire_decode(null, 'x', 1), kwire_encode(null, 'x', 1), kwire_header(x'00'), kwire_header(x'00', 'sideways'), "
        "kwire_decode(x'0000000007', 'HeartbeatResponse', 1), kwire_encode('{}', 'HeartbeatRequest', null)"
    ).collect()
    assert row[0] == '{"assignedPartitions":[],"userData":""}'
    assert [*row][1:] == [None] * 7
