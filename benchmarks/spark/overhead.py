"""What Spark costs: python -m benchmarks.spark.overhead [--megabytes N] [--rounds N] [--capture FILE] [--only NAME,...]

Needs pyspark, kafka-python, and Java 17 or newer; for the Java UDF a JDK and mvn. inputs.py says what is made and
read. Each measure takes turns with what it is compared to in one session; printed are medians of the ratios of the
rounds, with the least and the greatest, and what is asked of it. Less is better where the bound says <=.

    floor     the data source, over (the same batches ready-made + decoding in this process, without Spark); local[1]
    tuples    the same decoder giving Spark tuples, over the data source; local[1]
    header    the data source without bodies, over that with structs; local[1]
    python    a Python UDF around kafka-python that gives JSON, over from_kwire with typed rows; both local[1], a table
    java      a Java UDF over kafka-clients, over from_kwire with the same typed rows; a table
    java/src  the same, over the data source that reads the capture
    files     a thousand files, over one file with the same bytes; local[2]
    bad-1     one answer in a hundred hostile, over none; bad-10 one in ten; local[2]
    speedup   local[1] over local[2] of the whole capture, over what two processes gain over one without Spark
    memory    the PSS of the largest Python worker in MB: for the whole, and over that for a tenth of it; for bombs
    captured  as floor, and captured/2 as speedup, of `--capture`, a pcap: all its messages as JSON
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import functions as sql

from benchmarks.spark import inputs, udf_alternatives
from benchmarks.spark.sessions import ANSWERS, CAPTURED, Parts, consume, load, make_ready, plain, session
from benchmarks.spark.worker_memory import largest_worker
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.read_options import Options
from kwire.spark import records

Times = dict[str, list[float]]
Calls = dict[str, Callable[[], Any]]
LARGE = ANSWERS | {"maxPartitionBytes": "60m"}  # of a gigabyte 17 parts, of more than a second each
MEASURES = "floor tuples header python java files bad speedup memory captured".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--capture", type=Path, help="a pcap, large enough: benchmarks/captures/grow_pcap.py makes one")
    parser.add_argument("--only", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--cores", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cores:
        print(json.dumps(measured(options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        frames = inputs.make(Path(folder), options.megabytes << 20)
        (Path(folder) / "frames.json").write_text(json.dumps(frames))
        found: Times = {}
        for cores in "12":
            command = [
                sys.executable,
                "-m",
                "benchmarks.spark.overhead",
                *sys.argv[1:],
                "--cores",
                cores,
                "--folder",
                folder,
            ]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            found |= json.loads(done.stdout.splitlines()[-1])
    report(found)


def report(found: Times) -> None:
    """Print what was found."""
    for name, (above, below, bound) in COMPARED.items():
        if above in found:
            lower = [sum(one) for one in zip(*(found[part] for part in below), strict=True)]
            show(name, [one / other for one, other in zip(found[above], lower, strict=True)], bound)
    for name, parts in GAINS.items():
        if parts[0] in found:
            times = zip(*(found[part] for part in parts), strict=True)
            show(name, [one / two / (first / second) for one, two, first, second in times], ">= 0.8")
    if "memory" in found:
        whole, tenth, bombs = found["memory"]
        print(
            f"{'memory':10} {whole:6.0f} MB <= 200, {whole / tenth:.2f} of a tenth <= 1.1; bombs {bombs:.0f} MB <= 512"
        )
    print("seconds: " + json.dumps({name: [round(one, 2) for one in times] for name, times in found.items()}))


COMPARED = {
    "floor": ("source", ("ready", "plain"), "<= 1.25"),
    "tuples": ("tuples", ("fiftieth",), ">= 3"),
    "header": ("header", ("source",), ""),
    "python": ("kafka-python", ("few",), ">= 10"),
    "java": ("java", ("kwire",), ">= 0.9"),
    "java/src": ("java", ("kwire/src",), ">= 0.9"),
    "java 2": ("java 2", ("kwire 2",), ">= 0.9"),
    "java/src 2": ("java 2", ("kwire/src 2",), ">= 0.9"),
    "files": ("files", ("one file",), "<= 1.3"),
    "bad-1": ("bad-1", ("part",), "<= 1.1"),
    "bad-10": ("bad-10", ("part",), ""),
    "captured": ("captured", ("captured ready", "captured plain"), "<= 1.25"),
}
GAINS = {
    "speedup": ("whole 1", "whole 2", "one process", "two processes"),
    "captured/2": ("captured", "captured 2", "captured one", "captured two"),
}


def show(name: str, ratios: list[float], bound: str) -> None:
    print(f"{name:10} {statistics.median(ratios):6.2f} ({min(ratios):.2f}-{max(ratios):.2f}) {bound}")


def measured(options: argparse.Namespace) -> Times:
    """Start Spark, and measure all that is asked for with so many cores."""
    wanted, folder = set(options.only.split(",")), options.folder
    try:
        jars = udf_alternatives.jars() if "java" in wanted else ""
    except LookupError as error:
        print(f"java is missing: {error}", file=sys.stderr)
        jars = ""
    spark = session(options.cores, jars)
    groups = (
        one_core(spark, folder, options.capture) if options.cores == 1 else two_cores(spark, folder, options.capture)
    )
    found: Times = {}
    for name, calls in groups.items():
        if name in wanted and (name != "java" or jars) and (name != "captured" or options.capture):
            found |= in_turns(options.rounds, calls())
    if "memory" in wanted and options.cores == 2:
        found["memory"] = memory(spark, folder)
    return found


def one_core(spark: Any, folder: Path, capture: Path | None) -> dict[str, Callable[[], Calls]]:
    return {
        "floor": lambda: floor(spark, folder / "part", ANSWERS, ("source", "ready", "plain")),
        "header": lambda: {"header": lambda: consume(load(spark, folder / "part", columns="offset,api_version"))},
        "tuples": lambda: {
            "tuples": lambda: consume(load(spark, folder / "fiftieth", "tuples")),
            "fiftieth": lambda: consume(load(spark, folder / "fiftieth")),
        },
        "python": lambda: {
            "kafka-python": lambda: consume(udf_alternatives.by_kafka_python(spark, folder / "few.parquet")),
            "few": lambda: consume(udf_alternatives.by_kwire(spark, folder / "few.parquet")),
        },
        "java": lambda: rivals(spark, folder, ""),
        "speedup": lambda: {"whole 1": lambda: consume(read(spark, folder / "whole", LARGE))},
        "captured": lambda: floor(spark, capture, CAPTURED, ("captured", "captured ready", "captured plain")),
    }


def two_cores(spark: Any, folder: Path, capture: Path | None) -> dict[str, Callable[[], Calls]]:
    return {
        "java": lambda: rivals(spark, folder, " 2"),
        "files": lambda: {
            "one file": lambda: consume(load(spark, folder / "part")),
            "files": lambda: consume(load(spark, folder / "many")),
        },
        "bad": lambda: hostile(spark, folder),
        "speedup": lambda: two(spark, folder / "whole", LARGE, ("whole 2", "one process", "two processes")),
        "captured": lambda: two(spark, capture, CAPTURED, ("captured 2", "captured one", "captured two")),
    }


def floor(spark: Any, path: Path, options: dict[str, str], names: tuple[str, str, str]) -> Calls:
    source, ready, alone = names
    parts = make_ready(path, options)
    return {
        source: lambda: consume(read(spark, path, options)),
        ready: lambda: consume(read(spark, path, options, "ready")),
        alone: lambda: plain(parts, options),
    }


def read(spark: Any, path: Path, options: dict[str, str], form: str = "kwire") -> Any:
    return spark.read.format(form).options(**options).load(str(path))


def two(spark: Any, path: Path, options: dict[str, str], names: tuple[str, str, str]) -> Calls:
    both, one, many = names
    parts = BatchReader(Options.parse(options)).divide([str(path)])
    return {
        both: lambda: consume(read(spark, path, options)),
        one: lambda: processes([parts], options),
        many: lambda: processes([parts[::2], parts[1::2]], options),
    }


def rivals(spark: Any, folder: Path, mark: str) -> Calls:
    table = folder / "bodies.parquet"
    frames = {
        f"java{mark}": lambda: udf_alternatives.by_java(spark, table),
        f"kwire{mark}": lambda: udf_alternatives.by_kwire(spark, table),
        f"kwire/src{mark}": lambda: udf_alternatives.from_capture(spark, folder / "part"),
    }
    udf_alternatives.assert_alike(*(frame() for frame in frames.values()))
    return {name: (lambda frame=frame: consume(frame())) for name, frame in frames.items()}


def hostile(spark: Any, folder: Path) -> Calls:
    """See that as many rows come out as went in, and time them."""
    frames = json.loads((folder / "frames.json").read_text())
    for name in inputs.HOSTILE:
        rows = load(spark, folder / name, apis="", body="none", columns="offset").count()
        assert rows == frames[name], (name, rows, frames[name])
    return {name: (lambda name=name: consume(load(spark, folder / name))) for name in ("part", *inputs.HOSTILE)}


def memory(spark: Any, folder: Path) -> list[float]:
    found = [largest_worker(lambda name=name: consume(load(spark, folder / name))) for name in ("whole", "tenth")]
    df = records(read(spark, folder / "bombs", {"body": "raw"}))
    bombs = largest_worker(lambda: consume(df))
    rows = df.groupBy("_error.reason").agg(sql.count("*").alias("n")).collect()
    assert sum(row["n"] for row in rows if row["reason"]) == 8, rows
    return [*found, bombs]


def processes(shares: list[Parts], options: dict[str, str]) -> None:
    """Decode in a process a share."""
    workers = [multiprocessing.Process(target=plain, args=(share, options)) for share in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def in_turns(rounds: int, calls: Calls) -> Times:
    """Time calls in turns, after one round that counts for nothing."""
    times: Times = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number:
                times[name].append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
