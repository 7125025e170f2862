"""What a controller remembers, and what follows from it."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import LeaderAndIsr, ReplicaAssignment
from kwire.cluster.kip112.controller.controller_context import ControllerContext
from kwire.cluster.kip112.values import PartitionStates, ReplicaState
from kwire.cluster.state import Broker

A, B = ("a", 0), ("b", 0)


@pytest.fixture
def context() -> ControllerContext:
    context = ControllerContext(1)
    context.add_brokers({one: (Broker(one), one * 10) for one in (1, 2, 3)})
    context.assignments = {A: ReplicaAssignment((3, 2, 1)), B: ReplicaAssignment((1, 4))}
    return context


def test_a_replica_is_offline_with_its_broker_or_its_disk(context: ControllerContext) -> None:
    context.offline_dirs = {2: {A}}
    context.remove_brokers([3])
    assert context.offline_replicas(A) == (3, 2)
    assert context.live_replicas(A) == (1,)
    assert context.offline_replicas(B) == (4,)


def test_a_broker_that_shuts_down_counts_as_offline_unless_asked_otherwise(context: ControllerContext) -> None:
    context.shutting_down = {1}
    assert context.offline_replicas(A) == (1,)
    assert context.is_online(1, A, even_shutting_down=True)


def test_replicas_are_found_by_broker_and_by_partition(context: ControllerContext) -> None:
    assert context.replicas_on([1, 4]) == [(A, 1), (B, 1), (B, 4)]
    assert context.replicas_of([A]) == [(A, 3), (A, 2), (A, 1)]


def test_what_is_forgotten_is_gone_everywhere(context: ControllerContext) -> None:
    context.leaders[A] = LeaderAndIsr(1, (1,))
    context.offline_dirs = {2: {A, B}}
    context.replica_states[A, 2] = ReplicaState.ONLINE
    context.partition_states[A] = PartitionStates.ONLINE
    context.forget_partition(A)
    assert context.offline_dirs == {2: {B}}
    assert context.partitions_of("a") == []
    assert context.replica_state((A, 2)) is ReplicaState.NON_EXISTENT
    assert context.partition_state(A) is PartitionStates.NON_EXISTENT
