"""Why a partition is as it is: the chain of events since it was well, and what it waits for."""

from __future__ import annotations

from kwire.cluster import Broker, ClusterModel, ClusterState, Observation, Partition, model_of
from kwire.cluster.broker_loss import drain_order
from kwire.cluster.partition_causes import Explanation, explain_partition
from tests.cluster.observations import brokers, update

LIVE = {1: "r", 2: "s"}
WELL = update(1.0, leader=1, live=LIVE)


def explained(*observations: Observation) -> Explanation:
    model = model_of(observations)
    return explain_partition(model, model.state(), ("t", 0))


def reasons(partition: Partition, live: dict[int, bool], min_isr: str | None = None) -> list[str]:
    state = ClusterState(brokers={node_id: Broker(node_id, fenced=fenced) for node_id, fenced in live.items()})
    state.put(partition)
    if min_isr is not None:
        state.settings.configs["topic", "t"] = {"min.insync.replicas": min_isr}
    return explain_partition(ClusterModel(), state, ("t", 0)).reasons


def test_the_chain_of_events_since_a_partition_was_well() -> None:
    shrunk = update(2.0, leader=1, isr=(1,), offline=(2,), epochs=(0, 1), live=LIVE)
    lost = update(9.0, leader=-1, isr=(1,), offline=(1, 2), epochs=(1, 2), live=LIVE)
    explanation = explained(WELL, shrunk, brokers(5.0, {2: "s"}), lost)
    assert [(cause.time, cause.text) for cause in explanation.causes] == [
        (2.0, "ISR [1, 2] -> [1]"),
        (2.0, "replica on broker 2 goes offline (its log directory failed)"),
        (5.0, "broker 1 is gone"),
        (9.0, "broker 1 is up"),
        (9.0, "leader 1 -> none (leader epoch 1)"),
        (9.0, "replica on broker 1 goes offline (its log directory failed)"),
    ]
    assert {cause.source for cause in explanation.causes} == {"UpdateMetadataRequest", ""}
    assert explanation.reasons == ["no leader: replica 1 is offline, and no other replica has all records"]


def test_what_was_mended_is_not_told() -> None:
    shrunk = update(2.0, leader=1, isr=(1,), epochs=(0, 1), live=LIVE)
    mended = update(3.0, leader=1, epochs=(0, 2), live=LIVE)
    explanation = explained(WELL, shrunk, mended)
    assert (explanation.causes, explanation.reasons) == ([], [])


def test_reasons_from_the_present_state() -> None:
    partition = Partition("t", 0, leader=2, replicas=(1, 2, 3), isr=(2,))
    assert reasons(partition, {1: True, 2: False, 3: False}, "2") == [
        "under-replicated: replica 1 is offline, for broker 1 is down",
        "under-replicated: replica 3 is online and behind leader 2",
        "not led by its first replica 1: it is not in sync",
        "refuses writes with acks=all: 1 in sync, min.insync.replicas is 2",
    ]
    both = Partition("t", 0, leader=2, replicas=(2, 1, 3), isr=(2,), offline=(1, 3))
    assert reasons(both, {1: True, 2: False, 3: False}) == [
        "under-replicated: replica 1 is offline, for broker 1 is down; replica 3 is offline, for a log directory failed"
    ]
    ready = Partition("t", 0, leader=2, replicas=(1, 2), isr=(1, 2))
    everyone = {1: False, 2: False}
    assert reasons(ready, everyone) == ["not led by its first replica 1: an election of preferred leaders changes that"]
    leaderless = Partition("t", 0, leader=-1, replicas=(1, 2), isr=(), elr=(2,))
    assert reasons(leaderless, everyone) == ["no leader, though 2 could lead: the controller has not elected it"]
    nobody = Partition("t", 0, leader=-1, replicas=(1, 2), isr=())
    assert reasons(nobody, everyone) == ["no leader: no replica is in sync or eligible"]
    moving = Partition("t", 0, leader=1, replicas=(1, 2, 3), isr=(1, 2), adding=(3,), removing=(2,))
    assert reasons(moving, {**everyone, 3: False}) == ["being reassigned: adds 3, removes 2"]
    deleting = Partition("t", 0, leader=-1, replicas=(1, 2), isr=(1,), deleting=(2,))
    assert reasons(deleting, {1: False}) == ["its deletion waits for replica 2"]


def test_brokers_are_stopped_in_an_order_that_keeps_partitions_writable() -> None:
    state = ClusterState()
    state.settings.configs["topic", "t"] = {"min.insync.replicas": "2"}
    for index, replicas in enumerate([(1, 3, 4), (1, 3, 4), (2, 3, 4)]):
        state.put(Partition("t", index, leader=replicas[0], replicas=replicas, isr=replicas))
    assert drain_order(state, [1, 2]) == ([2, 1], [])  # 2 leads fewer
    assert drain_order(state, [1, 3]) == ([3], [1])
    assert drain_order(state, [3, 4]) == ([3], [4])
