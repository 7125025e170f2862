"""Captures through Spark: the same rows as without it, nothing lost, and errors that say what to do."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kwire
from tests.arrow.captures import FRAMES, PCAP, TIMES, conversation, dated, rows_of, write
from tests.arrow.test_batch_reader import UNKNOWN


def load(spark: Any, *paths: Path, **options: Any) -> Any:
    return spark.read.format("kwire").options(**options).load([str(path) for path in paths])


def collected(df: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = df.toArrow().to_pylist()
    return rows


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["path"], str(row["connection"]), str(row["direction"]), row["offset"]))


def test_rows_are_those_of_arrow(spark: Any) -> None:
    rows = collected(load(spark, FRAMES, PCAP))
    assert in_order(rows) == in_order(rows_of([FRAMES, PCAP]))
    assert len(rows) > 100


def test_one_file_gives_itself_back(spark: Any, tmp_path: Path) -> None:
    data = b"".join([*conversation(300), UNKNOWN, *conversation(300)]) + b"\xff" * 100
    path = write(tmp_path, data)
    df = load(spark, path, body="raw", maxPartitionBytes="4k")
    rows = sorted(collected(df), key=lambda row: row["offset"])
    assert b"".join(row["message"] or row["_corrupt_record"] for row in rows) == data
    assert [row["offset"] for row in rows if row["_error"]] == [len(data) // 2 - 58, len(data) - 100]
    answers = [row for row in rows if row["direction"] == "response"]
    assert {(row["api_name"], row["client_id"]) for row in answers} == {("Metadata", "me")}
    assert len(answers) == 600


def test_a_struct_has_the_fields_of_all_versions(spark: Any) -> None:
    df = load(spark, PCAP, apis="UpdateMetadataRequest", body="struct")
    racks = df.selectExpr("explode(message.live_brokers) as b").selectExpr("b.id", "b.rack").distinct().orderBy("id")
    assert [tuple(row) for row in racks.collect()] == [(2, "/dc1/r2")]
    fields = df.schema["message"].dataType.names
    assert fields == [name for name in kwire.arrow_schema("UpdateMetadataRequest").names if name != "body_index"]


def test_a_schema_of_the_users_is_what_comes(spark: Any) -> None:
    schema = (
        "message struct<live_brokers: array<struct<rack: string, id: int>>>, api_version short, _corrupt_record binary"
    )
    reader = spark.read.format("kwire").schema(schema).options(apis="UpdateMetadataRequest", body="struct")
    df = reader.load(str(PCAP))
    assert df.columns == ["message", "api_version", "_corrupt_record"]
    first = df.first()
    assert first["message"]["live_brokers"][0].asDict().keys() == {"rack", "id"}


def test_columns_are_chosen_by_name(spark: Any) -> None:
    df = load(spark, PCAP, columns="api_key, offset", mode="failfast")
    assert df.dtypes == [("api_key", "smallint"), ("offset", "bigint")]
    assert df.groupBy("api_key").count().count() > 1


def test_modes_differ_in_what_becomes_of_bad_frames(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, b"".join(conversation(2)) + UNKNOWN)
    assert load(spark, path).where("_error.code = 'UNSUPPORTED_API'").count() == 1
    assert load(spark, path, mode="DROPMALFORMED").count() == 4
    with pytest.raises(Exception, match=r"KWIRE_MALFORMED_FRAME\] path=.*offset=.*api key 32767"):
        load(spark, path, mode="FAILFAST").count()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mode": "LENIENT"}, "known: PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ({"maxPartitionByte": "1"}, "did you mean maxPartitionBytes"),
        ({"body": "struct"}, "a struct is of one api"),
        ({"apis": "Metadatas"}, "did you mean Metadata"),
        ({"badRecordsPath": "x"}, "mode=PERMISSIVE keeps"),
    ],
)
def test_a_wrong_option_is_an_error(spark: Any, options: dict[str, str], text: str) -> None:
    with pytest.raises(Exception, match=text):
        load(spark, FRAMES, **options).schema  # noqa: B018


def test_wrong_paths_and_schemas_are_errors(spark: Any) -> None:
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        load(spark, Path("/nowhere/at/all")).count()
    with pytest.raises(Exception, match="option path: there is none"):
        spark.read.format("kwire").load().count()
    with pytest.raises(Exception, match="needs the column _corrupt_record BINARY"):
        spark.read.format("kwire").schema("api_key short").load(str(FRAMES)).count()


def test_a_folder_of_any_files_never_fails(spark: Any, tmp_path: Path) -> None:
    for index, data in enumerate([b"", b"\0", b"hello", bytes(100), FRAMES.read_bytes(), b"\x1f\x8b\x08bad", b"{}"]):
        write(tmp_path, data, f"file-{index}")
    write(tmp_path, b"no", ".hidden")
    rows = collected(load(spark, tmp_path))
    assert {Path(row["path"]).name for row in rows} == {f"file-{index}" for index in range(1, 7)}
    assert sum(row["_error"] is None for row in rows) == 6
    empty = tmp_path / "empty"
    empty.mkdir()
    assert load(spark, empty).count() == 0


def test_a_time_that_no_calendar_has_can_be_collected(spark: Any, tmp_path: Path) -> None:
    for number, (*when, year) in enumerate(TIMES):
        (tmp_path / str(number)).mkdir()
        found = load(spark, dated(tmp_path / str(number), *when), columns="timestamp").distinct().collect()
        assert {row[0] and row[0].year for row in found} == {year}


def test_filters_are_known_before_frames_are_decoded(spark: Any) -> None:
    from pyspark.sql.datasource import EqualTo, In, StringStartsWith

    from kwire.arrow.read_options import Options
    from kwire.spark.data_source import narrow_options

    options, name, way = Options.parse({"pushdown": "true"}), ("api_name",), ("direction",)
    assert narrow_options(options, In(name, ("Fetch", "Produce"))).apis == ("Fetch", "Produce")
    assert narrow_options(options, EqualTo(way, "response")).direction == "response"
    for one in (EqualTo(name, "Nothing"), In(name, ()), In(way, ("request", "response")), StringStartsWith(name, "F")):
        assert narrow_options(options, one) == options
    wanted = "api_name in ('UpdateMetadata', 'LeaderAndIsr') and direction = 'request'"
    expected = collected(load(spark, PCAP).where(wanted))
    with pytest.raises(Exception, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
        load(spark, PCAP, pushdown="true").count()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        assert in_order(collected(load(spark, PCAP, pushdown="true").where(wanted))) == in_order(expected)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert len({row["api_name"] for row in expected}) == 2


def test_a_view_reads_it_too(spark: Any) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW frames USING kwire OPTIONS (path '{FRAMES}', body 'none')")
    assert spark.sql("SELECT count(*) FROM frames").first()[0] == 6


def test_messages_of_every_capture_are_counted_the_same(spark: Any, shared: Path) -> None:
    paths = sorted((shared / "captures").glob("*.pcap"))
    keys = ["direction", "api_name", "api_version"]
    df = load(spark, shared / "captures" / "*.pcap", body="none", maxPartitionBytes="256k", openCostInBytes=0)
    counted = {tuple(row)[:3]: row["count"] for row in df.groupBy(*keys).count().collect()}
    assert counted == Counter(tuple(row[key] for key in keys) for row in rows_of(paths, body="none"))


def lake(tmp_path: Path) -> Path:
    """Files in folders that are named by columns, one of them behind a name in percent signs, and one of no capture."""
    for place in ("dt=2026-11-01/tap=a%20b", "dt=2026-11-02/tap=c", "dt=2026-11-02/tap=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "lake" / place).mkdir(parents=True)
        shutil.copy(FRAMES, tmp_path / "lake" / place)
    (tmp_path / "lake/dt=2026-11-01/tap=a%20b/notes.txt").write_text("no capture")
    return tmp_path / "lake"


def test_folders_that_are_named_by_columns_become_columns(spark: Any, tmp_path: Path) -> None:
    read = spark.read.format("kwire").option("body", "none").option("pathGlobFilter", "*.{bin,pcap}")
    frames, folder = read.load(str(FRAMES)), str(lake(tmp_path))
    found = read.load(folder)
    assert found.columns == [*frames.columns, "dt", "tap"]
    assert {(row.dt, row.tap, row["count"]) for row in found.groupBy("dt", "tap").count().collect()} == {
        ("2026-11-01", "a b", frames.count()),
        ("2026-11-02", "c", frames.count()),
        ("2026-11-02", None, frames.count()),
    }
    assert found.where("dt = '2026-11-01'").select("tap", "offset").orderBy("offset").first().tap == "a b"
    assert read.load(f"{folder}/dt=2026-11-02").columns == [*frames.columns, "tap"]
    flat = read.option("recursiveFileLookup", "true").load(folder)
    assert (flat.columns, flat.count()) == (frames.columns, 3 * frames.count())


def test_files_that_are_no_captures_are_rows_or_left_out(spark: Any, tmp_path: Path) -> None:
    read = spark.read.format("kwire").option("body", "none").option("recursiveFileLookup", "true")
    folder = str(lake(tmp_path))
    notes = "path like '%notes.txt'"
    assert [row._error.code for row in read.load(folder).where(notes).collect()] == ["NO_FRAME"]
    assert read.option("ignoreCorruptFiles", "true").load(folder).where(notes).count() == 0


def test_files_are_chosen_as_by_sources_of_spark(spark: Any, tmp_path: Path) -> None:
    times = {"a.pcap": 1e9, "b.bin": 1.5e9, "c.x": 1.7e9, "_d.bin": 1e9, ".e.bin": 1e9, "s/f.bin": 1e9}
    for place, moment in times.items():
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        shutil.copy(FRAMES, file)
        os.utime(file, (moment, moment))
    chosen: list[dict[str, str]] = [
        {},
        {"recursiveFileLookup": "true"},
        {"pathGlobFilter": "*.{bin,pcap}"},
        {"pathGlobFilter": "{a,b}.[!p]*", "recursiveFileLookup": "true"},
        {"modifiedAfter": "2017-07-14T02:40:00", "modifiedBefore": "2023-11-14T22:13:20"},
        {"modifiedAfter": "2017-07-14T02:39:59", "modifiedBefore": "2023-11-14T22:13:21"},
    ]
    name, number = "_metadata.file_name", set[int]()
    fields = [name, "_metadata.file_size", "_metadata.file_modification_time"]
    for options in chosen:
        theirs = spark.read.format("binaryFile").options(**options).load(str(tmp_path)).select(*fields)
        ours = load(spark, tmp_path, body="none", metadata="true", **options).select(*fields).distinct()
        found = [tuple(row) for row in theirs.orderBy(name).collect()]
        assert [tuple(row) for row in ours.orderBy(name).collect()] == found, options
        number.add(len(found))
    assert number == {0, 1, 2, 3, 4}


def test_errors_are_one_line(spark: Any, tmp_path: Path) -> None:
    broken = write(tmp_path, b"no capture")
    for option, path, words in (
        ({"mod": "x"}, FRAMES, "did you mean mode"),
        ({"columns": "pat"}, FRAMES, "pat"),
        ({}, tmp_path / "none", "there is no such file"),
        ({"mode": "FAILFAST"}, broken, "KWIRE_MALFORMED_FRAME"),
    ):
        with pytest.raises(Exception, match=words) as raised:
            spark.read.format("kwire").options(**option).load(str(path)).count()
        lines = str(raised.value).partition("\n\nJVM stacktrace")[0].strip().splitlines()
        around = " SQLSTATE", "An exception was thrown"
        assert len([line for line in lines if not line.startswith(around)]) == 1, lines


def test_tables_of_sql(spark: Any) -> None:
    for number, words in enumerate((f"OPTIONS (path '{FRAMES}', body 'raw')", f"LOCATION '{FRAMES}'")):
        spark.sql(f"CREATE TABLE captured_{number} USING kwire {words}")
        try:
            assert spark.sql(f"SELECT count(*) FROM captured_{number}").first()[0] == 6
            assert ("binary" in dict(spark.table(f"captured_{number}").dtypes)["message"]) == (number == 0)
        finally:
            spark.sql(f"DROP TABLE captured_{number}")
