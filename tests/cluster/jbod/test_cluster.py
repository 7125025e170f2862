"""The world of a cluster: brokers start, crash and lose sessions, controllers follow each other."""

from __future__ import annotations

from kwire.cluster.jbod import JbodCluster
from tests.cluster.jbod.playing import isr, replicate, started

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


def test_nobody_is_elected_beside_a_controller_or_without_running() -> None:
    cluster = with_topic()
    assert not cluster.elect(2)
    cluster.crash(1)
    assert not cluster.elect(2)
    cluster.expire(1)
    assert not cluster.elect(1)
    assert cluster.elect(2)
    assert cluster.controller is not None
    assert cluster.controller.context.epoch == 2


def test_a_controller_that_resigns_goes_on_as_a_broker() -> None:
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
    while cluster.hosts[1].told:
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
    while cluster.hosts[1].told:
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
