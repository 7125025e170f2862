"""A served cluster for tests, its requests in short, and disks that fail."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import kwire
from kwire.broker import MemoryDisk, Node, ServedCluster, Settings
from kwire.broker.log.memory_disk import MemoryStore

M = kwire.messages


class FailingStore(MemoryStore):
    """A store that can fail from some moment on."""

    def __init__(self, disk: FailingDisk) -> None:
        self.disk = disk

    def append(self, data: bytes, base_offset: int) -> bytes:
        self.disk.check()
        return super().append(data, base_offset)

    def read(self, places: Any) -> bytes:
        self.disk.check()
        return super().read(places)

    def drop_before(self, offset: int) -> None:
        self.disk.check()

    def truncate(self, last: Any) -> None:
        self.disk.check()

    def roll(self, base_offset: int) -> None:
        self.disk.check()

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[bytes]:
        self.disk.check()
        return super().rewrite(base_offset, batches)

    def flush(self) -> None:
        self.disk.check()


class FailingDisk(MemoryDisk):
    """A log directory that fails once `is_broken` is set."""

    is_broken = False

    def check(self) -> None:
        if self.is_broken:
            raise OSError(5, "Input/output error")

    def open(self, topic: str, index: int) -> Any:
        self.check()
        return FailingStore(self)


def cluster_of(count: int = 1, settings: Settings | None = None, **nodes: Any) -> ServedCluster:
    made = [Node(node_id, port=9092 + node_id, rack=f"r{node_id}", **nodes) for node_id in range(1, count + 1)]
    return ServedCluster(made, settings or Settings(), Random(1))


def batch(*values: bytes, **fields: Any) -> bytes:
    records = [kwire.Record(place, 1000 + place, None, value) for place, value in enumerate(values)]
    return kwire.build_batch(records, **fields)


def produce(
    cluster: ServedCluster, records: bytes | None, *, topic: str = "t", index: int = 0, node: int = 1, **more: Any
) -> Any:
    """Produce; return what is said of the one partition."""
    version = more.pop("version", 9)
    part = M.ProduceRequest.PartitionProduceData(index=index, records=records)
    row = M.ProduceRequest.TopicProduceData(name=topic, partition_data=(part,))
    request = M.ProduceRequest(**{"acks": -1, "topic_data": (row,), **more})
    answer = cluster.answer(node, request, version, now=0.0)
    return None if answer is None else answer.responses[0].partition_responses[0]


def fetching(offset: int = 0, *, topic: str = "t", index: int = 0, most: int = 1 << 20, **more: Any) -> Any:
    epoch = more.pop("epoch", -1)
    part = M.FetchRequest.FetchPartition(
        partition=index, fetch_offset=offset, partition_max_bytes=most, current_leader_epoch=epoch
    )
    return M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic=topic, partitions=(part,)),), **more)


def fetch(cluster: ServedCluster, offset: int = 0, *, node: int = 1, **more: Any) -> Any:
    """Fetch without waiting; return what is said of the one partition."""
    return cluster.answer(node, fetching(offset, **more), 11, now=0.0).responses[0].partitions[0]


def values(row: Any) -> list[bytes | None]:
    """The values of the records in a fetched partition."""
    return [record.value for one in kwire.parse_records(row.records) for record in one.records()]


def ask(cluster: ServedCluster, message: Any, version: int, node: int = 1) -> Any:
    """Answer a request; the answer goes through its bytes, so that nothing is in it that its version lacks."""
    answer = cluster.answer(node, message, version, now=0.0)
    codec = kwire.codec(type(answer).__name__, version)
    return codec.decode(codec.encode(answer))
