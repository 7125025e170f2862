"""How long placements take.

    python -m benchmarks.cluster.placement [PARTITIONS [BROKERS [REPLICATION_FACTOR [ROUNDS]]]]

By default: 10,000 partitions, 1,000 brokers in 10 data centres of 10 racks of 5 hosts, 3 replicas, 5 rounds.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kwire.cluster import Broker
from kwire.cluster.java.random import Random
from kwire.cluster.placement.multi_level import Rings, assign_multi_level, increase_replication_factor
from kwire.cluster.placement.rack_aware import assign_replicas
from kwire.cluster.placement.rack_spread import losses_of, spread_of
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.placement.striped import place_striped
from kwire.cluster.plan.replica_plan import Goals, plan_replicas


def timed(name: str, rounds: int, call: Callable[[], object]) -> None:
    """Print the processor seconds of this process that a call took: the least, the median, the most."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    print(f"  {name:<44} {min(seconds):7.3f} {statistics.median(seconds):7.3f} {max(seconds):7.3f}")


def main() -> None:
    partitions, count, factor, rounds = [*map(int, sys.argv[1:]), *(10_000, 1_000, 3, 5)[len(sys.argv) - 1 :]]
    brokers = [Broker(id, rack=f"/DC{id % 10}/R{id // 10 % 10}/H{id // 100 % 5}") for id in range(count)]
    tree = RackTree(brokers)
    placed = assign_multi_level(brokers, partitions, factor)
    print(f"{partitions} partitions, {count} brokers, replication factor {factor} (s)      least  median    most")
    for rings in Rings:
        place = partial(assign_multi_level, brokers, partitions, factor, rng=random.Random(1), rings=rings)
        timed(f"KIP-879, three levels, rings {rings.value}", rounds, place)
    timed("KIP-879, one replica more", rounds, lambda: increase_replication_factor(brokers, placed, factor + 1))
    timed("report: spread, level by level", rounds, lambda: spread_of(tree, placed))
    timed("report: what is lost", rounds, lambda: losses_of(tree, placed))
    timed("KIP-36, racks", rounds, lambda: assign_replicas(brokers, partitions, factor, start_index=0))
    timed("KRaft, striped", rounds, lambda: place_striped(brokers, partitions, factor, Random(1)))
    plans(brokers, partitions, factor, rounds)


def plans(brokers: list[Broker], partitions: int, factor: int, rounds: int) -> None:
    """Time plans, and print what they move."""
    rng, count = random.Random(1), len(brokers)
    drawn = {index: rng.sample(range(count), factor) for index in range(partitions)}
    tree = RackTree(brokers)
    good = plan_replicas(tree, drawn, Goals(balance=True, leaders=True)).after
    grown = RackTree([*brokers, *(replace(one, node_id=count + one.node_id) for one in brokers[: count // 10])])
    shrunk = RackTree(brokers[: -(count // 10)])
    sizes = {index: int(rng.lognormvariate(20, 2)) for index in drawn} if count <= 300 else {}  # minutes, for more
    both = Goals(balance=True, leaders=True)
    cases = {
        "plan: placed at random, repaired": (tree, drawn, Goals(repair=True), {}),
        "plan: the same, brokers and leaders even": (tree, drawn, both, {}),
        "plan: even, a tenth more brokers": (grown, good, both, {}),
        "plan: the same, by the fewest bytes": (grown, good, both, sizes),
        "plan: even, a tenth fewer brokers": (shrunk, good, Goals(), {}),
    }
    for name, (among, current, goals, known) in cases.items():
        call = partial(plan_replicas, among, current, goals, sizes=known)
        timed(name, rounds, call)
        print(f"    {sum(map(len, call().moves().values()))} replicas move")


if __name__ == "__main__":
    main()
