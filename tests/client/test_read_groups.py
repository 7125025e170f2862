"""The groups of a live cluster: all four types, their members, offsets and lag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import kwire
from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.cluster_client import ClusterClient
from kwire.client.live_cluster import LiveCluster
from kwire.client.read_groups import ask_groups
from kwire.cluster import Broker, ClusterState
from kwire.cluster.consumer_groups.captured_groups import CapturedGroups
from kwire.cluster.consumer_groups.live_answers import take_answer
from kwire.errors import CallError
from kwire.testing import Kafka

M = kwire.messages


def commit(cluster: LiveCluster, group: str, offsets: Mapping[int, int], member: str = "", epoch: int = -1) -> None:
    partitions = [{"partitionIndex": index, "committedOffset": offset} for index, offset in offsets.items()]
    fields = {"groupId": group, "memberId": member, "generationIdOrMemberEpoch": epoch}
    with cluster._connect(cluster.address, cluster._deadline) as connection:
        codec = kwire.codec("OffsetCommitRequest", 9)
        row = {**fields, "topics": [{"name": "orders", "partitions": partitions}]}
        answer = connection.ask(codec, codec.from_json(row, defaults=True))
    assert answer is not None
    assert [part.error_code for topic in answer.message.topics for part in topic.partitions] == [0] * len(offsets)


def join_groups(cluster: LiveCluster) -> None:
    """Let a member join a group of each new type."""
    consumer = {"groupId": "c", "memberId": "m" * 22, "memberEpoch": 0, "rebalanceTimeoutMs": 1000, "rackId": "a"}
    consumer |= {"subscribedTopicNames": ["orders"], "topicPartitions": []}
    share = {"groupId": "s", "memberId": "n" * 22, "memberEpoch": 0, "subscribedTopicNames": ["orders"]}
    lists: dict[str, Any] = {"activeTasks": [], "standbyTasks": [], "warmupTasks": []}
    topology = {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": ["orders"]}]}
    streams = {"groupId": "k", "memberId": "o" * 22, "memberEpoch": 0, "rebalanceTimeoutMs": 1000, **lists}
    streams |= {"processId": "p", "topology": topology, "clientTags": []}
    for name, row in (("ConsumerGroup", consumer), ("ShareGroup", share), ("StreamsGroup", streams)):
        answer = cluster.ask(f"{name}HeartbeatRequest", row, 1)
        assert (answer.error_code, answer.error_message) == (0, None)


def begin_share_group(cluster: LiveCluster, group: str, offset: int) -> None:
    """Create a share group without members that reads the first partition from an offset on."""
    topic = {"topicName": "orders", "partitions": [{"partitionIndex": 0, "startOffset": offset}]}
    answer = cluster.ask("AlterShareGroupOffsetsRequest", {"groupId": group, "topics": [topic]}, 1)
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)


@pytest.mark.parametrize(("said", "lag"), [(1, 1), (0, 0), (-1, None)])  # version 0 says nothing of it
def test_the_lag_of_a_share_group_is_what_the_broker_says(said: int, lag: int | None) -> None:
    """Records behind the first one that is not done with may be done with, too (KIP-1226)."""
    response = M.DescribeShareGroupOffsetsResponse
    part = response.DescribeShareGroupOffsetsResponsePartition(partition_index=0, start_offset=5, lag=said)
    refused = response.DescribeShareGroupOffsetsResponsePartition(partition_index=1, start_offset=-1, error_code=29)
    topic = response.DescribeShareGroupOffsetsResponseTopic(topic_name="orders", partitions=(part, refused))
    row = response.DescribeShareGroupOffsetsResponseGroup
    groups = CapturedGroups()
    groups.ends["orders", 0] = 9
    take_answer(groups, response(groups=(row(group_id="s", topics=(topic,)), row(group_id="x", error_code=69))))
    (found,) = groups.partitions()
    assert (found.group, found.partition, found.committed, found.end, found.lag) == ("s", 0, 5, 9, lag)


def test_groups_of_all_types(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(topics={"orders": 2}, racks=["a"]) as kafka:
        place = kafka.bootstrap_servers
        for index in (0, 0, 0, 1):
            kafka.produce("orders", b"x", partition=index)
        with LiveCluster(address(place)) as cluster:
            cluster.state()
            commit(cluster, "classic", {0: 1, 1: 1})
            join_groups(cluster)
            begin_share_group(cluster, "t", 1)
            commit(cluster, "c", {0: 3}, "m" * 22, 1)
            groups = CapturedGroups()
            assert ask_groups(cluster, groups) == []
        assert {name: group.protocol for name, group in groups.groups.items()} == {
            "c": "consumer",
            "classic": "classic",
            "k": "streams",
            "s": "share",
            "t": "share",
        }
        rows = {(row.group, row.partition): (row.committed, row.end, row.lag) for row in groups.partitions()}
        assert (rows["classic", 0], rows["classic", 1]) == ((1, 3, 2), (1, 1, 0))
        assert rows["t", 0] == (1, 3, 2)
        assert rows["s", 0][0] is None  # nobody has read there
        assert (rows["c", 0], rows["c", 1]) == ((3, 3, 0), (None, 1, None))
        (member,) = groups.members("c")
        assert (member.rack, member.partitions, member.local_partitions) == ("a", ("orders-0", "orders-1"), 2)
        assert main(["cluster", place, "--groups"]) == 0
        text = capsys.readouterr().out
        assert "c: consumer group (KIP-848), epoch 1, uniform, Stable, 1 member\n" in text
        assert "orders-0   1          3    2    1       -          a\n" in text
        assert main(["cluster", place, "--group", "classic", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [row["lag"] for row in shown["partitions"]] == [2, 0]
        assert main(["cluster", place, "--group", "clasic"]) == 2
        assert "there is no consumer group 'clasic'" in capsys.readouterr().err
        assert main(["cluster", place, "--if-lost", "1"]) == 1
        assert "group c notices: orders-0, orders-1" in capsys.readouterr().out


def test_a_cluster_without_groups_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(topics=["orders"]) as kafka:
        assert main(["cluster", kafka.bootstrap_servers, "--groups"]) == 2
        assert "the cluster has no group" in capsys.readouterr().err
        assert main(["cluster", kafka.bootstrap_servers, "x.pcap", "--groups"]) == 2
        assert "is a live broker: give only one" in capsys.readouterr().err


def test_groups_without_a_coordinator_are_not_said_to_be_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody lists the groups of a partition without leader: whether there is one is unknown."""
    with Kafka(brokers=2, configs={"offsets.topic.num.partitions": "2"}) as kafka:
        place = kafka.bootstrap_servers.split(",")[1]
        kafka.create_topic("__consumer_offsets", assignment=[[1], [2]])
        kafka.stop_broker(1)
        assert main(["cluster", place, "--group", "b"]) == 2  # b is 98: of the first partition
        error = capsys.readouterr().err
        assert "groups without a coordinator are missing, for no broker leads __consumer_offsets-0\n" in error
        assert "whether there is a consumer group 'b' is unknown, see above" in error
        assert main(["cluster", place, "--group", "a"]) == 2
        assert "there is no consumer group 'a'" in capsys.readouterr().err
        main(["cluster", place, "--if-lost", "2"])
        assert "groups without a coordinator are missing" in capsys.readouterr().err


class Silent(ClusterClient):
    """A cluster of two brokers, of which the second answers nothing."""

    def state(self) -> ClusterState:
        return ClusterState(brokers={node_id: Broker(node_id, "h", node_id, None) for node_id in (1, 2)})

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        if name == "MetadataRequest":
            return M.MetadataResponse()
        if node_id == 2:
            raise CallError("h:2", "it does not answer", "is it there?")
        assert name == "ListGroupsRequest"
        return M.ListGroupsResponse()


def test_a_broker_that_does_not_answer_is_named() -> None:
    (problem,) = ask_groups(Silent(), CapturedGroups())
    assert problem.startswith("groups that broker 2 coordinates are missing: h:2: it does not answer")
