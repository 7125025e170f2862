"""Leader, ISR and assignment: what follows when a replica is offline or replicas change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.kip112 import LeaderAndIsr, ReplicaAssignment

IDS = st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True).map(tuple)


def test_an_offline_replica_leaves_the_isr_and_leads_no_more() -> None:
    state = LeaderAndIsr(1, (1, 2, 3), leader_epoch=4, controller_epoch=2, zk_version=9)
    assert state.without(1) == LeaderAndIsr(-1, (2, 3), 5, 2, 9)
    assert state.without(3) == LeaderAndIsr(1, (1, 2), 5, 2, 9)


def test_the_last_replica_stays_in_the_isr() -> None:
    assert LeaderAndIsr(1, (1,)).without(1) == LeaderAndIsr(-1, (1,), 1)


@given(origin=IDS, target=IDS, other=IDS)
def test_a_reassignment_has_origin_and_target_replicas(
    origin: tuple[int, ...], target: tuple[int, ...], other: tuple[int, ...]
) -> None:
    moving = ReplicaAssignment(origin).reassign_to(target)
    assert moving.target == target
    assert set(moving.origin) == set(origin)
    assert set(moving.adding) == set(target) - set(origin)
    assert set(moving.removing) == set(origin) - set(target)
    again = moving.reassign_to(other)
    assert (again.target, set(again.origin)) == (other, set(origin))
