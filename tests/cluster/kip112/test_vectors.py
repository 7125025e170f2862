"""KIP-112's text as cases: `kip112.jsonl` of the folder that `KWIRE_VECTORS` names, `../shared/vectors` unless told."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import messages, values
from kwire.cluster.kip112 import JbodCluster, JbodDisk, Link, LogManager, ReplicaAssignment
from kwire.cluster.kip112.controller.controller_context import ControllerContext
from kwire.cluster.kip112.ensemble import Ensemble
from kwire.cluster.kip112.kafka_zk_client import LOG_DIR_EVENTS, KafkaZkClient
from kwire.cluster.state import Broker
from kwire.errors import ZnodeError
from kwire.schema.catalog import catalog_for
from kwire.schema.field_names import snake_case
from kwire.zookeeper import LogDirEvent, node_type, read_znode, write_znode
from tests.cluster.kip112.playing import directory_of, fail, isr, replica, replicate, said, started
from tests.conftest import SHARED, each_of, needs_shared

PATH = Path(os.environ.get("KWIRE_VECTORS", SHARED / "vectors")) / "kip112.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in PATH.read_text().splitlines()] if PATH.is_file() else []
T = ("orders", 0)
ERRORS = {"None": 0, "KafkaStorageException": 56, "UnknownServerError": -1}


def decision(case: dict[str, Any]) -> None:
    """What a broker does with one partition of a LeaderAndIsrRequest."""
    disks = {"/good": JbodDisk(case["some_directory_good"]), "/bad": JbodDisk(not case["some_directory_bad"])}
    cluster = JbodCluster({1: [], 2: ["/x"]}, protocol="1.0")
    cluster.hosts[1].disks = disks
    cluster.start(2)
    cluster.elect(2)
    cluster.create_topic("orders", [(1, 2) if case["is_new_replica"] else (2,)])
    if not case["is_new_replica"]:
        cluster.run()
    if case["replica_found_on_good_directory"]:
        LogManager(disks).get_or_create(T, is_new=True)
    cluster.start(1)
    broker = cluster.hosts[1].broker
    if case["expected"]["action"] == "broker_exits":
        assert broker is None
        return
    assert broker is not None
    state = messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        topic_name="orders", leader=1, isr=(1,), replicas=(1,), is_new_replica=case["is_new_replica"]
    )
    request = messages.LeaderAndIsrRequest(controller_epoch=9, ungrouped_partition_states=(state,))
    (row,) = broker.handle(request, 1).partition_errors
    assert row.error_code == ERRORS[case["expected"]["error"]]
    made = broker.logs.directory_of(T)
    assert made == (None if case["expected"]["action"] == "none" else "/good" if disks["/good"].works else "/bad")


def replica_online(case: dict[str, Any]) -> None:
    cluster = with_topic((1, 2))
    controller = cluster.controller
    assert controller is not None
    if not case["broker_alive"]:
        cluster.stop(2)
        cluster.run()
    else:
        row = messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError("orders", 0, ERRORS[case["error_in_response"]])
        answer = messages.LeaderAndIsrResponse(partition_errors=(row,))
        controller.on_response(2, controller.context.broker_epochs[2], None, answer)
    assert controller.context.is_online(2, T) == case["expected"]["online"]


def is_new_replica(case: dict[str, Any]) -> None:
    cluster = started("1.0")
    if case["from_state"] == "NewReplica":
        cluster.create_topic("orders", [(1, 2)])
    else:
        cluster = with_topic((1, 2))
        if case["from_state"] == "Offline":
            cluster.stop(2)
            cluster.run()
            cluster.start(2)
        else:  # it is online, and asked about again
            cluster.hosts[2].broker.zk.notify_log_dir_failure(2)  # type: ignore[union-attr]
            cluster.after()
        cluster.journal.clear()
    cluster.run()
    assert said(cluster, "LeaderAndIsr", 2)[2, T][0][0] == case["expected"]["isNewReplica"]


def offline_replicas(case: dict[str, Any]) -> None:
    context = ControllerContext()
    context.assignments[T] = ReplicaAssignment(tuple(case["replicas"]))
    alive = [one for one in case["replicas"] if one not in case["dead_brokers"]]
    context.add_brokers({one: (Broker(one), 0) for one in alive})
    context.offline_dirs = {one: {T} for one in case["offline_on_live_brokers"]}
    assert list(context.offline_replicas(T)) == case["expected"]["offline_replicas"]


def rule(case: dict[str, Any]) -> None:
    RULES[case["when"]](with_topic((2, 1)))


def starts_good(cluster: JbodCluster) -> None:
    cluster.start(3)
    assert cluster.hosts[3].broker is not None
    assert cluster.hosts[3].broker.logs.live == ["/a", "/b"]


def goes_bad(cluster: JbodCluster) -> None:
    bad = directory_of(cluster, 2, T)
    cluster.fail_disk(2, bad)
    assert cluster.hosts[2].broker is not None
    assert bad in cluster.hosts[2].broker.logs.live
    cluster.notice(2, bad)
    assert bad not in cluster.hosts[2].broker.logs.live


def all_bad(cluster: JbodCluster) -> None:
    for directory in ("/a", "/b"):
        cluster.fail_disk(2, directory)
        cluster.notice(2, directory)
    assert cluster.hosts[2].broker is None


def only_good(cluster: JbodCluster) -> None:
    bad = directory_of(cluster, 2, T)
    fail(cluster, 2, T)
    cluster.run()
    broker = cluster.hosts[2].broker
    assert broker is not None
    assert T not in broker.replicas.partitions
    cluster.create_topic("newer", [(2,), (2,)])
    cluster.run()
    assert {directory_of(cluster, 2, ("newer", index)) for index in (0, 1)} == {"/a", "/b"} - {bad}


def not_fetched(cluster: JbodCluster) -> None:
    fail(cluster, 1, T)
    broker = cluster.hosts[1].broker
    assert broker is not None
    assert T not in broker.replicas.partitions


def two_bounces(cluster: JbodCluster) -> None:
    old = started("0.10.2")
    old.create_topic("orders", [(2, 1)])
    old.run()
    assert {one.version for one in old.journal} == {0, 3}
    assert {one.version for one in cluster.journal} == {1, 4}


RULES: dict[str, Callable[[JbodCluster], None]] = {
    "broker starts": starts_good,
    "IOException on reading or writing a log directory": goes_bad,
    "all log directories are bad": all_bad,
    "a directory is bad": only_good,
    "a replica is offline": not_fetched,
    "the last rolling bounce is not done": two_bounces,
}


def znode(case: dict[str, Any]) -> None:
    zk = KafkaZkClient(Ensemble(), 1)
    zk.notify_log_dir_failure(7)
    ((path, event),) = zk.notifications(LOG_DIR_EVENTS).items()
    assert re.fullmatch(case["path"].replace("*", r"\d+"), path)
    data = json.loads(zk.zk.nodes[path].data)
    assert {key: type(value).__name__ for key, value in data.items()} == case["data"]
    assert case["events"] == {str(event.event): "LogDirFailure"}


def znode_bytes(case: dict[str, Any]) -> None:
    path = f"{LOG_DIR_EVENTS}/log_dir_event_{case.get('sequence', '0000000000')}"
    expected = case["expected"]
    if case["op"] == "encode":
        assert write_znode(LogDirEvent(broker=case["broker"])).decode() == expected["result"]
    elif case["op"] == "path":
        assert path == expected["result"]
        assert node_type(path) is LogDirEvent
    elif expected.get("result") is None:  # no JSON, or no broker in it: Kafka gives up on it one way or another
        with pytest.raises(ZnodeError):
            read_znode(path, case["data"])
    else:
        assert read_broker(path, case["data"]) == expected["result"]


def read_broker(path: str, data: str) -> int:
    """Return the broker that an event names, and let the controller act on it whatever else the event says."""
    cluster = JbodCluster({7: ["/a"], 1: ["/a"]})
    cluster.start(7)
    cluster.start(1)
    cluster.elect(1)
    cluster.create_topic("orders", [(7,)])
    cluster.run()
    cluster.journal.clear()
    cluster.zk.create(path, data.encode())
    cluster.after()
    cluster.run()
    (asked,) = {broker for broker, _ in said(cluster, "LeaderAndIsr")}
    return asked


def fields(case: dict[str, Any]) -> None:
    """The KIP's drawings are those of the profile, under the names that the released messages gave the fields."""
    versions = {"LeaderAndIsrRequest": 1, "UpdateMetadataRequest": 4, "MetadataResponse": 3}
    catalog = catalog_for("KIP-112")
    structs = {
        struct.name: {snake_case(field.name) for field in struct.fields if version in field.versions}
        for name, version in versions.items()
        for struct in catalog.spec(name, version).structs()
    }
    renamed = {"LeaderAndIsrRequestPartitionState": "LeaderAndIsrPartitionState"}
    renamed |= {"UpdateMetadataRequestPartitionState": "UpdateMetadataPartitionState"}
    renamed |= {"PartitionMetadata": "MetadataResponsePartition", "TopicMetadata": "MetadataResponseTopic"}
    found = structs[renamed.get(case["struct"], case["struct"])]
    assert set(case["new"]) <= found
    assert len(case["fields"]) == len(found)


