"""What works on every Spark since 3.5; `test_older_sparks` runs this file on the older ones."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import kwire.spark
from kwire import arrow
from kwire.arrow.read_options import BadOption
from kwire.cluster import ROWS
from kwire.errors import MissingExtra
from kwire.spark import cluster, from_kwire, kwire_header, read_captures, to_kwire
from kwire.spark.functions import HAS_ARROW_FUNCTIONS
from kwire.spark.pipeline import run
from tests.arrow.binary_columns.test_record_rows import BATCH, fetched, produce
from tests.arrow.binary_columns.test_record_rows import rows_in as records_in
from tests.arrow.captures import FRAMES, LOG, PCAP, rows_of, write
from tests.arrow.golden import golden_columns
from tests.arrow.pieces import content, cut_at_bytes, cut_at_packets
from tests.arrow.ranges.test_connection_windows import connection, head

OPTIONS: Any = cluster.OPTIONS
GROUP_OPTIONS: Any = cluster.GROUP_OPTIONS
NAME, RACKS = "UpdateMetadataRequest", 2  # the version since which brokers have racks
SMALL: Any = {"maxPartitionBytes": "3000", "openCostInBytes": "0"}


def rows_in(df: Any, folder: Path) -> list[dict[str, Any]]:
    """Return the rows by way of Parquet, because Spark 3.5 has no `toArrow`."""
    df.write.parquet(str(folder))
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return rows


@pytest.mark.parametrize("cut", [cut_at_packets, cut_at_bytes])
def test_pieces_of_a_capture_are_that_capture(cut: Any, spark: Any, tmp_path: Path) -> None:
    cut(PCAP, tmp_path / "in", 5)
    rows = rows_in(read_captures(spark, str(tmp_path / "in"), body="raw", **SMALL), tmp_path / "out")
    assert content(rows) == content(rows_of(PCAP, body="raw"))
    assert {row["capture"] for row in rows} == {str(tmp_path / "in")}


def test_long_connections_are_decoded_by_several_tasks(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, head() + b"".join(connection(random.Random(3), 200).records))
    size = str(path.stat().st_size // 5)
    frames = read_captures(
        spark, str(path), body="raw", longConnections=True, maxPartitionBytes=size, openCostInBytes="0"
    )
    assert content(rows_in(frames, tmp_path / "out")) == content(rows_of(path, body="raw"))


def test_other_files_are_read_too(spark: Any, tmp_path: Path) -> None:
    paths = [write(tmp_path, file.read_bytes(), file.name) for file in (PCAP, FRAMES, LOG)]
    rows = rows_in(read_captures(spark, str(tmp_path), body="raw", **SMALL), tmp_path / "out")
    assert content(rows) == content(rows_of(paths, body="raw"))


def test_bodies_are_structs(spark: Any, tmp_path: Path) -> None:
    frames = read_captures(spark, str(PCAP), body="struct", apis=NAME, direction="request")
    found = [row["message"] for row in rows_in(frames.where("message is not null"), tmp_path / "out")]
    expected = rows_of(PCAP, body="struct", apis=NAME, direction="request")
    assert sorted(map(repr, found)) == sorted(repr(row["message"]) for row in expected if row["message"])
    assert found


def test_what_cannot_be_read_is_said_at_once(spark: Any) -> None:
    with pytest.raises(BadOption, match=r"option path='/nowhere': \[PATH_NOT_FOUND\]"):
        read_captures(spark, "/nowhere")
    with pytest.raises(BadOption, match="did you mean mode"):
        read_captures(spark, str(PCAP), mod="FAILFAST")  # type: ignore[call-arg]


def test_columns_of_bytes_become_structs(spark: Any) -> None:
    cells: list[Any] = [(index, body, version) for index, (body, version) in enumerate(golden_columns()[NAME])]
    cells += [(1000, b"bad", 8), (1001, None, 8)]
    bodies = spark.createDataFrame(cells, "id int, body binary, version short")
    fields = ["controller_id", "live_brokers.rack"]
    rows = bodies.select("id", from_kwire("body", NAME, version="version", fields=fields).alias("m")).collect()
    found: dict[int, Any] = {row["id"]: None if row["m"] is None else row["m"].asDict(recursive=True) for row in rows}
    codecs = {version: kwire.codec(NAME, version) for _, _, version in cells}
    assert (found.pop(1000), found.pop(1001)) == (None, None)
    for index, body, version in cells[:-2]:
        message = codecs[version].decode(body)
        assert found[index]["controller_id"] == message.controller_id
        racks = [broker.rack if version >= RACKS else None for broker in message.live_brokers]
        assert [broker["rack"] for broker in found[index]["live_brokers"]] == racks
    assert len(found) > 10


def test_headers_and_functions_of_sql(spark: Any) -> None:
    frames = read_captures(spark, str(PCAP), body="raw").where("message is not null and direction = 'request'")
    frames.createOrReplaceTempView("requests")
    for header in (kwire_header("message"), "kwire_header(message)"):
        expression = header if isinstance(header, str) else header.alias("header")
        chosen = (
            frames.selectExpr(f"{expression} as header", "*")
            if isinstance(header, str)
            else frames.select("*", expression)
        )
        rows = chosen.select("api_key", "correlation_id", "header.*").drop("client_id").collect()
        assert rows
        assert all(row[0] == row[3] and row[1] == row[6] for row in rows)


def test_records_become_rows(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, b"".join([produce(BATCH), *fetched(BATCH), produce(b"no batch at all, none")]))
    df = kwire.spark.records(read_captures(spark, [str(path), str(LOG)], body="raw"))
    found = rows_in(df.select("offset", "record", "_error"), tmp_path / "out")
    expected = [
        {name: row[name] for name in ("offset", "record", "_error")} for row in records_in(path) + records_in(LOG)
    ]
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_the_history_of_a_cluster(spark: Any) -> None:
    frames = read_captures(spark, str(PCAP), **OPTIONS)
    expected = arrow.history(str(PCAP))
    tables = cluster.history(frames)
    for name in ROWS:
        assert getattr(tables, name).count() == expected[name].num_rows, name
    groups = cluster.consumer_groups(read_captures(spark, str(PCAP), **GROUP_OPTIONS))
    assert groups.partitions.count() == arrow.consumer_groups(str(PCAP))["partitions"].num_rows


def test_a_lake_is_written_once(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, PCAP.read_bytes(), "tap.pcap")
    counts = run(spark, [str(path)], str(tmp_path / "lake"))
    expected = rows_of(path)
    assert (counts.frames, counts.bytes) == (len(expected), sum(row["length"] for row in expected))
    found = pq.read_table(tmp_path / "lake/frames").to_pylist()
    assert Counter((row["offset"], row["api_name"], row["message"]) for row in found) == Counter(
        (row["offset"], row["api_name"], row["message"]) for row in rows_of(path, body="json")
    )
    assert run(spark, [str(path)], str(tmp_path / "lake")).frames == 0


def test_the_data_source_where_spark_has_sources_in_python(spark: Any, tmp_path: Path) -> None:
    if not hasattr(spark, "dataSource"):
        pytest.skip("Spark 3.5 has no data sources in Python")
    frames = spark.read.format("kwire").options(body="raw").load(str(PCAP))
    assert content(rows_in(frames, tmp_path / "out")) == content(rows_of(PCAP, body="raw"))
    assert frames.where("api_name = 'Metadata' and direction = 'request'").count() == sum(
        (row["api_name"], row["direction"]) == ("Metadata", "request") for row in rows_of(PCAP)
    )


def test_what_an_older_spark_lacks_is_said_in_one_line(spark: Any, tmp_path: Path) -> None:
    if HAS_ARROW_FUNCTIONS:
        pytest.skip("this Spark has all")
    with pytest.raises(MissingExtra, match=r"to_kwire needs the library pyspark 4\.1; pip install"):
        to_kwire("m", NAME)
    with pytest.raises(MissingExtra, match=r"stream\w* needs the library pyspark 4\.2; pip install"):
        kwire.spark.stream_captures(spark, str(tmp_path))
