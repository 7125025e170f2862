"""Replicas leave directories and fill others of their brokers, where there is space, and no more than needed."""

from __future__ import annotations

from itertools import product

import pytest

from kwire.cluster import LogDir
from kwire.cluster.plan.directory_plan import DirectoryPlan, plan_directories
from tests.conftest import spread
from tests.seeds import seeded

Sizes = dict[tuple[str, int], int]


def disks(*sizes: Sizes, total: int = -1, usable: int = -1) -> dict[str, LogDir]:
    return {f"/{name}": LogDir(f"/{name}", 0, total, usable, held) for name, held in zip("abcdef", sizes, strict=False)}


def bytes_of(plan: DirectoryPlan, broker: int, path: str) -> int:
    return plan.load((broker, path), is_after=True)[1]


@pytest.mark.parametrize("case", spread(range(40), 8))
def test_the_fullest_directory_is_within_the_tolerance_of_the_best(case: int) -> None:
    rng = seeded(f"directories {case}")
    count = rng.randint(2, 3)
    held: list[Sizes] = [{} for _ in range(count)]
    for index in range(rng.randint(2, 8)):
        rng.choice(held)["t", index] = rng.randint(1, 100)
    plan = plan_directories({1: disks(*held)})
    sizes = [size for directory in held for size in directory.values()]
    fullest = max(bytes_of(plan, 1, path) for path in disks(*held))
    best = min(
        max(sum(size for size, place in zip(sizes, places, strict=True) if place == number) for number in range(count))
        for places in product(range(count), repeat=len(sizes))
    )
    assert fullest <= best + 0.15 * sum(sizes) / count
    assert fullest <= max(sum(directory.values()) for directory in held)
    assert plan_directories({1: _after(plan, count)}).moves() == {}


def _after(plan: DirectoryPlan, count: int) -> dict[str, LogDir]:
    held: list[Sizes] = [{} for _ in range(count)]
    for (_, topic, index), path in plan.after.items():
        held["abcdef".index(path[1])][topic, index] = plan.sizes[1, topic, index]
    return disks(*held)


def test_a_new_directory_is_filled_and_small_differences_stay() -> None:
    held: Sizes = {("t", index): 100 for index in range(8)}
    plan = plan_directories({1: disks(held, {})})
    assert (len(plan.moves()), bytes_of(plan, 1, "/b")) == (4, 400)
    assert plan_directories({1: disks({("t", 0): 100}, {("t", 1): 95})}).moves() == {}


def test_larger_volumes_hold_more() -> None:
    held: Sizes = {("t", index): 100 for index in range(9)}
    directories = {"/a": LogDir("/a", 0, 1000, 100, held), "/b": LogDir("/b", 0, 2000, 2000)}
    assert bytes_of(plan_directories({1: directories}), 1, "/b") == 600


def test_a_directory_is_left_by_all_that_can_be_read_and_finds_space() -> None:
    directories = disks({("t", 0): 60, ("t", 1): 50}, {("t", 2): 10}, {("t", 3): 100}, usable=70)
    plan = plan_directories({1: directories, 2: disks({("u", 0): 5}, {})}, [(1, "/a")], balance=False)
    assert plan.moves() == {(1, "t", 0): "/b", (1, "t", 1): "/c"}
    full = plan_directories({1: disks({("t", 0): 60}, {}, usable=50)}, [(1, "/a")])
    assert (full.moves(), full.stuck) == ({}, {(1, "t", 0): "no other directory of its broker has space for it"})
    alone = plan_directories({1: disks({("t", 0): 60})}, [(1, "/a")])
    assert alone.stuck == {(1, "t", 0): "no other directory of its broker is online and to be kept"}
    failed = {"/a": LogDir("/a", 56, sizes={("t", 0): 1}), "/b": LogDir("/b")}
    assert plan_directories({1: failed}, [(1, "/a")]).stuck == {(1, "t", 0): "its directory is offline"}


def test_replicas_that_an_offline_directory_does_not_list_are_stuck() -> None:
    directories = {1: {"/a": LogDir("/a", 56), "/b": LogDir("/b", sizes={("t", 0): 1})}, 2: {"/a": LogDir("/a", 56)}}
    replicas = [(1, "t", 0), (1, "t", 1), (2, "t", 1)]
    plan = plan_directories(directories, [(1, "/a")], replicas=replicas)
    assert plan.stuck == {(1, "t", 1): "its directory is offline"}
    assert (1, "t", 1) not in plan_directories(directories, [(1, "/b")], replicas=replicas).stuck


def test_nothing_enters_a_failed_directory_or_one_that_is_left() -> None:
    held: Sizes = {("t", index): 100 for index in range(4)}
    directories = {"/a": LogDir("/a", sizes=held), "/b": LogDir("/b", 56), "/c": LogDir("/c")}
    plan = plan_directories({1: directories}, [(1, "/c")])
    assert plan.moves() == {}


def test_replicas_that_may_not_move_stay_and_count() -> None:
    held: Sizes = {("t", 0): 100, ("u", 0): 100, ("u", 1): 100}
    plan = plan_directories({1: disks(held, {})}, may_move=lambda replica: replica[1] == "t")
    assert set(plan.moves()) == {(1, "t", 0)}
