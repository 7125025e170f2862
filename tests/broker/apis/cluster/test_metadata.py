"""Metadata: brokers, racks, leaders, what is offline; topics made on the way."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.request_frames import ServedRequest, read_request, write_response
from kwire.protocol import Frame
from kwire.schema.catalog import catalog_for
from kwire.values import ErrorCode
from tests.broker.served import M, ask, cluster_of


def metadata(cluster: ServedCluster, *names: str, version: int = 9, **more: Any) -> Any:
    topics = tuple(M.MetadataRequest.MetadataRequestTopic(name=name) for name in names)
    answer = cluster.answer(1, M.MetadataRequest(topics=topics, **more), version, now=0.0)
    kwire.codec("MetadataResponse", version).encode(answer)
    return answer


def test_brokers_and_what_is_offline() -> None:
    cluster = cluster_of(3)
    cluster.controller.create("t", {0: [3, 1]})
    assert [(one.node_id, one.rack) for one in metadata(cluster).brokers] == [(1, "r1"), (2, "r2"), (3, "r3")]
    cluster.fail(*cluster.controller.nodes[3].log_dirs)
    found = metadata(cluster, "t")
    (partition,) = found.topics[0].partitions
    assert [one.node_id for one in found.brokers] == [1, 2]
    assert (partition.leader_id, partition.isr_nodes, partition.offline_replicas) == (1, (1,), (3,))
    assert (partition.replica_nodes, partition.leader_epoch) == ((3, 1), 1)
    cluster.fail(*cluster.controller.nodes[1].log_dirs)
    (partition,) = metadata(cluster, "t").topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.isr_nodes == (1,)  # the last one in sync stays so


def test_topics_are_made_when_asked_for() -> None:
    cluster = cluster_of(2, Settings(num_partitions=3, default_replication_factor=2))
    asked = metadata(cluster, "new", allow_auto_topic_creation=False).topics[0]
    assert (asked.error_code, asked.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ())
    made = metadata(cluster, "new").topics[0]
    assert [len(one.replica_nodes) for one in made.partitions] == [2, 2, 2]
    assert metadata(cluster, version=0).topics[0].name == "new"  # in version 0 no names are all


def test_topics_that_brokers_make_are_placed_without_racks_that_some_lack() -> None:
    nodes = [Node(id, port=9092 + id, rack=None if id == 3 else f"r{id}") for id in (1, 2, 3)]
    cluster = ServedCluster(nodes, Settings(num_partitions=6, default_replication_factor=3), Random(1))
    made = metadata(cluster, "new").topics[0]
    assert made.error_code == 0
    assert [sorted(one.replica_nodes) for one in made.partitions] == [[1, 2, 3]] * 6
    row = M.CreateTopicsRequest.CreatableTopic(name="asked", num_partitions=1, replication_factor=1)
    (asked,) = ask(cluster, M.CreateTopicsRequest(topics=(row,)), 7).topics
    assert "brokers [3] have no rack" in asked.error_message


def test_names_and_numbers_that_cannot_be() -> None:
    cluster = cluster_of(settings=Settings(most_partitions=1))
    codes_found = [metadata(cluster, name).topics[0].error_code for name in ("../etc", "..", "", "a" * 250)]
    assert codes_found == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 4
    assert [metadata(cluster, name).topics[0].error_code for name in ("a", "b")] == [0, ErrorCode.POLICY_VIOLATION]
    wide = cluster_of(settings=Settings(default_replication_factor=2))
    assert metadata(wide, "a").topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_by_its_id() -> None:
    cluster = cluster_of()
    topic = cluster.controller.create("t", {0: [1]})
    rows = (M.MetadataRequest.MetadataRequestTopic(name=None, topic_id=id) for id in (topic.topic_id, bytes(15) + b"x"))
    answer = cluster.answer(1, M.MetadataRequest(topics=tuple(rows)), 12, now=0.0)
    assert [(one.name, one.error_code) for one in answer.topics] == [("t", 0), (None, ErrorCode.UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize("version", range(3))
def test_the_brokers_of_a_cluster_and_those_at_their_end(version: int) -> None:
    cluster = cluster_of(2)
    cluster.fail(*cluster.controller.nodes[1].log_dirs)
    found = ask(cluster, M.DescribeClusterRequest(), version, 2)
    assert (found.cluster_id, found.controller_id) == (cluster.cluster_id, 2)
    assert [(one.broker_id, one.rack) for one in found.brokers] == [(2, "r2")]
    fenced = ask(cluster, M.DescribeClusterRequest(include_fenced_brokers=True), 2, 2).brokers
    assert [(one.broker_id, one.is_fenced) for one in fenced] == [(1, True), (2, False)]


@pytest.mark.parametrize(
    ("type_", "code"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_endpoints_of_controllers_are_not_here(type_: int, code: int) -> None:
    assert ask(cluster_of(), M.DescribeClusterRequest(endpoint_type=type_), 1).error_code == code


def test_kip_36_has_racks_in_the_layout_that_it_proposed() -> None:
    cluster = cluster_of(1, Settings(profile="KIP-36"))
    cluster.controller.create("t", {0: [1]})
    # size, key 3, version 1, correlation 7, client "c", one topic "t": by hand from the KIP
    data = bytes.fromhex("00000012 0003 0001 00000007 0001 63 00000001 0001 74")
    received = read_request(Frame(data), cluster.catalog, cluster.apis)
    assert isinstance(received, ServedRequest)
    found = cluster.answer(1, received.message, received.version, now=0.0)
    written = write_response(received, found, cluster.catalog)[4:]
    broker = "00000001 00000001 0009 6c6f63616c686f7374 00002385 0002 7231"  # broker 1, localhost:9093, rack r1
    topic = "00000001 0000 0001 74 00000001 0000 00000000 00000001 00000001 00000001 00000001 00000001"
    assert written == bytes.fromhex(f"00000007 {broker} {topic}")
    assert cluster.answer(1, M.MetadataRequest(topics=None), 12, now=0.0).topics[0].name == "t"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum_in_every_version(version: int) -> None:
    part = M.DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = M.DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=(part,))
    response = cluster_of().answer(1, M.DescribeQuorumRequest(topics=(topic,)), version, now=0.0)
    codec = kwire.codec("DescribeQuorumResponse", version)
    found = codec.decode(codec.encode(response))
    assert found.topics[0].partitions[0].leader_id == 1
    assert [node.node_id for node in found.nodes] == ([1] if version == 2 else [])


@pytest.mark.parametrize("version", [10, 11])
def test_topics_cannot_be_asked_by_id_before_version_12(version: int) -> None:
    """KafkaApis.handleTopicMetadataRequest throws InvalidRequestException; MetadataRequest.getErrorResponse answers."""
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    row = M.MetadataRequest.MetadataRequestTopic
    codec = kwire.codec("MetadataResponse", version)
    for asked in (row(name=None), row(name=None, topic_id=b"i" * 16), row(name="t", topic_id=b"i" * 16)):
        response = cluster.answer(1, M.MetadataRequest(topics=(row(name="t"), asked)), version, now=0.0)
        rows = codec.decode(codec.encode(response)).topics
        expected = [("t", bytes(16)), (asked.name or "", asked.topic_id)]
        assert [(one.name, one.topic_id) for one in rows] == expected
        assert {one.error_code for one in rows} == {ErrorCode.INVALID_REQUEST}
    assert cluster.answer(1, M.MetadataRequest(topics=(row(name="t"),)), version, now=0.0).topics[0].error_code == 0


def test_an_error_that_quotes_too_much_is_cut() -> None:
    entity = M.AlterClientQuotasRequest.EntityData
    entities = tuple(entity(entity_type=letter * 32_700, entity_name="a") for letter in "xy")
    entry = M.AlterClientQuotasRequest.EntryData(entity=entities)
    request = M.AlterClientQuotasRequest(entries=(entry,))
    response = cluster_of().answer(1, request, 1, now=0.0)
    data = write_response(ServedRequest(request, 1, 7, "c"), response, catalog_for(None))
    (found,) = kwire.codec("AlterClientQuotasResponse", 1).decode(data[9:]).entries
    message = found.error_message or ""
    assert (found.error_code, len(message)) == (ErrorCode.INVALID_REQUEST, 1003)
    assert message.startswith("an entity must have") and message.endswith("...")
    assert found.entity[0].entity_type == "x" * 32_700
