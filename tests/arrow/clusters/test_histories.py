"""The history has every state that ZooKeeper or the metadata log had, where it was on the wire, and none besides.

ZooKeeper's own transaction log, the files of the metadata log and the brokers' JMX are the truth here.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kwire import arrow
from kwire.arrow.clusters.history_tables import to_arrow
from kwire.cli.cluster import observations
from kwire.cli.commands import cluster
from kwire.cluster import history_of
from tests.conftest import SHARED, each_of, needs_shared

pytestmark = needs_shared
FOLDER = SHARED / "captures"
RUNS = sorted(path.name.removesuffix(".znodes.json") for path in FOLDER.glob("*.znodes.json"))
OFFLINE_IN_LOG = 15  # partitions in the directory that broker 2 of kafka-3.9-zk took offline, says the run's record
GAUGED = sorted(path.name.partition(".jmx")[0] for path in FOLDER.glob("*.jmx-after-failure.json"))
KRAFT = "kafka-4.4-kraft"
LOG = FOLDER / f"{KRAFT}.segments" / "__cluster_metadata-0"
States = dict[tuple[str, int], list[tuple[Any, ...]]]


@cache
def history(run: str, *kinds: str) -> dict[str, list[dict[str, Any]]]:
    found = [FOLDER / f"{run}.{kind}.pcap" for kind in kinds]
    tables = arrow.history([str(path) for path in found if path.exists()])
    return {name: table.to_pylist() for name, table in tables.items()}


def states(tables: dict[str, list[dict[str, Any]]]) -> States:
    found: States = defaultdict(list)
    for row in tables["partition_states"]:
        state = row["leader"], row["leader_epoch"], tuple(row["isr"]), row["partition_epoch"]
        found[row["topic"], row["partition"]].append(state)
    return {key: [state for state, _ in groupby(one)] for key, one in found.items()}


def znodes(run: str) -> States:
    """Return the states of partitions in ZooKeeper's transaction log; the version of a znode is the partition epoch."""
    found: States = defaultdict(list)
    for row in map(json.loads, (FOLDER / f"{run}.znodes.history.jsonl").read_text().splitlines()):
        place = re.fullmatch(r"/brokers/topics/([^/]+)/partitions/(\d+)/state", row["path"])
        if place and row.get("data"):
            one = json.loads(row["data"])
            state = one["leader"], one["leader_epoch"], tuple(one["isr"]), row.get("version", 0)
            found[place[1], int(place[2])].append(state)
    return dict(found)


@each_of("run", RUNS, most=2)
@pytest.mark.parametrize(
    "kinds", [("zookeeper",), ("zookeeper", "controller", "clients")], ids=["alone", "with others"]
)
def test_states_are_those_of_zookeepers_own_log(run: str, kinds: tuple[str, ...]) -> None:
    tables = history(run, *kinds)
    assert states(tables) == znodes(run)
    assert tables["conflicts"] == []


def test_states_on_the_wire_are_those_of_the_metadata_log_on_disk() -> None:
    wire = states(history(KRAFT, "clients", "controllers", "replication"))
    disk = states({name: table.to_pylist() for name, table in arrow.history(str(LOG / "*.log")).items()})
    assert len(disk) >= 20
    for key, known in disk.items():  # when the last broker stops, nobody fetches the last records
        assert wire[key] == known[: len(wire[key])], key
        assert len(known) - len(wire[key]) <= 1


