"""What Spark costs: python benchmarks/spark.py [--megabytes N] [--rounds N] (needs pyspark, and Java 17 or newer)

A capture is made, of requests for metadata and their answers of 45 kB. Each measure takes turns with what it is
compared to in one session; printed are medians of the ratios of the rounds, with the least and the greatest.

    floor     the data source, over (the same batches ready-made + decoding in this process, without Spark); local[1]
    tuples    the same decoder giving Spark tuples, over the data source, for a tenth of the file; local[1]
    header    the data source without bodies, over that with structs; local[1]
    files     a thousand files, over one file with the same bytes; local[2]
    hostile   one frame in a hundred made bad, over the same without; local[2]
    speedup   local[1] over local[2], beside what two processes gain over one without Spark
    memory    the PSS of the largest Python worker in MB: for the file, and for a tenth of it
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import kwire
from kwire.arrow.options import Options
from kwire.arrow.reading import Reading
from kwire.arrow.units import Unit
from kwire.spark.source import KwireReader, KwireSource

OPTIONS = {"apis": "MetadataResponse", "body": "struct", "columns": "offset,api_version,message"}
BAD = bytes.fromhex("0000000c 7fff 0000 00000001 0002 6d65")
Rounds = dict[str, list[float]]


class Tuples(KwireReader):
    """The reader, but that it gives rows one by one."""

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in super().read(partition):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


class TupleSource(KwireSource):
    """`format("tuples")`."""

    @classmethod
    def name(cls) -> str:
        return "tuples"

    def reader(self, schema: Any) -> Any:
        reader = super().reader(schema)
        return Tuples(reader.options, reader.columns, reader.paths)


class Ready(KwireReader):
    """The reader, but that the batches of each part lie in a file."""

    def read(self, partition: Any) -> Iterator[Any]:
        unit = partition.units[0]
        with pa.memory_map(f"{unit.path}.{unit.start}.arrow") as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)


class ReadySource(KwireSource):
    """`format("ready")`."""

    @classmethod
    def name(cls) -> str:
        return "ready"

    def reader(self, schema: Any) -> Any:
        reader = super().reader(schema)
        return Ready(reader.options, reader.columns, reader.paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cores:
        measure = one_core if options.cores == 1 else two_cores
        print(json.dumps(measure(session(options.cores), options.folder, options.rounds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.megabytes << 20)
        found: Rounds = {}
        for cores in (1, 2):
            command = [sys.executable, __file__, "--cores", str(cores), "--folder", folder]
            done = subprocess.run([*command, "--rounds", str(options.rounds)], check=True, stdout=subprocess.PIPE)
            found |= json.loads(done.stdout.splitlines()[-1])
        report(found)


def report(found: Rounds) -> None:
    """Print what was found."""
    show("floor", found["source 1"], [a + b for a, b in zip(found["ready"], found["plain"], strict=True)])
    show("tuples", found["tuples"], found["tenth"])
    show("header", found["header"], found["source 1"])
    show("files", found["files"], found["source 2"])
    show("hostile", found["hostile"], found["source 2"])
    show("speedup", found["source 1"], found["source 2"])
    show("  processes", found["one process"], found["two processes"])
    print(f"{'memory':12} {found['memory'][0]:.0f} MB, {found['memory'][1]:.0f} MB")
    print("seconds: " + json.dumps({name: [round(one, 2) for one in times] for name, times in found.items()}))


def show(name: str, ones: list[float], others: list[float]) -> None:
    ratios = [one / other for one, other in zip(ones, others, strict=True)]
    print(f"{name:12} {statistics.median(ratios):5.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


def make(folder: Path, size: int) -> None:
    """Write the captures."""
    chance, messages = random.Random(1), kwire.messages.MetadataResponse
    answers = []
    for number in range(20):
        topics = [topic(chance, messages, f"topic-{index}") for index in range(100)]
        brokers = [messages.MetadataResponseBroker(node_id=one, host=f"host-{one}", port=9092) for one in range(9)]
        message = messages(brokers=brokers, topics=topics, controller_id=number)
        answers.append(kwire.encode_response(message, 12, correlation_id=0))
    count = size // len(answers[0])
    (folder / "many").mkdir()
    with (
        (folder / "one").open("wb") as whole,
        (folder / "tenth").open("wb") as tenth,
        (folder / "bad").open("wb") as bad,
    ):
        for number in range(count):
            data = pair(number, answers[number % len(answers)])
            whole.write(data)
            tenth.write(data if number < count // 10 else b"")
            bad.write(data + BAD if number % 50 == 0 else data)
            with (folder / "many" / f"{number * 1000 // count:04}").open("ab") as part:
                part.write(data)


def topic(chance: random.Random, messages: Any, name: str) -> Any:
    partitions = [
        messages.MetadataResponsePartition(
            partition_index=index,
            leader_id=chance.randrange(9),
            leader_epoch=chance.randrange(99),
            replica_nodes=chance.sample(range(9), 3),
            isr_nodes=chance.sample(range(9), 3),
        )
        for index in range(10)
    ]
    return messages.MetadataResponseTopic(name=name, topic_id=chance.randbytes(16), partitions=partitions)


def pair(number: int, answer: bytes) -> bytes:
    """Return a request and its answer."""
    request = kwire.messages.MetadataRequest(topics=None)
    asked = kwire.encode_request(request, 12, correlation_id=number, client_id="bench")
    return asked + answer[:4] + number.to_bytes(4, "big") + answer[8:]


def session(cores: int) -> Any:
    """Start Spark."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for source in (KwireSource, TupleSource, ReadySource):
        spark.dataSource.register(source)
    return spark


