"""Even sets, their exchanges and the nearest one, against all sets of brokers."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from kwire.cluster import Broker
from kwire.cluster.placement.rack_spread import is_even
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.plan.broker_masks import bits
from kwire.cluster.plan.even_sets import EvenSets
from tests.seeds import seeded


def uneven_tree(rng: Random, most: int = 9) -> RackTree:
    """Draw brokers in racks of up to three levels, of any sizes; some hang higher than others."""
    racks = ["/a/1", "/a/2", "/b/1", "/b/2/x", "/b/2/y", "/c", "/a"]
    return RackTree([Broker(id, rack=rng.choice(racks)) for id in range(rng.randint(2, most))])


@pytest.mark.parametrize("case", range(30))
def test_bounds_exchanges_and_the_nearest_set(case: int) -> None:
    rng = seeded(f"even sets {case}")
    tree = uneven_tree(rng)
    sets = EvenSets(tree)
    for count in range(1, len(sets.ids) + 1):
        even = {sets.mask(ids) for ids in combinations(sets.ids, count) if is_even(tree, ids)}
        assert even == {mask for mask in map(sets.mask, combinations(sets.ids, count)) if sets.is_even(mask)}
        for mask in rng.sample(sorted(even), min(len(even), 10)):
            for one in bits(mask):
                others = {mask ^ 1 << one ^ 1 << other for other in bits(sets.targets(mask, one))}
                assert others == {found for found in even if found != mask and not mask & ~found & ~(1 << one)}
        wanted = sets.mask(rng.sample(sets.ids, rng.randint(0, len(sets.ids))))
        first = wanted & -wanted
        nearest = sets.nearest(wanted, first, count, [0] * len(sets.sizes), rng.randrange(100))
        assert nearest in even
        kept = max((mask & wanted).bit_count() for mask in even)
        assert (nearest & wanted).bit_count() == kept
        assert bool(nearest & first) == any(mask & first and (mask & wanted).bit_count() == kept for mask in even)


def test_of_equals_the_least_loaded_brokers_are_taken() -> None:
    sets = EvenSets(RackTree([Broker(id, rack=f"/{id % 2}/{id % 4}") for id in range(8)]))
    loads = [0] * len(sets.sizes)
    for index in (0, 2, 3, 5, 7):
        for node in sets.upwards(index):
            loads[node] += 1
    assert sets.brokers(sets.nearest(0, 0, 2, loads)) == [1, 4] or sets.brokers(sets.nearest(0, 0, 2, loads)) == [1, 6]
    chosen = {sets.nearest(0, 0, 2, [0] * len(sets.sizes), turn) for turn in range(100)}
    assert len(chosen) == 16
