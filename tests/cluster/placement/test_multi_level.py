"""Placement over racks of many levels (KIP-879): the text as cases, and what holds for any tree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster import Broker
from kwire.cluster.java.random import Random
from kwire.cluster.placement.multi_level import Ring, Rings, assign_multi_level, increase_replication_factor
from kwire.cluster.placement.rack_aware import rack_alternated_broker_list
from kwire.cluster.placement.rack_spread import is_even, spread_of
from kwire.cluster.placement.rack_tree import RackTree
from kwire.errors.refused import InvalidRack
from tests.cluster.vectors import Case, brokers_of, cases, check, reason_of

MODES = {"reset": Rings.ANEW, "persist": Rings.KEPT}


def placed(case: Case) -> list[list[int]]:
    brokers, count, factor = brokers_of(case), case["n_partitions"], case["replication_factor"]
    return list(assign_multi_level(brokers, count, factor, starts=case["starts"], rings=MODES[case["rings"]]).values())


def increased(case: Case) -> list[int]:
    current, factor = {0: case["current"]}, case["to_replication_factor"]
    return increase_replication_factor(brokers_of(case), current, factor, starts=case["starts"])[0]


def taken(case: Case) -> list[str]:
    ring = Ring(case["children"], case["start"])
    return [ring.take() for _ in range(case["take"])]


@pytest.mark.parametrize(("kind", "answer"), [("ring", taken), ("place", placed), ("increase", increased)])
def test_vectors_of_rings(kind: str, answer: Callable[[Case], Any]) -> None:
    check(cases("kip879", kind=kind), lambda case: reason_of(lambda: answer(case)))


def test_vectors_of_counts_on_each_level() -> None:
    def counts(case: Case, seed: int) -> Any:
        brokers = brokers_of(case)
        assignment = assign_multi_level(brokers, 1, case["replication_factor"], rng=Random(seed))
        levels = spread_of(RackTree(brokers), assignment)[:-1]
        return {str(one.number): sorted((load.replicas for load in one.loads), reverse=True) for one in levels}

    for seed in range(10):
        check(cases("kip879", kind="counts"), lambda case, seed=seed: {"result": counts(case, seed)})  # type: ignore[misc]


def holds(name: str, brokers: list[Broker], old: list[int], factor: int, replicas: list[int]) -> bool:
    """A property of a partition's replicas, by the name that the cases have for it."""
    return {
        "length_is_replication_factor": len(replicas) == factor,
        "brokers_distinct": len(set(replicas)) == len(replicas),
        "brokers_known": set(replicas) <= {broker.node_id for broker in brokers},
        "children_differ_by_at_most_one_unless_the_smaller_is_full": is_even(RackTree(brokers), replicas),
        "old_list_is_a_prefix": replicas[: len(old)] == old,
    }[name]


@pytest.mark.parametrize("rings", Rings)
def test_vectors_of_properties(rings: Rings) -> None:
    def kept(case: Case) -> Any:
        brokers, rng = brokers_of(case), random.Random(case["id"])
        old: list[int] = case.get("current", [])
        factor = case["to_replication_factor" if old else "replication_factor"]
        if old:
            lists = increase_replication_factor(brokers, dict.fromkeys(range(4), old), factor, rng=rng, rings=rings)
        else:
            lists = assign_multi_level(brokers, case["n_partitions"], factor, rng=rng, rings=rings)
        names = case["expected"]["result"]
        return {"result": [n for n in names if all(holds(n, brokers, old, factor, one) for one in lists.values())]}

    check(cases("kip879", kind="properties"), kept)


@st.composite
def trees(draw: st.DrawFn) -> list[Broker]:
    """Brokers on racks of up to four levels, brokers at different depths too."""
    names = st.lists(st.sampled_from(["a", "b", "c", "\uff5e", "\U0001f600"]), max_size=4)
    racks = draw(st.lists(names, min_size=1, max_size=30))
    ids = draw(st.lists(st.integers(0, 1000), min_size=len(racks), max_size=len(racks), unique=True))
    return [Broker(id, rack=f"/{'/'.join(rack)}") for id, rack in zip(ids, racks, strict=True)]


