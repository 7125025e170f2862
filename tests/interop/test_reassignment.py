"""`kwire place` puts a real cluster right: Kafka carries the plan out, and its own listing says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.live_cluster import LiveCluster
from kwire.cluster import Broker, is_even
from kwire.cluster.placement.rack_tree import RackTree
from tests.interop.kafka import need, real_cluster

pytestmark = pytest.mark.ci
RACKS = ["/DC1/R1", "/DC1/R2", "/DC2/R1", "/DC2/R2"]
TREE = RackTree([Broker(id, rack=rack) for id, rack in enumerate(RACKS, 1)])
BAD = [[1, 2], [3, 4], [1, 3], [2, 1], [1, 2]]


@pytest.fixture(scope="module", params=["4.4.0", "3.9.1"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need("java", "mvn")
    with real_cluster(request.param, tmp_path_factory.mktemp("kafka"), 4, ",".join(RACKS)) as facts:
        yield facts["bootstrap"].split(",")[0]


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["place", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def lists(broker: str, topic: str) -> dict[int, tuple[list[int], int]]:
    """Return what the broker itself lists: replicas and leader."""
    with LiveCluster(address(broker)) as cluster:
        return {one.index: (list(one.replicas), one.leader) for one in cluster.state().partitions(topic)}


def test_a_cluster_is_put_right(broker: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(broker, "bad")
    assert main(["place", broker]) == 1
    capsys.readouterr()
    file, back = tmp_path / "p.json", tmp_path / "back.json"
    options = ("--repair", "--balance", "--leaders", "--json", "--rollback", str(back))
    file.write_text(run(capsys, broker, *options))
    assert "0 done, 0 under way, 4 to come" in run(capsys, broker, "--plan", str(file), "--verify", code=1)
    run(capsys, broker, "--plan", str(file), "--apply", "--batch", "2", "--throttle", "10000000")
    assert "4 done, 0 under way, 0 to come" in run(capsys, broker, "--plan", str(file), "--verify")
    found = lists(broker, "bad")
    assert all(is_even(TREE, replicas) for replicas, _ in found.values())
    assert all(leader == replicas[0] for replicas, leader in found.values())
    planned = {row["partition"]: row["replicas"] for row in json.loads(file.read_text())["partitions"]}
    assert all(found[index][0] == replicas for index, replicas in planned.items())
    assert throttles(broker) == {""}
    run(capsys, broker)
    run(capsys, broker, "--plan", str(back), "--apply")
    assert [replicas for replicas, _ in lists(broker, "bad").values()] == BAD


def test_topics_partitions_and_replicas_are_made(broker: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, broker, "--topic", "made", "--partitions", "4", "--rf", "3", "--assignor", "even", "--apply")
    run(capsys, broker, "--topic", "made", "--partitions", "6", "--apply")
    assert sorted(map(len, (replicas for replicas, _ in lists(broker, "made").values()))) == [3] * 6
    run(capsys, broker, "--topic", "made", "--rf", "2", "--apply")
    found = lists(broker, "made")
    assert all(len(replicas) == 2 and is_even(TREE, replicas) for replicas, _ in found.values())


def create(broker: str, topic: str) -> None:
    rows = [{"partitionIndex": index, "brokerIds": ids} for index, ids in enumerate(BAD)]
    made: dict[str, Any] = {
        "name": topic,
        "numPartitions": -1,
        "replicationFactor": -1,
        "assignments": rows,
        "configs": [],
    }
    with LiveCluster(address(broker)) as cluster:
        cluster.state()
        answer = cluster.ask(
            "CreateTopicsRequest", {"topics": [made | {"configs": []}], "timeoutMs": 60000, "validateOnly": False}
        )
        assert [one.error_code for one in answer.topics] == [0]
        while len(cluster.state().partitions(topic)) < len(BAD):
            pass


def throttles(broker: str) -> set[str]:
    """Return the values of the configs that throttle, of the topic and of all brokers."""
    names = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"]
    with LiveCluster(address(broker)) as cluster:
        cluster.state()
        named = [{"resourceType": 2, "resourceName": "bad", "configurationKeys": names}]
        answer = cluster.ask("DescribeConfigsRequest", {"resources": named})
    return {config.value for row in answer.results for config in row.configs}
