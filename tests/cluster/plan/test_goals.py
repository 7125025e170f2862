"""Weights, topics, demotion and bytes: plans are as good as those of an exact solver, or close where they say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest

from kwire.cluster import Broker
from kwire.cluster.placement.rack_spread import is_even
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.plan.replica_plan import Goals, ReplicaPlan, plan_replicas
from tests.cluster.plan.test_even_sets import uneven_tree
from tests.cluster.plan.test_replica_plan import Exact, cost_of, drawn, loads_of, three_levels
from tests.conftest import spread
from tests.seeds import seeded

Key = tuple[str, int]
UNIT = 12  # which all weights of these tests divide


class ExactGoals(Exact):
    """The exact answers for weighted loads, for topics, and for the bytes of the fullest broker."""

    def weighted(self, weights: Mapping[int, int]) -> tuple[int, int]:
        """Return the least sum of weighted squares of the loads, and the least cost with it."""
        least = self.solved(squares := self.squares(list(self.current), weights))
        self.rows.append((squares, 0, least))
        return least, self.solved(self.cost)

    def squares(self, keys: list[Any], weights: Mapping[int, int]) -> dict[int, int]:
        """Add the loads of brokers from some partitions as units of growing cost; return the costs of the units."""
        squares: dict[int, int] = {}
        for broker in self.tree.brokers:
            row = {self.column(key, broker): 1 for key in keys}
            for step in range(len(keys)):
                unit = self.column("unit", broker, step, *keys)
                row[unit] = -1
                squares[unit] = (2 * step + 1) * UNIT // weights.get(broker, 1)
            self.rows.append((row, 0, 0))
        return squares

    def by_topic(self) -> tuple[int, int]:
        """Return the least sum of squares of all loads, and the least one of the topics' loads with it."""
        least = self.solved(squares := self.squares(list(self.current), {}))
        self.rows.append((squares, 0, least))
        topics: dict[int, int] = {}
        for topic in {key[0] for key in self.current}:  # type: ignore[index]
            topics |= self.squares([key for key in self.current if key[0] == topic], {})  # type: ignore[index]
        return least, self.solved(topics)


