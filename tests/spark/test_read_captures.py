"""Captures in pieces, through Spark's shuffle: the same frames as of the whole capture."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.find_files import find_files
from kwire.arrow.ranges.packet_scan import scan
from kwire.arrow.read_options import BadOption, Options
from kwire.spark import read_captures
from kwire.spark.captures import divide_ranges, plan_reading
from tests.arrow.captures import FRAMES, PCAP, rows_of, write
from tests.arrow.pieces import content, cut_at_bytes, cut_at_packets, decoded
from tests.arrow.ranges.test_connection_windows import connection, head
from tests.capture.object_store import object_store
from tests.conftest import SHARED, lacking, needs_shared

WHOLE = SHARED / "captures/kafka-2.8-ipv6.clients.pcap"


def staged(spark: Any, *paths: object, **options: Any) -> list[dict[str, Any]]:
    frames = read_captures(spark, [str(path) for path in paths], body="raw", **options)
    rows: list[dict[str, Any]] = frames.toArrow().to_pylist()
    return rows


@needs_shared
def test_pieces_of_a_capture_are_that_capture(spark: Any, tmp_path: Path) -> None:
    cut_at_packets(WHOLE, tmp_path / "in", 20)
    rows = staged(spark, tmp_path / "in", maxPartitionBytes=3000, openCostInBytes=0)
    assert content(rows) == content(rows_of(WHOLE, body="raw"))
    assert {row["capture"] for row in rows} == {str(tmp_path / "in")}
    assert len({row["path"] for row in rows}) > 10


def test_a_capture_of_one_sniffer_is_read_in_ranges(spark: Any, tmp_path: Path) -> None:
    records = connection(random.Random(3), 200).records
    size = -(-len(records) // 5)
    for number in range(5):
        write(tmp_path, head() + b"".join(records[number * size : (number + 1) * size]), f"{number}.pcap")
    whole = write(tmp_path, head() + b"".join(records), "whole")
    given = {"maxPartitionBytes": str(whole.stat().st_size // 10), "openCostInBytes": "0"}
    plan = plan_reading(spark, [str(tmp_path / "*.pcap")], Options.parse(given))
    assert [[file.path[-6:] for file in capture.files] for capture in plan.captures] == [
        [f"{number}.pcap" for number in range(5)]
    ]
    rows = staged(spark, tmp_path / "*.pcap", **given)
    assert content(rows) == content(rows_of(whole, body="raw"))


def overlapping(folder: Path) -> list[Path]:
    """Write two captures of the same long connection by two sniffers."""
    data = head() + b"".join(connection(random.Random(3), 200).records)
    return [write(folder, data, name) for name in ("1.pcap", "2.pcap")]


def test_long_connections_are_decoded_by_several_tasks_of_many(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire.spark.captures.FASTER", 0)  # as if there were more cores than one task can serve
    path = write(tmp_path, head() + b"".join(connection(random.Random(3), 200).records))
    given = {"maxPartitionBytes": str(path.stat().st_size // 5), "openCostInBytes": "0"}
    plan = plan_reading(spark, [str(path)], Options.parse({**given, "longConnections": "true"}))
    assert (plan.windows.count > 2, plan.captures) == (True, [])
    rows = staged(spark, path, long_connections=True, **given)
    assert content(rows) == content(rows_of(path, body="raw"))


def test_connections_of_several_sniffers_are_spread_over_partitions(spark: Any, tmp_path: Path) -> None:
    path, _ = overlapping(tmp_path)
    found = read_captures(spark, str(tmp_path), partitions=3, body="none", minPartitions=4)
    assert found.rdd.getNumPartitions() == 3 if hasattr(found, "rdd") else True
    assert Counter(found.select("api_name").toArrow()["api_name"].to_pylist()) == Counter(
        row["api_name"] for row in rows_of(path, body="none")
    )


def test_captures_are_named_by_their_paths(spark: Any, tmp_path: Path) -> None:
    for name in ("tap1-1.pcap", "tap2-1.pcap"):
        (tmp_path / name).write_bytes(PCAP.read_bytes())
    rows = staged(spark, tmp_path, capture=r"(tap\d)-")
    assert Counter(row["capture"] for row in rows) == dict.fromkeys(("tap1", "tap2"), len(rows) // 2)
    assert content(rows) == content(rows_of(PCAP, body="raw") * 2)
    once = staged(spark, tmp_path)  # one capture of two sniffers
    assert content(once) == content(rows_of(PCAP, body="raw"))


def test_files_that_are_no_captures_are_read_too(spark: Any, tmp_path: Path) -> None:
    for file in (PCAP, FRAMES):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    rows = staged(spark, tmp_path, minPartitions=8, openCostInBytes=0)
    assert content(rows) == content(rows_of([tmp_path / PCAP.name, tmp_path / FRAMES.name], body="raw"))


@needs_shared
def test_pieces_on_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with object_store() as store:
            for name, value in store.environment().items():
                monkeypatch.setenv(name, value)
            store.put("taps")
            cuts: tuple[Any, ...] = (cut_at_packets, cut_at_bytes)
            for number, cut in enumerate(cuts):
                for piece in cut(WHOLE, tmp_path / f"{number}", 20):
                    store.put(f"taps/{number}/{piece.name}", piece.read_bytes())
                options = Options(max_partition_bytes=5000)
                tasks = divide_ranges(find_files([f"s3a://taps/{number}"], options), options, 5000)
                batches = [batch for splits in tasks for split in splits for batch in scan(split, options)]
                rows = decoded(batches, body="raw")
                assert content(rows) == content(rows_of(WHOLE, body="raw"))
                assert {row["capture"] for row in rows} == {f"s3a://taps/{number}"}
    except ImportError:
        lacking("moto")


def test_planning_reads_no_byte(tmp_path: Path) -> None:
    for number in range(3):
        with (tmp_path / f"{number}.pcap").open("wb") as file:
            file.truncate(1 << 40)
    options = Options(max_partition_bytes=1 << 30)
    tasks = divide_ranges(find_files([str(tmp_path)], options), options, 1 << 30)
    assert len(tasks) == 3 * 1024


def test_options_are_checked_at_once(spark: Any) -> None:
    with pytest.raises(BadOption, match="no such option; did you mean mode"):
        read_captures(spark, "in", mod="FAILFAST")  # type: ignore[call-arg]
    with pytest.raises(BadOption, match="it has no group"):
        read_captures(spark, "in", capture="tap")
