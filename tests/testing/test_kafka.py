"""`kwire.testing`: clusters in a thread, in the loop and as a process, driven by kafka-python and by hand."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError, UnknownMessage
from kwire.testing import AsyncKafka, Kafka
from tests.broker.served import batch

M = kwire.messages


@pytest.fixture
def cluster() -> Iterator[Kafka]:
    with Kafka(brokers=3, racks=("r1", "r2", "r3"), log_dirs=2, topics={"t": 2}, seed=1) as kafka:
        yield kafka


def asked(kafka: Kafka | AsyncKafka, name: str, version: int, message: Any, broker: int = 1) -> Any:
    with BrokerConnection(address(kafka.address(broker)), timeout=180, client_id="by-hand") as connection:
        answer = connection.ask(kwire.codec(f"{name}Request", version), message)
        assert answer is not None
        return answer.message


def producing(index: int = 0, value: bytes = b"x") -> Any:
    part = M.ProduceRequest.PartitionProduceData(index=index, records=batch(value))
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    return M.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(row,))


def produced(kafka: Kafka, index: int = 0, value: bytes = b"x") -> int:
    leader = kafka.partition("t", index)["leader"]
    answer = asked(kafka, "Produce", 9, producing(index, value), leader)
    return int(answer.responses[0].partition_responses[0].error_code)


def values(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


def test_nothing_is_left_behind() -> None:
    before = threading.active_count()
    with Kafka(brokers=2) as kafka:
        addresses = kafka.bootstrap_servers.split(",")
        assert len(addresses) == 2
    assert threading.active_count() == before
    for one in addresses:
        with pytest.raises(OSError), socket.create_connection(address(one), 5):
            pass
    with pytest.raises(RuntimeError, match="does not run"):
        _ = kafka.bootstrap_servers


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"brokers": 0}, "at least one broker"),
        ({"brokers": 2, "racks": ["a"]}, "name one for each"),
        ({"brokers": 2, "replication_factor": 3}, "cannot have 3 replicas"),
        ({"topics": "orders"}, r"such as \['orders'\]"),
        ({"super_users": "admin"}, r"such as \['admin'\]"),
        ({"sasl_mechanisms": ["SCRAM"]}, "take from PLAIN, SCRAM-SHA-256"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        Kafka(**arguments)


@pytest.mark.parametrize(
    ("operation", "arguments", "reason"),
    [
        ("advance", {"seconds": "3"}, "seconds is a number, not '3'"),
        ("advance", {"seconds": True}, "seconds is a number, not True"),
        ("create_topic", {"topic": "new", "partitions": "3"}, "partitions is an integer, not '3'"),
        ("create_topic", {"topic": "new", "partitions": 3.0}, "partitions is an integer, not 3.0"),
        ("create_topic", {"topic": 3}, "topic is text, not 3"),
        ("move_leader", {"topic": "t", "partition": 0, "broker": "1"}, "broker is an integer, not '1'"),
        ("fail_log_dir", {"broker": 1, "log_dir": 0.5}, "log_dir is an integer or text, not 0.5"),
        ("coordinator", {"group": 3}, "group is text, not 3"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(
    cluster: Kafka, operation: str, arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(reason)):
        getattr(cluster, operation)(**arguments)


def test_an_error_of_one_partition(cluster: Kafka) -> None:
    rule = cluster.on("Produce", topic="t", partition=1).error("NOT_LEADER_OR_FOLLOWER", times=1)
    assert (produced(cluster, 0), produced(cluster, 1), produced(cluster, 1)) == (0, 6, 0)
    cluster.wait_hits(rule)
    assert (len(values(cluster)), rule.hits) == (2, 1)


def test_answers_and_functions(cluster: Kafka) -> None:
    def respond(request: Any) -> Any:
        return M.ListGroupsResponse(error_code=15) if request.states_filter else None

    def change(request: Any, response: Any) -> Any:
        return M.DescribeClusterResponse(cluster_id="another", brokers=response.brokers)

    cluster.on("ListGroups").respond(respond)
    cluster.on("DescribeCluster").change(change)
    cluster.on("ApiVersions").respond({"errorCode": 35}, times=1)
    assert asked(cluster, "ListGroups", 4, M.ListGroupsRequest(states_filter=("Empty",))).error_code == 15
    assert asked(cluster, "ListGroups", 4, M.ListGroupsRequest()).error_code == 0
    found = asked(cluster, "DescribeCluster", 1, M.DescribeClusterRequest())
    assert (found.cluster_id, len(found.brokers)) == ("another", 3)
    versions = M.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    assert [asked(cluster, "ApiVersions", 3, versions).error_code for _ in range(2)] == [35, 0]


def test_an_exception_in_a_function_of_a_rule_reaches_the_test() -> None:
    def fail(*_: Any) -> Any:
        raise LookupError("no such bill")

    async def fail_later(request: Any) -> Any:
        return fail()

    for where, action, function in ((None, "respond", [fail_later]), (None, "change", [fail]), (fail, "observe", [])):
        with pytest.raises(LookupError, match="no such bill"), Kafka(topics=["t"]) as kafka:
            rule = getattr(kafka.on("Produce", where=where), action)(*function)
            with pytest.raises(CallError):
                asked(kafka, "Produce", 9, producing())
            assert "a rule for Produce failed: LookupError: no such bill; closed" in kafka.notes()[0]
            with pytest.raises(LookupError):  # in the wait, not 30 s later
                kafka.wait_hits(rule, 9)
            kafka.wait_for(lambda: True)  # reported once
            rule.remove()
            produced(kafka)
            kafka.on("Produce").change(fail)
            with suppress(CallError):
                asked(kafka, "Produce", 9, producing())


def test_frames_of_one_direction_and_texts_of_waits() -> None:
    with Kafka(topics=["t"]) as kafka:
        produced(kafka)
        requests, responses = (kafka.frames("Produce", direction=one) for one in ("request", "response"))
        assert [frame.message.acks for frame in requests] == [-1]
        assert [frame.message.responses[0].partition_responses[0].error_code for frame in responses] == [0]
        with pytest.raises(UnknownMessage, match="did you mean FetchRequest"):
            kafka.frames("Fech")
        with pytest.raises(ValueError, match="write 'request' or 'response'"):
            kafka.frames(direction="sent")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'Fech' is not served; did you mean Fetch"):
            kafka.on("Fech").observe()
        with pytest.raises(ValueError, match="'stable' is not a valid GroupState"):
            kafka.wait_group("g", "stable")
        with pytest.raises(TimeoutError, match="topic 't' has 1 records, not 2, after 0 s"):
            kafka.wait_records("t", 2, timeout=0)
        with pytest.raises(TimeoutError, match="the rule has applied to 0 requests, not 1"):
            kafka.wait_hits(kafka.on("Fetch").observe(), timeout=0)


def test_delays_and_lost_connections(cluster: Kafka) -> None:
    cluster.on("Produce", where=lambda request: request.acks == -1).delay(0.05, times=1)
    begun = time.monotonic()
    assert produced(cluster) == 0
    assert time.monotonic() - begun >= 0.05
    for loss, count in (("drop", 1), ("handled", 2), ("cut", 3)):
        requests = cluster.on("Produce")
        if loss == "cut":
            requests.cut(6, times=1)
        else:
            requests.drop(times=1, is_handled=loss == "handled")
        with pytest.raises(CallError):
            produced(cluster)
        assert len(values(cluster)) == count, loss
    assert produced(cluster) == 0
    with cluster.on("Produce").hang() as rule:
        leader = cluster.partition("t")["leader"]
        with socket.create_connection(address(cluster.address(leader))) as one:
            one.sendall(kwire.encode_request(producing(), 9, correlation_id=1, client_id="c"))
            cluster.wait_hits(rule)
            assert cluster.kill_connections(client="c") == 1
            one.settimeout(180)
            with suppress(ConnectionError):
                assert one.recv(1) == b""


def test_a_broker_stops_and_starts(cluster: Kafka) -> None:
    cluster.produce("t", b"one")
    leader = cluster.partition("t")["leader"]
    place = cluster.address(leader)
    cluster.stop_broker(leader)
    after = cluster.partition("t")
    assert (after["leader"] != leader, leader in after["isr"], after["offline"]) == (True, False, [leader])
    with pytest.raises(OSError), socket.create_connection(address(place), 5):
        pass
    assert produced(cluster, value=b"two") == 0
    cluster.start_broker(leader)
    assert leader in cluster.partition("t")["isr"]
    cluster.move_leader("t", 0, leader)
    assert (values(cluster), cluster.address(leader)) == ([b"one", b"two"], place)
    assert asked(cluster, "ApiVersions", 1, M.ApiVersionsRequest(), leader).error_code == 0


def test_an_isolated_broker_answers_when_it_is_back(cluster: Kafka) -> None:
    leader = cluster.partition("t")["leader"]
    with socket.create_connection(address(cluster.address(leader))) as one:
        cluster.isolate_broker(leader)
        one.sendall(kwire.encode_request(M.ApiVersionsRequest(), 1, correlation_id=1, client_id="c"))
        one.settimeout(0.05)
        with pytest.raises(TimeoutError):
            one.recv(1)
        assert cluster.partition("t")["leader"] != leader
        cluster.rejoin_broker(leader)
        one.settimeout(180)
        assert one.recv(4)
    assert sorted(cluster.partition("t")["isr"]) == [1, 2, 3]


def test_a_slow_network_leaves_an_isolated_broker_isolated(cluster: Kafka) -> None:
    cluster.isolate_broker(1)
    cluster.set_network(delay=0.001)
    with socket.create_connection(address(cluster.address(1))) as one:
        one.sendall(kwire.encode_request(M.ApiVersionsRequest(), 1, correlation_id=1, client_id="c"))
        one.settimeout(0.05)
        with pytest.raises(TimeoutError):
            one.recv(1)
        cluster.stop_broker(1)
        one.settimeout(180)
        assert one.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(cluster.address(1)))
    cluster.rejoin_broker(1)
    asked(cluster, "ApiVersions", 1, M.ApiVersionsRequest(), 1)


def test_a_slow_network(cluster: Kafka) -> None:
    cluster.set_network(1, delay=0.03, bytes_per_second=10_000)
    begun = time.monotonic()
    asked(cluster, "ApiVersions", 1, M.ApiVersionsRequest())
    assert time.monotonic() - begun >= 0.03
    with pytest.raises(ValueError, match="bytes_per_second is 0; give at least 1"):
        cluster.set_network(bytes_per_second=0)


def test_replicas_in_sync(cluster: Kafka) -> None:
    found = cluster.partition("t")
    follower = next(one for one in found["isr"] if one != found["leader"])
    cluster.shrink_isr("t", 0, follower)
    assert follower not in cluster.partition("t")["isr"]
    with pytest.raises(ValueError, match="not in the ISR"):
        cluster.move_leader("t", 0, follower)
    cluster.produce("t", b"one")
    cluster.expand_isr("t", 0)
    cluster.move_leader("t", 0, follower)
    assert values(cluster) == [b"one"]
    with pytest.raises(ValueError, match="empty ISR"):
        cluster.shrink_isr("t", 0, 1, 2, 3)


def test_log_directories_fail_fill_and_heal(cluster: Kafka) -> None:
    cluster.produce("t", b"one")
    leader = cluster.partition("t")["leader"]
    assert len(cluster.log_dirs(leader)) == 2
    for path in cluster.log_dirs(leader):
        cluster.fill_log_dir(leader, path)
    assert produced(cluster, value=b"two") == 56  # KAFKA_STORAGE_ERROR
    assert cluster.partition("t")["offline"] == [leader]
    assert any("has failed" in note for note in cluster.notes())
    assert produced(cluster, value=b"three") == 0
    for number in range(2):
        cluster.heal_log_dir(leader, number)
    cluster.move_leader("t", 0, leader)
    assert values(cluster) == [b"one", b"three"]
    cluster.fail_log_dir(leader, 0)
    cluster.fail_log_dir(leader, 1)
    assert leader in cluster.partition("t")["offline"]
    with pytest.raises(ValueError, match="no log directory 'x'"):
        cluster.fail_log_dir(leader, "x")


def joined(kafka: Kafka, connection: BrokerConnection, member_id: str = "") -> Any:
    protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    message = M.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(protocol,),
    )
    answer = connection.ask(kwire.codec("JoinGroupRequest", 3), message)
    assert answer is not None
    return answer.message


def test_the_clock_moves_sessions_on() -> None:
    with Kafka() as kafka:
        assert kafka.group_state("g") == "Dead"
        with BrokerConnection(address(kafka.address(1)), timeout=180) as connection:
            found = joined(kafka, connection)
            sync = M.SyncGroupRequest(group_id="g", generation_id=1, member_id=found.member_id)
            assert connection.ask(kwire.codec("SyncGroupRequest", 3), sync) is not None
            kafka.wait_group("g", "Stable")
            kafka.advance(60)
            kafka.wait_group("g", "Stable")
            kafka.advance(60, keep_connected=False)
            kafka.wait_group("g", "Empty")
        with pytest.raises(TimeoutError, match="group 'g' is Empty, not Stable, after"):
            kafka.wait_group("g", "Stable", timeout=0.01)
        with pytest.raises(ValueError, match="forward"):
            kafka.advance(-1)


def test_what_happened_is_kept(cluster: Kafka, tmp_path: Path) -> None:
    produced(cluster, 0)
    produced(cluster, 1)
    frames = cluster.frames("Produce", client="by-hand")
    assert [type(one).__name__ for one in frames] == ["Request", "Response"] * 2
    assert frames[0].message.topic_data[0].partition_data[0].records == batch(b"x")
    cluster.save_capture(tmp_path / "t.pcap")
    found = [one.codec.name for one in kwire.decode_frames(kwire.read_dump(tmp_path / "t.pcap")) if one.codec]
    assert found.count("ProduceRequest") == found.count("ProduceResponse") == 2
    cluster.forget_frames()
    assert cluster.frames() == []


def test_in_the_running_loop() -> None:
    async def run() -> None:
        async with AsyncKafka(brokers=3, topics=["t"]) as kafka:
            rule = kafka.on("ApiVersions").observe()
            await asyncio.to_thread(asked, kafka, "ApiVersions", 1, M.ApiVersionsRequest())
            await kafka.wait_hits(rule)
            kafka.produce("t", b"one")
            assert [record.value for record in await kafka.wait_records("t", 1)] == [b"one"]
            await kafka.stop_broker(2)
            assert 2 in kafka.partition("t")["offline"]
            await kafka.start_broker(2)
            assert 2 in kafka.partition("t")["isr"]

    asyncio.run(run())


def test_as_a_process(tmp_path: Path) -> None:
    with Kafka(brokers=2, topics=["t"], process=True) as kafka:
        kafka.produce("t", b"one", b"\xff", key=b"k", headers=[("h", b"1")])
        assert values(kafka) == [b"one", b"\xff"]
        assert kafka.records("t")[0].headers == (kwire.RecordHeader("h", b"1"),)
        rule = kafka.on("Produce", topic="t").error("KAFKA_STORAGE_ERROR", times=1)
        assert (produced(kafka), produced(kafka), rule.hits) == (56, 0, 1)
        assert len(kafka.frames("Produce")) == 4
        kafka.stop_broker(1)
        assert kafka.partition("t")["leader"] == 2
        kafka.start_broker(1)
        assert sorted(kafka.partition("t")["isr"]) == [1, 2]
        with pytest.raises(ValueError, match="no broker 9"):
            kafka.stop_broker(9)
        with pytest.raises(ValueError, match="another process"):
            kafka.on("Produce").respond(lambda request: None)
        assert all(kafka.log_dirs(one) for one in (1, 2))
        folder = Path(kafka.log_dirs(1)[0])
        assert folder.is_dir()
    assert not folder.exists()


def test_a_directory_outlasts_the_cluster(tmp_path: Path) -> None:
    with Kafka(directory=tmp_path, topics=["t"]) as kafka:
        kafka.produce("t", b"one")
        with pytest.raises(CallError, match="named twice"), Kafka(directory=tmp_path):
            pass
    with Kafka(directory=tmp_path) as kafka:
        assert values(kafka) == [b"one"]
