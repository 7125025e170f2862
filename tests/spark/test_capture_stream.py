"""Captures as a stream: connections go on over files, batches and restarts, and no byte of a file is read twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kwire.spark import stream_captures
from tests.arrow.captures import PCAP, conversation, rows_of, write
from tests.arrow.pieces import content, cut_at_packets
from tests.conftest import ROOT


def start(spark: Any, folder: Path, place: Path, **trigger: bool) -> Any:
    frames = stream_captures(spark, str(folder), body="raw", maxFilesPerTrigger=1, maxPartitionBytes=20_000)
    writer = frames.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    return (writer.trigger(**trigger) if trigger else writer).start(str(place / "out"))


def run(spark: Any, folder: Path, place: Path) -> None:
    query = start(spark, folder, place, availableNow=True)
    try:
        assert query.awaitTermination(400), "it did not end"
    finally:
        query.stop()


def batches(place: Path) -> int:
    return sum(path.name.isdigit() for path in (place / "checkpoint/offsets").iterdir())


def check(rows: list[dict[str, Any]]) -> None:
    """Compare what a stream has given of `PCAP` with its frames: each once."""
    good, expected = (
        content([row for row in some if row["_error"] is None]) for some in (rows, rows_of(PCAP, body="raw"))
    )
    assert good == expected


def test_a_source_without_states_names_the_function_that_has_them(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"it has no streams; kwire\.spark\.stream_captures"):
        spark.readStream.format("kwire").load(str(tmp_path)).writeStream.format("noop").start().awaitTermination(120)


def test_captures_and_raw_frames_are_read_as_they_grow(spark: Any, tmp_path: Path) -> None:
    folder, place, data, sent_frames = (
        tmp_path / "in",
        tmp_path / "table",
        PCAP.read_bytes(),
        b"".join(conversation(40)),
    )
    folder.mkdir()
    write(folder, data[:9000], "packets")
    write(folder, sent_frames[:-3], "frames")
    run(spark, folder, place)
    write(folder, data, "packets")
    (folder / "frames").rename(folder / "renamed")
    write(folder, sent_frames, "renamed")
    run(spark, folder, place)
    rows = spark.read.parquet(str(place / "out")).toArrow().to_pylist()
    check([row for row in rows if row["path"].endswith("packets")])
    raw = [row for row in rows if not row["path"].endswith("packets")]
    assert content(raw) == content(rows_of(folder / "renamed", body="raw"))


def test_connections_go_on_over_files_and_restarts(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    pieces = cut_at_packets(PCAP, tmp_path / "cut", 3)
    for piece in pieces[:2]:
        piece.rename(folder / piece.name)
    run(spark, folder, place)
    assert batches(place) == 2  # one run reads all files that are there, one in each batch
    (folder / pieces[0].name).rename(folder / "renamed.pcap")
    pieces[2].rename(folder / pieces[2].name)
    run(spark, folder, place)
    assert batches(place) == 3
    check(spark.read.parquet(str(place / "out")).toArrow().to_pylist())


KILLED = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from kwire.spark import stream_captures
from tests.spark.conftest import SETTINGS

folder, place, marker = map(Path, sys.argv[1:])
builder = SparkSession.builder.master("local[2]")
for name, value in SETTINGS.items():
    builder = builder.config(name, value)

def save(df, number):
    df.write.mode("overwrite").parquet(str(place / "out" / f"batch={number}"))
    if number == 1:
        marker.touch()  # the batch is written, and Spark has not committed it
        while marker.exists():
            pass

frames = stream_captures(builder.getOrCreate(), str(folder), body="raw", maxFilesPerTrigger=1)
writer = frames.writeStream.foreachBatch(save).option("checkpointLocation", str(place / "checkpoint"))
writer.trigger(availableNow=True).start().awaitTermination()
"""


def test_a_driver_killed_in_a_batch_loses_and_repeats_nothing(spark: Any, tmp_path: Path) -> None:
    folder, place, marker = tmp_path / "in", tmp_path / "table", tmp_path / "marker"
    *_, last = cut_at_packets(PCAP, folder, 3)
    rest = last.read_bytes()
    last.write_bytes(rest[: len(rest) // 2])
    command = [sys.executable, "-c", KILLED, str(folder), str(place), str(marker)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as driver:
        try:
            deadline = time.monotonic() + 300
            while not marker.exists():
                assert driver.poll() is None and time.monotonic() < deadline, "it did not come to the second batch"
                time.sleep(0.05)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
    assert not (place / "checkpoint/commits/1").exists()
    last.write_bytes(rest)  # it has grown meanwhile

    def save(df: Any, number: int) -> None:
        df.write.mode("overwrite").parquet(str(place / "out" / f"batch={number}"))

    frames = stream_captures(spark, str(folder), body="raw", maxFilesPerTrigger=1)
    writer = frames.writeStream.foreachBatch(save).option("checkpointLocation", str(place / "checkpoint"))
    assert writer.trigger(availableNow=True).start().awaitTermination(300)
    check(spark.read.parquet(str(place / "out")).toArrow().to_pylist())


def test_a_query_makes_no_batch_while_no_file_arrives(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    cut_at_packets(PCAP, folder, 2)[1].unlink()  # the rest of its connections does not arrive
    query = start(spark, folder, place)
    try:
        deadline = time.monotonic() + 120
        while not (place / "checkpoint/commits/0").exists():
            assert query.isActive and time.monotonic() < deadline, "it did not read the file"
            time.sleep(0.05)
        time.sleep(3)
        assert query.isActive
        assert batches(place) == 1
    finally:
        query.stop()
