"""Lawful chaos: which answers it gives, that a seed repeats them, and that clients survive them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kwire.broker import ServedCluster, Settings
from kwire.broker.chaos import CLOSED, LED, RETRIED
from kwire.broker.request_context import RequestContext
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.driving import World
from tests.broker.served import M, batch, cluster_of, fetching, produce, values

# By hand from "Possible error codes" in Kafka 4.1's *Response.java, and where the comment has none, from what the
# coordinators return (GroupCoordinatorService, TransactionCoordinator).
LISTED = {
    "AddOffsetsToTxn": {14, 15, 51},
    "AddPartitionsToTxn": {14, 15, 51},
    "ConsumerGroupHeartbeat": {14, 15},
    "EndTxn": {14, 15},
    "FindCoordinator": {15},
    "Heartbeat": {15},
    "InitProducerId": {14, 15, 51},
    "JoinGroup": {14, 15},
    "OffsetCommit": {14, 15},
    "OffsetFetch": {14},
    "ShareGroupHeartbeat": {14, 15},
    "StreamsGroupHeartbeat": {14, 15},
    "SyncGroup": {15},
    "TxnOffsetCommit": {14, 15},
}
REQUESTS: dict[str, dict[str, Any]] = {
    "AddOffsetsToTxn": {"transactional_id": "x", "group_id": "g"},
    "AddPartitionsToTxn": {
        "v3_and_below_transactional_id": "x",
        "v3_and_below_topics": (M.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=(0,)),),
    },
    "ConsumerGroupHeartbeat": {"group_id": "g"},
    "EndTxn": {"transactional_id": "x"},
    "FindCoordinator": {"coordinator_keys": ("g",)},
    "Heartbeat": {"group_id": "g"},
    "InitProducerId": {"transactional_id": "x"},
    "JoinGroup": {"group_id": "g"},
    "OffsetCommit": {
        "group_id": "g",
        "topics": (
            M.OffsetCommitRequest.OffsetCommitRequestTopic(
                name="t", partitions=(M.OffsetCommitRequest.OffsetCommitRequestPartition(),)
            ),
        ),
    },
    "OffsetFetch": {"groups": (M.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g"),)},
    "ShareGroupHeartbeat": {"group_id": "g"},
    "StreamsGroupHeartbeat": {"group_id": "g"},
    "SyncGroup": {"group_id": "g", "protocol_type": "consumer", "protocol_name": "range"},
    "TxnOffsetCommit": {
        "transactional_id": "x",
        "group_id": "g",
        "topics": (
            M.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                name="t", partitions=(M.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(),)
            ),
        ),
    },
}
VERSIONS = {"AddPartitionsToTxn": 3, "OffsetCommit": 8, "OffsetFetch": 8, "SyncGroup": 5, "TxnOffsetCommit": 3}


def codes_in(value: Any) -> Iterator[int]:
    """Yield all error codes of a response."""
    for name in getattr(value, "__struct_fields__", ()):
        field = getattr(value, name)
        if name.endswith("error_code") and field:
            yield field
        elif isinstance(field, tuple):
            for row in field:
                yield from codes_in(row)


def test_each_error_is_one_that_kafka_lists_for_the_api() -> None:
    given: dict[str, set[int]] = {}
    for code, apis in RETRIED.items():
        for api in apis:
            given.setdefault(api, set()).add(int(code))
    assert given == LISTED
    assert {"Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch"} == LED


@pytest.mark.parametrize("api", sorted(LISTED))
def test_each_error_reaches_the_client(api: str) -> None:
    cluster = cluster_of(settings=Settings(chaos=1))
    assert cluster.chaos is not None
    message = getattr(M, f"{api}Request")(**REQUESTS[api])
    seen: set[int] = set()
    for _ in range(600):
        version = VERSIONS.get(api, cluster.table[api].last)
        request = cluster.chaos.disturb(RequestContext(cluster, 1, message, version, 0.0, "me", "here"))
        if request.fault is not None and request.fault.action == "error":
            codes = set(codes_in(cluster.handle(request)))
            assert codes == {request.fault.code}
            seen |= codes
    assert seen == LISTED[api]


def test_a_seed_repeats_its_decisions_whatever_other_clients_do() -> None:
    def decisions(seed: int, others: int) -> list[str]:
        cluster = cluster_of(settings=Settings(chaos=seed))
        assert cluster.chaos is not None
        for number in range(200):
            for client in ["me", *(["you"] * others if number % 3 else [])]:
                for api in ("FindCoordinator", "Heartbeat", "Metadata"):
                    message = getattr(M, f"{api}Request")()
                    cluster.chaos.disturb(RequestContext(cluster, 1, message, 4, 0.0, client, "here"))
        return [line for line in cluster.chaos.noted if "'me'" in line]

    assert decisions(3, 0) == decisions(3, 2)
    assert len(decisions(3, 0)) > 20
    assert decisions(3, 0) != decisions(4, 0)


def test_a_client_is_disturbed_three_times_in_a_row_at_most() -> None:
    cluster = cluster_of(settings=Settings(chaos=5))
    assert cluster.chaos is not None
    row = longest = 0
    for _ in range(5000):
        before = len(cluster.chaos.noted)
        message = M.HeartbeatRequest(group_id="g")
        cluster.chaos.disturb(RequestContext(cluster, 1, message, 4, 0.0, "me", "here"))
        row = row + 1 if len(cluster.chaos.noted) > before else 0
        longest = max(longest, row)
    assert longest == 3


def test_records_of_producers_without_sequence_numbers_are_never_handled_behind_a_closed_connection() -> None:
    part = M.ProduceRequest.PartitionProduceData(index=0, records=bytes(43) + b"\xff" * 18)
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    cluster = cluster_of(settings=Settings(chaos=6))
    assert cluster.chaos is not None
    assert "Produce" in CLOSED
    for acks in (1, 0):
        message = M.ProduceRequest(acks=acks, topic_data=(row,))
        faults = []
        for _ in range(2000):
            request = RequestContext(cluster, 1, message, 9, 0.0, f"acks {acks}", "here")
            faults.append(cluster.chaos.disturb(request).fault)
        drops = [fault for fault in faults if fault is not None and fault.action == "drop"]
        assert bool(drops) is (acks == 1)
        assert not any(fault.is_handled for fault in drops)


def disturbed(cluster: ServedCluster, message: Any, version: int, text: str, node: int = 1) -> RequestContext[Any]:
    """Send a request until chaos does to it what a text says; returns the request that is handled."""
    assert cluster.chaos is not None
    for _ in range(2000):
        before = len(cluster.chaos.noted)
        request = cluster.chaos.disturb(RequestContext(cluster, node, message, version, 0.0, "me", "here"))
        if len(cluster.chaos.noted) > before and text in cluster.chaos.noted[-1]:
            return request
    raise AssertionError(f"never: {text}")


def test_fetches_are_cut_short_and_sessions_evicted() -> None:
    cluster = cluster_of(settings=Settings(chaos=8))
    cluster.controller.create("t", {0: [1]})
    for value in (b"one", b"two"):
        assert produce(cluster, batch(value)).error_code == 0
    fewer = cluster.handle(disturbed(cluster, fetching(), 11, "a fetch of one batch"))
    assert values(fewer.responses[0].partitions[0]) == [b"one"]
    waiting = fetching(2, max_wait_ms=5000, min_bytes=1)
    early = cluster.handle(disturbed(cluster, waiting, 11, "does not wait"))  # at once, not parked
    assert values(early.responses[0].partitions[0]) == []
    begun = cluster.handle(RequestContext(cluster, 1, fetching(session_epoch=0), 11, 0.0, "me", "here"))
    next_fetch = M.FetchRequest(session_id=begun.session_id, session_epoch=1, max_wait_ms=0)
    evicted = cluster.handle(disturbed(cluster, next_fetch, 11, "session is evicted"))
    assert evicted.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_leader_moves_and_metadata_is_behind() -> None:
    cluster = cluster_of(2, settings=Settings(chaos=9))
    cluster.controller.create("t", {0: [1, 2]})
    moved = cluster.handle(disturbed(cluster, fetching(max_wait_ms=0), 10, "moves to broker 2"))
    assert moved.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    asked = M.MetadataRequest(topics=(M.MetadataRequest.MetadataRequestTopic(name="t"),))

    def led(text: str) -> tuple[int, int, int]:
        request = disturbed(cluster, asked, 12, text)
        assert request.fault is not None
        response = request.fault.answer(asked, cluster.handle(request))
        part = response.topics[0].partitions[0]
        return part.leader_id, part.leader_epoch, part.error_code

    now = cluster.handle(RequestContext(cluster, 1, asked, 12, 0.0, "me", "here")).topics[0].partitions[0]
    assert now.leader_id == 2
    before = 1, now.leader_epoch - 1, ErrorCode.NONE
    assert led("is still broker 1") == before
    assert led("has no leader yet") == (-1, now.leader_epoch, ErrorCode.LEADER_NOT_AVAILABLE)


def test_a_group_rebalances_before_a_heartbeat_of_a_member() -> None:
    world = World(Settings(chaos=10))
    protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    joined: dict[str, Any] = {"group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    member = world.ask("JoinGroup", 3, protocol_type="consumer", protocols=(protocol,), **joined)
    world.ask("SyncGroup", 3, group_id="g", generation_id=1, member_id=member.member_id)
    heartbeat = M.HeartbeatRequest(group_id="g", generation_id=1, member_id=member.member_id)
    cluster = world.cluster
    assert cluster.handle(RequestContext(cluster, 1, heartbeat, 4, world.now, "me", "here")).error_code == 0
    rebalancing = cluster.handle(disturbed(cluster, heartbeat, 4, "rebalances"))
    assert rebalancing.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_consumer_group_begins_a_new_epoch() -> None:
    world = World(Settings(chaos=11))
    fields: dict[str, Any] = {"group_id": "g", "rebalance_timeout_ms": 10_000, "subscribed_topic_names": ("t",)}
    member = world.ask("ConsumerGroupHeartbeat", 0, topic_partitions=(), **fields)
    request = M.ConsumerGroupHeartbeatRequest(group_id="g", member_id=member.member_id, member_epoch=1)
    cluster = world.cluster
    later = cluster.handle(disturbed(cluster, request, 0, "a new epoch"))
    assert (later.error_code, later.member_epoch) == (0, member.member_epoch + 1)


def test_throttled_responses_say_so_and_fetches_are_not() -> None:
    cluster = cluster_of(settings=Settings(chaos=12))
    message = M.HeartbeatRequest(group_id="g")
    request = disturbed(cluster, message, 4, "throttled for")
    assert request.fault is not None
    assert 1 <= request.fault.answer(message, M.HeartbeatResponse()).throttle_time_ms <= 100
    with pytest.raises(AssertionError, match="never"):
        disturbed(cluster, fetching(max_wait_ms=0), 11, "throttled for")
    with pytest.raises(AssertionError, match="never"):
        disturbed(cluster, message, 0, "throttled for")  # version 0 has no throttle time


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_survives_chaos() -> None:
    """Whatever is acknowledged is there once and in order, and a group reads all of it."""
    from kafka import KafkaConsumer, KafkaProducer

    for seed in range(1, 7):
        with Kafka(brokers=3, topics={"t": 2}, chaos=seed) as kafka:
            servers = kafka.bootstrap_servers
            options = {"enable_idempotence": True, "retry_backoff_ms": 10, "linger_ms": 0}
            producer = KafkaProducer(bootstrap_servers=servers, client_id="p", **options)
            futures = []
            for number in range(60):
                futures.append(producer.send("t", b"%d" % number, partition=number % 2))
                if number % 3 == 0:
                    futures[-1].get(30)
            places = [future.get(30).offset for future in futures]
            producer.close()
            assert places == [number // 2 for number in range(60)]
            for index in (0, 1):
                assert [record.value for record in kafka.records("t", index)] == [
                    b"%d" % n for n in range(index, 60, 2)
                ]
            group = {"group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 50}
            # kafka-python 3.0 hangs if it writes to a connection that a response has throttled, as SyncGroup after
            # JoinGroup: a rule of the test comes before the changes of chaos, which are throttling and stale metadata.
            kafka.on(client="c").change(lambda request, response: response)
            consumer = KafkaConsumer(
                "t", bootstrap_servers=servers, client_id="c", retry_backoff_ms=10, max_poll_records=5, **group
            )
            read: set[tuple[int, int]] = set()
            for record in consumer:
                read.add((record.partition, record.offset))
                if len(read) == 60:
                    break
            consumer.close()
            assert read == {(index, offset) for index in (0, 1) for offset in range(30)}
            assert kafka.disturbances()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_one_broker_loses_its_leadership_for_a_moment() -> None:
    from kafka import KafkaProducer

    with Kafka(topics=["t"], chaos=2) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="p", retry_backoff_ms=10)
        for number in range(100):
            assert producer.send("t", b"x").get(30).offset == number
        producer.close()
        kinds = Counter(re.sub(r".*: ", "", line) for line in kafka.disturbances() if line.startswith("Produce"))
        assert kinds[ErrorCode.NOT_LEADER_OR_FOLLOWER.name] > 0
        refused = [code for frame in kafka.frames("Produce", direction="response") for code in codes_in(frame.message)]
        assert set(refused) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_a_seed_is_a_number() -> None:
    with pytest.raises(TypeError, match="chaos is a seed"):
        Kafka(chaos=True)
