"""Files that grow, through Spark's streams: each frame once, also when a driver is killed in the middle of a batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.arrow.captures import PCAP, conversation, rows_of, write
from tests.conftest import ROOT

TALK = conversation(40)
KEY = ["path", "offset", "direction", "api_name", "correlation_id", "client_id"]


def stream(spark: Any, folder: Path, **options: Any) -> Any:
    return spark.readStream.format("kwire").options(**options).load(str(folder))


def run(df: Any, place: Path, **trigger: Any) -> None:
    """Append what a stream gives to Parquet, until there is nothing more."""
    writer = df.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    query = writer.trigger(**(trigger or {"availableNow": True})).start(str(place / "out"))
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()


def written(spark: Any, place: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(str(place / "out")).select(*KEY).collect())


def committed(place: Path) -> set[int]:
    return {int(path.name) for path in (place / "checkpoint/commits").iterdir() if path.name.isdigit()}


def expected(folder: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in KEY) for row in rows_of(folder))


def test_a_growing_folder_is_read_once(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    write(folder, b"".join(TALK)[:-3])
    df = stream(spark, folder, maxBytesPerTrigger=1500, maxPartitionBytes=700)
    run(df, place)
    assert len(written(spark, place)) == len(TALK) - 1
    write(folder, b"".join(TALK) + TALK[0][:9])
    write(folder, PCAP.read_bytes(), "packets")
    run(stream(spark, folder), place)
    write(folder, b"".join(TALK))
    assert written(spark, place) == expected(folder)
    assert len(committed(place)) >= 3


def test_captures_that_grow_are_read_on(spark: Any, tmp_path: Path) -> None:
    folder, place, data = tmp_path / "in", tmp_path / "table", PCAP.read_bytes()
    folder.mkdir()
    for stop in (9000, 20000, len(data)):
        write(folder, data[:stop], "packets")
        run(stream(spark, folder), place)
    assert written(spark, place) == expected(folder)
    assert len(committed(place)) >= 3


def test_a_replaced_file_ends_the_stream(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    write(folder, b"".join(TALK))
    run(stream(spark, folder, columns="path,offset", mode="FAILFAST"), place)
    write(folder, b"".join(TALK[1:]) * 2)
    df = stream(spark, folder, columns="path,offset", mode="FAILFAST")
    with pytest.raises(Exception, match=r"KWIRE_LOST_DATA.*failOnDataLoss=false"):
        run(df, place)


KILLED = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from kwire.spark import register
from tests.spark.conftest import SETTINGS

folder, place, marker = map(Path, sys.argv[1:])
builder = SparkSession.builder.master("local[2]")
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
register(spark)

def save(df, number):
    df.write.mode("overwrite").parquet(str(place / "out" / f"batch={number}"))
    if number == 2:
        marker.touch()  # the batch is written, and Spark does not know it yet
        while marker.exists():
            pass

df = spark.readStream.format("kwire").option("maxBytesPerTrigger", 700).load(str(folder))
writer = df.writeStream.foreachBatch(save).option("checkpointLocation", str(place / "checkpoint"))
query = writer.trigger(availableNow=True).start()
query.awaitTermination()
"""


def test_a_driver_killed_in_the_middle_of_a_batch_loses_and_repeats_nothing(spark: Any, tmp_path: Path) -> None:
    folder, place, marker = tmp_path / "in", tmp_path / "table", tmp_path / "marker"
    folder.mkdir()
    write(folder, b"".join(TALK))
    write(folder, PCAP.read_bytes()[:9000], "packets")
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(program), str(folder), str(place), str(marker)]
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as driver:
        try:
            deadline = time.monotonic() + 120
            while not marker.exists():
                assert driver.poll() is None and time.monotonic() < deadline, "it did not come to the third batch"
                time.sleep(0.05)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
    assert committed(place) == {0, 1}
    marker.unlink()
    with (folder / "packets").open("ab") as packets:  # it grows meanwhile
        packets.write(PCAP.read_bytes()[9000:])

    def save(df: Any, number: int) -> None:
        df.write.mode("overwrite").parquet(str(place / "out" / f"batch={number}"))

    df = stream(spark, folder, maxBytesPerTrigger=50000)
    writer = df.writeStream.foreachBatch(save).option("checkpointLocation", str(place / "checkpoint"))
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    assert written(spark, place) == expected(folder)
