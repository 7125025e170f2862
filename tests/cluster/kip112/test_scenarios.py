"""The eight scenarios of KIP-112, step by step as the KIP tells them, in every form the messages have had since."""

from __future__ import annotations

import pytest

from kwire import messages
from kwire.cluster.kip112 import JbodCluster
from kwire.cluster.kip112.kafka_zk_client import LOG_DIR_EVENTS
from kwire.cluster.kip112.values import KAFKA_STORAGE_ERROR, NONE, UNKNOWN_TOPIC_OR_PARTITION
from tests.cluster.kip112.playing import PROTOCOLS, directory_of, fail, isr, replica, replicate, said, started

T = ("orders", 0)


@pytest.fixture(params=PROTOCOLS)
def cluster(request: pytest.FixtureRequest) -> JbodCluster:
    return started(request.param)


def with_topic(cluster: JbodCluster, topic: str = "orders", replicas: tuple[int, ...] = (2, 3, 1)) -> None:
    cluster.create_topic(topic, [replicas])
    cluster.run()


def test_1_a_topic_gets_created(cluster: JbodCluster) -> None:
    with_topic(cluster)
    # LeaderAndIsrRequest with is_new_replica goes to leader and followers; they make their replicas and answer None
    assert said(cluster, "LeaderAndIsr") == {(broker, T): [(True, NONE)] for broker in (1, 2, 3)}
    assert all(replica(cluster, broker, T).log is not None for broker in (1, 2, 3))
    # the controller takes them for created
    assert cluster.controller is not None
    assert cluster.controller.context.offline_replicas(T) == ()


@pytest.mark.parametrize("error", [KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION, -1])
def test_1_any_other_error_means_that_the_replica_is_offline(error: int) -> None:
    cluster = started("2.4")
    with_topic(cluster)
    controller = cluster.controller
    assert controller is not None
    row = messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError("orders", 0, error)
    epoch = controller.context.broker_epochs[3]
    controller.on_response(3, epoch, None, messages.LeaderAndIsrResponse(partition_errors=(row,)))
    assert controller.context.offline_replicas(T) == (3,)


def test_2_a_log_directory_stops_working_at_run_time(cluster: JbodCluster) -> None:
    with_topic(cluster)
    with_topic(cluster, "other", (2, 1))
    cluster.journal.clear()
    bad = directory_of(cluster, 2, T)
    cluster.fail_disk(2, bad)
    # the broker acts as if StopReplica had come: it leads no more, it fetches no more, clients see an unknown partition
    assert cluster.notice(2, bad) == [T]
    broker = cluster.hosts[2].broker
    assert broker is not None
    assert broker.replicas.get_partition_or_error(T) == UNKNOWN_TOPIC_OR_PARTITION
    # it makes a sequential znode; the controller reads and deletes it
    path = f"{LOG_DIR_EVENTS}/log_dir_event_0000000000"
    assert cluster.zk.nodes[path].data == b'{"version":1,"broker":2,"event":1}'
    cluster.run()
    assert path not in cluster.zk.nodes
    # the controller asks about all replicas of that broker, none of them new; those on the bad directory fail
    asked = {partition: values[0] for (one, partition), values in said(cluster, "LeaderAndIsr", 2).items() if one == 2}
    assert asked == {T: (False, KAFKA_STORAGE_ERROR), ("other", 0): (False, NONE)}
    # another live replica in sync leads, the offline one leaves the ISR in ZooKeeper
    assert isr(cluster, T) == (3, (3, 1))
    assert isr(cluster, ("other", 0)) == (2, (2, 1))
    # everybody learns which replica is offline
    assert [said(cluster, "UpdateMetadata")[broker, T][-1] for broker in (1, 2, 3)] == [(2,)] * 3


def test_2_the_notification_is_gone_before_the_broker_is_asked() -> None:
    cluster = started()
    with_topic(cluster)
    fail(cluster, 2, T)
    while cluster.zk.children(LOG_DIR_EVENTS):
        assert not said(cluster, "LeaderAndIsr", 2)[2, T][1:]
        cluster.take(next(cluster.steps()))
    assert not said(cluster, "LeaderAndIsr", 2)[2, T][1:]
    cluster.run()
    assert said(cluster, "LeaderAndIsr", 2)[2, T][1:] == [(False, KAFKA_STORAGE_ERROR)]


def test_2_a_partition_whose_last_replica_is_offline_has_no_leader_and_keeps_its_isr(cluster: JbodCluster) -> None:
    with_topic(cluster, "lonely", (2,))
    fail(cluster, 2, ("lonely", 0))
    cluster.run()
    assert isr(cluster, ("lonely", 0)) == (-1, (2,))