def metric(case: dict[str, Any]) -> None:
    cluster = with_topic((2, 1))
    fail(cluster, 2, T)
    broker = cluster.hosts[2].broker
    assert broker is not None
    counts = {
        "OfflineReplicaCount": broker.replicas.offline_replica_count,
        "OfflineLogDirectoryCount": broker.logs.offline_log_directory_count,
    }
    assert counts[re.findall(r"name=(\w+)", case["name"])[0]] == 1


def superseded(case: dict[str, Any]) -> None:
    """What only the earlier wording had is not done; old data can still be read."""
    cluster = with_topic((2, 1))
    assert not [path for path in cluster.zk.nodes if "controller_managed_state" in path]
    if case["what"] == "znode":
        path = case["path"].replace("[topic]", "orders").replace("[partitionId]", "0")
        assert read_znode(path, json.dumps(case["data"])).created == tuple(case["data"]["created"])
    if case["what"] == "field":
        assert not hasattr(messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState(), case["name"])
    if case["what"] == "event":
        assert (
            read_znode(f"{LOG_DIR_EVENTS}/log_dir_event_0000000000", '{"broker":2,"event":"LogDirReset"}').event
            == case["name"]
        )


def with_topic(replicas: tuple[int, ...]) -> JbodCluster:
    cluster = started("1.0")
    cluster.create_topic("orders", [replicas])
    cluster.run()
    return cluster


