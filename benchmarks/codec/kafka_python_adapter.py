"""How fast kafka-python's messages are over kwire (tests/interop/kafka_python_adapter), beside its own.

    python -m benchmarks.codec.kafka_python_adapter [--rounds N]

Both take turns in one process. Printed are the times of kafka-python relative to those over kwire: the median of the
rounds, and the least and the greatest; above 1, the client is faster over kwire. Both make the same mutable objects,
and both give back the same bytes before anything is timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.lib.rounds import ratios, spread
from tests.interop.kafka_python_adapter import messages

# The messages, with kafka-python's module and the version of each.
MESSAGES = {
    "MetadataResponse": ("metadata", 12),
    "FetchResponse": ("consumer", 11),
    "ProduceRequest": ("producer", 9),
    "HeartbeatRequest": ("consumer", 4),
    "OffsetCommitRequest": ("consumer", 8),
}


def example(cls: Any, version: int) -> Any:
    """Return a message of a usual size: 10 topics with 10 partitions, 1 KiB of records each."""
    if cls.__name__ == "MetadataResponse":
        brokers = [(number, f"broker-{number}", 9092, "rack") for number in range(3)]
        replicas = [0, 1, 2]
        partition = cls.MetadataResponseTopic.MetadataResponsePartition
        topic = cls.MetadataResponseTopic
        topics = [
            topic(
                name=f"topic-{number}",
                partitions=[
                    partition(partition_index=index, leader_id=0, replica_nodes=replicas, isr_nodes=replicas)
                    for index in range(10)
                ],
            )
            for number in range(10)
        ]
        made = [
            cls.MetadataResponseBroker(node_id=n, host=host, port=port, rack=rack) for n, host, port, rack in brokers
        ]
        return cls(version=version, brokers=made, cluster_id="cluster", controller_id=1, topics=topics)
    if cls.__name__ == "FetchResponse":
        partition, topic = cls.FetchableTopicResponse.PartitionData, cls.FetchableTopicResponse
        data = [partition(partition_index=index, high_watermark=7, records=b"r" * 1024) for index in range(10)]
        return cls(version=version, responses=[topic(topic=f"topic-{n}", partitions=data) for n in range(10)])
    if cls.__name__ == "ProduceRequest":
        topic = cls.TopicProduceData
        parts = [topic.PartitionProduceData(index=index, records=b"r" * 1024) for index in range(10)]
        return cls(version=version, acks=-1, timeout_ms=100, topic_data=[topic(name="topic", partition_data=parts)])
    if cls.__name__ == "HeartbeatRequest":
        return cls(version=version, group_id="group", generation_id=3, member_id="member-1")
    topic = cls.OffsetCommitRequestTopic
    parts = [topic.OffsetCommitRequestPartition(partition_index=i, committed_offset=i) for i in range(10)]
    return cls(version=version, group_id="group", topics=[topic(name="topic", partitions=parts)])


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the time of some calls."""
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="default: 15")
    rounds = parser.parse_args().rounds
    for name, (module, version) in MESSAGES.items():
        classes = [getattr(import_module(f"kafka.protocol.{module}"), name), getattr(messages, name)]
        made = [example(cls, version) for cls in classes]
        data = made[0].encode()
        if made[1].encode() != data or classes[1].decode(data, version=version).encode() != data:
            raise SystemExit(f"{name} {version}: the two do not write the same bytes")
        calls: dict[str, list[Callable[[], Any]]] = {
            "decode": [partial(cls.decode, data, version=version) for cls in classes],
            "encode": [message.encode for message in made],
        }
        for operation, (theirs, over_kwire) in calls.items():
            repeats = max(1, int(0.01 / max(seconds(theirs, 3) / 3, 1e-6)))
            times = [(seconds(theirs, repeats), seconds(over_kwire, repeats)) for _ in range(rounds)]
            print(f"{name} v{version} {operation}: {spread(ratios(*zip(*times, strict=True)))}")


if __name__ == "__main__":
    main()
