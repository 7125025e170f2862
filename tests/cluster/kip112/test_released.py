"""What released brokers do otherwise than KIP-112's text says, as `../shared/captures/disk-failure.md` has it."""

from __future__ import annotations

from kwire.cluster.kip112 import JbodCluster
from kwire.cluster.kip112.kafka_zk_client import LOG_DIR_EVENTS
from kwire.cluster.kip112.values import KAFKA_STORAGE_ERROR, NONE, STALE_CONTROLLER_EPOCH
from tests.cluster.kip112.playing import fail, isr, said, started

T, HEALTHY = ("orders", 0), ("other", 0)


def failed(release: str) -> JbodCluster:
    cluster = started(release, behaviour="released", release=release)
    cluster.create_topic("orders", [(2, 3)])
    cluster.create_topic("other", [(2, 3)])
    cluster.run()
    cluster.journal.clear()
    fail(cluster, 2, T)
    return cluster


def test_what_brings_nothing_newer_is_stale_and_does_not_put_a_replica_offline() -> None:
    for release in ("1.1", "2.4", "3.9"):
        cluster = failed(release)
        cluster.run()
        asked = said(cluster, "LeaderAndIsr", 2)
        assert asked == {(2, T): [(False, KAFKA_STORAGE_ERROR)], (2, HEALTHY): [(False, STALE_CONTROLLER_EPOCH)]}
        assert isr(cluster, T) == (3, (3,))
        assert isr(cluster, HEALTHY) == (2, (2, 3))


def test_clients_are_told_of_the_disk() -> None:
    broker = failed("3.9").hosts[2].broker
    assert broker is not None
    assert broker.replicas.get_partition_or_error(T) == KAFKA_STORAGE_ERROR


def test_the_notification_goes_after_the_request() -> None:
    cluster = failed("3.9")
    while cluster.zk.children(LOG_DIR_EVENTS):
        cluster.take(next(cluster.steps()))
    (link,) = [link for link in cluster.links.values() if link.broker_id == 2]
    assert [type(one.request).__name__ for one, _ in link.waiting] == ["LeaderAndIsrRequest", "UpdateMetadataRequest"]


def test_stopping_an_offline_replica_fails_since_2_6() -> None:
    for release, error in (("1.1", NONE), ("2.4", NONE), ("2.8", KAFKA_STORAGE_ERROR), ("3.9", KAFKA_STORAGE_ERROR)):
        cluster = failed(release)
        cluster.run()
        assert said(cluster, "StopReplica") == {(2, T): [(False, error)]}


def test_after_a_restart_everybody_is_told_first_that_nothing_is_offline() -> None:
    cluster = failed("3.9")
    cluster.run()
    cluster.stop(2)
    cluster.run()
    cluster.journal.clear()
    cluster.start(2)
    cluster.run()
    assert not cluster.zk.children(LOG_DIR_EVENTS)
    told = said(cluster, "UpdateMetadata")[3, T]
    assert told[0] == ()
    assert told[-1] == (2,)
    assert said(cluster, "StopReplica", 2)[2, T] == [(False, KAFKA_STORAGE_ERROR)]


def test_kafka_1_takes_no_dead_replica_from_the_isr_when_a_controller_begins() -> None:
    for release, left in (("1.1", (3, 1)), ("2.4", (3,))):
        cluster = started(release, behaviour="released", release=release)
        cluster.create_topic("orders", [(3, 1)])
        cluster.run()
        cluster.stop(1)
        cluster.elect(2)
        cluster.run()
        assert isr(cluster, T) == (3, left)


def test_kafka_1_deletes_nothing_where_a_directory_is_bad() -> None:
    for release, error in (("1.1", KAFKA_STORAGE_ERROR), ("2.4", NONE)):
        cluster = failed(release)
        cluster.run()
        cluster.delete_topic("other")
        cluster.run()
        assert (True, error) in said(cluster, "StopReplica")[2, HEALTHY]
        assert ("other" in cluster.zk.children("/brokers/topics")) is (error != NONE)


def test_kafka_1_elects_the_preferred_replica_though_it_leads() -> None:
    for release, epoch in (("1.1", 1), ("2.4", 0)):
        cluster = started(release, behaviour="released", release=release)
        cluster.create_topic("orders", [(3, 1)])
        cluster.run()
        assert cluster.controller is not None
        cluster.controller.elect_preferred([T])
        state = cluster.client(1).state(T)
        assert state is not None
        assert state.leader_epoch == epoch


def test_a_broker_that_starts_learns_of_topics_that_go_before_2_6() -> None:
    for release, told in (("2.4", True), ("3.9", False)):
        cluster = failed(release)
        cluster.run()
        cluster.delete_topic("orders")
        cluster.run()
        cluster.stop(3)
        cluster.run()
        cluster.journal.clear()
        cluster.start(3)
        cluster.take(next(cluster.steps()))
        first = next(link.waiting[0][0].request for link in cluster.links.values() if link.broker_id == 3)
        assert any(topic.topic_name == "orders" for topic in first.topic_states) is told
