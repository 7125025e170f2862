"""How far plans for random clusters are from the answers of an exact solver (HiGHS).

    python -m benchmarks.cluster.exact_plans [CLUSTERS [SEED]]

By default: 160 clusters, and another seed each time. Racks have one to three levels of any sizes; some brokers are
removed, some partitions get more or fewer replicas, and brokers have weights.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from random import Random, SystemRandom
from typing import Any

from kwire.cluster import Broker
from kwire.cluster.placement.rack_spread import is_even
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.plan.replica_plan import Goals, ReplicaPlan, plan_replicas
from tests.cluster.plan.test_even_sets import uneven_tree
from tests.cluster.plan.test_goals import UNIT, ExactGoals, squares_of
from tests.cluster.plan.test_replica_plan import loads_of, three_levels

Key = tuple[str, int]
SECONDS = 10  # for one question to the solver; after that, bytes are compared with its lower bound


class TimedSolver(ExactGoals):
    """The solver; raises TimeoutError for what it cannot answer in time."""

    def solved(self, cost: Mapping[int, int]) -> int:
        least = self.minimum(cost, seconds=SECONDS)
        if not self.is_proved:
            raise TimeoutError
        return round(least)


class Cluster:
    """A random cluster with the changes that are wanted."""

    def __init__(self, rng: Random) -> None:
        draw_tree = [uneven_tree, lambda rng: three_levels(rng, rng.randint(2, 3), 2, 2), _flat]
        self.tree: RackTree = rng.choice(draw_tree)(rng)
        ids = sorted(self.tree.brokers)
        removed = [900] if rng.random() < 0.4 else []
        pool = [*ids, *removed]
        self.current: dict[Key, list[int]] = {
            (rng.choice("abc"), index): rng.sample(pool, rng.randint(1, min(3, len(pool))))
            for index in range(rng.randint(5, 9))
        }
        self.factors: dict[Key, int] = {
            key: rng.randint(1, min(3, len(ids))) if rng.random() < 0.3 else min(len(replicas), len(ids))
            for key, replicas in self.current.items()
        }
        self.sizes: dict[Key, int] = {key: rng.randint(0, 50) for key in self.current} if rng.random() < 0.5 else {}
        self.weights: dict[int, int] = {id: rng.choice([1, 1, 2, 3]) for id in ids} if rng.random() < 0.5 else {}

    def plan(self, goals: Goals) -> ReplicaPlan[Key]:
        """Return kwire's plan."""
        return plan_replicas(self.tree, self.current, goals, factors=self.factors, sizes=self.sizes)

    def solver(self) -> TimedSolver:
        """Return the solver's programme of even partitions."""
        costs = {key: self.sizes.get(key, 0) + 1 for key in self.current}
        return TimedSolver(self.tree, self.current, self.factors, costs)  # type: ignore[arg-type]

    def cost(self, plan: ReplicaPlan[Key]) -> int:
        """Return the bytes that a plan moves, and one for each replica."""
        return sum((self.sizes.get(key, 0) + 1) * len(ids) for key, ids in plan.moves().items())

    def fullest(self, plan: ReplicaPlan[Key]) -> float:
        """Return the bytes per weight of the fullest broker."""
        held: Counter[int] = Counter()
        for key, replicas in plan.after.items():
            held.update(dict.fromkeys(replicas, self.sizes[key]))
        return max(held[id] / self.weights.get(id, 1) for id in self.tree.brokers)

    def least_fullest(self) -> float:
        """Return what the fullest broker holds at least, by the solver."""
        solver, total = self.solver(), sum(self.sizes[key] * count for key, count in self.factors.items())
        share = solver.column("fullest")
        for id in self.tree.brokers:
            row: Any = {solver.column(key, id): size for key, size in self.sizes.items()}
            solver.rows.append(({**row, share: -total * self.weights.get(id, 1)}, -float("inf"), 0))
        return solver.minimum({share: total}, [share], SECONDS)


def _flat(rng: Random) -> RackTree:
    return RackTree([Broker(id, rack=rng.choice(["x", "y", None])) for id in range(rng.randint(3, 6))], strict=False)


def compare(rng: Random, counts: Counter[str]) -> None:
    """Compare the plans for one cluster with the best ones."""
    cluster = Cluster(rng)
    weights: Mapping[int, int] = cluster.weights
    repaired = cluster.plan(Goals(repair=True))
    balanced = cluster.plan(Goals(balance=True, weights=weights))
    topics = cluster.plan(Goals(topics=True))
    plans = [repaired, balanced, topics]
    counts["repaired: moves beyond the fewest"] += cluster.cost(repaired) > cluster.solver().fewest()
    squares, cost = cluster.solver().weighted(weights)
    is_best = squares_of(loads_of(balanced, cluster.tree), weights) == squares
    counts["balanced: loads less even than the best"] += not is_best
    counts["balanced: moves beyond the fewest for these loads"] += is_best and cluster.cost(balanced) > cost
    squares, of_topics = cluster.solver().by_topic()
    counts["by topic: loads less even than the best"] += squares_of(loads_of(topics, cluster.tree), {}) > squares
    loads = Counter((key[0], id) for key, replicas in topics.after.items() for id in replicas)
    counts["by topic: topics less even than the best"] += sum(load**2 for load in loads.values()) * UNIT > of_topics
    if cluster.sizes:
        packed = cluster.plan(Goals(balance=True, by_bytes=True, weights=weights))
        plans.append(packed)
        counts["by bytes: clusters"] += 1
        fullest, least = cluster.fullest(packed), cluster.least_fullest()
        counts["by bytes: fullest broker the best"] += fullest < least + 1e-6 * (1 + least)
        # HiGHS (of SciPy 1.17.1) calls a worse answer the best for about one cluster in a hundred.
        counts["by bytes: fullest broker less full than the solver's"] += fullest < least - 1e-6 * (1 + least)
        counts["by bytes: fullest broker beyond 2 % of the best"] += fullest > 1.02 * least + 1e-6
    counts["avoidable rack violations"] += sum(
        not is_even(cluster.tree, replicas) for plan in plans for replicas in plan.after.values()
    )


def main() -> None:
    clusters, seed = [*map(int, sys.argv[1:]), *(160, SystemRandom().randrange(10**9))[len(sys.argv) - 1 :]]
    counts: Counter[str] = Counter()
    for number in range(clusters):
        compared: Counter[str] = Counter()
        try:
            compare(Random(f"{seed} {number}"), compared)
        except TimeoutError:
            compared = Counter({"left out: the solver takes too long": 1})
        counts.update(compared)
    print(f"{clusters} clusters, seed {seed}")
    for what, count in sorted(counts.items()):
        print(f"  {what:<52} {count:4}")


if __name__ == "__main__":
    main()
