"""What ZooKeeper tells of topics becomes what the controller remembers."""

from __future__ import annotations

from kwire.cluster.kip112 import LeaderAndIsr, ReplicaAssignment
from kwire.cluster.kip112.controller.new_topics import Topics
from kwire.cluster.kip112.values import ReplicaState
from tests.cluster.kip112.machinery import T, machines, sent, with_partition


def test_a_new_topic_is_made_with_new_replicas() -> None:
    made = machines()
    made.zk.write_topic("orders", {0: ReplicaAssignment((2, 3))})
    Topics(made).process_topic_change()
    assert made.zk.state(T) == LeaderAndIsr(2, (2, 3), 0, 5)
    assert [row for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [
        ("LeaderAndIsr", 2, 2, (2, 3), True),
        ("LeaderAndIsr", 3, 2, (2, 3), True),
    ]
    assert made.context.replica_state((T, 2)) is ReplicaState.ONLINE


def test_partitions_that_are_added_are_made_and_the_others_left_alone() -> None:
    made = machines()
    made.zk.write_topic("orders", {0: ReplicaAssignment((2,))})
    topics = Topics(made)
    topics.process_topic_change()
    sent(made.batch)
    made.zk.write_topic("orders", {0: ReplicaAssignment((2,)), 1: ReplicaAssignment((3,))})
    topics.process_topic_change()
    assert [row[:2] for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [("LeaderAndIsr", 3)]
    topics.process_topic_change()
    assert sent(made.batch) == []


def test_a_topic_that_is_deleted_is_not_made_anew() -> None:
    made = machines()
    made.context.topics_to_delete.add("orders")
    made.zk.write_topic("orders", {0: ReplicaAssignment((2,))})
    Topics(made).process_topic_change()
    assert made.zk.state(T) is None


def test_an_isr_that_a_leader_changed_is_told_to_all() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2, 3)))
    made.zk.set_state(T, LeaderAndIsr(1, (1,)))
    made.zk.notify_isr_change([T, ("unknown", 0)])
    Topics(made).process_isr_change()
    assert made.context.leaders[T].isr == (1,)
    assert sent(made.batch) == [("UpdateMetadata", one, 1, ()) for one in (1, 2, 3)]
    assert not made.zk.zk.children("/isr_change_notification")


def test_all_is_read_when_a_broker_becomes_the_controller() -> None:
    told = with_partition(machines(), LeaderAndIsr(2, (2, 3), 7))
    made = machines()
    made.zk.zk.nodes = told.zk.zk.nodes
    Topics(made).learn_all()
    assert made.context.leaders == {T: LeaderAndIsr(2, (2, 3), 7)}
    assert made.context.assignments[T].replicas == (1, 2, 3)
