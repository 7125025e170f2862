"""`kwire place` and `kwire cluster` on real clusters while brokers are dead: a plan is resumed after a kill, hanging
reassignments are seen and cancelled, the controller may go, and nothing is left behind.

The tests of a module share a cluster and run in order: each leaves it well but for broker 5.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
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
# Dead brokers are known sooner than after 9 s.
OPTIONS = "--controllers", "3", "--conf", "broker.session.timeout.ms=3000", "--conf", "broker.heartbeat.interval.ms=500"
REPLICAS = [[5, 1], [5, 2], [1, 5], [2, 5], [5, 3], [3, 4], [4, 1]]


@pytest.fixture(scope="module", params=["4.1.0", "4.4.0"])
def sick_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A cluster of five brokers, three of them controllers, of which one was killed, and that knows it."""
    need("java", "mvn")
    with real_cluster(request.param, tmp_path_factory.mktemp("kafka"), 5, RACKS, OPTIONS) as facts:
        with LiveCluster(address(facts["bootstrap"].split(",")[0])) as cluster:
            create_topic(cluster, "orders", REPLICAS)
        kill_broker(facts, DEAD)
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


def test_a_reassignment_to_a_dead_broker_hangs_and_is_cancelled(
    sick_cluster: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = sick_cluster["bootstrap"].split(",")[0]
    before = state_of(sick_cluster).topics["orders"][6].replicas
    kill_broker(sick_cluster, DEAD)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_of("orders", 6, [*before, DEAD])))
    with LiveCluster(address(broker)) as cluster:
        target = {"partitionIndex": 6, "replicas": [*before, DEAD]}
        topics = [{"name": "orders", "partitions": [target]}]
        cluster.ask("AlterPartitionReassignmentsRequest", {"topics": topics, "timeoutMs": 30000})
    assert main(["place", broker, "--plan", str(file), "--verify"]) == 1
    assert "orders-6  under way\n" in capsys.readouterr().out
    assert main(["cluster", broker]) == 0
    assert f"reassigning +{DEAD}, waits for replica {DEAD}, offline" in capsys.readouterr().out
    assert main(["place", broker, "--plan", str(file), "--cancel"]) == 0
    assert capsys.readouterr().out == "cancelled: 1 partition\n"
    wait_until(sick_cluster, lambda state: state.topics["orders"][6].replicas == before)
    assert throttled(sick_cluster) == set()


