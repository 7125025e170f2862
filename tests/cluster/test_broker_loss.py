"""What becomes of a cluster without some brokers; expected values by hand from Kafka's rules of election."""

from __future__ import annotations

from kwire.cluster import ClusterState, Partition
from kwire.cluster.broker_loss import effects_of_loss


def state_with(*partitions: Partition, minimum: str = "2") -> ClusterState:
    state = ClusterState()
    state.settings.configs["topic", "t"] = {"min.insync.replicas": minimum}
    for partition in partitions:
        state.put(partition)
    return state


def test_the_next_leader_is_the_first_replica_in_sync() -> None:
    state = state_with(Partition("t", 0, leader=3, replicas=(1, 2, 3, 4), isr=(4, 2, 3)))
    assert effects_of_loss(state, [3]).leaders == {("t", 0): 2}
    assert effects_of_loss(state, [3]).is_safe
    assert effects_of_loss(state, [1]).leaders == {}


def test_writes_are_refused_below_the_minimum_only_if_they_were_accepted_before() -> None:
    state = state_with(
        Partition("t", 0, leader=1, replicas=(1, 2), isr=(1, 2)),
        Partition("t", 1, leader=1, replicas=(1, 2), isr=(1,)),
        Partition("t", 2, leader=1, replicas=(1, 3), isr=(1, 3)),
    )
    loss = effects_of_loss(state, [2])
    assert (loss.under_min_isr, loss.leaderless, loss.is_safe) == ([("t", 0)], [], False)


def test_a_topic_with_one_replica_needs_one_in_sync() -> None:
    """Kafka: Partition.effectiveMinIsr is at most the number of replicas."""
    state = state_with(Partition("t", 0, leader=1, replicas=(1,), isr=(1,)))
    loss = effects_of_loss(state, [1])
    assert (loss.leaderless, loss.without_replicas, loss.under_min_isr) == ([("t", 0)], [("t", 0)], [])


def test_an_eligible_leader_replica_leads_if_the_isr_is_lost() -> None:
    """KIP-966: a replica in the ELR has all committed records."""
    state = state_with(Partition("t", 0, leader=1, replicas=(1, 2, 3), isr=(1,), elr=(3,)))
    assert effects_of_loss(state, [1]).leaders == {("t", 0): 3}
    assert effects_of_loss(state, [1, 3]).leaderless == [("t", 0)]


def test_what_has_no_leader_already_is_not_an_effect() -> None:
    state = state_with(Partition("t", 0, leader=-1, replicas=(1, 2), isr=(2,), offline=(1, 2)))
    assert effects_of_loss(state, [1]).is_safe


def test_the_quorum_needs_more_than_half_of_its_voters() -> None:
    state = ClusterState()
    assert effects_of_loss(state, [1]).is_quorum_lost is None
    state.settings.voters = {1: "", 2: "", 3: ""}
    assert effects_of_loss(state, [1]).is_quorum_lost is False
    loss = effects_of_loss(state, [1, 2])
    assert (loss.is_quorum_lost, loss.is_safe) == (True, False)
