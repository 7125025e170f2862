"""The three scenarios of KIP-112's test plan, and the rolling upgrade that its migration needs.

Three brokers with two log directories; a producer and a consumer lose nothing and see nothing twice.
"""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import JbodCluster, protocol_for
from tests.cluster.kip112.playing import PROTOCOLS, Client, directory_of, fail, isr, replicate, started

T = ("orders", 0)
OTHER = ("payments", 0)


@pytest.fixture(params=PROTOCOLS)
def cluster(request: pytest.FixtureRequest) -> JbodCluster:
    cluster = started(request.param)
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    return cluster


def validate(cluster: JbodCluster, client: Client, offline: tuple[int, ...]) -> None:
    """Validate client and cluster state: brokers run, topics are told as they are, producer and consumer go on."""
    client.produce()
    assert client.consume() == client.acknowledged
    for host in cluster.hosts.values():
        if host.broker is not None:
            (topic,) = host.broker.metadata_response([client.partition[0]]).topics
            assert topic.partitions[0].offline_replicas == offline


def test_a_failure_discovered_during_bootstrap(cluster: JbodCluster) -> None:
    client = Client(cluster, T)
    client.produce()
    leader, _ = isr(cluster, T)
    bad = directory_of(cluster, leader, T)
    cluster.stop(leader)
    cluster.run()
    client.produce()
    cluster.fail_disk(leader, bad)
    cluster.start(leader)
    cluster.run()
    validate(cluster, client, (leader,))
    assert all(host.broker for host in cluster.hosts.values())


def test_a_failure_discovered_on_the_leader_at_run_time(cluster: JbodCluster) -> None:
    still_serves_its_good_directory(cluster, isr(cluster, T)[0])


def test_a_failure_discovered_on_a_follower_at_run_time(cluster: JbodCluster) -> None:
    still_serves_its_good_directory(cluster, isr(cluster, T)[1][1])


def still_serves_its_good_directory(cluster: JbodCluster, victim: int) -> None:
    client = Client(cluster, T)
    client.produce()
    fail(cluster, victim, T)
    cluster.run()
    validate(cluster, client, (victim,))
    assert all(host.broker for host in cluster.hosts.values())
    # a second topic is served from its good directory, with no other broker alive
    cluster.create_topic("payments", [(1, 2, 3)])
    cluster.run()
    second = Client(cluster, OTHER)
    second.produce()
    for other in {1, 2, 3} - {victim}:
        cluster.stop(other)
        cluster.elect(victim)
        cluster.run()
    assert isr(cluster, OTHER) == (victim, (victim,))
    validate(cluster, second, tuple(one for one in (1, 2, 3) if one != victim))
    assert isr(cluster, T)[0] == -1


@pytest.mark.parametrize("old", ["0.8.2", "0.9", "0.10.0", "0.10.2"])
def test_a_rolling_upgrade_takes_two_bounces(old: str) -> None:
    cluster = started(old)
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    client = Client(cluster, T)
    client.produce()
    # after the first bounce all run the new code and speak the old protocol: it can say neither new nor offline
    assert {one.version for one in cluster.journal if type(one.request).__name__ == "LeaderAndIsrRequest"} == {0}
    # the second bounce is to the new protocol, broker by broker, the controller last
    for broker_id in (2, 3, 1):
        cluster.stop(broker_id)
        cluster.elect(2)
        cluster.run()
        cluster.hosts[broker_id].protocol = protocol_for("1.0")
        cluster.start(broker_id)
        cluster.run()
        replicate(cluster, T)
        client.produce()
    assert sorted(isr(cluster, T)[1]) == [1, 2, 3]
    fail(cluster, isr(cluster, T)[0], T)
    cluster.run()
    client.produce()
    assert client.consume() == client.acknowledged
    assert all(host.broker for host in cluster.hosts.values())


def test_during_the_upgrade_an_old_controller_decides_for_all(cluster: JbodCluster) -> None:
    for host in cluster.hosts.values():
        host.protocol = protocol_for("0.10.2")
    cluster.stop(1)
    cluster.elect(2)
    cluster.run()
    cluster.hosts[3].protocol = protocol_for("1.0")
    cluster.journal.clear()
    cluster.stop(3)
    cluster.start(3)
    cluster.run()
    versions = {(type(one.request).__name__, one.version) for one in cluster.journal if one.broker_id == 3}
    assert versions == {("LeaderAndIsrRequest", 0), ("UpdateMetadataRequest", 3)}


@pytest.mark.parametrize("old", ["0.8.2", "0.10.2"])
def test_a_broker_with_an_older_protocol_halts_when_a_directory_fails(old: str) -> None:
    cluster = started(old)
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    fail(cluster, 2, T)
    cluster.run()
    assert cluster.hosts[2].broker is None
    assert cluster.zk.children("/log_dir_event_notification") == []
    assert isr(cluster, T) == (3, (3, 1))
    cluster.start(2)
    assert cluster.hosts[2].broker is None
