"""LeaveGroup: one, many, static ones by name."""

from __future__ import annotations

import pytest

from kwire.broker import codes
from kwire.broker.groups.group import GroupState
from tests.broker.groups.driving import Mate, World
from tests.broker.served import M


@pytest.mark.parametrize("version", range(6))
def test_every_version(version: int) -> None:
    world = World(LeaveGroup=version)
    first, second = world.mates(2)
    assert (second.leave(), second.leave(), Mate(world, "none").leave()) == (0, 25, 25)
    assert (first.beat(), world.group().state) == (codes.REBALANCE_IN_PROGRESS, GroupState.PREPARING_REBALANCE)
    assert (Mate(world, "").leave(), first.leave()) == (codes.INVALID_GROUP_ID, 0)
    assert (world.group().state, world.group().generation) == (GroupState.EMPTY, 3)


def test_a_rebalance_goes_on_when_who_was_waited_for_leaves() -> None:
    world = World()
    first, second = world.mates(2)
    late = first.join()
    assert not late.answer
    second.leave()
    assert (late.answer.generation_id, len(late.answer.members)) == (3, 1)


def test_who_waits_and_leaves_is_told() -> None:
    world = World()
    first, second = world.mates(2)
    late = first.join()
    assert (first.leave(), late.answer.error_code) == (0, codes.UNKNOWN_MEMBER_ID)
    assert second.join().leader == second.member_id


def test_ids_that_were_given_are_taken_back() -> None:
    world = World()
    mate = Mate(world)
    mate.member_id = mate.request().member_id
    assert (mate.leave(), mate.leave()) == (0, codes.UNKNOWN_MEMBER_ID)


def test_operators_take_static_members_out_by_name() -> None:
    world = World()
    first, second = Mate(world, instance="one"), Mate(world, instance="two")
    first.join()
    second.join()
    row = M.LeaveGroupRequest.MemberIdentity
    rows = [
        row(member_id="", group_instance_id="one"),
        row(member_id="", group_instance_id="none"),
        row(member_id="x", group_instance_id="two"),
        row(member_id="", group_instance_id=None),
    ]
    answer = world.ask("LeaveGroup", 5, group_id="g", members=rows)
    found = [(one.member_id, one.group_instance_id, one.error_code) for one in answer.members]
    assert found == [("", "one", 0), ("", "none", 25), ("x", "two", 82), ("", None, 25)]
    assert answer.error_code == 0
    assert list(world.group().static) == ["two"]