def test_a_topic_below_its_minimum_in_sync_is_named(
    sick_cluster: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    broker = sick_cluster["bootstrap"].split(",")[0]
    start_broker(sick_cluster, DEAD)
    with LiveCluster(address(broker)) as cluster:
        create_topic(cluster, "strict", [[4, DEAD], [4, 3]], {"min.insync.replicas": "2"})
    assert main(["cluster", broker, "--if-lost", f"{DEAD}"]) == 1
    assert "  below min.insync.replicas: strict-0\n" in capsys.readouterr().out
    kill_broker(sick_cluster, DEAD)
    wait_until(sick_cluster, lambda state: state.topics["strict"][0].isr == (4,))
    assert main(["cluster", broker]) == 0
    assert "below min.insync.replicas: 1: strict-0\n" in capsys.readouterr().out
    assert main(["cluster", broker, "--metrics"]) == 0
    assert "OfflineReplicaCount" in capsys.readouterr().out
    assert main(["cluster", broker, "--may-restart", "3"]) == 1
    assert "below min.insync.replicas: strict-1" in capsys.readouterr().out
    assert main(["place", broker, "--remove", f"{DEAD}", "--apply", "--throttle", "10000000"]) == 0
    assert not state_of(sick_cluster).under_min_isr()
    assert throttled(sick_cluster) == set()


def test_replicas_are_rebuilt_elsewhere_after_a_disk_is_dead(
    sick_cluster: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory that is gone fails at the next checkpoint of high watermarks, and its broker goes on without it."""
    broker = sick_cluster["bootstrap"].split(",")[0]
    with LiveCluster(address(broker)) as cluster:
        create_topic(cluster, "disks", [[4, 1 + index % 3] for index in range(8)])
    path = max(state_of(sick_cluster).log_dirs[4])  # the metadata log is in the first one, without which a broker ends
    Path(path).rename(f"{path}.gone")
    wait_until(sick_cluster, lambda state: state.offline_dirs.get(4) == 1)
    assert main(["cluster", broker]) == 0
    assert "OFFLINE" in next(line for line in capsys.readouterr().out.splitlines() if path in line)
    assert main(["place", broker, "--leave-disk", f"4={path}"]) == 1
    remarks = capsys.readouterr().err
    assert remarks.count("stays on broker 4: its directory is offline\n") >= 4
    assert remarks.endswith("what an offline directory holds: --remove 4\n")
    assert main(["place", broker, "--remove", f"4,{DEAD}", "--apply", "--throttle", "10000000"]) == 0
    state = state_of(sick_cluster)
    assert not [partition for partition in state.partitions() if state.offline(partition)]
    assert throttled(sick_cluster) == set()
    capsys.readouterr()
    assert main(["place", broker, "--remove", f"3,{DEAD}"]) == 0
    assert "broker 4 has an offline log directory: until it is restarted" in capsys.readouterr().err
    kill_broker(sick_cluster, 4)
    shutil.rmtree(path, ignore_errors=True)  # the broker may have created it again for a partition's folder
    Path(f"{path}.gone").rename(path)
    start_broker(sick_cluster, 4)


def test_a_plan_is_carried_out_after_the_controller_is_gone(
    sick_cluster: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    controller = leader_of_quorum(state_of(sick_cluster))
    survivors = [row for row in sick_cluster["brokers"] if row["id"] not in (controller, DEAD)]
    sick_cluster["bootstrap"] = broker = f"{survivors[-1]['host']}:{survivors[-1]['port']}"
    kill_broker(sick_cluster, controller)
    assert leader_of_quorum(state_of(sick_cluster)) != controller
    assert main(["place", broker, "--remove", f"{DEAD},{controller}", "--leaders", "--apply"]) == 0
    capsys.readouterr()
    assert main(["cluster", broker]) == 0
    assert "without leader: 0\n" in capsys.readouterr().out
    for partition in state_of(sick_cluster).partitions():
        assert not {DEAD, controller} & set(partition.replicas)
    assert throttled(sick_cluster) == set()


def leader_of_quorum(state: ClusterState) -> int:
    assert state.quorum is not None
    return state.quorum.leader


def plan_of(topic: str, index: int, replicas: list[int]) -> dict[str, Any]:
    return {"version": 1, "partitions": [{"topic": topic, "partition": index, "replicas": replicas}]}


def kill_broker(facts: dict[str, Any], node_id: int) -> None:
    """Kill a broker, and wait until the cluster knows it."""
    kafka_down(Path(facts["dir"]), "--broker", str(node_id), "--kill")
    wait_until(facts, lambda state: is_fenced(state, node_id))


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
    end = monotonic() + 60
    while not condition(state := state_of(facts)):
        assert monotonic() < end, state


def create_topic(
    cluster: LiveCluster, name: str, replicas: list[list[int]], configs: dict[str, str] | None = None
) -> None:
    rows = [{"partitionIndex": index, "brokerIds": ids} for index, ids in enumerate(replicas)]
    settings = [{"name": config, "value": value} for config, value in (configs or {}).items()]
    topic = {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": rows, "configs": settings}
    cluster.state()
    response = cluster.ask("CreateTopicsRequest", {"topics": [topic], "timeoutMs": 60000, "validateOnly": False})
    assert [row.error_code for row in response.topics] == [0]
    while len(cluster.state().partitions(name)) < len(replicas):
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
