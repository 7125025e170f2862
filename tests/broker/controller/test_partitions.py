"""Replicas on disks that fail while they are written and read."""

from __future__ import annotations

from random import Random

from kwire.broker import Node, ServedCluster, Settings
from kwire.values import ErrorCode
from tests.broker.served import FailingDisk, batch, fetch, produce, values


def three() -> tuple[ServedCluster, list[FailingDisk]]:
    disks = [FailingDisk(f"/d{node_id}") for node_id in (1, 2, 3)]
    nodes = [Node(node_id, disks=[disk]) for node_id, disk in enumerate(disks, 1)]
    cluster = ServedCluster(nodes, Settings(), Random(1))
    cluster.controller.create("t", {0: [1, 2, 3]})
    return cluster, disks


def test_a_leader_that_cannot_write_is_followed_by_another() -> None:
    cluster, disks = three()
    produce(cluster, batch(b"a"))
    disks[0].is_broken = True
    assert produce(cluster, batch(b"b")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    (partition,) = cluster.controller.topics["t"].partitions
    assert (partition.leader, partition.isr, partition.offline) == (2, [2, 3], (1,))
    assert partition.leader_epoch == 1
    assert produce(cluster, batch(b"b"), node=2).base_offset == 1
    assert values(fetch(cluster, node=2)) == [b"a", b"b"]


def test_a_follower_that_cannot_write_leaves_the_others() -> None:
    cluster, disks = three()
    disks[1].is_broken = True
    assert produce(cluster, batch(b"a")).error_code == 0
    (partition,) = cluster.controller.topics["t"].partitions
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, [1, 3], 0)


def test_a_disk_that_cannot_be_read() -> None:
    cluster, disks = three()
    produce(cluster, batch(b"a"))
    disks[0].is_broken = True
    assert fetch(cluster).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert values(fetch(cluster, node=2)) == [b"a"]


def test_a_disk_that_fails_before_it_is_used() -> None:
    cluster, disks = three()
    disks[0].is_broken = True
    (partition,) = cluster.controller.create("u", {0: [1, 2]}).partitions
    assert (partition.leader, partition.isr, partition.offline) == (2, [2], (1,))
    assert cluster.controller.controller_id == 2