def scenario(case: dict[str, Any]) -> None:
    """Each step of a scenario is taken in its order, and checked as it is taken."""
    told = [" ".join(filter(None, (one["actor"], one["action"], one.get("message")))) for one in case["steps"]]
    assert list(STORIES[case["scenario"]]()) == told


def story_1() -> Iterator[str]:
    cluster = started("1.0")
    cluster.create_topic("orders", [(2, 3)])
    cluster.take(next(cluster.steps()))
    assert {link.broker_id for link in cluster.links.values() if is_next(link, "LeaderAndIsrRequest")} == {2, 3}
    yield "controller send LeaderAndIsrRequest"
    cluster.run()
    assert all(directory_of(cluster, one, T) for one in (2, 3))
    yield "leader and followers create_replica"
    assert said(cluster, "LeaderAndIsr") == {(2, T): [(True, 0)], (3, T): [(True, 0)]}
    yield "leader and followers send LeaderAndIsrResponse"
    controller = cluster.controller
    assert controller is not None
    assert controller.context.offline_replicas(T) == ()
    yield "controller consider_replica"
    row = messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError("orders", 0, -1)
    answer = messages.LeaderAndIsrResponse(partition_errors=(row,))
    controller.on_response(3, controller.context.broker_epochs[3], None, answer)
    assert controller.context.offline_replicas(T) == (3,)
    yield "controller consider_replica"


