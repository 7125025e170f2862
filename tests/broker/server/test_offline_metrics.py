"""A served cluster's metrics are there for Prometheus, and say what is offline."""

from __future__ import annotations

import asyncio
from random import Random
from urllib.request import urlopen

import pytest

from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.log.memory_disk import MemoryDisk
from kwire.broker.server.offline_metrics import MetricsServer
from kwire.errors import CallError

prometheus = pytest.importorskip("prometheus_client")
REPLICAS = "kafka_server_replicamanager_offlinereplicacount"
DIRECTORIES = "kafka_log_logmanager_offlinelogdirectorycount"


def cluster() -> ServedCluster:
    nodes = [Node(number, "127.0.0.1", 9000 + number, disks=[MemoryDisk(), MemoryDisk()]) for number in (1, 2, 3)]
    made = ServedCluster(nodes, Settings(), Random(3))
    made.controller.create("t", {index: [1, 2] for index in range(4)})
    return made


def scraped(made: ServedCluster) -> dict[str, float]:
    async def scrape() -> str:
        server = MetricsServer(made, 0)
        try:
            return await asyncio.to_thread(lambda: urlopen(server.url, timeout=180).read().decode())
        finally:
            server.close()

    lines = [line for line in asyncio.run(scrape()).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_replicas_and_directories_that_are_offline_are_counted_by_broker() -> None:
    made = cluster()
    zeros = {f'{name}{{broker="{node}"}}': 0.0 for name in (REPLICAS, DIRECTORIES) for node in (1, 2, 3)}
    assert scraped(made) == zeros
    failed = made.controller.nodes[2].log_dirs[0]
    there = [one.replicas[2] for one in made.controller.topics["t"].partitions if one.replicas[2].log_dir is failed]
    made.fail(failed)
    assert 0 < len(there) < 4
    expected = {f'{REPLICAS}{{broker="2"}}': float(len(there)), f'{DIRECTORIES}{{broker="2"}}': 1.0}
    assert scraped(made) == zeros | expected


def test_a_stopped_broker_has_no_metrics() -> None:
    made = cluster()
    made.stop(3)
    assert {name for name in scraped(made) if '"3"' in name} == set()


def test_a_port_that_is_taken_is_named() -> None:
    async def twice() -> None:
        server = MetricsServer(cluster(), 0)
        try:
            MetricsServer(cluster(), int(server.url.rpartition(":")[2].partition("/")[0]))
        finally:
            server.close()

    with pytest.raises(CallError, match="cannot listen"):
        asyncio.run(twice())
