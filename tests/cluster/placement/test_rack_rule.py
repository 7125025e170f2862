"""Racks that replicas share while others have none; nothing is said of what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster import Broker, assign_replicas, is_even
from kwire.cluster.placement.rack_rule import RackRule
from kwire.cluster.placement.rack_tree import RackTree

FLAT = {id: Broker(id, rack=f"r{id // 2}") for id in range(6)}
DEEP = {id: Broker(id, rack=f"/{'ab'[id // 4]}/{id // 2}") for id in range(8)}


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3))
def test_what_kafka_places_never_breaks_the_rule(seed: int, factor: int, racks: int, size: int) -> None:
    brokers = {id: Broker(id, rack=f"r{id % racks}") for id in range(max(factor, racks * size))}
    placed = assign_replicas(list(brokers.values()), 20, factor, start_index=seed % len(brokers))
    assert not any(map(RackRule(brokers).is_violated, placed.values()))


@given(st.lists(st.sampled_from(range(8)), min_size=1, unique=True))
def test_racks_of_many_levels_go_by_their_tree(replicas: list[int]) -> None:
    rule = RackRule(DEEP)
    assert rule.is_violated(replicas) is not is_even(RackTree(list(DEEP.values())), replicas)
    flat = RackRule({id: Broker(id, rack=broker.rack and broker.rack[1:]) for id, broker in DEEP.items()})
    assert (rule.broken_by(replicas) == "KIP-36") == flat.is_violated(replicas)


def test_replicas_on_different_racks_break_no_rule_of_kafka() -> None:
    rule = RackRule({id: Broker(id, rack=rack) for id, rack in ((1, "/a/1"), (3, "/a/2"), (2, "/b/1"), (4, "/a/1"))})
    assert [rule.broken_by(ids) for ids in ([3, 1], [1, 2], [1, 4], [])] == ["KIP-879", None, "KIP-36", None]


def test_kafkas_rule_is_broken_where_the_levels_are_even() -> None:
    racks = {1: "/a/1", 2: "/a/2", 3: "/a/3", 4: "/b/1", 5: "/b/1"}
    brokers = {id: Broker(id, rack=rack) for id, rack in racks.items()}
    assert is_even(RackTree(list(brokers.values())), [1, 2, 4, 5])
    assert RackRule(brokers).broken_by([1, 2, 4, 5]) == "KIP-36"


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
def test_flat_racks_and_brokers_that_are_not_listed(replicas: list[int], violated: bool) -> None:
    assert RackRule(FLAT).is_violated(replicas) is violated


def test_brokers_without_racks() -> None:
    assert RackRule({1: Broker(1), 2: Broker(2)}).is_violated([1, 2]) is None
    some = {1: Broker(1, rack="a"), 2: Broker(2, rack="a"), 3: Broker(3, rack="b"), 4: Broker(4)}
    assert [RackRule(some).is_violated(ids) for ids in ([1, 2], [1, 4], [1, 2, 4])] == [True, False, False]
