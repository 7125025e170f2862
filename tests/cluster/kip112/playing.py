"""A small cluster to play KIP-112's scenarios on: three brokers with two log directories, broker 1 the controller."""

from __future__ import annotations

from typing import Any

from kwire.cluster.events.partition_states import partition_errors, partition_states, stopped_partitions, topic_ids_in
from kwire.cluster.kip112 import JbodCluster, Partition, TopicPartition

# a version of every form that the controller's messages have had since KIP-112
PROTOCOLS = ("1.0", "2.2", "2.4-IV0", "2.4", "2.8", "3.9")


def started(protocol: str = "3.9", **options: Any) -> JbodCluster:
    cluster = JbodCluster({one: ["/a", "/b"] for one in (1, 2, 3)}, protocol=protocol, **options)
    for broker_id in (1, 2, 3):
        cluster.start(broker_id)
    cluster.elect(1)
    cluster.run()
    cluster.journal.clear()
    return cluster


def said(cluster: JbodCluster, api: str, broker_id: int | None = None) -> dict[tuple[int, TopicPartition], list[Any]]:
    """Return what brokers were told since the journal was cleared: the values that the api is about, in order.

    LeaderAndIsr: (is_new_replica, error); UpdateMetadata: offline replicas; StopReplica: (delete, error).
    """
    found: dict[tuple[int, TopicPartition], list[Any]] = {}
    for one in cluster.journal:
        if type(one.request).__name__ == f"{api}Request" and broker_id in (None, one.broker_id):
            for partition, value in _values(api, one.request, one.response):
                found.setdefault((one.broker_id, partition), []).append(value)
    return found


def _values(api: str, request: Any, response: Any) -> list[tuple[TopicPartition, Any]]:
    if api == "UpdateMetadata":
        return [(one, tuple(row.offline_replicas)) for one, row in partition_states(request)]
    if api == "StopReplica":
        errors = partition_errors(response, {})
        return [(one, (delete, errors[one])) for one, delete, _ in stopped_partitions(request)]
    errors = partition_errors(response, {topic_id: name for name, topic_id in topic_ids_in(request).items()})
    return [(one, (row.is_new_replica, errors[one])) for one, row in partition_states(request)]


def replica(cluster: JbodCluster, broker_id: int, partition: TopicPartition) -> Partition:
    """Return a replica that is served."""
    broker = cluster.hosts[broker_id].broker
    assert broker is not None
    return broker.replicas.partitions[partition]


def isr(cluster: JbodCluster, partition: TopicPartition) -> tuple[int, tuple[int, ...]]:
    """Return leader and ISR as ZooKeeper has them."""
    state = cluster.client(1).state(partition)
    assert state is not None
    return state.leader, state.isr


def replicate(cluster: JbodCluster, partition: TopicPartition) -> None:
    """Let all followers fetch until they have all, and the leader take them into the ISR."""
    cluster.replicate(partition)


def fail(cluster: JbodCluster, broker_id: int, partition: TopicPartition) -> None:
    """Let the disk under a replica fail while the broker runs, and the broker notice it."""
    directory = directory_of(cluster, broker_id, partition)
    cluster.fail_disk(broker_id, directory)
    cluster.notice(broker_id, directory)


def directory_of(cluster: JbodCluster, broker_id: int, partition: TopicPartition) -> str:
    return next(path for path, disk in cluster.hosts[broker_id].disks.items() if partition in disk.logs)


class Client:
    """A producer that waits for all in sync, and a consumer from the beginning, of one partition."""

    def __init__(self, cluster: JbodCluster, partition: TopicPartition) -> None:
        self.cluster, self.partition = cluster, partition
        self.acknowledged: list[int] = []
        self._next = 0

    def produce(self, count: int = 3) -> None:
        """Write records, each until the leader says that it is committed; one that fails is written again."""
        for _ in range(count):
            log = self._leader().log
            assert log is not None
            self._leader().append([self._next])
            replicate(self.cluster, self.partition)
            assert log.high_watermark == log.end_offset
            self.acknowledged.append(self._next)
            self._next += 1

    def consume(self) -> list[int]:
        """Return what is committed, from the leader."""
        log = self._leader().log
        assert log is not None
        return [value for _, value in log.records[: log.high_watermark]]

    def _leader(self) -> Partition:
        broker = self.cluster.hosts[isr(self.cluster, self.partition)[0]].broker
        assert broker is not None
        served = broker.replicas.get_partition_or_error(self.partition)
        assert isinstance(served, Partition), served
        return served