def squares_of(loads: Mapping[int, int], weights: Mapping[int, int]) -> int:
    return sum(load * load * UNIT // weights.get(broker, 1) for broker, load in loads.items())


@pytest.mark.parametrize("case", spread(range(40), 5))
def test_weighted_loads_are_the_best_with_the_fewest_moves(case: int) -> None:
    rng = seeded(f"weights {case}")
    tree = three_levels(rng, 2, 2, 2) if case % 2 else uneven_tree(rng)
    current = drawn(rng, tree, rng.randint(4, 8), 3)
    weights = {broker: rng.choice([1, 1, 2, 3, 4]) for broker in tree.brokers}
    plan = plan_replicas(tree, current, Goals(balance=True, weights=weights))
    assert all(is_even(tree, replicas) for replicas in plan.after.values())
    exact = ExactGoals(tree, current, {index: len(ids) for index, ids in current.items()}, [1] * len(current))
    assert (squares_of(loads_of(plan, tree), weights), cost_of(plan, [1] * len(current))) == exact.weighted(weights)


def topic_squares(plan: ReplicaPlan[Key]) -> int:
    loads = Counter((key[0], broker) for key, replicas in plan.after.items() for broker in replicas)
    return sum(load * load for load in loads.values())


@pytest.mark.parametrize("case", spread(range(40), 5))
def test_topics_are_as_even_as_even_loads_allow(case: int) -> None:
    rng = seeded(f"topics {case}")
    tree = three_levels(rng, 2, 2, 1) if case % 2 else RackTree([Broker(id) for id in range(rng.randint(3, 5))], False)
    numbered = drawn(rng, tree, rng.randint(4, 9), 3)
    current = {(rng.choice("ab"), index): replicas for index, replicas in numbered.items()}
    plan = plan_replicas(tree, current, Goals(topics=True))
    assert all(is_even(tree, replicas) for replicas in plan.after.values())
    factors: Any = {key: len(ids) for key, ids in current.items()}
    exact = ExactGoals(tree, current, factors, dict.fromkeys(current, 1))  # type: ignore[arg-type]
    least, least_of_topics = exact.by_topic()
    assert squares_of(loads_of(plan, tree), {}) == least
    # A local search: of 200 drawn clusters, 195 are the best, and the others one exchange away.
    assert least_of_topics <= topic_squares(plan) * UNIT <= least_of_topics + 2 * UNIT


def test_a_topic_that_lies_on_two_brokers_is_spread() -> None:
    """Loads are even, and yet all traffic of a topic goes to two brokers (measured on kwire: nothing to change)."""
    tree = RackTree([Broker(id) for id in range(1, 5)], strict=False)
    hot = {("hot", index): [1, 2] for index in range(4)}
    cold = {("cold", index): [3, 4] for index in range(4)}
    assert plan_replicas(tree, {**hot, **cold}, Goals(balance=True)).changed() == []
    plan = plan_replicas(tree, {**hot, **cold}, Goals(topics=True, leaders=True))
    assert set(loads_of(plan, tree).values()) == {4}
    for topic in ("hot", "cold"):
        loads = Counter(broker for key, replicas in plan.after.items() if key[0] == topic for broker in replicas)
        assert set(loads.values()) == {2}
        assert len(loads) == 4


def test_demoted_brokers_lead_nothing_that_another_replica_can_lead() -> None:
    rng = seeded("demoted")
    tree = three_levels(rng, 2, 2, 2)
    current = {index: rng.sample(sorted(tree.brokers), rng.randint(1, 3)) for index in range(60)}
    good = plan_replicas(tree, current, Goals(balance=True, leaders=True)).after
    demoted = frozenset(sorted(tree.brokers)[:2])
    plan = plan_replicas(tree, good, Goals(demoted=demoted))
    for index, replicas in plan.after.items():
        assert set(replicas) == set(good[index])
        assert (replicas[0] in demoted) == (set(replicas) <= demoted)
        if good[index][0] not in demoted:
            assert replicas == good[index]
    assert plan_replicas(tree, plan.after, Goals(demoted=demoted)).changed() == []
    with_leaders = plan_replicas(tree, good, Goals(leaders=True, demoted=demoted)).after
    assert all(set(replicas) <= demoted or replicas[0] not in demoted for replicas in with_leaders.values())


@pytest.mark.parametrize("case", spread(range(24), 4))
def test_the_fullest_broker_is_within_two_percent_of_the_best(case: int) -> None:
    """The best is not known exactly: no broker can have less than the mean, which random sizes come close to."""
    rng = seeded(f"bytes {case}")
    tree = RackTree([Broker(id) for id in range(rng.randint(5, 8))], strict=False)
    current = {index: rng.sample(sorted(tree.brokers), 2) for index in range(60)}
    sizes = {index: rng.choice([rng.randint(1, 50), rng.randint(1, 500)]) for index in current}
    weights = {broker: rng.randint(1, 2) for broker in tree.brokers} if case % 3 == 0 else {}
    plan = plan_replicas(tree, current, Goals(balance=True, by_bytes=True, weights=weights), sizes=sizes)
    held = Counter[int]()
    for index, replicas in plan.after.items():
        assert len(set(replicas)) == 2
        held.update(dict.fromkeys(replicas, sizes[index]))
    mean = sum(held.values()) / sum(weights.get(broker, 1) for broker in tree.brokers)
    assert max(held[broker] / weights.get(broker, 1) for broker in tree.brokers) <= 1.02 * mean


class SmallestFilling:
    """The least that the fullest broker can hold per weight, by trying all even choices of a small cluster."""

    def __init__(self, tree: RackTree, sizes: Mapping[int, int], factors: Mapping[int, int], weights: Any) -> None:
        self._keys = sorted(sizes, key=lambda key: -sizes[key])
        self._sizes = sizes
        self._weights = weights
        brokers = sorted(tree.brokers)
        self._choices = {
            key: [chosen for chosen in combinations(brokers, factors[key]) if is_even(tree, chosen)] for key in sizes
        }
        self._loads = dict.fromkeys(brokers, 0)
        self.value = float("inf")
        self._try_from(0)

    def _try_from(self, index: int) -> None:
        if index == len(self._keys):
            self.value = max(map(self._filling, self._loads))
            return
        size = self._sizes[self._keys[index]]
        for chosen in self._choices[self._keys[index]]:
            for broker in chosen:
                self._loads[broker] += size
            if all(self._filling(broker) < self.value for broker in self._loads):
                self._try_from(index + 1)
            for broker in chosen:
                self._loads[broker] -= size

    def _filling(self, broker: int) -> float:
        weight: int = self._weights.get(broker, 1)
        return self._loads[broker] / weight


@pytest.mark.parametrize("case", spread(range(24), 4))
def test_bytes_of_a_few_large_partitions_are_within_two_percent_of_all_choices(case: int) -> None:
    """Few partitions of odd sizes are furthest from the mean; single moves and pairs of them were 9 % too full here."""
    rng = seeded(f"few bytes {case}")
    racks = ["/x", "/y", None] if case % 2 else [None]
    tree = RackTree([Broker(id, rack=rng.choice(racks)) for id in range(rng.randint(3, 5))], strict=False)
    current = drawn(rng, tree, rng.randint(4, 7), 3)
    sizes = {index: rng.randint(0, 50) for index in current}
    weights = {broker: rng.randint(1, 3) for broker in tree.brokers} if case % 3 else {}
    plan = plan_replicas(tree, current, Goals(balance=True, by_bytes=True, weights=weights), sizes=sizes)
    assert all(is_even(tree, replicas) for replicas in plan.after.values())
    held = Counter[int]()
    for index, replicas in plan.after.items():
        held.update(dict.fromkeys(replicas, sizes[index]))
    fullest = max(held[broker] / weights.get(broker, 1) for broker in tree.brokers)
    factors = {index: len(ids) for index, ids in current.items()}
    assert fullest <= 1.02 * SmallestFilling(tree, sizes, factors, weights).value


def test_balancing_bytes_by_weights_ends() -> None:
    """Single moves took back what two moves at once had given, forever."""
    racks = ["/DC0/R0", "/DC0/R0", "/DC1/R0", "/DC1/R0", "/DC1/R0"]
    tree = RackTree([Broker(id, rack=rack) for id, rack in enumerate(racks)])
    current = {0: [1], 1: [2, 3], 2: [1, 2, 3], 3: [4, 1, 2], 4: [3], 5: [4, 2]}
    sizes = {0: 45, 1: 18, 2: 49, 3: 29, 4: 11, 5: 14}
    goals = Goals(balance=True, by_bytes=True, weights={0: 1, 1: 3, 2: 2, 3: 2, 4: 3})
    plan = plan_replicas(tree, current, goals, sizes=sizes)
    assert all(is_even(tree, replicas) for replicas in plan.after.values())
