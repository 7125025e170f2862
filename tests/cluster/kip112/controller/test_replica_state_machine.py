"""Replicas move between their states, and brokers are told."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import LeaderAndIsr
from kwire.cluster.kip112.controller.replica_state_machine import PREVIOUS_REPLICA_STATES
from kwire.cluster.kip112.values import ReplicaState as S
from tests.cluster.kip112.machinery import T, machines, sent, with_partition

STATE = LeaderAndIsr(1, (1, 2, 3))


def test_only_a_new_replica_is_told_to_be_new() -> None:
    made = with_partition(machines(), STATE)
    made.replicas.handle([(T, 2)], S.NEW)
    assert ("LeaderAndIsr", 2, 1, (1, 2, 3), True) in sent(made.batch)
    made.replicas.handle([(T, 2)], S.ONLINE)
    assert sent(made.batch) == []  # it was told when it was new
    made.replicas.handle([(T, 2)], S.ONLINE)
    assert ("LeaderAndIsr", 2, 1, (1, 2, 3), False) in sent(made.batch)


def test_an_offline_replica_is_stopped_leaves_the_isr_and_the_others_are_told() -> None:
    made = with_partition(machines(), STATE)
    made.context.replica_states[T, 2] = S.ONLINE
    made.context.offline_dirs[2] = {T}
    made.replicas.handle([(T, 2)], S.OFFLINE)
    rows = sent(made.batch)
    assert rows[:2] == [("LeaderAndIsr", one, 1, (1, 3), False) for one in (1, 3)]
    assert rows[2:5] == [("UpdateMetadata", one, 1, (2,)) for one in (1, 2, 3)]
    assert rows[5:] == [("StopReplica", 2, False, 0)]
    state = made.zk.state(T)
    assert state is not None
    assert (state.isr, state.leader_epoch, state.controller_epoch) == ((1, 3), 1, 5)
    assert made.context.leaders[T] == state


def test_a_newer_controller_is_not_overwritten() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2), controller_epoch=9))
    made.context.replica_states[T, 2] = S.ONLINE
    made.replicas.handle([(T, 2)], S.OFFLINE)
    state = made.zk.state(T)
    assert state is not None
    assert state.isr == (1, 2)


@pytest.mark.parametrize("target", list(S))
def test_a_move_that_is_not_allowed_is_left_out(target: S) -> None:
    for state in S:
        made = with_partition(machines(), STATE)
        if state is not S.NON_EXISTENT:
            made.context.replica_states[T, 2] = state
        made.replicas.handle([(T, 2)], target)
        moved = state in PREVIOUS_REPLICA_STATES[target]
        assert made.context.replica_state((T, 2)) is (target if moved else state)
        assert moved or not sent(made.batch)


def test_at_startup_online_replicas_are_asked_and_the_others_leave_the_isr() -> None:
    made = with_partition(machines(), STATE)
    made.context.remove_brokers([3])
    made.replicas.startup()
    state = made.zk.state(T)
    assert state is not None
    assert state.isr == (1, 2)
    assert [made.context.replica_state((T, one)) for one in (1, 2, 3)] == [S.ONLINE, S.ONLINE, S.OFFLINE]
    assert [row for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [
        ("LeaderAndIsr", 1, 1, (1, 2, 3), False),
        ("LeaderAndIsr", 2, 1, (1, 2, 3), False),
        ("LeaderAndIsr", 1, 1, (1, 2), False),
        ("LeaderAndIsr", 2, 1, (1, 2), False),
    ]
