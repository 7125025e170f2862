"""Who leads next: always a live replica, and one in sync unless unclean elections are allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.kip112 import LeaderAndIsr, ReplicaAssignment
from kwire.cluster.kip112.controller.controller_context import ControllerContext
from kwire.cluster.kip112.controller.partition_leader_election import (
    elect_and_leave_out,
    elect_for_offline,
    elect_for_shutdown,
    elect_preferred,
    elect_reassigned,
    elect_unclean,
)
from kwire.cluster.state import Broker

T = ("orders", 0)


def context(replicas: tuple[int, ...], live: set[int], **options: object) -> ControllerContext:
    made = ControllerContext()
    made.assignments[T] = ReplicaAssignment(replicas)
    made.add_brokers({one: (Broker(one), 0) for one in live})
    for name, value in options.items():
        setattr(made, name, value)
    return made


@given(
    replicas=st.permutations((1, 2, 3, 4)).map(tuple),
    live=st.sets(st.integers(1, 4)),
    isr=st.lists(st.integers(1, 4), min_size=1, unique=True).map(tuple),
    unclean=st.booleans(),
)
def test_the_first_live_replica_in_sync_leads(
    replicas: tuple[int, ...], live: set[int], isr: tuple[int, ...], unclean: bool
) -> None:
    elected = elect_for_offline(context(replicas, live), T, LeaderAndIsr(-1, isr, 5), unclean)
    best = [one for one in replicas if one in live and one in isr] or [
        one for one in replicas if one in live and unclean
    ]
    if not best:
        assert elected is None
        return
    assert elected is not None
    state, told = elected
    assert (state.leader, state.leader_epoch, told) == (best[0], 6, tuple(one for one in replicas if one in live))
    assert state.isr == (tuple(one for one in isr if one in live) or (best[0],))


def test_a_replica_on_a_failed_disk_is_not_elected() -> None:
    failed = context((1, 2, 3), {1, 2, 3}, offline_dirs={1: {T}})
    elected = elect_for_offline(failed, T, LeaderAndIsr(1, (1, 2, 3)), False)
    assert elected == (LeaderAndIsr(2, (2, 3), 1), (2, 3))


def test_an_unclean_election_takes_anybody_live() -> None:
    elected = elect_unclean(context((1, 2), {2}), T, LeaderAndIsr(-1, (1,)), False)
    assert elected == (LeaderAndIsr(2, (2,), 1), (2,))


def test_the_preferred_replica_leads_only_live_and_in_sync() -> None:
    state = LeaderAndIsr(2, (2, 1))
    assert elect_preferred(context((1, 2), {1, 2}), T, state, False) == (LeaderAndIsr(1, (2, 1), 1), (1, 2))
    assert elect_preferred(context((1, 2), {2}), T, state, False) is None
    assert elect_preferred(context((1, 2), {1, 2}), T, LeaderAndIsr(2, (2,)), False) is None


def test_a_reassigned_partition_is_led_by_a_target() -> None:
    moving = context((3, 1, 2), {1, 2, 3})
    moving.assignments[T] = ReplicaAssignment((1, 2)).reassign_to((3, 1))
    assert elect_reassigned(moving, T, LeaderAndIsr(2, (1, 2, 3)), False) == (LeaderAndIsr(3, (1, 2, 3), 1), (3, 1))
    assert elect_reassigned(moving, T, LeaderAndIsr(2, (2,)), False) is None


def test_a_broker_that_shuts_down_leaves_the_isr_and_is_told() -> None:
    leaving = context((1, 2, 3), {1, 2, 3}, shutting_down={1})
    state = LeaderAndIsr(1, (1, 2))
    assert elect_for_shutdown(leaving, T, state, False) == (LeaderAndIsr(2, (2,), 1), (1, 2, 3))
    assert elect_and_leave_out(leaving, T, state, False) == (LeaderAndIsr(2, (2,), 1), (2, 3))
    assert elect_for_shutdown(leaving, T, LeaderAndIsr(1, (1,)), True) is None
