"""Brokers by turns: records that librdkafka produces and consumes a second, latency of one record, processor time.

`python -m benchmarks.broker.throughput [--rounds N] [--records N] NAME=HOST:PORT=PID ...` asks each of the brokers once
a round, and prints medians, and the ratio of each to the first, round by round. PID is the process of the broker. Needs
confluent-kafka (pip install confluent-kafka==2.16.1). Real Kafka 4.1.0 is started by the material's `kafka-up`.

Start every broker in a session of its own (`setsid`), as `kafka-up` does: Linux divides processor time between sessions
first (sched_autogroup), whatever the nice values, and a broker in the session of this program gets a part of its share.
While other programs kept both processors busy, `kwire serve` had 0.82 of Kafka's rate there, and 0.96 in its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SMALL, LARGE, SHARE = 100, 10_000, 20  # bytes of a record; large ones are fewer by this factor
SINGLE = 300  # records whose latency is measured


def processor_seconds(pid: str) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def new_topic(place: str) -> str:
    """Create a topic with one partition."""
    library, name = import_module("confluent_kafka.admin"), f"t{uuid.uuid4().hex[:10]}"
    admin = library.AdminClient({"bootstrap.servers": place})  # its requests end with it
    admin.create_topics([library.NewTopic(name, 1, 1)])[name].result(30)
    return name


def produce(place: str, topic: str, count: int, size: int, **config: Any) -> float:
    """Produce records; returns how many a second."""
    settings = {"queue.buffering.max.messages": 1_000_000, "queue.buffering.max.kbytes": 1 << 20, "linger.ms": 5}
    producer = import_module("confluent_kafka").Producer({"bootstrap.servers": place, **settings, **config})
    value = os.urandom(size)
    producer.produce(topic, value)
    producer.flush()
    begin = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
        if not number % 1000:
            producer.poll(0)
    assert not producer.flush(60)
    return count / (time.perf_counter() - begin)


def consume(place: str, topic: str, count: int) -> float:
    """Consume records; returns how many a second."""
    library = import_module("confluent_kafka")
    # By default librdkafka stops fetching for a second each time that it has 100,000 records or 64 MB.
    settings: dict[str, Any] = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 1 << 20}
    settings |= {"bootstrap.servers": place, "group.id": "g", "enable.auto.commit": False}
    consumer = library.Consumer(settings)
    consumer.assign([library.TopicPartition(topic, 0, 0)])
    found = len(consumer.consume(1, 30))
    begin = time.perf_counter()
    while found < count:
        found += len(consumer.consume(10_000, 0.5))
    rate = count / (time.perf_counter() - begin)
    consumer.close()
    return rate


def latency(place: str, topic: str) -> float:
    """Return the median time from one record to its answer, in milliseconds."""
    producer = import_module("confluent_kafka").Producer({"bootstrap.servers": place, "linger.ms": 0})
    times = []
    for _ in range(SINGLE):
        ends: list[float] = []
        begin = time.perf_counter()
        producer.produce(topic, b"x" * SMALL, on_delivery=lambda *_, ends=ends: ends.append(time.perf_counter()))
        while not ends:
            producer.poll(1)
        times.append(ends[0] - begin)
    return statistics.median(times) * 1000


def turns(place: str, count: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Give what is measured of a broker, each by its name."""
    topic, idempotent = new_topic(place), {"enable.idempotence": True}
    yield f"produce {SMALL} B", lambda: produce(place, topic, count, SMALL)
    yield "consume", lambda: consume(place, topic, count)
    yield "idempotent", lambda: produce(place, new_topic(place), count, SMALL, **idempotent)
    yield f"produce {LARGE} B", lambda: produce(place, new_topic(place), count // SHARE, LARGE)
    yield "p50, ms", lambda: latency(place, new_topic(place))


def main() -> None:
    """Measure by turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", nargs="+", metavar="NAME=HOST:PORT=PID")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    rows: dict[str, dict[str, list[float]]] = {}
    for number in range(options.rounds + 1):
        for broker in options.brokers:
            name, place, pid = broker.split("=")
            for what, measure in turns(place, options.records):
                before, figure = processor_seconds(pid), measure()
                taken = processor_seconds(pid) - before
                for row, value in ((what, figure), (f"{what}: processor s", taken)):
                    if number:  # the first round warms up
                        rows.setdefault(row, {}).setdefault(name, []).append(value)
    for row, found in rows.items():
        (_, first), *others = found.items()
        medians = "  ".join(f"{name} {statistics.median(values):.4g}" for name, values in found.items())
        pairs = [[a / b for a, b in zip(values, first, strict=True) if b] for _, values in others]
        ratios = " ".join(f"{statistics.median(each):.2f}" for each in pairs if each)
        print(f"{row:30} {medians}  ratio {ratios}")


if __name__ == "__main__":
    main()