def test_3_a_broker_bootstraps_with_a_bad_log_directory(cluster: JbodCluster) -> None:
    with_topic(cluster)
    with_topic(cluster, "other", (2, 1))
    bad = directory_of(cluster, 2, T)
    cluster.stop(2)
    cluster.run()
    cluster.fail_disk(2, bad)
    cluster.journal.clear()
    cluster.start(2)
    cluster.run()
    # the broker says what it did not find on good directories; no znode is needed
    assert said(cluster, "LeaderAndIsr", 2)[2, T][0] == (False, KAFKA_STORAGE_ERROR)
    assert said(cluster, "LeaderAndIsr", 2)[2, ("other", 0)] == [(False, NONE)]
    # the replica stays offline and out of the ISR, everybody learns it
    assert isr(cluster, T) == (3, (3, 1))
    assert [said(cluster, "UpdateMetadata")[broker, T][-1] for broker in (1, 2, 3)] == [(2,)] * 3
    # what is new is made on the good directory
    with_topic(cluster, "newer", (2, 3))
    assert directory_of(cluster, 2, ("newer", 0)) != bad
    assert isr(cluster, ("newer", 0)) == (2, (2, 3))


def test_3_a_broker_without_a_good_log_directory_exits(cluster: JbodCluster) -> None:
    with_topic(cluster)
    cluster.stop(2)
    for directory in ("/a", "/b"):
        cluster.fail_disk(2, directory)
    cluster.start(2)
    cluster.run()
    assert cluster.hosts[2].broker is None
    assert cluster.zk.children("/brokers/ids") == ["1", "3"]
    assert isr(cluster, T) == (3, (3, 1))


def test_all_directories_that_go_one_by_one_stop_the_broker_without_a_word(cluster: JbodCluster) -> None:
    with_topic(cluster)
    for directory in ("/a", "/b"):
        cluster.fail_disk(2, directory)
        cluster.notice(2, directory)
        cluster.run()
    assert cluster.hosts[2].broker is None
    assert not cluster.zk.children(LOG_DIR_EVENTS)
    # the number of the first one was used, and no other
    assert cluster.client(1).zk.create("/log_dir_event_notification/log_dir_event_", sequential=True) == (
        "/log_dir_event_notification/log_dir_event_0000000001"
    )
    assert isr(cluster, T) == (3, (3, 1))


@pytest.mark.parametrize("is_empty", [True, False], ids=["another disk", "the old disk mended"])
def test_4_the_disk_gets_fixed(cluster: JbodCluster, is_empty: bool) -> None:
    with_topic(cluster)
    bad = directory_of(cluster, 2, T)
    fail(cluster, 2, T)
    cluster.run()
    cluster.stop(2)
    cluster.run()
    disk = cluster.hosts[2].disks[bad]
    disk.works = True
    if is_empty:
        disk.logs.clear()
    cluster.journal.clear()
    cluster.start(2)
    cluster.run()
    # no replica is new, yet it is made if it is not there: the broker can read all its directories
    assert said(cluster, "LeaderAndIsr", 2)[2, T] == [(False, NONE)]
    assert replica(cluster, 2, T).log is not None
    replicate(cluster, T)
    assert isr(cluster, T) == (3, (3, 1, 2))
    assert said(cluster, "UpdateMetadata")[1, T][-1] == ()


def test_4_a_bad_directory_is_taken_out_of_the_config(cluster: JbodCluster) -> None:
    with_topic(cluster)
    bad = directory_of(cluster, 2, T)
    fail(cluster, 2, T)
    cluster.run()
    cluster.stop(2)
    cluster.run()
    del cluster.hosts[2].disks[bad]
    cluster.start(2)
    cluster.run()
    # all that was on it is made again on the good directories
    assert directory_of(cluster, 2, T) != bad
    broker = cluster.hosts[2].broker
    assert broker is not None
    assert broker.logs.offline_log_directory_count == broker.replicas.offline_replica_count == 0
    replicate(cluster, T)
    assert isr(cluster, T) == (3, (3, 1, 2))


def test_5_a_user_asks_for_the_state_of_replicas(cluster: JbodCluster) -> None:
    with_topic(cluster)
    fail(cluster, 2, T)
    cluster.run()
    cluster.stop(3)
    cluster.run()
    # any broker tells: offline are the replica on the bad disk of a live broker, and that on the dead broker
    for broker_id in (1, 2):
        broker = cluster.hosts[broker_id].broker
        assert broker is not None
        (topic,) = broker.metadata_response(["orders"]).topics
        assert topic.partitions[0].offline_replicas == (2, 3)
        assert topic.partitions[0].leader_id == 1


