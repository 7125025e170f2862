"""A program of kafka-python for tests: lines become records, and records lines, until SIGTERM.

It imports kafka-python, which warns of itself, only when it runs: whoever looks for doctests imports this module too.
"""

from __future__ import annotations

import signal
import sys


def produce(place: str, topic: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=place, linger_ms=20, enable_idempotence=True)
    sent = [producer.send(topic, line.rstrip(b"\n"), key=line) for line in sys.stdin.buffer]
    producer.flush()
    for one in sent:
        one.get(0)
    producer.close()


def consume(place: str, topic: str, group: str) -> None:
    from kafka import KafkaConsumer

    going = [True]
    signal.signal(signal.SIGTERM, lambda number, frame: going.clear())
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=place,
        group_id=group,
        auto_offset_reset="earliest",
        heartbeat_interval_ms=500,
        metadata_max_age_ms=2000,
    )
    while going:
        for records in consumer.poll(timeout_ms=1000).values():
            sys.stdout.buffer.writelines(record.value + b"\n" for record in records)
        sys.stdout.buffer.flush()
    consumer.close()


if __name__ == "__main__":
    if sys.argv[1] == "produce":
        produce(*sys.argv[2:])
    else:
        consume(*sys.argv[2:])
