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
    under_way,
)
from kwire.client.replication_throttle import ReplicationThrottle
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
        self.refused_configs: set[str] = set()
        self.down: set[int] = set()  # brokers that do not respond
        self.fenced: set[int] = set()  # those of which the controller knows it

    def state(self) -> ClusterState:
        state = ClusterState(brokers={id: Broker(id, fenced=id in self.fenced) for id in range(1, 5)})
        for (kind, name), values in self.configs.items():
            if kind == 2 and values:
                state.settings.configs["topic", name] = dict(values)
        for (topic, index), ids in self.replicas.items():
            there = tuple(dict.fromkeys([*ids, *self.targets.get((topic, index), ())]))
            adding = tuple(id for id in there if id not in ids)
            isr = tuple(id for id in there if id not in self.down)
            state.put(Partition(topic, index, self.leaders[topic, index], there, isr, adding=adding))
        return state

    def finish(self, progress: Progress) -> None:
        """End the reassignments whose target brokers are all there."""
        for key, ids in list(self.targets.items()):
            if self.down.isdisjoint(ids):
                self.replicas[key] = self.targets.pop(key)
                if self.leaders[key] not in ids:
                    self.leaders[key] = ids[0]

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        if node_id in self.down:
            raise CallError(f"b{node_id}:9092", "cannot connect: Connection refused")
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
                if self.refuses:
                    continue
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
            if row.resource_name in self.refused_configs:
                response = messages.IncrementalAlterConfigsResponse
                refusal = response.AlterConfigsResourceResponse(error_code=31, resource_name=row.resource_name)
                return response(responses=(refusal,))
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
    """Expected: what kafka-reassign-partitions --throttle sets. Broker 4 has no part in the plan."""
    cluster = MemoryCluster(BEFORE)
    throttle = ReplicationThrottle(cluster, PLAN, pytest.fail)
    throttle.start(5000)
    assert cluster.configs[4, "3"] == {
        "leader.replication.throttled.rate": "5000",
        "follower.replication.throttled.rate": "5000",
    }
    assert cluster.configs[2, "t"] == {
        "leader.replication.throttled.replicas": "0:1,0:2,1:1,1:2,2:1,2:2",
        "follower.replication.throttled.replicas": "0:3,1:3,2:3",
    }
    brokers = [node_id for name, node_id in cluster.asked if name == "IncrementalAlterConfigsRequest"]
    assert brokers == [None, 1, 2, 3]  # each broker takes its own, after the topic
    assert throttle.remove() is None
    assert not any(cluster.configs.values())
    apply_plan(cluster, PLAN, cluster.finish, throttle=7)
    assert not any(cluster.configs.values())


@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_throttled_plan_is_carried_out_while_a_broker_is_down(is_noticed: bool) -> None:
    """Found on Kafka 4.1 with one of five brokers killed: nothing moved, and throttles stayed."""
    cluster = MemoryCluster({("t", 0): [4, 2], ("t", 1): [1, 2]})
    cluster.down = {4}
    cluster.fenced = {4} if is_noticed else set()
    lines: list[str] = []
    plan = {("t", 0): [3, 2], ("t", 1): [1, 3]}
    assert apply_plan(cluster, plan, cluster.finish, throttle=7, notify=lines.append).is_complete
    assert cluster.replicas == plan
    assert not any(cluster.configs.values())
    assert lines == ["broker 4 is down; it is throttled when it is back"]


def test_a_broker_that_comes_back_is_throttled_and_what_waits_for_it_holds_nobody_up() -> None:
    cluster = MemoryCluster(BEFORE)
    cluster.down = cluster.fenced = {3}
    plan = {("t", 0): [3, 2], ("t", 1): [4, 2], ("t", 2): [4, 2]}
    seen: list[tuple[int, set[int]]] = []

    def wait(progress: Progress) -> None:
        seen.append((len(progress.done), progress.down))
        if len(progress.done) == 2:
            cluster.down = cluster.fenced = set()
            if cluster.configs.get((4, "3")):
                cluster.finish(progress)
        else:
            cluster.finish(progress)

    apply_plan(cluster, plan, wait, batch=1, throttle=9)
    assert cluster.replicas == {**BEFORE, **plan}
    assert seen[:3] == [(0, set()), (0, {3}), (1, {3})]
    assert not any(cluster.configs.values())


