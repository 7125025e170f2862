"""DescribeLogDirs: sizes, what was asked for, directories that failed."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import MemoryDisk, ServedCluster
from kwire.values import ErrorCode
from tests.broker.served import M, ask, batch, cluster_of, produce


def described(cluster: ServedCluster, version: int = 5, node: int = 1, topics: Any = None) -> Any:
    results = ask(cluster, M.DescribeLogDirsRequest(topics=topics), version, node).results
    return {
        one.log_dir: (
            one.error_code,
            {(row.name, part.partition_index): part.partition_size for row in one.topics for part in row.partitions},
        )
        for one in results
    }


def two_directories() -> ServedCluster:
    cluster = cluster_of(2, disks=[MemoryDisk("/a"), MemoryDisk("/b")])
    cluster.controller.create("t", {0: [1, 2], 1: [1, 2]})
    cluster.controller.create("u", {0: [2]})
    return cluster


@pytest.mark.parametrize("version", range(6))
def test_sizes_in_every_version(version: int) -> None:
    cluster, data = two_directories(), batch(b"v")
    produce(cluster, data)
    assert described(cluster, version) == {"/a": (0, {("t", 0): len(data)}), "/b": (0, {("t", 1): 0})}


def test_what_is_asked_for_alone() -> None:
    row = M.DescribeLogDirsRequest.DescribableLogDirTopic
    asked = (row(topic="t", partitions=(1, 7)), row(topic="no", partitions=(0,)))
    assert described(two_directories(), topics=asked) == {"/a": (0, {}), "/b": (0, {("t", 1): 0})}


def test_a_directory_that_failed() -> None:
    cluster = two_directories()
    cluster.fail(cluster.controller.nodes[1].log_dirs[1])
    assert described(cluster) == {"/a": (0, {("t", 0): 0}), "/b": (ErrorCode.KAFKA_STORAGE_ERROR, {})}
    assert all(code == 0 for code, _ in described(cluster, node=2).values())


def test_a_directory_that_cannot_be_measured_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = two_directories()

    def space() -> tuple[int, int]:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(cluster.controller.nodes[1].log_dirs[0].disk, "space", space)
    assert described(cluster)["/a"] == (ErrorCode.KAFKA_STORAGE_ERROR, {})
    assert cluster.controller.topics["t"].partitions[0].leader == 2
