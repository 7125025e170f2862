"""Replicas move between directories a few at a time, can be resumed and cancelled; beside brokers in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kwire import messages
from kwire.client.move_log_dirs import (
    RATE,
    DirectoryProgress,
    cancel_log_dirs,
    directory_progress,
    move_log_dirs,
    remove_directory_throttle,
    request_log_dirs,
)
from kwire.cluster import Broker, ClusterState, LogDir
from kwire.codecs.message_codec import codec_in
from kwire.errors import CallError
from kwire.schema.catalog import catalog_for

Replica = tuple[int, str, int]


class MemoryBrokers:
    """Brokers 1 and 2 with directories /a and /b; copies last until `finish` is called."""

    def __init__(self) -> None:
        self.paths: dict[Replica, str] = {(broker, "t", index): "/a" for broker in (1, 2) for index in range(3)}
        self.future: dict[Replica, str] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.most_at_once = 0
        self.down: set[int] = set()
        self.refuses = 0

    def state(self) -> ClusterState:
        state = ClusterState(brokers={id: Broker(id, fenced=id in self.down) for id in (1, 2)})
        for broker in {1, 2} - self.down:
            state.log_dirs[broker] = {path: LogDir(path) for path in ("/a", "/b")}
        for places, name in ((self.paths, "sizes"), (self.future, "future")):
            for (broker, *key), path in places.items():
                if broker not in self.down:
                    getattr(state.log_dirs[broker][path], name)[tuple(key)] = 10
        return state

    def finish(self, progress: DirectoryProgress) -> None:
        self.most_at_once = max(self.most_at_once, len(self.future))
        self.paths |= self.future
        self.future.clear()

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        if node_id in self.down or node_id is None:
            raise CallError(f"b{node_id}:9092", "cannot connect: Connection refused")
        spec = catalog_for().spec(name)
        message = codec_in(catalog_for(), name, spec.versions.last).from_json(dict(members), defaults=True)
        if name == "IncrementalAlterConfigsRequest":
            for change in message.resources[0].configs:
                configs = self.configs.setdefault(message.resources[0].resource_name, {})
                configs.pop(change.name, None) if change.config_operation else configs.update({RATE: change.value})
            return messages.IncrementalAlterConfigsResponse()
        return self.alter(message, node_id)

    def alter(self, message: Any, broker: int) -> Any:
        response = messages.AlterReplicaLogDirsResponse
        rows = []
        for path, name, index in (
            (folder.path, topic.name, index)
            for folder in message.dirs
            for topic in folder.topics
            for index in topic.partitions
        ):
            code = self.refuses if (broker, name, index) in self.paths else 9
            if not code:
                self.future.pop((broker, name, index), None)
                if self.paths[broker, name, index] != path:
                    self.future[broker, name, index] = path
            row = response.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
            rows.append(response.AlterReplicaLogDirTopicResult(topic_name=name, partitions=(row,)))
        return response(results=tuple(rows))


TARGETS: dict[Replica, str] = {(1, "t", 0): "/b", (1, "t", 1): "/b", (2, "t", 2): "/b", (2, "t", 0): "/a"}


def test_a_few_move_at_a_time_and_nothing_is_left_behind() -> None:
    brokers = MemoryBrokers()
    assert directory_progress(brokers.state(), TARGETS).done == [(2, "t", 0)]
    done = move_log_dirs(brokers, TARGETS, brokers.finish, batch=2, throttle=5)
    assert (done.is_complete, len(done.done), brokers.most_at_once) == (True, 4, 2)
    assert all(brokers.paths[replica] == path for replica, path in TARGETS.items())
    assert not any(brokers.configs.values())


def test_bytes_at_a_time() -> None:
    for most, expected in ((10, 1), (25, 2), (1, 1)):
        brokers = MemoryBrokers()
        move_log_dirs(brokers, TARGETS, brokers.finish, batch_bytes=most)
        assert brokers.most_at_once == expected


def test_a_killed_run_goes_on_and_is_cleaned_up() -> None:
    class Killed(BaseException):
        pass

    brokers = MemoryBrokers()
    brokers.future = {(1, "t", 0): "/b"}
    brokers.configs = {"1": {RATE: "5"}}
    assert directory_progress(brokers.state(), TARGETS).moving == [(1, "t", 0)]
    assert cancel_log_dirs(brokers, TARGETS) == [(1, "t", 0)]
    assert brokers.future == {}
    assert remove_directory_throttle(brokers, [1, 2], pytest.fail) == []
    assert not any(brokers.configs.values())
    brokers.future = {(1, "t", 0): "/b"}
    assert move_log_dirs(brokers, TARGETS, brokers.finish).is_complete


def test_brokers_that_are_down_are_named_and_hold_nobody_up() -> None:
    brokers, lines = MemoryBrokers(), list[str]()
    brokers.down = {2}
    done = move_log_dirs(brokers, TARGETS, brokers.finish, throttle=5, notify=lines.append)
    assert (len(done.done), len(done.unreachable)) == (2, 2)
    assert lines == ["2 replicas are on brokers that are down (2): left as they are"]
    assert remove_directory_throttle(brokers, [2], lines.append) == [2]
    assert lines[1:] == ["broker 2 is down and keeps its throttle; --verify removes it when it is back"]


def test_a_refusal_names_the_replica_and_leaves_no_throttle() -> None:
    brokers = MemoryBrokers()
    brokers.refuses = 57
    with pytest.raises(CallError, match=r"replica t-0 of broker 1: refused with .*LOG_DIR_NOT_FOUND"):
        move_log_dirs(brokers, TARGETS, brokers.finish, throttle=5)
    assert not any(brokers.configs.values())


def test_a_broker_that_copies_nothing_is_reported() -> None:
    brokers = MemoryBrokers()
    with pytest.raises(CallError, match="accepts the moves and copies nothing"):
        move_log_dirs(brokers, TARGETS, lambda progress: brokers.future.clear(), throttle=5)
    assert not any(brokers.configs.values())


def test_directories_of_replicas_to_come() -> None:
    brokers = MemoryBrokers()
    request_log_dirs(brokers, {(1, "new", 0): "/b"}, is_new=True)
    with pytest.raises(CallError, match="REPLICA_NOT_AVAILABLE"):
        request_log_dirs(brokers, {(1, "new", 0): "/b"})
