"""ListGroups, DescribeGroups, DeleteGroups."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import codes
from kwire.broker.internal_topics import coordinator_of
from tests.broker.groups.driving import Mate, World, formed


def listed(world: World, version: int = 5, **fields: Any) -> list[tuple[str, str, str, str]]:
    rows = world.ask("ListGroups", version, **fields).groups
    return [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in rows]


@pytest.mark.parametrize("version", range(6))
def test_lists(version: int) -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    rows = [("g", "consumer", "Stable", "classic"), ("other", "", "Empty", "classic")]
    known = 2 + (version >= 4) + (version >= 5)
    assert listed(world, version) == [(*row[:known], *[""] * (4 - known)) for row in rows]


def test_lists_by_state_and_type() -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    assert [row[0] for row in listed(world, states_filter=("stable", "Dead"))] == ["g"]
    assert [row[0] for row in listed(world, states_filter=("Empty",), types_filter=("Classic", "x"))] == ["other"]
    assert listed(world, types_filter=("consumer",)) == []


def test_each_broker_lists_what_it_coordinates() -> None:
    world = World(count=2)
    where = {name: coordinator_of(name, world.cluster.controller) for name in "abcd"}
    for name in where:
        assert Mate(world, name).join().error_code == 0
    for node in (1, 2):
        names = [row.group_id for row in world.ask("ListGroups", 5, node).groups]
        assert names == [name for name in where if where[name] == node]
        assert names


@pytest.mark.parametrize("version", range(7))
def test_descriptions(version: int) -> None:
    world = World()
    first, second = Mate(world), Mate(world, instance="i")
    formed(first, second)
    found, missing = world.ask("DescribeGroups", version, groups=("g", "none", "g")).groups
    assert (found.error_code, found.group_state, found.protocol_type, found.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    rows = [
        (
            one.member_id,
            one.group_instance_id,
            one.client_id,
            one.client_host,
            one.member_metadata,
            one.member_assignment,
        )
        for one in found.members
    ]
    instance = "i" if version >= 4 else None
    assert rows == [
        (first.member_id, None, "c", "h", b"range", b"0"),
        (second.member_id, instance, "c", "h", b"range", b"1"),
    ]
    code = codes.GROUP_ID_NOT_FOUND if version >= 6 else 0
    assert (missing.error_code, missing.group_state, missing.members) == (code, "Dead", ())
    first.join()
    (found,) = world.ask("DescribeGroups", version, groups=("g",)).groups
    assert (found.group_state, found.protocol_data) == ("PreparingRebalance", "")
    assert {(one.member_metadata, one.member_assignment) for one in found.members} == {(b"", b"")}


@pytest.mark.parametrize("version", range(4))
def test_deletions(version: int) -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    assert Mate(world, "pending").request().error_code == codes.MEMBER_ID_REQUIRED
    answer = world.ask("DeleteGroups", version, groups_names=("g", "other", "none", "pending", "other"))
    found = {one.group_id: one.error_code for one in answer.results}
    assert found == {"g": codes.NON_EMPTY_GROUP, "other": 0, "none": codes.GROUP_ID_NOT_FOUND, "pending": 0}
    group = world.group()
    assert ([group], group.size + sum(one.size for one in group.members.values())) == (
        world.cluster.groups.all(),
        world.cluster.groups.held.size,
    )


def test_where_others_are_to_be_asked() -> None:
    world = World(count=2)
    wrong = 3 - (coordinator_of("g", world.cluster.controller) or 0)
    (found,) = world.ask("DescribeGroups", 5, wrong, groups=("g",)).groups
    (deleted,) = world.ask("DeleteGroups", 2, wrong, groups_names=("g",)).results
    assert (found.error_code, deleted.error_code) == (codes.NOT_COORDINATOR,) * 2