def read(spark: Any, path: Path, form: str = "kwire", **options: str) -> None:
    """Read a capture to nowhere."""
    df = spark.read.format(form).options(**{**OPTIONS, **options}).load(str(path))
    df.write.format("noop").mode("overwrite").save()


def plain(parts: list[list[Unit]]) -> None:
    """Decode without Spark."""
    reading = Reading(Options.parse(OPTIONS))
    for units in parts:
        for _ in reading.read(units):
            pass


def one_core(spark: Any, folder: Path, rounds: int) -> Rounds:
    one, tenth = folder / "one", folder / "tenth"
    reading = Reading(Options.parse(OPTIONS))
    parts = reading.divide([str(one)])
    for (unit,) in parts:
        ready = f"{unit.path}.{unit.start}.arrow"
        with pa.OSFile(ready, "wb") as sink, pa.ipc.new_file(sink, reading.schema) as writer:
            for batch in reading.read([unit]):
                writer.write(batch)
    return in_turns(
        rounds,
        {
            "source 1": lambda: read(spark, one),
            "ready": lambda: read(spark, one, "ready"),
            "plain": lambda: plain(parts),
            "tuples": lambda: read(spark, tenth, "tuples"),
            "tenth": lambda: read(spark, tenth),
            "header": lambda: read(spark, one, columns="offset,api_version"),
        },
    )


def two_cores(spark: Any, folder: Path, rounds: int) -> Rounds:
    one, parts = folder / "one", Reading(Options.parse(OPTIONS)).divide([str(folder / "one")])
    found = in_turns(
        rounds,
        {
            "source 2": lambda: read(spark, one),
            "files": lambda: read(spark, folder / "many"),
            "hostile": lambda: read(spark, folder / "bad"),
            "one process": lambda: processes([parts]),
            "two processes": lambda: processes([parts[::2], parts[1::2]]),
        },
    )
    found["memory"] = [
        largest_worker(lambda: read(spark, folder / "one")),
        largest_worker(lambda: read(spark, folder / "tenth")),
    ]
    return found


def processes(shares: list[list[list[Unit]]]) -> None:
    """Decode in a process a share."""
    workers = [multiprocessing.Process(target=plain, args=(share,)) for share in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def in_turns(rounds: int, calls: dict[str, Callable[[], None]]) -> Rounds:
    """Time calls in turns, after one round that counts for nothing."""
    times: Rounds = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number:
                times[name].append(time.perf_counter() - start)
    return times


def largest_worker(call: Callable[[], None]) -> float:
    """Return the largest PSS of a Python process below this one while something runs, in MB."""
    done, most = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.05):
            most[0] = max([most[0], *map(pss, below(os.getpid()))])

    thread = threading.Thread(target=watch)
    thread.start()
    call()
    done.set()
    thread.join()
    return most[0] / 1e3


def below(process: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that these have, but for Java."""
    try:
        texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return
    for child in map(int, " ".join(texts).split()):
        yield from below(child)
        yield child


def pss(process: int) -> int:
    """Return the share of memory of a Python process, in kB."""
    try:
        if not Path(f"/proc/{process}/comm").read_text().startswith("python"):
            return 0
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
