"""The world of a cluster: brokers start, crash and lose sessions, controllers follow each other."""

from __future__ import annotations

from kwire.cluster.kip112 import JbodCluster
from tests.cluster.kip112.playing import isr, replicate, started

T = ("orders", 0)


def with_topic() -> JbodCluster:
    cluster = started()
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    return cluster


def test_a_crash_is_known_when_the_session_ends() -> None:
    cluster = with_topic()
    cluster.crash(2)
    cluster.run()
    assert isr(cluster, T) == (2, (2, 3, 1))
    cluster.expire(2)
    cluster.run()
    assert isr(cluster, T) == (3, (3, 1))


def test_a_broker_that_loses_its_session_comes_back_with_its_replicas() -> None:
    cluster = with_topic()
    cluster.expire(2)
    cluster.run()
    assert isr(cluster, T)[0] == 3
    replicate(cluster, T)
    assert isr(cluster, T) == (3, (3, 1, 2))


def test_no_second_controller_and_no_stopped_broker_is_elected() -> None:
    cluster = with_topic()
    assert not cluster.elect(2)
    cluster.crash(1)
    assert not cluster.elect(2)
    cluster.expire(1)
    assert not cluster.elect(1)
    assert cluster.elect(2)
    assert cluster.controller is not None
    assert cluster.controller.context.epoch == 2


def test_a_controller_that_resigns_continues_as_a_broker() -> None:
    cluster = with_topic()
    cluster.resign(1)
    assert cluster.controller is None
    cluster.stop(2)
    assert cluster.elect(3)
    cluster.run()
    assert isr(cluster, T) == (3, (3, 1))


def test_requests_of_a_deposed_controller_are_refused() -> None:
    cluster = with_topic()
    cluster.create_topic("late", [(2, 3)])
    while cluster.hosts[1].changes:
        cluster.take(("znode", 1))
    cluster.expire(1)
    cluster.elect(3)
    new = [step for step in cluster.steps() if step[0] == "request" and step[1][0] == 2]  # type: ignore[index]
    for step in new:
        cluster.take(step)
    cluster.journal.clear()
    old = [step for step in cluster.steps() if step[0] == "request" and step[1][0] == 1]  # type: ignore[index]
    assert old
    for step in old:
        cluster.take(step)
    cluster.run()
    assert {one.response.error_code for one in cluster.journal if one.controller_epoch == 1} == {11}


def test_what_is_sent_to_an_earlier_start_of_a_broker_does_not_reach_the_next() -> None:
    cluster = with_topic()
    cluster.create_topic("late", [(2, 3)])
    while cluster.hosts[1].changes:
        cluster.take(("znode", 1))
    assert [key for key, link in cluster.links.items() if key[1] == 2 and link.waiting]
    cluster.stop(2)
    cluster.start(2)
    assert not [key for key, link in cluster.links.items() if key[1] == 2]
    cluster.run()
    assert cluster.hosts[2].broker is not None
    assert cluster.hosts[2].broker.logs.directory_of(("late", 0)) is not None


def test_every_topic_has_an_id_of_its_own() -> None:
    cluster = with_topic()
    cluster.create_topic("other", [(1,)])
    assert cluster.client(1).topic_id("orders") != cluster.client(1).topic_id("other")


def last_directory_fails(cluster: JbodCluster, broker_id: int) -> None:
    for directory in cluster.hosts[broker_id].disks:
        cluster.fail_disk(broker_id, directory)


def has_left(cluster: JbodCluster, broker_id: int) -> bool:
    host = cluster.hosts[broker_id]
    links = [key for key in cluster.links if key[1] == broker_id]
    return host.broker is None and cluster.zk.get(f"/brokers/ids/{broker_id}") is None and not links


def test_a_broker_whose_last_directory_fails_while_it_creates_a_replica_leaves() -> None:
    cluster = with_topic()
    last_directory_fails(cluster, 3)
    cluster.create_topic("more", [(3, 2), (2, 3)])
    cluster.run()
    assert has_left(cluster, 3)
    assert isr(cluster, ("more", 0))[0] == 2
    assert 3 not in isr(cluster, T)[1]
    answered = [one.response for one in cluster.journal if one.broker_id == 3 and "more" in repr(one.request)]
    assert answered[0] is None  # it stopped before it answered


def test_a_broker_whose_last_directory_fails_while_it_deletes_a_replica_leaves() -> None:
    cluster = with_topic()
    last_directory_fails(cluster, 3)
    broker = cluster.hosts[3].broker
    assert broker is not None
    (other,) = set(broker.logs.live) - {broker.logs.directory_of(T)}
    cluster.notice(3, other)
    cluster.run()
    assert not has_left(cluster, 3)
    cluster.delete_topic("orders")
    cluster.run()
    assert has_left(cluster, 3)


def test_a_broker_that_cannot_delete_on_one_of_its_directories_stays() -> None:
    cluster = with_topic()
    host = cluster.hosts[3]
    assert host.broker is not None
    directory = host.broker.logs.directory_of(T)
    assert directory is not None
    cluster.fail_disk(3, directory)
    cluster.delete_topic("orders")
    cluster.run()
    assert host.broker is not None
    assert host.broker.logs.live == [one for one in host.disks if one != directory]
    assert cluster.zk.get("/brokers/topics/orders") is not None  # deleted when its broker is back with the directory
