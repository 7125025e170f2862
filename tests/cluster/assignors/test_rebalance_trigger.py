"""When the leader asks for a rebalance, against ConsumerCoordinator of Kafka 4.4.0 and 3.9.2."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kwire.cluster import Broker, ClusterState, Partition
from kwire.cluster.assignors import Replica, Snapshot, asks_for_rebalance, snapshot_of
from tests.cluster.assignors.groups import releases_that_differ
from tests.cluster.vectors import Case, cases, check


def snapshot(side: Case) -> Snapshot:
    return Snapshot(
        side["version"],
        {topic: [[Replica(*one) for one in nodes] for nodes in found] for topic, found in side["partitions"].items()},
    )


def answered(case: Case, release: str = "newest") -> Any:
    sides = snapshot(case["at_assignment"]), snapshot(case["now"])
    return {
        "result": {
            "rebalance": asks_for_rebalance(case["topics"], *sides, client_rack=case["client_rack"], release=release)
        }
    }


def test_vectors_of_the_leader() -> None:
    found = cases("leader_rebalance")
    check(found, answered)
    releases = releases_that_differ(found)
    assert releases
    for release in releases:
        check(found, partial(answered, release=release), release)


@pytest.mark.parametrize(("release", "asks"), [("3.9.2", True), ("4.3.1", True), ("4.4.0", False), ("newest", False)])
def test_a_broker_that_goes_away(release: str, asks: bool) -> None:
    state = ClusterState(brokers={1: Broker(1, rack="a"), 2: Broker(2, rack="b")})
    state.put(Partition("t", 0, replicas=(1, 2)))
    before = snapshot_of(state, 1)
    state.brokers = {1: Broker(1, rack="a")}
    after = snapshot_of(state, 2)
    assert asks_for_rebalance(["t"], before, after, client_rack="a", release=release) is asks
    assert not asks_for_rebalance(["t"], before, after, release=release)
    assert not asks_for_rebalance([], before, after, client_rack="a", release=release)
