"""A broker: when it runs, what it tells ZooKeeper and clients."""

from __future__ import annotations

import pytest

import kwire
from kwire import messages
from kwire.cluster.kip112 import Ensemble, JbodDisk, KafkaBroker, KafkaZkClient, protocol_for
from kwire.zookeeper import BrokerRegistration
from tests.cluster.kip112.playing import fail, said, started

HERE = BrokerRegistration(host="h", port=9, version=1, timestamp="0")


def broker(works: tuple[bool, ...], protocol: str = "3.9") -> KafkaBroker:
    disks = {f"/{number}": JbodDisk(one) for number, one in enumerate(works)}
    return KafkaBroker(4, disks, KafkaZkClient(Ensemble(), 1), HERE, protocol=protocol_for(protocol))


@pytest.mark.parametrize(
    ("works", "protocol", "runs"),
    [
        ((True, False), "3.9", True),
        ((False, False), "3.9", False),
        ((True, False), "0.10.2", False),
        ((True,), "0.8", True),
    ],
)
def test_a_broker_runs_with_a_good_directory(works: tuple[bool, ...], protocol: str, runs: bool) -> None:
    made = broker(works, protocol)
    assert made.running is runs
    assert list(made.zk.brokers()) == ([4] if runs else [])


def test_a_failure_is_told_once_and_the_last_one_not_at_all() -> None:
    made = broker((True, True))
    assert made.log_dir_failed("/0") == []
    made.log_dir_failed("/0")
    assert len(made.zk.zk.children("/log_dir_event_notification")) == 1
    made.log_dir_failed("/1")
    assert not made.running
    assert len(made.zk.zk.children("/log_dir_event_notification")) == 1


def test_a_disk_that_fails_when_a_replica_is_made_is_noticed() -> None:
    cluster = started("3.9")
    cluster.fail_disk(2, "/a")
    cluster.create_topic("orders", [(2, 3)])
    cluster.run()
    made = cluster.hosts[2].broker
    assert made is not None
    assert made.logs.live == ["/b"]
    assert said(cluster, "LeaderAndIsr", 2)[2, ("orders", 0)][0] == (True, 0)


def test_an_old_controller_does_not_change_the_metadata() -> None:
    made = broker((True,))
    row = messages.UpdateMetadataRequest.UpdateMetadataBroker(id=7)
    assert made.handle(messages.UpdateMetadataRequest(controller_epoch=2, live_brokers=(row,)), 8).error_code == 0
    assert made.handle(messages.UpdateMetadataRequest(controller_epoch=1), 8).error_code == 11
    assert list(made.metadata.brokers or {}) == [7]


@pytest.mark.parametrize("version", range(1, 13))
def test_metadata_has_offline_replicas_in_every_version_with_that_field(version: int) -> None:
    cluster = started("3.9")
    cluster.create_topic("orders", [(2,), (3, 2)])
    cluster.run()
    fail(cluster, 2, ("orders", 0))
    cluster.run()
    made = cluster.hosts[1].broker
    assert made is not None
    codec = kwire.codec("MetadataResponse", version)
    answer = codec.decode(codec.encode(made.metadata_response()))
    first = answer.topics[0].partitions[0]
    assert (first.error_code, first.leader_id) == (5, -1)
    assert tuple(first.offline_replicas) == ((2,) if version >= 5 else ())
    assert answer.controller_id == 1


def test_an_unknown_topic_is_told_as_such() -> None:
    assert broker((True,)).metadata_response(["none"]).topics[0].error_code == 3
