"""When the leader asks for a rebalance, against ConsumerCoordinator of Kafka 4.4.0 and 3.9.2."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kwire.cluster import Broker, ClusterState, Partition
from kwire.cluster.assignors import (
    ASSIGNORS,
    Member,
    MetadataSnapshot,
    ReplicaRack,
    asks_for_rebalance,
    assign,
    has_assignor,
    leader_rebalances,
    share_in_rack,
    snapshot_of,
)
from kwire.errors import UnknownMessage
from tests.cluster.assignors.groups import releases_that_differ
from tests.cluster.vectors import Case, cases, check


def snapshot(side: Case) -> MetadataSnapshot:
    return MetadataSnapshot(
        side["version"],
        {
            topic: [[ReplicaRack(*one) for one in nodes] for nodes in found]
            for topic, found in side["partitions"].items()
        },
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


def test_assignors_by_name_and_release() -> None:
    topics = {"t": {0: ["b"], 1: ["a"]}}
    members = [Member("c1", ["t"], "a"), Member("c2", ["t"], "b")]
    for name in ("range", "roundrobin", "sticky", "cooperative-sticky"):
        new, old = (assign(name, topics, members, release=release) for release in ("3.5.0", "3.4.1"))
        assert old == assign(name, topics, members, racks=False, release="3.4.1")
        assert share_in_rack(topics, members, old)[1] == 2
        if name != "roundrobin":
            assert share_in_rack(topics, members, new) == (2, 2)
    with pytest.raises(UnknownMessage, match="fair"):
        assign("fair", topics, members)
    with pytest.raises(UnknownMessage, match="sticky assignor is known"):
        assign("sticky", topics, members, release="2.6.0")
    assert assign("range", topics, members, release="2.4.1") == {"c1": [("t", 0)], "c2": [("t", 1)]}


@pytest.mark.parametrize("name", ["uniform", "server-range"])
def test_assignors_of_brokers_begin_with_4_0_and_ignore_racks(name: str) -> None:
    topics = {"t": {0: ["b"], 1: ["a"]}}
    members = [Member("c1", ["t"], "a"), Member("c2", ["t"], "b")]
    assert assign(name, topics, members, release="4.0.0") == {"c1": [("t", 0)], "c2": [("t", 1)]}
    with pytest.raises(UnknownMessage, match=f"release whose {name} assignor is known"):
        assign(name, topics, members, release="3.9.2")
    assert {one for one in ASSIGNORS if has_assignor("3.9.2", one)} == ASSIGNORS.keys() - {"uniform", "server-range"}


def test_before_3_5_racks_ask_for_no_rebalance() -> None:
    before, after = (
        MetadataSnapshot(version, {"t": [[ReplicaRack(1, rack)]]}) for version, rack in ((1, "a"), (2, "b"))
    )
    asks = {
        release: leader_rebalances(["t"], before, after, client_rack="a", release=release)
        for release in ("3.4.1", "3.5.0")
    }
    assert asks == {"3.4.1": False, "3.5.0": True}