@given(trees(), st.data(), st.sampled_from(Rings), st.integers(0, 2**32))
def test_replicas_are_distinct_even_and_the_same_for_a_seed(
    brokers: list[Broker], data: st.DataObject, rings: Rings, seed: int
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    one, same = (assign_multi_level(brokers, 7, factor, rng=random.Random(seed), rings=rings) for _ in range(2))
    assert one == same
    tree = RackTree(brokers)
    for replicas in one.values():
        assert len(set(replicas)) == len(replicas) == factor
        assert is_even(tree, replicas)


@given(trees(), st.data(), st.sampled_from(Rings))
def test_raising_the_replication_factor_keeps_what_is_there_in_front(
    brokers: list[Broker], data: st.DataObject, rings: Rings
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    ids = st.lists(st.sampled_from([broker.node_id for broker in brokers]), max_size=factor, unique=True)
    before = dict(enumerate(data.draw(st.lists(ids, max_size=5))))
    after = increase_replication_factor(brokers, before, factor, rng=random.Random(1), rings=rings)
    assert list(after) == list(before)
    for partition, replicas in after.items():
        assert replicas[: len(before[partition])] == before[partition]
        assert len(set(replicas)) == len(replicas) == factor


def unevenness(tree: RackTree, replicas: list[int]) -> dict[str, int]:
    """By how many replicas each node's fullest child has more than the emptiest with room for one."""
    found = {}
    for node in tree.nodes:
        held = dict.fromkeys(node.children, 0)
        for leaf in tree.leaves(replicas):
            held |= {above: held[above] + 1 for above in leaf.upwards() if above in held}
        roomy = [count for child, count in held.items() if count < child.size]
        found[node.path] = max(held.values()) - min(roomy) if roomy else 0
    return found


@given(trees(), st.data(), st.sampled_from(Rings))
def test_raising_makes_no_level_less_even_however_replicas_were_placed(
    brokers: list[Broker], data: st.DataObject, rings: Rings
) -> None:
    tree, ids = RackTree(brokers), [broker.node_id for broker in brokers]
    old = data.draw(st.lists(st.sampled_from(ids), unique=True))
    factor = data.draw(st.integers(max(1, len(old)), len(brokers)))
    new = increase_replication_factor(brokers, {0: old}, factor, rng=random.Random(1), rings=rings)[0]
    before, after = unevenness(tree, old), unevenness(tree, new)
    assert all(after[path] <= max(1, before[path]) for path in before)
    if factor == len(brokers):
        assert sorted(new) == sorted(ids)


SIX = [Broker(id, rack=f"/DC{(id + 1) // 2}/R{id}") for id in range(1, 7)]


@pytest.mark.parametrize("rings", Rings)
def test_raising_goes_first_where_there_is_nothing(rings: Rings) -> None:
    for seed in range(20):
        raised = increase_replication_factor(SIX, {0: [3, 1, 2]}, 4, rng=Random(seed), rings=rings)[0]
        assert raised[:3] == [3, 1, 2]
        assert raised[3] in (5, 6)


def test_a_jump_after_a_replica_is_no_cycle() -> None:
    plan = {0: [1, 3], 1: [3, 5], 2: [5, 1], 3: [1, 3]}
    for seed in range(20):
        raised = increase_replication_factor(SIX, plan, 3, rng=Random(seed), rings=Rings.TURNED)
        held = Counter(node_id for replicas in raised.values() for node_id in replicas)
        assert sorted(held) == [1, 2, 3, 4, 5, 6]
        assert (held[1], held[2]) == (3, 1)


@given(trees(), st.data(), st.dictionaries(st.sampled_from(["/", "/a", "/b/a"]), st.integers(0, 3)))
def test_raising_continues_as_if_there_had_been_more_from_the_start(
    brokers: list[Broker], data: st.DataObject, starts: dict[str, int]
) -> None:
    sizes = {node.path: len(node.children) for node in RackTree(brokers).nodes}
    starts = {path: start % sizes[path] for path, start in starts.items() if path in sizes}
    few, many = sorted(data.draw(st.tuples(*[st.integers(1, len(brokers))] * 2)))
    before = assign_multi_level(brokers, 3, few, starts=starts, rings=Rings.ANEW)
    after = increase_replication_factor(brokers, before, many, starts=starts, rings=Rings.ANEW)
    assert after == assign_multi_level(brokers, 3, many, starts=starts, rings=Rings.ANEW)


@given(trees(), st.data(), st.sampled_from(Rings), st.sampled_from([None, 1, 2]))
def test_partitions_that_are_added_are_those_that_would_have_been_placed_at_once(
    brokers: list[Broker], data: st.DataObject, rings: Rings, seed: int | None
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    rng = None if seed is None or rings is Rings.ANEW else Random(seed)
    whole = assign_multi_level(brokers, 9, factor, rng=rng, rings=rings)
    first = {partition: whole[partition] for partition in range(data.draw(st.integers(0, 8)))}
    rng = rng and Random(seed or 0)
    added = assign_multi_level(brokers, 9 - len(first), factor, rng=rng, rings=rings, existing=first)
    assert first | added == whole


def test_brokers_that_are_gone_are_passed_over_where_partitions_exist() -> None:
    brokers = [Broker(id, rack=f"/{'abc'[id]}") for id in range(3)]
    assert assign_multi_level(brokers, 1, 2, existing={0: [0, 7], 1: [7]}) == {2: [1, 2]}


SHAPES = st.lists(st.integers(2, 3), min_size=1, max_size=3)


@given(SHAPES, st.integers(1, 6), st.sampled_from([Rings.KEPT, Rings.TURNED]), st.integers(0, 99))
def test_where_children_are_even_levels_are_for_each_partition_and_for_all(
    shape: list[int], factor: int, rings: Rings, seed: int
) -> None:
    paths: list[tuple[int, ...]] = list(product(*map(range, shape)))
    brokers = [Broker(id, rack="/" + "/".join(map(str, path))) for id, path in enumerate(paths * 3)]
    assignment = assign_multi_level(brokers, 20, factor, rng=random.Random(seed), rings=rings)
    assert not any(level.uneven for level in spread_of(RackTree(brokers), assignment))
    whole = [node_id for replicas in assignment.values() for node_id in replicas]
    for depth in range(1, len(shape) + 1):
        for ids in (*assignment.values(), whole):
            counts = Counter({path[:depth]: 0 for path in paths})
            counts.update(paths[node_id % len(paths)][:depth] for node_id in ids)
            assert max(counts.values()) - min(counts.values()) <= 1


def test_turned_rings_spread_leaders_where_kept_ones_do_not() -> None:
    brokers = [Broker(id, rack=f"/DC{id % 3}/R{id // 3 % 3}") for id in range(18)]
    leaders = {
        rings: Counter(replicas[0] for replicas in assign_multi_level(brokers, 180, 3, rings=rings).values())
        for rings in Rings
    }
    assert {id % 3 for id in leaders[Rings.KEPT]} == {0}
    assert leaders[Rings.TURNED] == dict.fromkeys(range(18), 10)


def test_one_level_is_the_rack_alternated_list_going_round() -> None:
    brokers = [Broker(id, rack=f"/{'abc'[id % 3]}") for id in range(9)]
    around = rack_alternated_broker_list(brokers) * 4
    assignment = assign_multi_level(brokers, 12, 3)
    assert [id for replicas in assignment.values() for id in replicas] == around


@pytest.mark.parametrize(
    ("starts", "problem"),
    [
        ({"/b": 0}, "the ring of '/b' cannot start at 0: there is no such node"),
        ({"/a": 1}, "the ring of '/a' cannot start at 1: it has 1 children"),
        ({"/": -1}, "the ring of '/' cannot start at -1: it has 1 children"),
    ],
)
def test_starts_that_are_not_there(starts: dict[str, int], problem: str) -> None:
    with pytest.raises(InvalidRack, match=problem):
        assign_multi_level([Broker(1, rack="/a")], 1, 1, starts=starts)


def test_a_full_ring() -> None:
    with pytest.raises(LookupError):
        Ring(["a"]).take(lambda child: False)
