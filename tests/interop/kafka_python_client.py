"""A program of kafka-python for tests: lines become records, and records lines, until SIGTERM.

It imports kafka-python, which warns of itself, only when it runs: the search for doctests imports this module, too.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable


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


def pass_on(options: str, topic: str, value: str, seconds: str) -> None:
    """Produce one record and write the value of the topic's first one, or the name of the error that was raised.

    Args:
        options: of the client, as JSON.
        topic, value: of the record.
        seconds: how long the client tries to log in.
    """
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.errors import KafkaError

    login = json.loads(options)
    patience = {"bootstrap_timeout_ms": int(seconds) * 1000, "max_block_ms": int(seconds) * 1000}
    try:
        KafkaProducer(**login, **patience).send(topic, value.encode()).get(60)
        consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=60_000, **login)
        sys.stdout.write(next(consumer).value.decode())
    except KafkaError as error:
        sys.stdout.write(type(error).__name__)


def allow(options: str, principal: str) -> None:
    """Let a principal do everything with all topics."""
    from kafka import KafkaAdminClient
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

    admin = KafkaAdminClient(**json.loads(options))
    everything = ResourcePattern(ResourceType.TOPIC, "*")
    admin.create_acls([ACL(principal, "*", ACLOperation.ALL, ACLPermissionType.ALLOW, everything)])
    admin.close()


if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {
        "produce": produce,
        "consume": consume,
        "pass-on": pass_on,
        "allow": allow,
    }
    tasks[sys.argv[1]](*sys.argv[2:])
