"""What was acknowledged of metadata survives the loss of power: only what was forced to the disk is left then."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.server.file_disk import FileDisk
from tests.broker.served import ask, batch, produce

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of open files come from /proc")
SALTED = {"name": "a", "mechanism": 1, "iterations": 4096, "salt": "c2FsdA==", "saltedPassword": "c2VjcmV0"}


def path_of(number: int) -> Path:
    """Return the path of an open file."""
    return Path(f"/proc/self/fd/{number}").readlink()


class Power:
    """Notes what `os.fsync` forces to the disk: the bytes of files, and the entries of folders."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[int, bytes] = {}
        self.folders: dict[str, dict[str, int]] = {}
        self.held: list[int] = []  # open, so that the numbers of deleted files are not given again
        self.calls = 0
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, number: int) -> None:
        self.calls += 1
        path = path_of(number)
        if path.is_dir():
            self.folders[str(path)] = {one.name: one.stat().st_ino for one in path.iterdir()}
        else:
            self.files[path.stat().st_ino] = path.read_bytes()
            self.held.append(os.open(path, os.O_RDONLY))
        self._fsync(number)

    def lose(self, folder: Path, to: Path) -> Path:
        """Write what a disk would have after the loss of power."""
        to.mkdir(parents=True)
        for name, number in self.folders.get(str(folder), {}).items():
            if (folder / name).is_dir():
                self.lose(folder / name, to / name)
            else:
                (to / name).write_bytes(self.files.get(number, b""))
        return to


@pytest.fixture
def power(monkeypatch: pytest.MonkeyPatch) -> Iterator[Power]:
    made = Power(monkeypatch)
    yield made
    for number in made.held:
        os.close(number)


def started(*paths: Path) -> ServedCluster:
    nodes = [Node(node_id, disks=[FileDisk(str(path))]) for node_id, path in enumerate(paths, 1)]
    return ServedCluster(nodes, Settings(authorizer=True, allow_without_acls=True), Random(1))


def known(cluster: ServedCluster) -> dict[str, Any]:
    controller = cluster.controller
    return {
        "id": cluster.cluster_id,
        "topics": {
            topic.name: (topic.topic_id, topic.configs, [sorted(one.replicas) for one in topic.partitions])
            for topic in controller.topics.values()
        },
        "acls": controller.acls,
        "users": controller.users.scram,
        "quotas": controller.quotas.values,
    }


def send(cluster: ServedCluster, name: str, version: int, **members: Any) -> Any:
    codec = kwire.codec(f"{name}Request", version)
    return ask(cluster, codec.from_json(members, defaults=True), version)


def changes(cluster: ServedCluster) -> Iterator[str]:
    """Change everything that the journal has, one request after another."""
    topics = [{"name": name, "numPartitions": 2, "replicationFactor": 2} for name in ("a", "b")]
    send(cluster, "CreateTopics", 7, topics=topics)
    yield "CreateTopics"
    send(cluster, "Metadata", 9, topics=[{"name": "unasked"}], allowAutoTopicCreation=True)
    yield "Metadata"
    send(cluster, "CreatePartitions", 3, topics=[{"name": "a", "count": 4, "assignments": None}])
    yield "CreatePartitions"
    config = {"name": "retention.bytes", "configOperation": 0, "value": "9"}
    resource = {"resourceType": 2, "resourceName": "a", "configs": [config]}
    send(cluster, "IncrementalAlterConfigs", 1, resources=[resource])
    yield "IncrementalAlterConfigs"
    acl = {"resourceType": 2, "resourceName": "a", "resourcePatternType": 3, "principal": "User:a", "host": "*"}
    send(cluster, "CreateAcls", 3, creations=[{**acl, "operation": 3, "permissionType": 3}])
    yield "CreateAcls"
    send(cluster, "AlterUserScramCredentials", 0, upsertions=[SALTED])
    yield "AlterUserScramCredentials"
    ops = [{"key": "producer_byte_rate", "value": 9.0}]
    send(cluster, "AlterClientQuotas", 1, entries=[{"entity": [{"entityType": "user", "entityName": "a"}], "ops": ops}])
    yield "AlterClientQuotas"
    moved = {"name": "a", "partitions": [{"partitionIndex": 0, "replicas": [2]}]}
    send(cluster, "AlterPartitionReassignments", 1, topics=[moved])
    yield "AlterPartitionReassignments"
    send(cluster, "DeleteTopics", 6, topics=[{"name": "b"}])
    yield "DeleteTopics"
    cluster.heal(cluster.controller.nodes[1].log_dirs[0])  # writes the journals anew
    yield "heal"


def test_what_was_acknowledged_of_metadata_is_on_the_disk(tmp_path: Path, power: Power) -> None:
    paths = [tmp_path / "1", tmp_path / "2"]
    cluster = started(*paths)
    states = []
    for name in changes(cluster):
        left = [power.lose(path, tmp_path / name / path.name) for path in paths]
        assert known(started(*left)) == known(cluster), name
        states.append(deepcopy(known(cluster)))
    assert all(one != other for one, other in pairwise(states[:-1]))  # each request changes something
    assert {"a", "unasked"} <= set(states[-1]["topics"])


def test_a_request_takes_one_flush_for_each_directory(tmp_path: Path, power: Power) -> None:
    cluster = started(tmp_path / "1")
    before = power.calls
    topics = [{"name": f"t{number}", "numPartitions": 3, "replicationFactor": 1} for number in range(20)]
    send(cluster, "CreateTopics", 7, topics=topics)
    assert power.calls == before + 2  # the journal, and its folder
    assert len(cluster.controller.topics) == 20


def test_records_are_flushed_as_their_topic_says(tmp_path: Path, power: Power) -> None:
    cluster = started(tmp_path / "1")
    for name, configs in (("lazy", {}), ("eager", {"flush.messages": "1"})):
        cluster.controller.create(name, {0: [1]}, configs)
        produce(cluster, batch(b"a"), topic=name)
    cluster.controller.create("last", {0: [1]})  # flushes the folder of folders
    left = started(power.lose(tmp_path / "1", tmp_path / "left"))
    ends = {topic.name: topic.partitions[0].replicas[1].log for topic in left.controller.topics.values()}
    assert {name: log.end for name, log in ends.items() if log is not None} == {"lazy": 0, "eager": 1, "last": 0}


def test_a_disk_that_cannot_flush_is_taken_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = started(tmp_path / "1", tmp_path / "2")
    cluster.controller.create("t", {0: [1, 2]})
    fsync = os.fsync

    def failing(number: int) -> None:
        if path_of(number).is_relative_to(tmp_path / "1"):
            raise OSError(5, "Input/output error")
        fsync(number)

    monkeypatch.setattr(os, "fsync", failing)
    cluster.controller.create("u", {0: [1, 2]})
    assert [cluster.controller.nodes[one].log_dirs[0].is_offline for one in (1, 2)] == [True, False]
    assert [cluster.controller.topics[name].partitions[0].leader for name in "tu"] == [2, 2]
    monkeypatch.undo()
    assert set(started(tmp_path / "gone", tmp_path / "2").controller.topics) == {"t", "u"}
