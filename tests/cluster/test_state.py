"""The state of a cluster keeps the order of the wire, and knows what is wrong."""

from __future__ import annotations

from kwire.cluster import Broker, ClusterState, Partition


def state() -> ClusterState:
    found = ClusterState(brokers={2: Broker(2, rack="b"), 3: Broker(3), 1: Broker(1, rack="a"), 4: Broker(4, rack="a")})
    found.put(Partition("b", 10, leader=2, replicas=(3, 2), isr=(2, 3)))
    found.put(Partition("b", 9, leader=-1, replicas=(5, 1), isr=(5,)))
    found.put(Partition("a", 0, leader=1, replicas=(1, 2), isr=(1, 2), offline=(2,)))
    return found


def test_partitions_come_by_topic_and_number() -> None:
    assert [(one.topic, one.index) for one in state().partitions()] == [("a", 0), ("b", 9), ("b", 10)]
    assert [one.index for one in state().partitions("b")] == [9, 10]
    assert state().partitions("c") == []


def test_the_first_replica_is_preferred() -> None:
    assert [one.preferred for one in state().partitions()] == [1, 5, 3]
    assert Partition("a", 0).preferred == -1


def test_brokers_by_rack_those_without_one_last() -> None:
    assert {rack: [one.node_id for one in brokers] for rack, brokers in state().by_rack().items()} == {
        "a": [1, 4],
        "b": [2],
        None: [3],
    }
    assert list(state().by_rack()) == ["a", "b", None]
    assert ClusterState().by_rack() == {}


def test_offline_replicas_are_those_reported_or_else_on_dead_brokers() -> None:
    found = state()
    assert [found.offline(one) for one in found.partitions()] == [(2,), (5,), ()]
    found.brokers = None
    assert [found.offline(one) for one in found.partitions()] == [(2,), (), ()]


def test_troubles() -> None:
    assert [one.index for one in state().leaderless()] == [9]
    assert [one.index for one in state().under_replicated()] == [9]


def test_what_is_dropped_is_gone_and_nothing_else() -> None:
    found = state()
    found.drop("b", 9)
    found.drop("b", 77)
    found.drop("nothing")
    assert [one.index for one in found.partitions("b")] == [10]
    found.drop("b", 10)
    assert list(found.topics) == ["a"]
    found.drop("a")
    assert found.topics == {}


def test_a_partition_needs_no_more_replicas_in_sync_than_it_has() -> None:
    """Kafka: Partition.effectiveMinIsr; a topic with one replica takes writes although min.insync.replicas is 2."""
    found = ClusterState()
    found.settings.configs["broker", ""] = {"min.insync.replicas": "2"}
    found.put(Partition("single", 0, leader=1, replicas=(1,), isr=(1,)))
    found.put(Partition("double", 0, leader=1, replicas=(1, 2), isr=(1,)))
    assert [(one.topic, found.least_in_sync(one)) for one in found.partitions()] == [("double", 2), ("single", 1)]
    assert [one.topic for one in found.under_min_isr()] == ["double"]
