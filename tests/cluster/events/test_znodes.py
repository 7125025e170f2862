"""Znodes become brokers, partitions and settings; what is older, or of no known path, changes nothing."""

from __future__ import annotations

import json

from kwire.cluster import ClusterModel, model_of
from kwire.zookeeper import Znode, znodes_in

STATE = "/brokers/topics/t/partitions/0/state"
TOPIC = {"version": 3, "partitions": {"0": [1, 2]}, "adding_replicas": {}, "removing_replicas": {}, "topic_id": ""}


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def state(leader: int, epoch: int, isr: list[int]) -> bytes:
    return text({"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": isr})


def broker(node: int, rack: str | None = "r") -> Znode:
    endpoints = [f"PLAINTEXT://b{node}:9092"]
    registration = {"version": 3, "host": f"b{node}", "port": 9092, "jmx_port": -1, "timestamp": "1"}
    return Znode(f"/brokers/ids/{node}", text({**registration, "endpoints": endpoints, "rack": rack}), 0, node, 1.0)


def made(*znodes: Znode) -> ClusterModel:
    return model_of([broker(1), broker(2), Znode("/brokers/topics/t", text(TOPIC), 0, 5, 2.0), *znodes])


def test_partitions_have_replicas_leaders_and_versions() -> None:
    found = made(Znode(STATE, state(1, 0, [1, 2]), 0, 6, 3.0), Znode(STATE, state(2, 1, [2]), 1, 8, 4.0)).state()
    (one,) = found.partitions()
    assert (one.leader, one.leader_epoch, one.partition_epoch, one.isr, one.replicas) == (2, 1, 1, (2,), (1, 2))
    assert {node.node_id: (node.host, node.rack) for node in (found.brokers or {}).values()} == {
        1: ("b1", "r"),
        2: ("b2", "r"),
    }


def test_what_was_read_late_changes_nothing() -> None:
    newest = Znode(STATE, state(2, 1, [2]), 1, 8, 4.0)
    model = made(newest, Znode(STATE, state(1, 0, [1, 2]), 0, 6, 3.0), newest)
    assert [row.isr for row in model.tables().partition_states] == [(2,)]


def test_a_broker_that_is_not_listed_any_more_is_gone_and_its_replicas_are_offline() -> None:
    model = made(Znode(STATE, state(1, 0, [1, 2]), 0, 6, 3.0), Znode("/brokers/ids", None, -1, 9, 5.0, children=("1",)))
    (row,) = model.tables().offline_replicas
    assert (row.broker, row.cause, row.offline_from) == (2, "broker", 5.0)
    assert list(model.state().brokers or {}) == [1]


def test_a_topic_that_is_deleted_is_gone_and_may_be_made_anew() -> None:
    first = Znode(STATE, state(1, 4, [1]), 4, 6, 3.0)
    gone = Znode("/brokers/topics/t", None, -1, 20, 5.0)
    assert made(first, gone).state().topics == {}
    anew = Znode("/brokers/topics/t", text(TOPIC), 0, 21, 6.0), Znode(STATE, state(2, 0, [1, 2]), 0, 22, 7.0)
    assert [one.leader for one in made(first, gone, *anew).state().partitions()] == [2]


def test_log_directories_that_fail_are_counted_from_registration_on() -> None:
    event = text({"version": 1, "broker": 2, "event": 1})
    failures = [Znode(f"/log_dir_event_notification/log_dir_event_{at}", event, 0, at, at) for at in (30, 31)]
    model = made(failures[0], failures[0], failures[1])
    assert model.state().offline_dirs == {1: 0, 2: 2}
    assert {row.metric for row in model.tables().metrics} == {"OfflineLogDirectoryCount"}


def test_settings_have_no_secrets() -> None:
    found = made(
        Znode("/config/topics/t", text({"version": 1, "config": {"retention.ms": "5"}}), 0, 40),
        Znode("/config/brokers/1", text({"version": 1, "config": {"ssl.keystore.password": "wonder"}}), 0, 41),
        Znode("/config/users/ann", text({"version": 1, "config": {"SCRAM-SHA-256": "salt=wonder"}}), 0, 42),
        Znode("/config/users/ann/clients/c", text({"version": 1, "config": {"producer_byte_rate": "10"}}), 0, 43),
    ).state()
    assert found.settings.configs["topic", "t"] == {"retention.ms": "5"}
    assert found.settings.scram == {"ann": ("SCRAM-SHA-256",)}
    assert found.settings.quotas == {(("user", "ann"), ("client", "c")): {"producer_byte_rate": 10.0}}
    assert "wonder" not in repr(found)


def test_a_cluster_below_a_prefix_is_read_too_and_others_paths_are_not() -> None:
    prefix = [one._replace(path=f"/kafka/one{one.path}") for one in (broker(1), broker(2))]
    assert list(model_of(prefix).state().brokers or {}) == [1, 2]
    assert model_of([Znode("/zookeeper/quota", b"x", 0, 1)]).state().brokers is None


def test_reassignments_of_both_forms() -> None:
    new = Znode("/brokers/topics/t", text({**TOPIC, "adding_replicas": {"0": [2]}}), 1, 50, 6.0)
    old = Znode(
        "/admin/reassign_partitions",
        text({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]}),
        0,
        50,
        6.0,
    )
    first = Znode(STATE, state(1, 0, [1, 2]), 0, 6, 3.0)
    assert [(row.adding, row.removing) for row in made(first, new).tables().reassignments] == [((2,), ())]
    assert [(row.adding, row.removing) for row in made(first, old).tables().reassignments] == [((3,), (2,))]


def test_znodes_as_json() -> None:
    change = {"path": "/controller_epoch", "op": "set", "data": "4", "version": 3, "zxid": 9}
    assert znodes_in(json.dumps({**change, "time": "1970-01-01T00:00:02"})) == [
        Znode("/controller_epoch", b"4", 3, 9, 2.0)
    ]
    assert znodes_in('{"/a": null}') == [Znode("/a", b"")]
    assert znodes_in('{"kwire": 1}') is None


def test_znodes_that_hold_something_else_are_counted_and_do_no_harm() -> None:
    odd = {"version": 1, "host": None, "port": -1, "jmx_port": -1, "timestamp": "1", "endpoints": ["PLAINTEXT://b:x"]}
    model = made(
        Znode(STATE, b"garbage", 0, 60, 7.0),
        Znode("/brokers/ids/7", text(odd), 0, 61, 7.0),
        Znode("/brokers/topics/u", text({**TOPIC, "topic_id": "!!a"}), 0, 62, 7.0),
    )
    (source,) = model.tables().sources
    assert (source.undecodable, source.messages) == (1, 5)
    assert "1 could not be decoded" in (source.note or "")
    assert (model.state().brokers or {})[7].port == -1
