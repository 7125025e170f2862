"""Kafka's nodes in ZooKeeper, written and read to the byte."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import Ensemble, KafkaZkClient, LeaderAndIsr, ReplicaAssignment
from kwire.cluster.kip112.kafka_zk_client import CONTROLLER_EPOCH, ISR_CHANGES, partition_of, state_path
from kwire.cluster.state import Broker
from kwire.zookeeper import BrokerRegistration

T = ("orders", 0)


@pytest.fixture
def zk() -> KafkaZkClient:
    return KafkaZkClient(Ensemble(), 1)


def test_a_state_is_written_over_the_version_it_was_read_at(zk: KafkaZkClient) -> None:
    assert zk.create_state(T, LeaderAndIsr(1, (1, 2)))
    assert not zk.create_state(T, LeaderAndIsr(2, (2,)))
    state = zk.state(T)
    assert state == LeaderAndIsr(1, (1, 2))
    assert zk.set_state(T, state.next(2, (2,))) == 1
    assert zk.set_state(T, state.next(1, (1,))) is None
    data = b'{"controller_epoch":0,"leader":2,"version":1,"leader_epoch":1,"isr":[2]}'
    assert zk.zk.nodes[state_path(T)].data == data
    assert zk.state(("other", 0)) is None


def test_one_broker_is_the_controller_and_the_epoch_grows(zk: KafkaZkClient) -> None:
    assert zk.elect_controller(1) == 1
    assert KafkaZkClient(zk.zk, 2).elect_controller(2) is None
    assert zk.controller_id() == 1
    zk.zk.end_session(1)
    assert zk.controller_id() is None
    assert KafkaZkClient(zk.zk, 2).elect_controller(2) == 2
    assert zk.read(CONTROLLER_EPOCH) == 2


def test_brokers_are_known_by_their_first_end_point(zk: KafkaZkClient) -> None:
    zk.register_broker(BrokerRegistration(host="h", port=9, version=1, timestamp="0"), 1)
    endpoints = ("SSL://[::1]:7", "CTRL://x:8")
    told = BrokerRegistration(
        host=None, port=-1, version=4, timestamp="0", endpoints=endpoints, rack="r", listener_security_protocol_map={}
    )
    zk.register_broker(told, 2)
    assert {one: broker for one, (broker, _) in zk.brokers().items()} == {
        1: Broker(1, "h", 9),
        2: Broker(2, "[::1]", 7, "r"),
    }


def test_a_topic_keeps_its_id_and_each_has_its_own(zk: KafkaZkClient) -> None:
    zk.write_topic("a", {0: ReplicaAssignment((1, 2))})
    zk.write_topic("b", {0: ReplicaAssignment((1, 2))})
    first = zk.topic_id("a")
    zk.write_topic("a", {0: ReplicaAssignment((3, 1, 2), (3,), (2,))})
    assert zk.topic_id("a") == first != zk.topic_id("b")
    told = zk.topics()["a"]
    assert (told.partitions, told.adding_replicas, told.removing_replicas) == ({0: (3, 1, 2)}, {0: (3,)}, {0: (2,)})
    assert zk.topic_id("none") == bytes(16)


def test_a_topic_may_allow_unclean_elections_or_forbid_them(zk: KafkaZkClient) -> None:
    zk.zk.create("/config/topics/a", b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}')
    zk.zk.create("/config/topics/b", b'{"version":1,"config":{}}')
    assert zk.unclean_leader_election("a", False)
    assert not zk.unclean_leader_election("b", False)
    assert zk.unclean_leader_election("c", True)


def test_notifications_are_read_in_order(zk: KafkaZkClient) -> None:
    zk.notify_isr_change([T])
    zk.notify_isr_change([("other", 3)])
    told = zk.notifications(ISR_CHANGES)
    assert [(one.topic, one.partition) for event in told.values() for one in event.partitions] == [T, ("other", 3)]
    zk.delete(told)
    assert not zk.notifications(ISR_CHANGES)


def test_a_path_names_its_partition() -> None:
    assert partition_of(state_path(("a.b-c", 12))) == ("a.b-c", 12)
    assert partition_of("/brokers/topics/a/partitions/0") is None
