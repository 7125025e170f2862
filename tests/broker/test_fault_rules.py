"""Rules: which requests they match, how often they apply, and where in a request an error hits."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.broker import ServedCluster
from kwire.broker.fault_rule_checks import check_rule, error_code
from kwire.broker.fault_rules import ERROR, FaultRule
from kwire.broker.request_context import RequestContext
from kwire.broker.request_parts import groups_in, partitions_in
from kwire.errors import UnknownMessage
from tests.broker.served import batch, cluster_of, fetch, fetching, produce, values

M = kwire.messages
NOT_LEADER = 6


def with_topic(partitions: int = 2) -> ServedCluster:
    cluster = cluster_of()
    cluster.controller.create("t", {index: [1] for index in range(partitions)})
    return cluster


def context(cluster: ServedCluster, message: Any, version: int = 9, client_id: str = "c") -> RequestContext[Any]:
    return RequestContext(cluster, 1, message, version, 0.0, client_id, "h")


def producing(*indexes: int) -> Any:
    part = M.ProduceRequest.PartitionProduceData
    rows = tuple(part(index=index, records=batch(b"x")) for index in indexes)
    return M.ProduceRequest(acks=-1, topic_data=(M.ProduceRequest.TopicProduceData(name="t", partition_data=rows),))


def test_an_error_hits_one_partition_of_a_produce_and_appends_nothing_there() -> None:
    cluster = with_topic()
    rule = cluster.rules.add(FaultRule("Produce", topic="t", partition=1, action=ERROR, code=NOT_LEADER, times=1))
    answer = cluster.answer(1, producing(0, 1), 9, now=0.0).responses[0].partition_responses
    assert [(row.error_code, row.base_offset) for row in answer] == [(0, 0), (NOT_LEADER, -1)]
    assert rule.hits == 1
    answer = cluster.answer(1, producing(0, 1), 9, now=0.0).responses[0].partition_responses
    assert [(row.error_code, row.base_offset) for row in answer] == [(0, 1), (0, 0)]
    assert rule.hits == 1


def test_a_rule_counts_requests_and_not_their_parts() -> None:
    cluster = with_topic()
    rule = cluster.rules.add(FaultRule("Produce", action=ERROR, code=NOT_LEADER, times=1))
    answer = cluster.answer(1, producing(0, 1), 9, now=0.0).responses[0].partition_responses
    assert ([row.error_code for row in answer], rule.hits) == ([NOT_LEADER, NOT_LEADER], 1)
    assert produce(cluster, batch(b"y")).error_code == 0


def test_a_fetch_that_would_wait_has_its_error_at_once() -> None:
    cluster = with_topic()
    cluster.rules.add(FaultRule("Fetch", topic="t", action=ERROR, code=NOT_LEADER, times=1))
    answer = cluster.answer(1, fetching(max_wait_ms=1000, min_bytes=1), 11, now=0.0)
    assert answer.responses[0].partitions[0].error_code == NOT_LEADER
    produce(cluster, batch(b"a"))
    assert values(fetch(cluster)) == [b"a"]


@pytest.mark.parametrize(
    ("api", "version", "message"),
    [
        ("Heartbeat", 4, M.HeartbeatRequest(group_id="g")),
        ("LeaveGroup", 5, M.LeaveGroupRequest(group_id="g")),
        ("SyncGroup", 5, M.SyncGroupRequest(group_id="g", protocol_type="consumer", protocol_name="range")),
        ("JoinGroup", 9, M.JoinGroupRequest(group_id="g", session_timeout_ms=10_000)),
        ("InitProducerId", 5, M.InitProducerIdRequest()),
    ],
)
def test_an_error_of_a_whole_response(api: str, version: int, message: Any) -> None:
    cluster = cluster_of()
    cluster.rules.add(FaultRule(api, action=ERROR, code=error_code("NOT_COORDINATOR"), times=1))
    assert cluster.answer(1, message, version, now=0.0).error_code == 16
    answer = cluster.answer(1, message, version, now=0.0)
    assert answer.error_code != 16


def test_what_a_rule_matches() -> None:
    cluster = with_topic()
    request = context(cluster, producing(1), client_id="orders-1")
    for fields in ({}, {"broker": 1}, {"client": "orders-*"}, {"topic": "t"}, {"topic": "t", "partition": 1}):
        assert FaultRule("Produce", **fields).matches(request), fields
    for fields in ({"broker": 2}, {"client": "c"}, {"topic": "u"}, {"topic": "t", "partition": 0}, {"group": "g"}):
        assert not FaultRule("Produce", **fields).matches(request), fields
    assert not FaultRule("Fetch").matches(request)
    assert not FaultRule("Produce", where=lambda message: message.acks == 1).matches(request)


def test_topics_are_found_by_their_ids_and_groups_by_any_name() -> None:
    cluster = with_topic()
    topic = cluster.controller.topics["t"]
    row = M.FetchRequest.FetchTopic(topic_id=topic.topic_id, partitions=(M.FetchRequest.FetchPartition(partition=1),))
    assert list(partitions_in(context(cluster, M.FetchRequest(topics=(row,)), 17))) == [("t", 1)]
    deleted = M.DeleteTopicsRequest(topic_names=("t",))
    assert list(partitions_in(context(cluster, deleted, 3))) == [("t", None)]
    assert list(groups_in(M.DeleteGroupsRequest(groups_names=("a", "b")))) == ["a", "b"]
    assert "tx" in groups_in(M.InitProducerIdRequest(transactional_id="tx"))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (FaultRule("Nonsense"), "api 'Nonsense' is not served"),
        (FaultRule(action=ERROR, code=6), "name the api"),
        (FaultRule("CreateTopics", action=ERROR, code=6), "has no error code; use respond"),
        (FaultRule("InitProducerId", topic="t", action=ERROR, code=6), "leave out the topic"),
        (FaultRule("Produce", partition=1), "name the topic"),
        (FaultRule("Produce", times=0), "must be at least 1"),
    ],
)
def test_a_rule_that_could_do_nothing_is_refused(rule: FaultRule, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_rule(rule, cluster_of().table)


def test_an_error_that_kafka_does_not_have() -> None:
    with pytest.raises(UnknownMessage, match="NOT_LEADER"):
        error_code("NOT_LEADER_OR_FOLLOVER")
