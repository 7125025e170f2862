"""Plans are carried out batch by batch, can be repeated and called off; beside a cluster in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kwire import messages
from kwire.client.apply_plan import (
    MOST_IDLE,
    Progress,
    apply_plan,
    cancel_plan,
    progress_of,
    remove_throttle,
    set_throttle,
    under_way,
)
from kwire.cluster import Broker, ClusterState, Partition
from kwire.codecs.message_codec import codec_in
from kwire.errors import CallError
from kwire.schema.catalog import catalog_for

Key = tuple[str, int]


class MemoryCluster:
    """A cluster that keeps reassignments under way until `finish` is called."""

    def __init__(self, replicas: Mapping[Key, list[int]]) -> None:
        self.replicas = {key: list(ids) for key, ids in replicas.items()}
        self.leaders = {key: ids[0] for key, ids in replicas.items()}
        self.targets: dict[Key, list[int]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.batches: list[int] = []
        self.asked: list[tuple[str, int | None]] = []
        self.refuses: int = 0

    def state(self) -> ClusterState:
        state = ClusterState(brokers={id: Broker(id) for id in range(1, 5)})
        for (topic, index), ids in self.replicas.items():
            there = tuple(dict.fromkeys([*ids, *self.targets.get((topic, index), ())]))
            state.put(Partition(topic, index, self.leaders[topic, index], there, there))
        return state

    def finish(self, progress: Progress) -> None:
        for key, ids in self.targets.items():
            self.replicas[key] = ids
            if self.leaders[key] not in ids:
                self.leaders[key] = ids[0]
        self.targets = {}

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        spec = catalog_for().spec(name)
        message = codec_in(catalog_for(), name, spec.versions.last).from_json(dict(members), defaults=True)
        self.asked.append((name, node_id))
        return getattr(self, name.removesuffix("Request"))(message)

    def ListPartitionReassignments(self, message: Any) -> Any:  # noqa: N802
        response = messages.ListPartitionReassignmentsResponse
        rows = []
        for (topic, index), target in self.targets.items():
            before = self.replicas[topic, index]
            row = response.OngoingPartitionReassignment(
                partition_index=index,
                replicas=tuple(dict.fromkeys([*target, *before])),
                adding_replicas=tuple(set(target) - set(before)),
                removing_replicas=tuple(set(before) - set(target)),
            )
            rows.append(response.OngoingTopicReassignment(name=topic, partitions=(row,)))
        return response(topics=tuple(rows))

    def AlterPartitionReassignments(self, message: Any) -> Any:  # noqa: N802
        response = messages.AlterPartitionReassignmentsResponse
        self.batches.append(sum(len(topic.partitions) for topic in message.topics))
        answers = []
        for topic in message.topics:
            for one in topic.partitions:
                if one.replicas is None:
                    self.targets.pop((topic.name, one.partition_index))
                elif set(one.replicas) == set(self.replicas[topic.name, one.partition_index]):
                    self.replicas[topic.name, one.partition_index] = list(one.replicas)
                else:
                    self.targets[topic.name, one.partition_index] = list(one.replicas)
            rows = tuple(
                response.ReassignablePartitionResponse(partition_index=one.partition_index, error_code=self.refuses)
                for one in topic.partitions
            )
            answers.append(response.ReassignableTopicResponse(name=topic.name, partitions=rows))
        return response(responses=tuple(answers))

    def IncrementalAlterConfigs(self, message: Any) -> Any:  # noqa: N802
        for row in message.resources:
            configs = self.configs.setdefault((row.resource_type, row.resource_name), {})
            for change in row.configs:
                if change.config_operation:
                    configs.pop(change.name, None)
                else:
                    configs[change.name] = change.value
        return messages.IncrementalAlterConfigsResponse()

    def CreateTopics(self, message: Any) -> Any:  # noqa: N802
        for topic in message.topics:
            for row in topic.assignments:
                self.replicas[topic.name, row.partition_index] = list(row.broker_ids)
                self.leaders[topic.name, row.partition_index] = row.broker_ids[0]
        return messages.CreateTopicsResponse()

    def CreatePartitions(self, message: Any) -> Any:  # noqa: N802
        for topic in message.topics:
            first = topic.count - len(topic.assignments)
            for index, row in enumerate(topic.assignments, first):
                self.replicas[topic.name, index] = list(row.broker_ids)
                self.leaders[topic.name, index] = row.broker_ids[0]
        return messages.CreatePartitionsResponse()

    def ElectLeaders(self, message: Any) -> Any:  # noqa: N802
        for topic in message.topic_partitions:
            for index in topic.partitions:
                self.leaders[topic.topic, index] = self.replicas[topic.topic, index][0]
        return messages.ElectLeadersResponse()


BEFORE = {("t", index): [1, 2] for index in range(5)}
PLAN = {("t", index): [3, 2] for index in range(3)} | {("t", 3): [2, 1], ("t", 4): [1, 2]}


def test_batches_orders_and_elections() -> None:
    cluster = MemoryCluster(BEFORE)
    done = apply_plan(cluster, PLAN, cluster.finish, batch=2)
    assert done.is_complete
    assert cluster.replicas == PLAN
    assert cluster.batches == [2, 2]  # t-4 is as planned
    assert {key: ids[0] for key, ids in PLAN.items()} == cluster.leaders
    again = apply_plan(cluster, PLAN, cluster.finish)
    assert len(again.done) == 5
    assert cluster.batches == [2, 2]


def test_a_run_that_was_broken_off_goes_on() -> None:
    cluster = MemoryCluster(BEFORE)

    class Stopped(Exception):
        pass

    def stop(progress: Progress) -> None:
        assert (len(progress.done), len(progress.waiting)) == (1, 4)
        raise Stopped

    with pytest.raises(Stopped):
        apply_plan(cluster, PLAN, stop, batch=2)
    assert [len(part) for part in (lambda p: (p.done, p.moving, p.waiting))(progress_of(cluster, PLAN))] == [1, 2, 2]
    assert under_way(cluster) == {("t", 0): [3, 2], ("t", 1): [3, 2]}
    apply_plan(cluster, PLAN, cluster.finish, batch=2)
    assert cluster.replicas == PLAN
    assert cluster.batches == [2, 2]


def test_what_is_under_way_is_called_off() -> None:
    cluster = MemoryCluster(BEFORE)
    cluster.targets = {("t", 0): [3, 2], ("u", 0): [3]}
    cluster.replicas["u", 0], cluster.leaders["u", 0] = [1], 1
    assert cancel_plan(cluster, PLAN) == [("t", 0)]
    assert cluster.targets == {("u", 0): [3]}
    assert cancel_plan(cluster, PLAN) == []


def test_throttles_as_kafkas_tool_sets_them() -> None:
    cluster = MemoryCluster(BEFORE)
    set_throttle(cluster, PLAN, BEFORE, 5000)
    assert cluster.configs[4, "3"] == {
        "leader.replication.throttled.rate": "5000",
        "follower.replication.throttled.rate": "5000",
    }
    assert cluster.configs[2, "t"] == {
        "leader.replication.throttled.replicas": "0:1,0:2,1:1,1:2,2:1,2:2",
        "follower.replication.throttled.replicas": "0:3,1:3,2:3",
    }
    brokers = [node_id for name, node_id in cluster.asked if name == "IncrementalAlterConfigsRequest"]
    assert brokers == [1, 2, 3, 4, None]  # each broker takes its own
    remove_throttle(cluster, PLAN)
    assert not any(cluster.configs.values())
    apply_plan(cluster, PLAN, cluster.finish, throttle=7)
    assert not any(cluster.configs.values())


def test_new_topics_and_partitions_are_created() -> None:
    cluster = MemoryCluster(BEFORE)
    plan = {("new", 0): [1, 2], ("new", 1): [2, 3], ("t", 5): [4, 1], ("t", 6): [1, 4]}
    assert apply_plan(cluster, plan, cluster.finish).is_complete
    assert cluster.replicas == {**BEFORE, **plan}


def test_a_controller_that_moves_nothing_is_reported() -> None:
    """Found by a hostile broker: the plan was sent again for ever."""
    cluster, rounds = MemoryCluster(BEFORE), []

    def forget(progress: Progress) -> None:
        rounds.append(progress)
        cluster.targets = {}

    with pytest.raises(CallError, match="it accepts the plan and moves nothing"):
        apply_plan(cluster, PLAN, forget)
    assert len(rounds) == 1 + MOST_IDLE  # the first one only orders replicas


def test_a_refusal_names_the_partition() -> None:
    cluster = MemoryCluster(BEFORE)
    cluster.refuses = 39
    with pytest.raises(CallError, match=r"partition t-0: refused with .*INVALID_REPLICA_ASSIGNMENT"):
        apply_plan(cluster, PLAN, cluster.finish)
