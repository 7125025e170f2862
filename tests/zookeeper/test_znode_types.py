"""What brokers and their controller wrote about themselves, version by version, against the KIPs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire.errors import ZnodeError
from kwire.zookeeper import (
    LOG_DIR_FAILURE,
    LOG_DIR_RESET,
    BrokerRegistration,
    ConfigChange,
    ControllerManagedState,
    IsrChange,
    LogDirEvent,
    PartitionState,
    PreferredReplicaElection,
    ProducerIdBlock,
    TopicState,
    node_type,
    read_znode,
    write_znode,
)
from kwire.zookeeper.znode_types import ControllerZNode, ZnodePartition
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parent.parent / "data"
SAMPLE = [json.loads(line) for line in (DATA / "znodes.jsonl").read_text("utf-8").splitlines()]
EVENT = "/log_dir_event_notification/log_dir_event_0000000000"
CHANGE = "/isr_change_notification/isr_change_0000000000"
BROKER = "/brokers/ids/1"
STATE = "/brokers/topics/orders/partitions/0/state"


def registrations() -> dict[str, BrokerRegistration]:
    found = {}
    for row in SAMPLE:
        if node_type(row["path"]) is BrokerRegistration:
            found[row["run"]] = read_znode(row["path"], row["data"])
    return found


def test_registrations_of_all_versions_are_there() -> None:
    found = registrations()
    assert {value.version for value in found.values()} == {1, 2, 3, 4, 5}
    old, rack, map_, features = (
        found[run] for run in ("kafka-0.8.2", "kafka-0.10.0", "kafka-2.4-zk", "kafka-2.8-ipv6")
    )
    assert (old.version, old.host, old.port, old.endpoints, old.rack) == (1, "127.0.0.1", 19310, None, None)
    assert (rack.version, rack.rack, rack.endpoints) == (3, "rack-a", ("PLAINTEXT://127.0.0.1:19410",))
    assert (map_.version, map_.listener_security_protocol_map) == (4, {"CLIENT": "PLAINTEXT", "REPL": "PLAINTEXT"})
    assert (features.version, features.features, features.host) == (5, {}, "::1")
    assert found["kafka-3.9-sasl"].rack is None  # no rack: the key is left out


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (
            BrokerRegistration(host="b1", port=9092, timestamp="7", version=1),
            '{"jmx_port":-1,"timestamp":"7","host":"b1","version":1,"port":9092}',
        ),
        (
            BrokerRegistration(host="b1", port=9092, timestamp="7", version=3, endpoints=("PLAINTEXT://b1:9092",)),
            '{"jmx_port":-1,"timestamp":"7","endpoints":["PLAINTEXT://b1:9092"],"host":"b1","version":3,"port":9092}',
        ),
        (
            BrokerRegistration(
                host=None,
                port=-1,
                timestamp="7",
                endpoints=("SSL://b1:9093",),
                listener_security_protocol_map={"SSL": "SSL"},
                rack="/dc1/r1",
                features={},
            ),
            '{"features":{},"listener_security_protocol_map":{"SSL":"SSL"},"endpoints":["SSL://b1:9093"],'
            '"rack":"/dc1/r1","jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"7"}',
        ),
        (TopicState(partitions={1: (1, 2), 0: (2,)}, version=1), '{"version":1,"partitions":{"1":[1,2],"0":[2]}}'),
        (
            TopicState(partitions={0: (1,)}, topic_id="VeFfvm1YTi6N3hglwvg--g"),
            '{"partitions":{"0":[1]},"topic_id":"VeFfvm1YTi6N3hglwvg--g","adding_replicas":{},"removing_replicas":{},'
            '"version":3}',
        ),
        (
            PartitionState(leader=-1, leader_epoch=4, isr=(2,), controller_epoch=1, leader_recovery_state=1),
            '{"controller_epoch":1,"leader":-1,"version":1,"leader_recovery_state":1,"leader_epoch":4,"isr":[2]}',
        ),
        (ControllerZNode(brokerid=1, timestamp="7", version=1), '{"version":1,"brokerid":1,"timestamp":"7"}'),
        (LogDirEvent(broker=2), '{"version":1,"broker":2,"event":1}'),
        (LogDirEvent(broker=2, event=LOG_DIR_RESET), '{"version":1,"broker":2,"event":"LogDirReset"}'),
        (ControllerManagedState(created=(1, 2)), '{"version":1,"created":[1,2]}'),
        (
            IsrChange(partitions=(ZnodePartition(topic="t", partition=0),)),
            '{"version":1,"partitions":[{"topic":"t","partition":0}]}',
        ),
        (
            ConfigChange(version=1, entity_type="topics", entity_name="t"),
            '{"version":1,"entity_type":"topics","entity_name":"t"}',
        ),
        (
            ProducerIdBlock(broker=3, block_start="2000", block_end="2999"),
            '{"version":1,"broker":3,"block_start":"2000","block_end":"2999"}',
        ),
        (7, "7"),
    ],
)
def test_values_made_by_hand(value: Any, data: str) -> None:
    assert write_znode(value) == data.encode()
    paths = {
        BrokerRegistration: BROKER,
        TopicState: "/brokers/topics/t",
        PartitionState: STATE,
        ControllerZNode: "/controller",
        LogDirEvent: EVENT,
        ControllerManagedState: STATE.replace("state", "controller_managed_state"),
        IsrChange: "/isr_change_notification/isr_change_0000000003",
        ConfigChange: "/config/changes/config_change_0000000003",
        ProducerIdBlock: "/latest_producer_id_block",
        int: "/controller_epoch",
    }
    assert read_znode(paths[type(value)], data) == value


def test_the_example_of_kip_36_is_read() -> None:
    """With a colon for its slip, the comma behind `"version"`; a rack is read in any place."""
    data = """
    {
      "version":3,
      "host":"localhost",
      "port":9092,
      "jmx_port":9999,
      "timestamp":"2233345666",
      "endpoints": ["PLAINTEXT://host1:9092",
                    "SSL://host1:9093"],
      "rack": "dc1"
    }"""
    found = read_znode(BROKER, data)
    assert (found.version, found.rack, found.jmx_port, found.timestamp) == (3, "dc1", 9999, "2233345666")
    assert found.endpoints == ("PLAINTEXT://host1:9092", "SSL://host1:9093")
    with pytest.raises(ZnodeError, match="not valid JSON"):
        read_znode(BROKER, '{"version", 3}')


@needs_shared
def test_log_directory_events_are_kafkas() -> None:
    """What Kafka 3.9.2 writes and reads; what it cannot parse it takes as nothing, here it is an error."""
    lines = (SHARED / "vectors" / "kip112.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["kind"] == "znode_bytes"]
    assert len(cases) == 10
    for case in cases:
        result = case["expected"].get("result")
        if case["op"] == "encode":
            assert write_znode(LogDirEvent(broker=case["broker"])) == result.encode()
        elif case["op"] == "path":
            assert node_type(result) is LogDirEvent
        elif result is None:
            with pytest.raises(ZnodeError):
                read_znode(EVENT, case["data"])
        else:
            found = read_znode(EVENT, case["data"])
            assert found.broker == result
            assert write_znode(found) == case["data"].encode()


def test_events_are_numbers_and_one_word() -> None:
    assert read_znode(EVENT, '{"version":1,"broker":2,"event":1}').event == LOG_DIR_FAILURE == 1
    assert read_znode(EVENT, '{"version":1,"broker":2,"event":"LogDirReset"}').event == LOG_DIR_RESET
    assert read_znode(EVENT, '{"version":1,"broker":2,"event":2}').event == 2
    with pytest.raises(ZnodeError, match=r"\$\.event: invalid enum value 'LogDirFailure'"):
        read_znode(EVENT, '{"version":1,"broker":2,"event":"LogDirFailure"}')


def test_the_superseded_state_is_read_at_both_spellings_of_its_path() -> None:
    for root in ("/broker", "/brokers"):
        path = f"{root}/topics/orders/partitions/0/controller_managed_state"
        assert read_znode(path, '{"version" : 1, "created" : [3, 1]}') == ControllerManagedState(created=(3, 1))


def test_an_election_of_preferred_replicas_is_written_as_kafka_writes_it() -> None:
    asked = PreferredReplicaElection(partitions=(ZnodePartition(topic="orders", partition=3),))
    data = b'{"version":1,"partitions":[{"topic":"orders","partition":3}]}'
    assert write_znode(asked) == data
    assert read_znode("/admin/preferred_replica_election", data) == asked
