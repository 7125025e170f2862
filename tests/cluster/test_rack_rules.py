"""Racks that replicas share while others have none; nothing is said of what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster import Broker, assign_replicas, is_even
from kwire.cluster.rack_rules import RackRule
from kwire.cluster.racks import RackTree

FLAT = {id: Broker(id, rack=f"r{id // 2}") for id in range(6)}
DEEP = {id: Broker(id, rack=f"/{'ab'[id // 4]}/{id // 2}") for id in range(8)}


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3))
def test_what_kafka_places_never_breaks_the_rule(seed: int, factor: int, racks: int, size: int) -> None:
    brokers = {id: Broker(id, rack=f"r{id % racks}") for id in range(max(factor, racks * size))}
    placed = assign_replicas(list(brokers.values()), 20, factor, start_index=seed % len(brokers))
    assert not any(map(RackRule(brokers).is_violated, placed.values()))


@given(st.lists(st.sampled_from(range(8)), min_size=1, unique=True))
def test_racks_of_many_levels_go_by_their_tree(replicas: list[int]) -> None:
    assert RackRule(DEEP).is_violated(replicas) is not is_even(RackTree(list(DEEP.values())), replicas)


@pytest.mark.parametrize(
    ("replicas", "violated"),
    [
        ([], False),
        ([0, 1], True),
        ([0, 2], False),
        ([0, 1, 9], True),
        ([0, 1, 2, 9], False),
        ([0, 1, 0, 1], True),
        ([7, 8, 9], False),
    ],
)
def test_flat_racks_and_brokers_that_nobody_listed(replicas: list[int], violated: bool) -> None:
    assert RackRule(FLAT).is_violated(replicas) is violated


def test_brokers_without_racks() -> None:
    assert RackRule({1: Broker(1), 2: Broker(2)}).is_violated([1, 2]) is None
    some = {1: Broker(1, rack="a"), 2: Broker(2, rack="a"), 3: Broker(3, rack="b"), 4: Broker(4)}
    assert [RackRule(some).is_violated(ids) for ids in ([1, 2], [1, 4], [1, 2, 4])] == [True, False, False]
