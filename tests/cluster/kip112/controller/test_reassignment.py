"""Replicas are made, waited for, and take the place of the old."""

from __future__ import annotations

from kwire.cluster.kip112 import LeaderAndIsr, behaviour_for
from kwire.cluster.kip112.controller.reassignment import PartitionReassigner
from kwire.cluster.kip112.controller.state_machines import Machines
from kwire.cluster.kip112.controller.topic_deletion import TopicDeletionManager
from tests.cluster.kip112.machinery import T, machines, sent, with_partition


def moving(release: str | None = None) -> tuple[Machines, PartitionReassigner]:
    behaviour = behaviour_for("released", release) if release else None
    made = with_partition(machines(behaviour), LeaderAndIsr(1, (1, 2)), (1, 2))
    made.replicas.startup()
    made.partitions.startup()
    sent(made.batch)
    return made, PartitionReassigner(made, TopicDeletionManager(made))


def in_sync(made: Machines, isr: tuple[int, ...]) -> None:
    state = made.zk.state(T)
    assert state is not None
    made.zk.set_state(T, LeaderAndIsr(state.leader, isr, state.leader_epoch, 5, state.zk_version))


def test_what_is_added_is_new_and_told_so_at_once() -> None:
    made, reassignment = moving()
    reassignment.start(T, (2, 3))
    told = {row[1]: row[4] for row in sent(made.batch) if row[0] == "LeaderAndIsr"}
    assert told == {1: False, 2: False, 3: True}
    assert made.zk.topics()["orders"].adding_replicas == {0: (3,)}
    assert made.context.leaders[T].leader_epoch == 1


def test_kafka_before_2_4_has_no_adding_replicas() -> None:
    made, reassignment = moving("1.1")
    reassignment.start(T, (2, 3))
    assert made.zk.topics()["orders"].partitions == {0: (2, 3, 1)}
    rows = [row for row in sent(made.batch) if row[0] == "LeaderAndIsr"]
    assert rows[-1] == ("LeaderAndIsr", 3, 1, (1, 2), True)
    assert [row[4] for row in rows[:-1]] == [False] * 3


def test_it_is_over_when_all_targets_are_in_sync() -> None:
    for release in (None, "1.1", "2.4", "3.9"):
        made, reassignment = moving(release)
        reassignment.start(T, (2, 3))
        reassignment.resume(T)
        assert T in made.context.reassigning
        in_sync(made, (1, 2, 3))
        reassignment.resume(T)
        assert T not in made.context.reassigning
        assert made.context.assignments[T].replicas == (2, 3)
        state = made.zk.state(T)
        assert state is not None
        assert (state.leader, state.isr) == (2, (2, 3))
        stops = [row for row in sent(made.batch) if row[:2] == ("StopReplica", 1)]
        assert [row[2] for row in stops] == [False, True]


def test_a_new_order_needs_no_waiting() -> None:
    made, reassignment = moving()
    reassignment.start(T, (2, 1))
    assert made.context.assignments[T].replicas == (2, 1)
    assert made.context.leaders[T].leader == 1
    assert not made.context.reassigning


def test_it_can_be_given_up() -> None:
    made, reassignment = moving()
    reassignment.start(T, (2, 3))
    reassignment.start(T, (1, 2))
    assert made.context.assignments[T].replicas == (1, 2)
    assert not made.context.reassigning
    assert [row[2] for row in sent(made.batch) if row[:2] == ("StopReplica", 3)] == [False, True]


def test_a_deleted_topic_is_taken_up_again_afterwards() -> None:
    made, reassignment = moving()
    reassignment.start(T, (2, 3))
    reassignment.deletion.enqueue(["orders"])
    assert not made.context.deletion_started
    in_sync(made, (1, 2, 3))
    reassignment.resume(T)
    assert made.context.deletion_started == {"orders"}