def test_6_the_controller_fails_over(cluster: JbodCluster) -> None:
    with_topic(cluster)
    with_topic(cluster, "lonely", (2,))
    fail(cluster, 2, T)
    cluster.run()
    cluster.stop(1)
    cluster.journal.clear()
    assert cluster.elect(3)
    cluster.run()
    # the new controller asks all brokers, nothing being new, and derives from the answers what is offline
    controller = cluster.controller
    assert controller is not None
    assert said(cluster, "LeaderAndIsr", 2)[2, T][0] == (False, KAFKA_STORAGE_ERROR)
    assert controller.context.offline_replicas(T) == (2, 1)
    assert isr(cluster, T) == (3, (3,))


def test_6_an_unnoticed_failure_is_found_by_the_next_controller(cluster: JbodCluster) -> None:
    with_topic(cluster)
    cluster.stop(1)
    fail(cluster, 2, T)
    cluster.elect(3)
    cluster.run()
    assert not cluster.zk.children(LOG_DIR_EVENTS)
    assert isr(cluster, T) == (3, (3,))


def test_7_a_partition_is_reassigned_to_a_broker_with_a_bad_directory(cluster: JbodCluster) -> None:
    with_topic(cluster, "full", (2,))
    fail(cluster, 2, ("full", 0))
    with_topic(cluster, "orders", (1, 3))
    cluster.journal.clear()
    assert cluster.controller is not None
    cluster.controller.reassign(T, (1, 2))
    cluster.after()
    cluster.run()
    # as in scenario 1: the replica on the destination is new, and so it is made on a good directory
    assert said(cluster, "LeaderAndIsr", 2)[2, T][0] == (True, NONE)
    replicate(cluster, T)
    assert cluster.controller.context.assignments[T].replicas == (1, 2)
    assert isr(cluster, T) == (1, (1, 2))
    assert T not in {one for disk in cluster.hosts[3].disks.values() for one in disk.logs}


def test_7_stopping_an_offline_replica_fails(cluster: JbodCluster) -> None:
    with_topic(cluster, "orders", (2, 1))
    fail(cluster, 2, T)
    cluster.run()
    cluster.journal.clear()
    assert cluster.controller is not None
    cluster.controller.reassign(T, (1, 3))
    cluster.after()
    cluster.run()
    replicate(cluster, T)
    assert isr(cluster, T) == (1, (1, 3))
    assert said(cluster, "StopReplica", 2)[2, T] == [(False, KAFKA_STORAGE_ERROR), (True, KAFKA_STORAGE_ERROR)]


def test_8_a_topic_is_deleted(cluster: JbodCluster) -> None:
    with_topic(cluster)
    cluster.delete_topic("orders")
    cluster.run()
    assert cluster.zk.children("/brokers/topics") == []
    assert not [one for host in cluster.hosts.values() for disk in host.disks.values() for one in disk.logs]


def test_8_a_topic_with_an_offline_replica_is_deleted_when_the_replica_is_back(cluster: JbodCluster) -> None:
    with_topic(cluster)
    bad = directory_of(cluster, 2, T)
    fail(cluster, 2, T)
    cluster.run()
    cluster.delete_topic("orders")
    cluster.run()
    # as if broker 2 were dead: the other replicas go, the topic waits
    assert [one for one in (1, 2, 3) if any(T in disk.logs for disk in cluster.hosts[one].disks.values())] == [2]
    assert cluster.zk.children("/brokers/topics") == ["orders"]
    cluster.stop(2)
    cluster.run()
    cluster.hosts[2].disks[bad].works = True
    cluster.start(2)
    cluster.run()
    assert cluster.zk.children("/brokers/topics") == []
    assert not cluster.hosts[2].disks[bad].logs


def test_the_metrics_count_what_is_offline(cluster: JbodCluster) -> None:
    cluster.create_topic("orders", [(2, 3), (2, 1), (2, 3)])
    cluster.run()
    broker = cluster.hosts[2].broker
    assert broker is not None
    assert (broker.logs.offline_log_directory_count, broker.replicas.offline_replica_count) == (0, 0)
    fail(cluster, 2, T)
    assert (broker.logs.offline_log_directory_count, broker.replicas.offline_replica_count) == (1, 2)
    cluster.run()
    assert (broker.logs.offline_log_directory_count, broker.replicas.offline_replica_count) == (1, 2)
    cluster.stop(2)
    cluster.start(2)
    cluster.run()
    again = cluster.hosts[2].broker
    assert again is not None
    assert (again.logs.offline_log_directory_count, again.replicas.offline_replica_count) == (1, 2)
