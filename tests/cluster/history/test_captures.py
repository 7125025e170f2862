"""What the tables say of real clusters is what ZooKeeper's own log and the brokers' sessions say."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.cluster import history_of, observed
from kwire.cluster.history.rows import OfflineReplica, Tables
from kwire.cluster.kip112 import TopicPartition
from tests.cluster.kip112.runs import Run, read_run
from tests.conftest import SHARED, each_of, needs_shared

pytestmark = needs_shared
FOLDER = SHARED / "captures"
RUNS = sorted(path.name.removesuffix(".znodes.json") for path in FOLDER.glob("*.znodes.json"))
FAILING = [run for run in RUNS if "/log_dir_event_0" in (FOLDER / f"{run}.znodes.history.jsonl").read_text()]
SOON = 1.0  # seconds in which a controller makes known what it has decided
BACK = 3.0  # seconds in which a broker that starts has read its logs and answers for its replicas
State = tuple[int, int, tuple[int, ...]]


@cache
def tables(run: str, kind: str = "controller") -> Tables:
    found = map(observed, kwire.decode_frames(kwire.read_dump(str(FOLDER / f"{run}.{kind}.pcap"))))
    return history_of(sorted(filter(None, found), key=lambda one: one.time or 0.0))


@cache
def facts(run: str) -> Run:
    return read_run(FOLDER, run)


def znodes(path: Path) -> dict[TopicPartition, list[State]]:
    """Return the states that ZooKeeper has had, by partition."""
    states: dict[TopicPartition, list[State]] = {}
    for row in map(json.loads, path.read_text().splitlines()):
        place = re.fullmatch(r"/brokers/topics/([^/]+)/partitions/(\d+)/state", row["path"])
        if place and row.get("data"):
            state = json.loads(row["data"])
            reported = state["leader"], state["leader_epoch"], tuple(state["isr"])
            states.setdefault((place[1], int(place[2])), []).append(reported)
    return states


@each_of("run", RUNS, most=6)
def test_partitions_have_the_states_of_zookeeper_in_their_order(run: str) -> None:
    known = znodes(FOLDER / f"{run}.znodes.history.jsonl")
    rows = groupby(tables(run).partition_states, key=lambda row: (row.topic, row.partition))
    reported = {key: [(row.leader, row.leader_epoch, row.isr) for row in found] for key, found in rows}
    assert reported.keys() == known.keys()
    for key, states in reported.items():
        later = iter(known[key])
        # A state that is changed before the controller tells of it is told by nobody.
        assert all(any(state == one for one in later) for state, _ in groupby(states)), key


def test_hardly_a_state_of_zookeeper_is_missing() -> None:
    for run in ("kafka-2.4-zk", "kafka-3.9-zk", "kafka-3.9-zk-admin"):
        known = znodes(FOLDER / f"{run}.znodes.history.jsonl")
        reported = {(row.topic, row.partition, row.leader_epoch, row.isr) for row in tables(run).partition_states}
        there = {(*key, state[1], state[2]) for key, states in known.items() for state in states}
        assert len(there - reported) <= len(there) / 10


@each_of("run", RUNS, most=6)
def test_brokers_live_as_long_as_their_sessions(run: str) -> None:
    assert {row.broker for row in tables(run).brokers} == set(facts(run).sessions)
    for node_id, sessions in facts(run).sessions.items():
        lives = [row for row in tables(run).brokers if row.broker == node_id]
        assert len(lives) <= len(sessions)
        for life in lives:
            assert life.valid_from is not None
            start, end = max(session for session in sessions if session[0] <= life.valid_from + 0.01)
            assert life.valid_to is None or end - 0.01 <= life.valid_to, (start, end, life)


def gone(run: str) -> list[OfflineReplica]:
    return [row for row in tables(run).offline_replicas if row.cause == "log directory"]


@each_of("run", FAILING)
def test_the_story_of_a_failed_disk(run: str) -> None:
    failures = facts(run).failures()
    assert failures
    for at, broker, lost in failures:
        rows = [row for row in gone(run) if row.broker == broker and at <= (row.offline_from or 0) < at + SOON]
        assert {(row.topic, row.partition) for row in rows} == lost
        for row in rows:
            assert row.leader_after != broker
            assert row.leader_before == broker or row.leader_after in (row.leader_before, -1)


@each_of("run", FAILING)
def test_lost_replicas_come_back_with_their_broker_or_not_at_all(run: str) -> None:
    for row in gone(run):
        if row.ended_by == "online":
            assert row.offline_to is not None
            starts = [start for start, _ in facts(run).sessions[row.broker]]
            assert any(start <= row.offline_to + 0.01 < start + BACK for start in starts), row


def test_replicas_whose_disk_is_still_bad_are_one_outage_through_restarts_and_elections() -> None:
    rows = [row for row in gone("kafka-3.9-zk") if (row.topic, row.partition, row.broker) == ("flaky", 0, 2)]
    assert [(row.leader_before, row.leader_after, row.ended_by) for row in rows] == [(2, 3, "online")]


@each_of("run", RUNS)
def test_no_replica_comes_back_while_a_new_controller_has_no_state(run: str) -> None:
    rows = sorted(tables(run).offline_replicas, key=lambda row: (row.topic, row.partition, row.broker))
    for _, found in groupby(rows, key=lambda row: (row.topic, row.partition, row.broker)):
        for before, after in pairwise(found):
            assert before.offline_to is not None
            assert after.offline_from is not None
            assert after.offline_from - before.offline_to > 2, (before, after)


def test_kraft_reports_the_replicas_that_its_metadata_log_has_offline(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("clients", "controllers")
    dumps = [kwire.read_dump(str(FOLDER / f"kafka-4.4-kraft.{kind}.pcap")) for kind in kinds]
    found = [one for dump in dumps for result in kwire.decode_frames(dump) if (one := observed(result)) is not None]
    history = history_of(sorted(found, key=lambda one: one.time or 0.0))
    log = sorted(map(str, (FOLDER / "kafka-4.4-kraft.segments/cluster_metadata-live").glob("*.log")))
    assert main(["cluster", "--json", *log]) == 0
    partitions = json.loads(capsys.readouterr().out)["partitions"]
    rows = [row for row in history.offline_replicas if row.cause == "log directory"]
    assert {(row.broker, row.cause, row.source) for row in rows} == {(3, "log directory", "BrokerHeartbeatRequest")}
    expected = {(one["topic"], one["partition"]) for one in partitions if one["offlineReplicas"]}
    assert {(row.topic, row.partition) for row in rows} == expected
    assert len(expected) == 11
    assert {source.note for source in history.sources} == {None}


def test_clients_alone_see_the_same_failure() -> None:
    seen = {(row.topic, row.partition, row.broker) for row in gone("kafka-3.9-zk")}
    rows = [row for row in tables("kafka-3.9-zk", "clients").offline_replicas if row.topic in ("flaky", "lonely")]
    assert {("flaky", 0, 2), ("flaky", 1, 2), ("lonely", 0, 2)} <= {
        (row.topic, row.partition, row.broker) for row in rows
    }
    assert {row.source for row in rows} <= {"MetadataResponse", "brokers"}
    assert ("flaky", 0, 2) in seen


@each_of("run", RUNS, most=6)
def test_views_of_clients_add_nothing_to_the_controllers_requests(run: str) -> None:
    said = [
        one
        for kind in ("controller", "clients")
        for result in kwire.decode_frames(kwire.read_dump(str(FOLDER / f"{run}.{kind}.pcap")))
        if (one := observed(result)) is not None
    ]
    both = history_of(sorted(said, key=lambda one: one.time or 0.0))
    alone = tables(run)
    assert both.isr_shrinks == alone.isr_shrinks
    assert both.rack_violations == alone.rack_violations
    assert len(both.partition_states) == len(alone.partition_states)


@pytest.mark.parametrize("run", ["kafka-1.1-zk", "kafka-2.4-zk", "kafka-3.9-zk"])
def test_counts_are_those_of_the_brokers_own_gauges(run: str) -> None:
    gauges = json.loads((FOLDER / f"{run}.jmx-after-failure.json").read_text())
    _, broker, lost = facts(run).failures()[0]
    away = [row for row in tables(run).offline_replicas if row.broker == broker and row.cause == "broker"]
    now = min(row.offline_from or 0 for row in away) - 0.1  # the gauges were read before the broker was stopped
    there = [row for row in tables(run).partition_states if is_at(now, row.valid_from, row.valid_to)]
    offline = [row for row in tables(run).offline_replicas if is_at(now, row.offline_from, row.offline_to)]
    assert len(there) == gauge(gauges, 1, "GlobalPartitionCount")
    assert sum(row.leader < 0 for row in there) == gauge(gauges, 1, "OfflinePartitionsCount") == 1
    for node_id in (1, 2, 3):
        assert sum(row.leader == node_id for row in there) == gauge(gauges, node_id, "LeaderCount")
        assert sum(node_id in row.replicas for row in there) == gauge(gauges, node_id, "PartitionCount")
    assert {(row.topic, row.partition) for row in offline} == lost
    count = gauge(gauges, broker, "OfflineReplicaCount")
    assert (0 if run == "kafka-3.9-zk" else len(offline)) == count  # always 0 in 3.9.1: docs/how-to/cluster.md


def is_at(now: float, since: float | None, until: float | None) -> bool:
    return (since or 0) <= now and (until is None or now < until)


def gauge(gauges: dict[str, dict[str, str]], broker: int, name: str) -> int:
    (value,) = (value for key, value in gauges[f"broker {broker}"].items() if key.endswith(f"name={name} Value"))
    return int(value)
