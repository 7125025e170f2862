"""A cluster's state is shown whole."""

from __future__ import annotations

from kwire.cluster import Broker, ClusterState, Partition
from kwire.render.cluster.cluster_json import cluster_json
from kwire.render.cluster.cluster_text import cluster_lines

STATE = ClusterState("id", 1, {1: Broker(1, "::1", 9092), 2: Broker(2, "h", 1, "r\x1b", True)})
STATE.put(Partition("t", 0, 2, (1, 2), (2,), (1,)))
STATE.put(Partition("u", 0, -1, (2,), (2,)))


def test_lines() -> None:
    assert list(cluster_lines(STATE)) == [
        "cluster id: controller 1, 2 brokers, 2 topics, 2 partitions",
        "rack r\\u001b",
        "  broker 2  h:1  fenced",
        "no rack",
        "  broker 1  [::1]:9092",
        "",
        "topic  partition  leader  replicas  isr  offline  state",
        "t      0          2       1,2       2    1        under-replicated, leader not preferred",
        "u      0          none    2         2    2        no leader",
        "",
        "without leader: 1: u-0",
        "with offline replicas: 2: t-0, u-0",
        "under-replicated: 1: t-0",
        "with rack violations: 0",
        "Replicas are in the order of the wire: the first is the preferred leader.",
    ]


def one_topic(topic: str) -> ClusterState:
    state = ClusterState("id", 1)
    for partition in STATE.partitions(topic):
        state.put(partition)
    return state


def test_one_topic_alone() -> None:
    assert "without leader: 0" in list(cluster_lines(one_topic("t")))


def test_replicas_on_one_rack_while_another_has_none() -> None:
    brokers = {id: Broker(id, "h", 1, rack) for id, rack in ((1, "a"), (2, "a"), (3, "b"))}
    state = ClusterState("id", 1, brokers)
    for index, replicas in enumerate([(1, 2), (1, 3)]):
        state.put(Partition("t", index, 1, replicas, replicas))
    lines = list(cluster_lines(state))
    assert "t      0          1       1,2       1,2  -        racks a a" in lines
    assert "with rack violations: 1: t-0" in lines
    found = cluster_json(state)["partitions"]
    assert [(one["racks"], one["rackViolation"]) for one in found] == [(["a", "a"], True), (["a", "b"], False)]


def test_nothing_is_cut_off() -> None:
    state = ClusterState()
    for index in range(500):
        state.put(Partition("t", index, -1, tuple(range(60)), ()))
    lines = list(cluster_lines(state))
    assert len(lines) == 508
    assert lines[-4].count("t-") == 500
    assert ",".join(map(str, range(60))) in lines[3]


def test_json() -> None:
    seen = cluster_json(STATE)
    assert seen["brokers"][1] == {
        "nodeId": 2,
        "host": "h",
        "port": 1,
        "rack": "r\x1b",
        "fenced": True,
        "offlineLogDirs": None,
    }
    one = seen["partitions"][0]
    assert (one["leader"], one["replicas"], one["offlineReplicas"], one["underReplicated"]) == (2, (1, 2), (1,), True)


def test_a_finding_of_kip_879_is_no_rack_violation() -> None:
    brokers = {id: Broker(id, "h", 1, rack) for id, rack in ((1, "/a/1"), (2, "/a/2"), (3, "/b/1"))}
    state = ClusterState("id", 1, brokers)
    state.put(Partition("t", 0, 1, (1, 2), (1, 2)))
    lines = list(cluster_lines(state))
    assert "t      0          1       1,2       1,2  -        rack levels /a/1 /a/2" in lines
    assert "with rack violations: 0" in lines
    assert "uneven over rack levels (KIP-879, not a rule of Kafka): 1: t-0" in lines
    assert [one["rackRule"] for one in cluster_json(state)["partitions"]] == ["KIP-879"]
