"""At random moments of real runs, the state of a cluster is what ZooKeeper's own log of transactions says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from kwire.cli.cluster.observations import NumberedObservation, found_in, in_order_of_time
from kwire.cli.main import parser_for
from kwire.cluster import ClusterModel, ClusterState
from kwire.cluster.refused_requests import judged
from tests.conftest import SHARED, each_of, needs_shared
from tests.seeds import seeded

pytestmark = needs_shared
FOLDER = SHARED / "captures"
RUNS = sorted(path.name.removesuffix(".znodes.json") for path in FOLDER.glob("*.znodes.json"))
KINDS = "clients", "controller", "replication", "zookeeper"
MOMENTS = 12  # of each run
CLOSE = 0.1  # seconds around a transaction, in which it reaches one source and not yet another


class Fact(NamedTuple):
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    is_deleting: bool


class Change(NamedTuple):
    time: float
    path: str
    data: str | None  # None: the znode is deleted


def changes_of(run: str) -> list[Change]:
    rows = map(json.loads, (FOLDER / f"{run}.znodes.history.jsonl").read_text().splitlines())
    return [
        Change(
            datetime.fromisoformat(row["time"]).replace(tzinfo=UTC).timestamp(),
            row["path"],
            None if row["op"] == "delete" else row.get("data") or "",
        )
        for row in rows
    ]


def facts_of(znodes: dict[str, str]) -> dict[tuple[str, int], Fact]:
    """Return the partitions that exist in ZooKeeper."""
    facts = {}
    for path, data in znodes.items():
        matched = re.fullmatch(r"/brokers/topics/([^/]+)/partitions/(\d+)/state", path)
        topic = json.loads(znodes.get(f"/brokers/topics/{matched[1]}") or "null") if matched else None
        if matched is None or topic is None or not data:
            continue
        state = json.loads(data)
        replicas = tuple(topic["partitions"][matched[2]])
        is_deleting = f"/admin/delete_topics/{matched[1]}" in znodes
        facts[matched[1], int(matched[2])] = Fact(
            state["leader"], state["leader_epoch"], tuple(state["isr"]), replicas, is_deleting
        )
    return facts


def facts_in(state: ClusterState) -> dict[tuple[str, int], Fact]:
    return {
        (one.topic, one.index): Fact(one.leader, one.leader_epoch, one.isr, one.replicas, one.deleting is not None)
        for one in state.partitions()
    }


def moments_of(run: str, changes: list[Change]) -> list[float]:
    """Draw moments that are not close to a change of a partition, one of them after all of them."""
    times = [change.time for change in changes if re.match("/brokers/topics/|/admin/delete_topics/", change.path)]
    random = seeded(f"moments of {run}")
    drawn = (random.uniform(min(times), max(times)) for _ in range(50 * MOMENTS))
    quiet = [moment for moment in drawn if all(abs(moment - time) > CLOSE for time in times)]
    return [*sorted(quiet[:MOMENTS]), max(times) + CLOSE]


def observations_in(files: Iterable[str]) -> list[NumberedObservation]:
    options: Any = parser_for(["cluster"]).parse_args(["cluster", *files])
    return list(in_order_of_time(found_in(options)))


@pytest.mark.parametrize("kinds", [KINDS, ("zookeeper",)], ids=["all", "zookeeper"])
@each_of("run", RUNS, most=3)
def test_the_state_is_that_of_zookeeper(run: str, kinds: tuple[str, ...]) -> None:
    changes = changes_of(run)
    files = [FOLDER / f"{run}.{kind}.pcap" for kind in kinds]
    observations = observations_in(str(file) for file in files if file.exists())
    model, znodes, count = ClusterModel(), dict[str, str](), 0
    position = 0
    seen = list(judged(observation.seen for observation in observations))
    for moment in moments_of(run, changes):
        for change in changes:
            if change.time <= moment:
                znodes.pop(change.path, None)
                if change.data is not None:
                    znodes[change.path] = change.data
        while position < len(seen) and (observations[position].time or 0.0) <= moment:
            model.take(*seen[position])
            position += 1
        expected, found = facts_of(znodes), facts_in(model.state())
        assert found == expected, (moment, {key: (found.get(key), expected.get(key)) for key in expected})
        count += len(expected)
    assert count > 20