def test_a_killed_run_is_cleaned_up_and_its_throttle_is_extended() -> None:
    class Killed(BaseException):
        pass

    def kill(progress: Progress) -> None:
        raise Killed

    cluster = MemoryCluster(BEFORE)
    with pytest.raises(Killed):
        apply_plan(cluster, PLAN, kill, batch=2, throttle=5)
    before = cluster.configs[2, "t"].copy()
    with pytest.raises(Killed):
        apply_plan(cluster, PLAN, kill, batch=2, throttle=6)
    assert cluster.configs[2, "t"] == before  # t-0 and t-1 are under way, and still listed
    assert cluster.configs[4, "3"]["leader.replication.throttled.rate"] == "6"
    assert cancel_plan(cluster, PLAN) == [("t", 0), ("t", 1)]
    cluster.down = cluster.fenced = {1}
    lines: list[str] = []
    assert ReplicationThrottle(cluster, PLAN, lines.append).remove() is None
    assert lines == ["broker 1 is down and keeps its throttle; --verify removes it when it is back"]
    assert {name for (_, name), configs in cluster.configs.items() if configs} == {"1"}
    cluster.down = cluster.fenced = set()
    assert ReplicationThrottle(cluster, PLAN, pytest.fail).remove() is None
    assert not any(cluster.configs.values())


def test_throttles_of_others_stay() -> None:
    cluster = MemoryCluster({**BEFORE, ("u", 0): [2, 4], ("all", 0): [1]})
    others = {"leader.replication.throttled.replicas": "0:2,9:2", "cleanup.policy": "compact"}
    cluster.configs = {(4, "2"): {"leader.replication.throttled.rate": "1"}, (2, "u"): dict(others)}
    cluster.configs[2, "t"] = {"follower.replication.throttled.replicas": "77:2"}
    apply_plan(cluster, PLAN, cluster.finish, throttle=5)
    assert cluster.configs[2, "t"] == {"follower.replication.throttled.replicas": "77:2"}
    assert cluster.configs[2, "u"] == others
    assert cluster.configs[4, "2"]  # u-0 needs it
    assert not cluster.configs[4, "1"]
    cluster.configs[2, "all"] = {"leader.replication.throttled.replicas": "*"}
    apply_plan(cluster, {("all", 0): [3]}, cluster.finish, throttle=5)
    assert cluster.configs[2, "all"] == {"leader.replication.throttled.replicas": "*"}


def test_a_refused_throttle_leaves_nothing_behind() -> None:
    cluster = MemoryCluster(BEFORE)
    cluster.refused_configs = {"2"}
    with pytest.raises(CallError, match=r"configs of broker 2: refused with .*CLUSTER_AUTHORIZATION_FAILED"):
        apply_plan(cluster, PLAN, cluster.finish, throttle=5)
    assert not any(cluster.configs.values())
    assert cluster.replicas == BEFORE


def test_a_plan_that_is_refused_leaves_no_throttle() -> None:
    cluster = MemoryCluster(BEFORE)
    cluster.refuses = 39
    with pytest.raises(CallError):
        apply_plan(cluster, PLAN, cluster.finish, throttle=5)
    assert not any(cluster.configs.values())


def test_leaders_are_elected_for_what_an_earlier_run_has_moved() -> None:
    """Found on Kafka 4.1: after a killed run, `--apply` and `--verify` said done, and two leaders stayed wrong."""
    cluster = MemoryCluster({("t", 0): [3, 1], ("t", 1): [3, 1]})
    cluster.leaders = {("t", 0): 1, ("t", 1): 3}
    plan = {("t", 0): [3, 1], ("t", 1): [3, 1]}
    assert progress_of(cluster, plan).misled == [("t", 0)]
    apply_plan(cluster, plan, cluster.finish)
    assert set(cluster.leaders.values()) == {3}
    assert not progress_of(cluster, plan).misled
    cluster.down, cluster.leaders["t", 0] = {3}, 1
    assert not progress_of(cluster, plan).misled  # a replica that is not in sync cannot lead


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
