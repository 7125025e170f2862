"""What read_captures costs on Spark: python -m benchmarks.spark.read_captures CAPTURE [--rounds N]

CAPTURE is a large pcap (`benchmarks.captures.grow_pcap` makes one). Prints seconds to plan 10,000 files of 1 GB and 10
of 1 TB (sparse ones: planning reads no byte), then for local[1] and local[2] the wall time of format("kwire") and of
read_captures by body, in turns, medians; the shuffle included. Needs pyspark and Java.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.spark.sessions import SETTINGS
from kwire.arrow.find_files import find_files
from kwire.arrow.read_options import Options
from kwire.spark import read_captures, register
from kwire.spark.captures import divide_ranges

BODIES = "none", "json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cores:
        print(json.dumps(measured(options)))
        return
    for count, size in ((10_000, 1 << 30), (10, 1 << 40)):
        plan(count, size)
    found = {}
    for cores in "12":
        command = [sys.executable, "-m", "benchmarks.spark.read_captures", *sys.argv[1:], "--cores", cores]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        found[cores] = json.loads(done.stdout.splitlines()[-1])
    megabytes = options.capture.stat().st_size / 1e6
    for body in BODIES:
        one, two, alone = found["1"][f"staged {body}"], found["2"][f"staged {body}"], found["1"][f"kwire {body}"]
        print(
            f"body={body}: staged {megabytes / one:.1f} MB/s on one core, {alone / one:.2f} of format('kwire')", end=""
        )
        print(f" ({megabytes / alone:.1f}); local[2] {one / two:.2f} times local[1]")


def plan(count: int, size: int) -> None:
    """Print how long it takes to plan so many files."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            with (Path(folder) / f"{number:05}.pcap").open("wb") as file:
                file.truncate(size)
        begun = time.perf_counter()
        options = Options(max_partition_bytes=128 << 20)
        parts = divide_ranges(find_files([folder], options), options, options.max_partition_bytes)
        print(f"plan {count} files of {size >> 30} GB: {time.perf_counter() - begun:.2f} s, {len(parts)} tasks")


def measured(options: argparse.Namespace) -> dict[str, float]:
    """Return the median seconds of each reading."""
    builder = SparkSession.builder.master(f"local[{options.cores}]")
    for name, value in {**SETTINGS, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"}.items():
        builder = builder.config(name, value)
    spark, path = builder.getOrCreate(), str(options.capture)
    register(spark)
    times: dict[str, list[float]] = {}
    rows = set()
    for _ in range(options.rounds + 1):
        for body in BODIES:
            for kind in ("kwire", "staged"):
                begun = time.perf_counter()
                if kind == "kwire":
                    frames = spark.read.format("kwire").options(body=body, minPartitions="1").load(path)
                else:
                    frames = read_captures(spark, path, body=body, maxPartitionBytes="16m")
                rows.add(frames.select("offset", *(["message"] * (body != "none"))).toArrow().num_rows)
                times.setdefault(f"{kind} {body}", []).append(time.perf_counter() - begun)
    assert len(rows) == 1, rows
    spark.stop()
    return {name: statistics.median(some[1:]) for name, some in times.items()}  # the first warms up


if __name__ == "__main__":
    main()