def story_2() -> Iterator[str]:
    cluster = with_topic((2, 3, 1))
    cluster.journal.clear()
    controller, broker = cluster.controller, cluster.hosts[2].broker
    assert controller is not None
    assert broker is not None
    assert LOG_DIR_EVENTS in dict(controller._list_watches())
    yield "controller watch"
    bad = directory_of(cluster, 2, T)
    cluster.fail_disk(2, bad)
    assert cluster.notice(2, bad) == [T]
    yield "broker detect_offline_log_directories"
    assert broker.replicas.get_partition_or_error(T) == values.ErrorCode("UNKNOWN_TOPIC_OR_PARTITION")
    yield "broker act_as_if_received StopReplicaRequest"
    (name,) = cluster.zk.children(LOG_DIR_EVENTS)
    assert json.loads(cluster.zk.nodes[f"{LOG_DIR_EVENTS}/{name}"].data) == {"version": 1, "broker": 2, "event": 1}
    yield "broker create_sequential_znode"
    assert not cluster.links[1, 2, controller.context.broker_epochs[2]].waiting
    cluster.take(next(cluster.steps()))
    yield "controller read_znode"
    assert not cluster.zk.children(LOG_DIR_EVENTS)
    yield "controller delete_znode"
    yield from asked_and_told(cluster)


def asked_and_told(cluster: JbodCluster) -> Iterator[str]:
    """The controller asks broker 2, which has lost its replica of three, and acts on the answer."""
    controller = cluster.controller
    assert controller is not None
    key = (1, 2, controller.context.broker_epochs[2])
    link = cluster.links[key]
    while not is_next(link, "LeaderAndIsrRequest"):
        cluster.take(("request", key) if link.can_deliver else next(cluster.steps()))
    yield "controller send LeaderAndIsrRequest"
    cluster.take(("request", key))
    yield "broker send LeaderAndIsrResponse"
    assert controller.context.offline_replicas(T) == ()
    cluster.run()
    assert controller.context.offline_replicas(T) == (2,)
    yield "controller update_offline_replicas_in_memory"
    assert isr(cluster, T)[0] == 3
    yield "controller elect_leaders"
    assert isr(cluster, T)[1] == (3, 1)
    yield "controller remove_offline_replicas_from_isr"
    assert replica(cluster, 3, T).state.isr == (3, 1)
    yield "controller send LeaderAndIsrRequest"
    assert [said(cluster, "UpdateMetadata")[one, T][-1] for one in (1, 2, 3)] == [(2,)] * 3
    yield "controller send UpdateMetadataRequest"


def story_3() -> Iterator[str]:
    cluster = with_topic((2, 3, 1))
    cluster.stop(2)
    cluster.run()
    cluster.fail_disk(2, directory_of(cluster, 2, T))
    cluster.journal.clear()
    cluster.start(2)
    broker = cluster.hosts[2].broker
    assert broker is not None
    assert broker.logs.directory_of(T) is None
    yield "broker collect_replicas_on_good_log_directories"
    all_bad(with_topic((2, 1)))
    yield "broker exit"
    cluster.take(next(cluster.steps()))
    told = list(asked_and_told(cluster))
    assert said(cluster, "LeaderAndIsr", 2)[2, T] == [(False, 56)]
    yield from told[:2]
    cluster.create_topic("newer", [(2,)])
    cluster.run()
    assert directory_of(cluster, 2, ("newer", 0)) in broker.logs.live
    yield "broker create_replica"
    yield "controller consider_replica"
    yield from told[2:]


def story_4() -> Iterator[str]:
    for choice in ("replace", "take out"):
        cluster = with_topic((2, 3, 1))
        bad = directory_of(cluster, 2, T)
        fail(cluster, 2, T)
        cluster.run()
        cluster.stop(2)
        cluster.run()
        if choice == "replace":
            cluster.hosts[2].disks[bad] = JbodDisk()
        else:
            del cluster.hosts[2].disks[bad]
        cluster.journal.clear()
        cluster.start(2)
        broker = cluster.hosts[2].broker
        assert broker is not None
        assert broker.logs.live == list(cluster.hosts[2].disks)
        cluster.run()
        assert said(cluster, "LeaderAndIsr", 2)[2, T] == [(False, 0)]
        assert broker.logs.directory_of(T) in broker.logs.live
    yield from ("user one_of", "user restart_broker", "broker read_all_configured_log_directories")
    yield from ("controller send LeaderAndIsrRequest", "broker create_replica")


