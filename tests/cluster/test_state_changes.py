"""What changed between two states of a cluster."""

from __future__ import annotations

from dataclasses import replace

from kwire.cluster import Broker, ClusterState, Partition
from kwire.cluster.state_changes import changes_between
from kwire.render.cluster.prometheus_text import prometheus_lines

WELL = Partition("t", 0, leader=1, replicas=(1, 2), isr=(1, 2), leader_epoch=3)


def state_of(*partitions: Partition, live: tuple[int, ...] = (1, 2), fenced: tuple[int, ...] = ()) -> ClusterState:
    nodes = {node_id: Broker(node_id, fenced=node_id in fenced) for node_id in (*live, *fenced)}
    state = ClusterState(controller_id=1, brokers=nodes)
    for partition in partitions:
        state.put(partition)
    return state


def changes(before: ClusterState, after: ClusterState) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in changes_between(before, after, 7.0)]


def test_a_broker_dies_and_comes_back() -> None:
    before = state_of(WELL)
    after = state_of(replace(WELL, leader=2, leader_epoch=4, isr=(2,)), live=(2,), fenced=(1,))
    assert changes(before, after) == [
        ("broker", "broker 1 is fenced"),
        ("leader", "t-0: leader 1 -> 2 (leader epoch 4)"),
        ("isr", "t-0: ISR [1, 2] -> [2]"),
        ("offline", "t-0: replica on broker 1 goes offline"),
    ]
    assert ("broker", "broker 1 is up") in changes(after, before)
    assert ("offline", "t-0: replica on broker 1 is online again") in changes(after, before)
    assert changes(before, state_of(WELL, live=(2,)))[0] == ("broker", "broker 1 is gone")
    assert changes(before, before) == []


def test_topics_directories_and_controllers() -> None:
    other = state_of(WELL)
    other.controller_id = 2
    other.offline_dirs = {2: 1}
    assert changes(state_of(), other) == [
        ("broker", "controller 1 -> 2"),
        ("topic", "t-0: created, leader 1"),
        ("disk", "broker 2: log directories offline: 0 -> 1"),
    ]
    assert changes(other, state_of())[1] == ("topic", "t-0: deleted")
    assert changes(state_of(WELL), state_of(replace(WELL, deleting=(2,)))) == [("topic", "t-0: its deletion begins")]


def test_the_metrics_of_a_sick_cluster() -> None:
    lost = Partition("u", 1, leader=-1, replicas=(3,), isr=(3,))
    state = state_of(replace(WELL, leader=2, isr=(2,)), lost, live=(2,), fenced=(1, 3))
    state.offline_dirs = {2: 1}
    state.settings.configs["topic", "t"] = {"min.insync.replicas": "2"}
    values = dict(line.rsplit(" ", 1) for line in prometheus_lines(state) if not line.startswith("#"))
    assert values["kwire_partitions"] == "2"
    assert values["kwire_partitions_leaderless"] == "1"
    assert values["kwire_partitions_under_min_isr"] == "1"
    assert values["kwire_brokers_fenced"] == "2"
    assert values["kwire_partitions_not_preferred_leader"] == "1"
    assert values['kafka_server_replicamanager_offlinereplicacount{broker="1"}'] == "1"
    assert values['kafka_log_logmanager_offlinelogdirectorycount{broker="2"}'] == "1"
