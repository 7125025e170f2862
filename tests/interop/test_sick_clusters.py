"""`kwire place` on a real cluster while a broker is dead: a plan is resumed after a kill, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.live_cluster import LiveCluster
from kwire.client.move_log_dirs import RATE
from kwire.client.replication_throttle import LISTS, RATES
from kwire.cluster import ClusterState
from tests.interop.kafka import CACHE, TOOLS, kafka_down, need, real_cluster

pytestmark = pytest.mark.ci
DEAD = 5
RACKS = "/DC1/R1,/DC1/R2,/DC2/R1,/DC2/R2,/DC1/R1"
REPLICAS = [[5, 1], [5, 2], [1, 5], [2, 5], [5, 3], [3, 4], [4, 1]]


@pytest.fixture(scope="module")
def sick_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A cluster of five brokers of which one was killed, and that knows it."""
    need("java", "mvn")
    with real_cluster("4.4.0", tmp_path_factory.mktemp("kafka"), 5, RACKS) as facts:
        with LiveCluster(address(facts["bootstrap"].split(",")[0])) as cluster:
            create_topic(cluster, "orders")
        kafka_down(Path(facts["dir"]), "--broker", str(DEAD), "--kill")
        wait_until(facts, lambda state: is_fenced(state, DEAD))
        yield facts


def test_a_plan_is_resumed_after_a_kill_and_leaves_nothing_behind(
    sick_cluster: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = sick_cluster["bootstrap"].split(",")[0]
    file = tmp_path / "plan.json"
    assert main(["place", broker, "--remove", str(DEAD), "--leaders", "--json"]) == 0
    file.write_text(capsys.readouterr().out)
    apply = ["place", broker, "--plan", str(file), "--apply", "--throttle", "10000000"]
    kill_after([*apply, "--batch", "1"], "2 done")
    assert throttled(sick_cluster) == {"1", "2", "3", "4", "orders"}
    assert main(apply) == 0, capsys.readouterr().err
    assert "broker 5 is down; it is throttled when it is back" in capsys.readouterr().err
    assert throttled(sick_cluster) == set()
    planned = {row["partition"]: row["replicas"] for row in json.loads(file.read_text())["partitions"]}
    state = state_of(sick_cluster)
    for partition in state.partitions("orders"):
        assert list(partition.replicas) == planned.get(partition.index, REPLICAS[partition.index])
        assert partition.leader == partition.preferred
    assert main(["place", broker, "--plan", str(file), "--verify"]) == 0
    assert main(["place", broker, "--plan", str(file), "--cancel"]) == 0
    start_broker(sick_cluster, DEAD)
    assert throttled(sick_cluster) == set()


def test_a_directory_is_left_while_a_broker_is_dead(
    sick_cluster: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = sick_cluster["bootstrap"].split(",")[0]
    directories = state_of(sick_cluster).log_dirs[1]
    path = max(directories, key=lambda name: len(directories[name].sizes))
    file = tmp_path / "disks.json"
    assert main(["place", broker, "--leave-disk", f"1={path}", "--json"]) == 0
    file.write_text(capsys.readouterr().out)
    assert json.loads(file.read_text())["partitions"]
    assert main(["place", broker, "--plan", str(file), "--apply", "--throttle", "10000000", "--batch", "1"]) == 0
    assert main(["place", broker, "--plan", str(file), "--verify"]) == 0
    assert not state_of(sick_cluster).log_dirs[1][path].sizes
    assert throttled(sick_cluster) == set()


def kill_after(arguments: list[str], text: str) -> None:
    """Run kwire until it prints a text on stderr, and kill it."""
    command = [sys.executable, "-m", "kwire", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if text in line:
                os.kill(process.pid, signal.SIGKILL)
                return
    raise AssertionError(lines)


def start_broker(facts: dict[str, Any], node_id: int) -> None:
    command = [sys.executable, str(TOOLS / "kafka-up"), "--dir", facts["dir"], "--cache", str(CACHE)]
    subprocess.run([*command, "--start", str(node_id)], check=True, timeout=180, capture_output=True)
    wait_until(facts, lambda state: not is_fenced(state, node_id))


def is_fenced(state: ClusterState, node_id: int) -> bool:
    broker = (state.brokers or {}).get(node_id)
    return broker is None or broker.fenced


def state_of(facts: dict[str, Any]) -> ClusterState:
    with LiveCluster(address(facts["bootstrap"].split(",")[0])) as cluster:
        return cluster.state()


def wait_until(facts: dict[str, Any], condition: Any) -> None:
    while not condition(state_of(facts)):
        pass


def create_topic(cluster: LiveCluster, name: str) -> None:
    rows = [{"partitionIndex": index, "brokerIds": ids} for index, ids in enumerate(REPLICAS)]
    topic = {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": rows, "configs": []}
    cluster.state()
    response = cluster.ask("CreateTopicsRequest", {"topics": [topic], "timeoutMs": 60000, "validateOnly": False})
    assert [row.error_code for row in response.topics] == [0]
    while len(cluster.state().partitions(name)) < len(REPLICAS):
        pass


def throttled(facts: dict[str, Any]) -> set[str]:
    """Return the live brokers and the topics that have configs of a throttle."""
    names: set[str] = set()
    with LiveCluster(address(facts["bootstrap"].split(",")[0])) as cluster:
        state = cluster.state()
        for node_id in [node_id for node_id in state.brokers or {} if not is_fenced(state, node_id)]:
            names |= configured(cluster, 4, str(node_id), (*RATES, RATE), node_id)
        for topic in state.topics:
            names |= configured(cluster, 2, topic, LISTS, None)
    return names


def configured(cluster: LiveCluster, kind: int, name: str, configs: tuple[str, ...], node_id: int | None) -> set[str]:
    resource = {"resourceType": kind, "resourceName": name, "configurationKeys": list(configs)}
    response = cluster.ask("DescribeConfigsRequest", {"resources": [resource]}, node_id)
    values = {config.value for row in response.results for config in row.configs}
    return {name} if values - {"", None, str(2**63 - 1)} else set()
