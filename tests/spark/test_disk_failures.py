"""The story of disks that really failed comes out of the tables: who was offline when, who led after, who came back.

What happened is taken from elsewhere: from ZooKeeper's own history (the brokers' events and registrations, the leaders
in the states of partitions), from errors in answers, and from the page that was written while the run went on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

import kwire.spark
from tests.cluster.kip112.runs import Run, read_run
from tests.conftest import SHARED, each_of, needs_shared
from tests.spark.test_data_source import load

CAPTURES = SHARED / "captures"
FAILING = re.compile(r"^(\S+) (?:DISK FAILS|second failure): broker (\d)", re.MULTILINE)
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(CAPTURES.glob("kafka-*.md"))}
FAILED = {name: FAILING.findall(page) for name, page in PAGES.items() if (CAPTURES / f"{name}.znodes.json").exists()}
HALTING = ["kafka-3.9-ibp-0.8.2", "kafka-3.9-ibp-0.10.2"]  # a broker that speaks as before 1.0 halts with its disk
RUNS = [name for name, failures in FAILED.items() if failures and name not in HALTING]
SOON = 1.0  # seconds: how long a controller takes for what it does about an event
Replica = tuple[str, int]
pytestmark = needs_shared


@pytest.fixture(scope="module")
def offline(spark: Any) -> dict[str, list[dict[str, Any]]]:
    """All offline replicas of all these runs by run, in the order of time; one job of Spark."""
    from pyspark.sql import functions as sql

    paths = [CAPTURES / f"{run}.{kind}.pcap" for run in (*RUNS, *HALTING) for kind in ("controller", "clients")]
    frames = load(spark, *paths, **kwire.spark.cluster.OPTIONS)
    history = kwire.spark.cluster.history(frames, sql.regexp_extract("path", r"([^/]+)\.[^.]+\.pcap", 1))
    rows = history.offline_replicas.orderBy("offline_from").toArrow().to_pylist()
    history.all.unpersist()
    for row in rows:
        for name in ("offline_from", "offline_to"):
            row[name] = row[name] and row[name].timestamp()
    return {run: [row for row in rows if row["cluster"] == run] for run in (*RUNS, *HALTING)}


BACK = 3.0  # seconds in which a broker that starts has read its logs and answers for its replicas
run_of = cache(lambda name: read_run(CAPTURES, name))


def told(rows: list[dict[str, Any]], broker: int, since: float) -> dict[Replica, dict[str, Any]]:
    """The first time from a moment on that a directory of a broker kept each of its replicas offline."""
    found: dict[Replica, dict[str, Any]] = {}
    for row in rows:
        if row["broker"] == broker and row["cause"] == "log directory" and row["offline_from"] >= since:
            found.setdefault((row["topic"], row["partition"]), row)
    return found


def leader(run: Run, replica: Replica, until: float) -> int | None:
    """Who led a partition at a time, as ZooKeeper has it."""
    path = "/brokers/topics/{}/partitions/{}/state".format(*replica)
    rows = [row for row in run.history if row["path"] == path and row.get("data") and row["at"] <= until]
    return int(json.loads(rows[-1]["data"])["leader"]) if rows else None


def returns(run: Run, broker: int, since: float) -> Iterator[tuple[float, set[Replica]]]:
    """When a broker registered again, and the replicas that it then had to say were still lost."""
    for start, end in run.sessions[broker]:
        if start > since:
            yield start, run.failed(broker, start, end)


def deleted(run: Run, topic: str) -> float | None:
    """When a topic was deleted."""
    path = f"/brokers/topics/{topic}"
    return next((row["at"] for row in run.history if row["path"] == path and row["op"] == "delete"), None)


@each_of("name", RUNS)
def test_all_replicas_on_the_disk_go_offline_when_it_fails_and_others_lead(name: str, offline: Any) -> None:
    run, failed = run_of(name), FAILED[name]
    assert [broker for _, broker, _ in run.failures()] == [int(broker) for _, broker in failed]
    for (at, broker, lost), (time, _) in zip(run.failures(), failed, strict=True):
        begun = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
        rows = {replica: row for replica, row in told(offline[name], broker, begun).items() if replica in lost}
        assert rows.keys() == lost
        for replica, row in rows.items():
            assert begun < row["offline_from"]
            assert -0.01 < row["offline_from"] - at < SOON
            assert row["leader_before"] == leader(run, replica, at)
            assert row["leader_after"] == leader(run, replica, row["offline_from"] + SOON)
            assert row["leader_after"] != broker


@each_of("name", RUNS)
def test_they_are_one_outage_until_the_broker_is_back_with_a_good_disk(name: str, offline: Any) -> None:
    run = run_of(name)
    for at, broker, lost in run.failures():
        current = {replica: row for replica, row in told(offline[name], broker, at - 0.01).items() if replica in lost}
        assert current.keys() == lost
        for start, still in returns(run, broker, at):
            assert lost == still or not still
            for row in current.values():
                if still:
                    assert row["offline_to"] is None or row["offline_to"] > start + SOON
                else:
                    assert row["ended_by"] == "online"
                    assert -0.01 < row["offline_to"] - start < BACK
            current = current if still else {}
        for (topic, _), row in current.items():
            assert row["ended_by"] == (None if deleted(run, topic) is None else "deleted")  # until then it waits


@each_of("name", RUNS)
def test_no_other_replica_is_said_to_be_on_a_failed_disk(name: str, offline: Any) -> None:
    run = run_of(name)
    lost = {(broker, *replica) for _, broker, replicas in run.failures() for replica in replicas}
    rows = [row for row in offline[name] if row["cause"] == "log directory"]
    assert {(row["broker"], row["topic"], row["partition"]) for row in rows} == lost
    assert {row["cause"] for row in offline[name]} == {"log directory", "broker"}
    assert {row["cause"] for row in offline[name] if row["source"] == "brokers"} <= {"broker"}


@pytest.mark.parametrize("name", HALTING)
def test_before_kafka_1_0_a_broker_is_gone_with_its_disk(name: str, offline: Any) -> None:
    run = run_of(name)
    ((time, broker),) = FAILED[name]
    ((start, end),) = run.sessions[int(broker)]
    assert start < datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() < end
    rows = [row for row in offline[name] if row["broker"] == int(broker)]
    placed = {
        (row["path"].split("/")[3], int(partition))
        for row in run.history
        if re.fullmatch(r"/brokers/topics/[^/]+", row["path"]) and row.get("data")
        for partition, replicas in json.loads(row["data"])["partitions"].items()
        if int(broker) in replicas and deleted(run, row["path"].split("/")[3]) is None
    }
    assert {(row["topic"], row["partition"]) for row in rows} == placed
    assert {(row["cause"], row["offline_to"], row["ended_by"]) for row in rows} == {("broker", None, None)}
    assert all(-0.01 < row["offline_from"] - end < SOON for row in rows)
    for row in rows:
        replica = row["topic"], row["partition"]
        assert row["leader_before"] == leader(run, replica, row["offline_from"] - SOON / 2)
        assert row["leader_after"] == leader(run, replica, row["offline_from"] + SOON)
