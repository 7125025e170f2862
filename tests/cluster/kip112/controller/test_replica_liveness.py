"""Brokers come and go, directories fail; the controller derives what is offline and acts on it."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import Behaviour, LeaderAndIsr, behaviour_for
from kwire.cluster.kip112.controller.reassignment import PartitionReassigner
from kwire.cluster.kip112.controller.replica_liveness import ReplicaLiveness
from kwire.cluster.kip112.controller.topic_deletion import TopicDeletionManager
from kwire.zookeeper import BrokerRegistration
from tests.cluster.kip112.machinery import T, machines, sent, with_partition


def liveness(behaviour: Behaviour | None = None) -> ReplicaLiveness:
    made = with_partition(machines(behaviour), LeaderAndIsr(1, (1, 2, 3)))
    for one in (1, 2, 3):
        told = BrokerRegistration(host="h", port=one, version=1, timestamp="0")
        made.zk.register_broker(told, one)
    made.context.brokers.clear()
    made.context.add_brokers(made.zk.brokers())
    made.replicas.startup()
    made.partitions.startup()
    sent(made.batch)
    deletion = TopicDeletionManager(made)
    return ReplicaLiveness(made, deletion, PartitionReassigner(made, deletion))


def test_offline_are_those_with_an_error_and_online_again_those_without() -> None:
    made = liveness()
    made.process_leader_and_isr_response(2, {T: 56})
    assert made.context.offline_dirs == {2: {T}}
    made.process_leader_and_isr_response(2, {T: 0})
    assert made.context.offline_dirs == {2: set()}


@pytest.mark.parametrize(("name", "offline"), [("kip", True), ("released", False)])
def test_only_the_kip_takes_any_error_for_an_offline_replica(name: str, offline: bool) -> None:
    made = liveness(behaviour_for(name))  # type: ignore[arg-type]
    made.process_leader_and_isr_response(2, {T: 11})
    assert (T in made.context.offline_dirs[2]) is offline


def test_the_leader_is_elected_before_the_isr_shrinks() -> None:
    made = liveness()
    made.process_leader_and_isr_response(1, {T: 56})
    assert [row for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [
        ("LeaderAndIsr", 2, 2, (2, 3), False),
        ("LeaderAndIsr", 3, 2, (2, 3), False),
    ] * 2  # with the election, and when the offline replica is taken from the ISR


def test_what_is_known_to_be_offline_is_no_news() -> None:
    made = liveness()
    made.process_leader_and_isr_response(2, {T: 56})
    sent(made.batch)
    made.process_leader_and_isr_response(2, {T: 56})
    assert sent(made.batch) == []


def test_an_answer_about_a_partition_that_is_gone_is_no_news() -> None:
    made = liveness()
    made.process_leader_and_isr_response(2, {("gone", 0): 56})
    assert made.context.offline_dirs == {2: set()}


def test_a_dead_broker_takes_its_bad_directories_with_it() -> None:
    made = liveness()
    made.process_leader_and_isr_response(2, {T: 56})
    made.zk.zk.delete("/brokers/ids/2")
    made.process_broker_change()
    assert made.context.offline_dirs == {}
    assert made.context.offline_replicas(T) == (2,)
    assert made.context.leaders[T].isr == (1, 3)


def test_a_broker_that_was_restarted_unseen_is_asked_about_everything() -> None:
    made = liveness()
    made.zk.zk.delete("/brokers/ids/2")
    made.zk.register_broker(BrokerRegistration(host="h", port=2, version=1, timestamp="1"), 2)
    made.process_broker_change()
    state = made.context.leaders[T]
    assert state.isr == (1, 3)  # it was away
    assert sent(made.batch)[-1][:2] != ("StopReplica", 2)
    assert made.context.broker_epochs[2] == made.zk.brokers()[2][1]


def test_every_live_broker_that_lost_a_directory_is_asked() -> None:
    made = liveness()
    for broker in (2, 3, 9):
        made.zk.notify_log_dir_failure(broker)
    made.process_log_dir_event()
    assert [row[1:] for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [
        (2, 1, (1, 2, 3), False),
        (3, 1, (1, 2, 3), False),
    ]
    assert not made.zk.zk.children("/log_dir_event_notification")