def story_5() -> Iterator[str]:
    cluster = with_topic((2, 3, 1))
    fail(cluster, 2, T)
    cluster.stop(3)
    cluster.run()
    assert [said(cluster, "UpdateMetadata")[one, T][-1] for one in (1, 2)] == [(2, 3)] * 2
    yield "controller send UpdateMetadataRequest"
    for one in (1, 2):
        broker = cluster.hosts[one].broker
        assert broker is not None
        codec = kwire.codec("MetadataResponse", 5)
        answer = codec.decode(codec.encode(broker.metadata_response(["orders"])))
        assert answer.topics[0].partitions[0].offline_replicas == (2, 3)
    yield from ("client send MetadataRequest", "broker send MetadataResponse", "kafka-topics script show")


def story_6() -> Iterator[str]:
    cluster = with_topic((2, 3, 1))
    cluster.stop(1)
    fail(cluster, 2, T)
    cluster.journal.clear()
    cluster.elect(3)
    assert {key[1] for key, link in cluster.links.items() if key[0] == 2 and any_is(link, "LeaderAndIsrRequest")} == {
        2,
        3,
    }
    yield "controller send LeaderAndIsrRequest"
    cluster.run()
    assert set(said(cluster, "LeaderAndIsr")[2, T]) == {(False, 56)}
    yield "broker send LeaderAndIsrResponse"
    controller = cluster.controller
    assert controller is not None
    assert controller.context.offline_dirs[2] == {T}
    yield "controller derive_offline_replicas"
    assert isr(cluster, T) == (3, (3,))
    yield "controller elect_leaders"


def story_7() -> Iterator[str]:
    cluster = with_topic((2, 1))
    fail(cluster, 2, T)
    cluster.run()
    cluster.journal.clear()
    controller = cluster.controller
    assert controller is not None
    assert not controller.context.is_online(2, T)
    yield "controller decide_online"
    controller.reassign(T, (1, 3))
    cluster.after()
    cluster.run()
    replicate(cluster, T)
    assert said(cluster, "StopReplica")[2, T] == [(False, 56), (True, 56)]
    yield "controller expect_failure StopReplicaRequest"
    assert said(cluster, "LeaderAndIsr")[3, T][0] == (True, 0)
    yield "controller follow_scenario"


def story_8() -> Iterator[str]:
    cluster = with_topic((2, 1))
    cluster.create_topic("gone", [(2, 1), (1, 3)])
    cluster.run()
    cluster.delete_topic("gone")
    cluster.run()
    assert "gone" not in cluster.client(1).topics()
    yield "controller delete"
    assert [one for host in cluster.hosts.values() if host.broker for one in host.broker.metadata.topics] == [
        "orders"
    ] * 3
    yield "controller update_metadata"
    fail(cluster, 2, T)
    cluster.delete_topic("orders")
    cluster.run()
    dead = with_topic((2, 1))
    dead.stop(2)
    dead.delete_topic("orders")
    dead.run()
    for one in (cluster, dead):
        assert one.zk.children("/brokers/topics") == ["orders"]
        assert one.controller is not None
        assert one.controller.context.deletion_ineligible == {"orders"}
    yield "controller treat_offline_replica"


STORIES = {number: globals()[f"story_{number}"] for number in range(1, 9)}


def is_next(link: Link, name: str) -> bool:
    return link.can_deliver and type(link.waiting[0][0].request).__name__ == name


def any_is(link: Link, name: str) -> bool:
    return any(type(one.request).__name__ == name for one, _ in link.waiting)


@needs_shared
@each_of("case", CASES, ids=lambda case: f"{case['id']}-{case['kind']}")
def test_vectors_of_kip_112(case: dict[str, Any]) -> None:
    checks: dict[str, Callable[[dict[str, Any]], None]] = {
        "scenario": scenario,
        "decision": decision,
        "replica_online": replica_online,
        "is_new_replica": is_new_replica,
        "offline_replicas": offline_replicas,
        "rule": rule,
        "znode": znode,
        "fields": fields,
        "metric": metric,
        "superseded": superseded,
        "znode_bytes": znode_bytes,
    }
    checks[case["kind"]](case)