def of_command(files: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The tables of the events that `kwire cluster` reads, in its order."""
    parser = argparse.ArgumentParser()
    cluster.add_arguments(parser)
    events = observations.events_in(parser.parse_args(files))
    return {name: table.to_pylist() for name, table in to_arrow(history_of(events)).items()}


@each_of("run", [*RUNS, KRAFT], most=1)
@pytest.mark.parametrize(
    "kinds",
    [("*.pcap",), ("znodes.history.jsonl",), ("*.pcap", "znodes.history.jsonl")],
    ids=["captures", "znodes", "both"],
)
def test_events_are_those_of_kwire_cluster(run: str, kinds: tuple[str, ...]) -> None:
    files = [str(path) for kind in kinds for path in sorted(FOLDER.glob(f"{run}.{kind}")) if "middle" not in path.name]
    if not files:
        pytest.skip("no such files of this run")
    tables = {name: table.to_pylist() for name, table in arrow.history(files).items()}
    for name, expected in of_command(files).items():
        assert sorted(tables[name], key=repr) == sorted(expected, key=repr), name


def test_reassignments_in_envelopes_are_read() -> None:
    """The admin client asked a broker, which forwarded both requests to the controller (KIP-590)."""
    found = [row["source"] for row in history(KRAFT, "controllers")["sources"]]
    assert [name for name in found if "Reassignments" in name] == [
        "AlterPartitionReassignmentsRequest",
        "ListPartitionReassignmentsResponse",
    ]


def test_a_file_that_is_no_znodes_after_all_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_text('{"path":"/controller_epoch","data":"7"}\n{"path":3}\n')
    (row,) = [row for batch in arrow.read(str(path), zookeeper="true", body="raw") for row in batch.to_pylist()]
    assert row["_error"]["reason"].startswith("the dump cannot be read further: ")
    assert "line 2 is not a change of a znode" in row["_error"]["reason"]
    assert row["_corrupt_record"] == path.read_bytes()


def test_znodes_as_json_give_the_same() -> None:
    run = "kafka-3.9-zk"
    tables = arrow.history(str(FOLDER / f"{run}.znodes.history.jsonl"))
    assert states({name: table.to_pylist() for name, table in tables.items()}) == znodes(run)


def metrics(tables: dict[str, list[dict[str, Any]]], at: Any) -> dict[tuple[int, str], int]:
    there = (row for row in tables["metrics"] if row["valid_from"] <= at and (row["valid_to"] or at) >= at)
    return {(row["broker"], row["metric"]): row["value"] for row in there}


@each_of("run", GAUGED)
def test_metrics_are_those_of_the_brokers(run: str) -> None:
    gauges = json.loads((FOLDER / f"{run}.jmx-after-failure.json").read_text())
    tables = history(run, "zookeeper", "controller", "clients")
    lost = [row for row in tables["offline_replicas"] if row["cause"] == "log directory"]
    first = lost[0]["broker"]
    stop = min(row["valid_to"] for row in tables["brokers"] if row["broker"] == first and row["valid_to"])
    at = max(row["offline_from"] for row in lost if row["broker"] == first and row["offline_from"] < stop)
    found = metrics(tables, at)
    for node in (1, 2, 3):
        for name in ("OfflineReplicaCount", "OfflineLogDirectoryCount"):
            (gauge,) = (value for key, value in gauges[f"broker {node}"].items() if key.endswith(f"name={name} Value"))
            if (run, node, name) == ("kafka-3.9-zk", 2, "OfflineReplicaCount"):  # docs/how-to/cluster.md says why
                assert (found[node, name], int(gauge)) == (OFFLINE_IN_LOG, 0)
                continue
            assert found[node, name] == int(gauge), (node, name)


def test_a_failed_disk_on_kraft_is_seen_from_the_metadata_log_alone() -> None:
    tables = {name: table.to_pylist() for name, table in arrow.history(str(LOG / "*.log")).items()}
    lost = [row for row in tables["offline_replicas"] if row["cause"] == "log directory"]
    assert {(row["broker"], row["ended_by"]) for row in lost} == {(3, None)}
    from_wire = history(KRAFT, "clients", "controllers")["offline_replicas"]
    seen = {(row["topic"], row["partition"]) for row in from_wire if row["cause"] == "log directory"}
    assert {(row["topic"], row["partition"]) for row in lost} == seen
    assert len(lost) == 11
    values = [
        row["value"] for row in tables["metrics"] if row["broker"] == 3 and row["metric"] == "OfflineReplicaCount"
    ]
    assert max(values) == 11


def test_reassignments_are_those_that_were_asked_for() -> None:
    (row,) = history(KRAFT, "clients", "controllers")["reassignments"]
    assert (row["topic"], row["partition"], row["adding"], row["removing"]) == ("stamps", 0, [3], [2])
    assert row["ended_by"] == "done"


def test_views_of_clients_add_no_state_that_never_was() -> None:
    disk = states({name: table.to_pylist() for name, table in arrow.history(str(LOG / "*.log")).items()})
    pairs = [(KRAFT, disk), *((run, znodes(run)) for run in ("kafka-1.1-zk", "kafka-2.4-zk", "kafka-3.9-zk"))]
    for run, truth in pairs:
        seen = states(history(run, "clients"))
        assert len(seen) >= 5
        for key, found in seen.items():
            for leader, epoch, isr, _ in found:  # in the order of a broker's cache; Kafka 1.1 sends no epochs
                there = [one for one in truth[key] if epoch in (one[1], -1)]
                assert (leader, set(isr)) in [(one[0], set(one[2])) for one in there], (run, key)
