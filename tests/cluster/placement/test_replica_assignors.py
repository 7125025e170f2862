"""Assignors are found by name, or plugged in; each places what it should."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from kwire.cluster import Broker
from kwire.cluster.java.random import Random, Rng
from kwire.cluster.placement.multi_level import Rings, assign_multi_level
from kwire.cluster.placement.rack_aware import assign_replicas
from kwire.cluster.placement.rack_spread import is_even
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.placement.replica_assignors import ASSIGNORS, assignor_for, run_assignor
from kwire.cluster.placement.striped import place_striped
from kwire.errors.refused import AdminOperation, InvalidRack, ReplicaAssignorFailed, UnknownAssignor
from tests.cluster.vectors import Case, brokers_of, by_text, cases, check

BROKERS = [Broker(id, rack=f"/DC{id % 2}/R{id // 2 % 2}") for id in range(8)]


def all_on_the_first(brokers: Sequence[Broker], num_partitions: int, factor: int, rng: Rng) -> dict[int, list[int]]:
    return {partition: [broker.node_id for broker in brokers[:factor]] for partition in range(num_partitions)}


ASSIGNED = {0: [0, 1, 2]}


def raises(*arguments: Any) -> dict[int, list[int]]:
    raise ValueError("no idea")


def returns_too_few(*arguments: Any) -> dict[int, list[int]]:
    return ASSIGNED


def returns_a_list(*arguments: Any) -> list[list[int]]:
    return [[0, 1, 2]]


def knows_another_broker(brokers: Sequence[Broker], num_partitions: int, factor: int, rng: Rng) -> dict[int, list[int]]:
    return {partition: [0, 1, 99] for partition in range(num_partitions)}


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ({0: [0, 1]}, "partitions [0], not 0 to 1"),
        ({0: [0, 1], 1: [1, 2], 2: [2, 3]}, "partitions [0, 1, 2], not 0 to 1"),
        ({0: [0, 1], "1": [1, 2]}, "partitions [0, '1'], not 0 to 1"),
        ({0: [0, 1], 1: [1, 9]}, "partition 1 on brokers [1, 9], which are not all among those to place on"),
        ({0: [0, 1], 1: [1, True]}, "partition 1 on brokers [1, True], which are not all among those"),
        ({0: "01", 1: [1, 2]}, "partition 0 on brokers ['0', '1'], which are not all among those"),
        ({0: [0, 1], 1: [[1], 2]}, "partition 1 on brokers [[1], 2], which are not all among those"),
        ({0: [1, 1], 1: [1, 2]}, "partition 0 on brokers [1, 1], one of them twice"),
        ({0: [0, 1, 2], 1: [1, 2]}, "partition 0 with 3 replicas, not 2"),
        ({0: [], 1: [1, 2]}, "partition 0 with 0 replicas, not 2"),
    ],
)
def test_what_an_assignor_returns_is_checked(returned: Any, problem: str) -> None:
    with pytest.raises(ReplicaAssignorFailed) as caught:
        run_assignor(lambda *arguments: returned, BROKERS, 2, 2, random.Random())
    assert f"returned {problem}" in str(caught.value)


@pytest.mark.parametrize("returned", [None, 7, [[0, 1], [1, 2]], {0: 5, 1: 5}])
def test_what_is_no_mapping_of_lists_is_an_error_of_the_assignor(returned: Any) -> None:
    with pytest.raises(ReplicaAssignorFailed, match=r"raised (AttributeError|TypeError)"):
        run_assignor(lambda *arguments: returned, BROKERS, 2, 2, random.Random())


def test_a_refusal_of_an_assignor_stays_what_it_is() -> None:
    with pytest.raises(InvalidRack):
        run_assignor(assignor_for("multi-level"), [Broker(1)], 1, 1, random.Random())


def test_vectors_of_forced_simple_assignment() -> None:
    def forced(case: Case) -> Case:
        bare = [replace(broker, rack=None) for broker in brokers_of(case)]
        counts = case["n_partitions"], case["replication_factor"]
        found = assign_replicas(bare, *counts, start_index=case["start_index"], start_partition=case["start_partition"])
        return {"result": by_text(found)}

    check(cases("kip879", kind="force_simple"), forced)


def test_those_with_names() -> None:
    found = {name: assignor_for(name)(BROKERS, 4, 2, Random(3)) for name in ASSIGNORS}
    assert found["simple"] == assign_replicas([Broker(id) for id in range(8)], 4, 2, rng=Random(3))
    assert found["rack-aware"] == assign_replicas(BROKERS, 4, 2, rng=Random(3))
    assert list(found["striped"].values()) == place_striped(BROKERS, 4, 2, Random(3))
    assert all(is_even(RackTree(BROKERS), replicas) for replicas in found["multi-level"].values())


@pytest.mark.parametrize(("count", "factor"), [(4, 2), (4, 3), (5, 2), (5, 3)])
def test_no_algorithm_is_a_case_of_another(count: int, factor: int) -> None:
    """Whatever the start indexes, so the ports of Kafka's algorithms cannot be replaced by KIP-879's ring."""
    brokers, partitions = [Broker(id, rack="/") for id in range(count)], 2 * count + 1
    answers = {
        "rack-aware": {
            str(assign_replicas(brokers, partitions, factor, rng=Drawn(start, shift)))
            for start in range(count)
            for shift in range(count)
        },
        "striped": {str(assignor_for("striped")(brokers, partitions, factor, Random(seed))) for seed in range(200)},
    } | {
        str(rings): {
            str(assign_multi_level(brokers, partitions, factor, starts={"/": start}, rings=rings))
            for start in range(count)
        }
        for rings in (Rings.KEPT, Rings.TURNED)
    }
    for (_, some), (_, others) in combinations(answers.items(), 2):
        assert not some & others


class Drawn(random.Random):
    """Draws given numbers."""

    def __init__(self, *numbers: int) -> None:
        super().__init__()
        self._numbers = list(numbers)

    def randrange(self, *_: Any) -> int:
        return self._numbers.pop(0)


def test_one_of_your_own() -> None:
    mine = {"mine": all_on_the_first}
    for place in (assignor_for("mine", mine), assignor_for(f"{__name__}:all_on_the_first")):
        assert place(BROKERS, 2, 2, random.Random()) == {0: [0, 1], 1: [0, 1]}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("multilevel", "it has no such name"),
        ("", "it has no such name"),
        ("nowhere:place", "No module named 'nowhere'"),
        ("kwire.cluster:place", "has no attribute 'place'"),
        (":place", "Empty module name"),
        (".:place", "relative import"),
    ],
)
def test_one_that_is_not_there(name: str, problem: str) -> None:
    with pytest.raises(UnknownAssignor, match=problem) as caught:
        assignor_for(name)
    assert caught.value.hint == "known: multi-level, rack-aware, rack-aware-safe, simple, striped; or MODULE:FUNCTION"


def test_brokers_partly_without_racks() -> None:
    brokers = [*BROKERS, Broker(9)]
    with pytest.raises(InvalidRack, match=r"brokers \[9\] have no rack"):
        assignor_for("multi-level")(brokers, 1, 1, Random(1))
    with pytest.raises(AdminOperation):
        assignor_for("rack-aware")(brokers, 1, 1, Random(1))
    assert len(assignor_for("simple")(brokers, 9, 9, Random(1))) == 9
